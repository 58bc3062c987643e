import type { Windowed } from '../serde/windowed.ts'
import type { EmitStrategy } from './emit-strategy.ts'
import type { Emitted } from './kgrouped-stream.ts'
import type { KTable } from './ktable.ts'
import type { Named } from './naming.ts'
import type { SerdeOf } from './topic.ts'
import type { SessionTableStoreRef, WindowTableStoreRef } from './windowed-materialized.ts'

/** What comes out of a windowed table whose step gives R for an aggregate A: final results are no deletions. */
export type EmittedBy<S extends EmitStrategy, A, R> = S extends 'on-window-close'
  ? A
  : Emitted<A, R>

/** What comes out of a table of sessions: a null for each session that became part of another one. */
export type EmittedSession<S extends EmitStrategy, A> = S extends 'on-window-close' ? A : A | null

/** How the windows of an aggregation are kept. */
export interface WindowedOptions<K, A> extends Named {
  readonly store?: WindowTableStoreRef<K, A>
  /**
   * Milliseconds of stream time for which windows are kept, counted from their start: longer than
   * the windows need, for those who ask for old ones. Default: as long as the windows need.
   */
  readonly retention?: number
}

/** How the sessions of an aggregation are kept. */
export interface SessionWindowedOptions<K, A> extends Named {
  readonly store?: SessionTableStoreRef<K, A>
  /** Milliseconds of stream time, counted from their end; else as in {@link WindowedOptions}. */
  readonly retention?: number
}

/**
 * A grouped stream in windows. The result is a table with one row for each key and window; its
 * timestamp is the latest of the records that went into it. Records without a key are left out, and
 * so are those whose windows have closed; both are counted in the metric of dropped records.
 *
 * Rows do not go away when their window closes, only when the store forgets them; that is not told to
 * steps below. `V` may be null: a count counts such records, an aggregator is given them.
 */
export interface WindowedKStream<K, V, S extends EmitStrategy = 'on-window-update'> {
  /**
   * Counts the records of each key and window.
   *
   * @example
   * clicks.groupByKey().windowedBy(timeWindows({ size: minutes(1), grace: 0 })).count({ store: 'clicks-per-minute' })
   */
  count(options?: WindowedOptions<K, number>): KTable<Windowed<K>, number, number>

  /**
   * Combines the values of each key and window; the first stands as it is. A reducer that gives null
   * deletes the row. It returns a new value: what it is given may be held by the store and by steps below.
   *
   * @example
   * const largestPerHour = numbers
   *   .groupByKey()
   *   .windowedBy(timeWindows({ size: hours(1), grace: minutes(1) }))
   *   .reduce((max, value) => Math.max(max, value))
   */
  reduce<R extends NonNullable<V> | null | undefined>(
    reducer: (aggregate: NonNullable<V>, value: V) => R,
    options?: WindowedOptions<K, NonNullable<V>>,
  ): KTable<
    Windowed<K>,
    NonNullable<V>,
    EmittedBy<S, NonNullable<V>, R | Extract<V, null | undefined>>
  >

  /**
   * Folds the values of each key and window into an aggregate of any type, beginning with what the
   * initializer gives. An aggregator that gives null deletes the row. It returns a new value: what it
   * is given may be held by the store and by steps below. The aggregate's serde comes from the store's
   * descriptor, or from `value`.
   *
   * @example
   * readings
   *   .groupByKey()
   *   .windowedBy(timeWindows({ size: minutes(5), grace: minutes(1) }))
   *   .aggregate(() => -Infinity, (max, { celsius }) => Math.max(max, celsius), { value: serdes.double })
   */
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    initializer: () => A,
    aggregator: (aggregate: A, value: V, key: K) => R,
    options?: WindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, EmittedBy<S, A, R>>
}

/** A grouped stream in time windows or sliding windows. Java's TimeWindowedKStream. */
export interface TimeWindowedKStream<
  K,
  V,
  S extends EmitStrategy = 'on-window-update',
> extends WindowedKStream<K, V, S> {
  /**
   * `on-window-update` (default): each change comes out, at once or, with the record cache, at the
   * commit. `on-window-close`: one final result for each window, when stream time has passed its end
   * by the grace. Looked for with each record, once a second at most; a window that its store has
   * forgotten by then is lost, so give a `retention` far above the jumps in time that can come.
   *
   * Stream time moves only with records: without new ones, the last windows wait.
   *
   * @example
   * const finalCounts = clicks
   *   .groupByKey()
   *   .windowedBy(timeWindows({ size: minutes(1), grace: seconds(10) }))
   *   .emitStrategy('on-window-close')
   *   .count()
   */
  emitStrategy<S2 extends EmitStrategy>(strategy: S2): TimeWindowedKStream<K, V, S2>
}

/**
 * A grouped stream in sessions. The result is a table with one row for each key and session; its
 * timestamp is that of the session's last record, which is its end. A session that grows, or becomes one
 * with another, is a new row: the old ones are deleted, with a null for steps below. Java's
 * SessionWindowedKStream.
 */
export interface SessionWindowedKStream<K, V, S extends EmitStrategy = 'on-window-update'> {
  /**
   * As {@link TimeWindowedKStream.emitStrategy}; a session closes `gap` and `grace` after its end.
   *
   * @example
   * const sessionsThatEnded = clicks
   *   .groupByKey()
   *   .windowedBy(sessionWindows({ gap: minutes(30), grace: 0 }))
   *   .emitStrategy('on-window-close')
   *   .count()
   */
  emitStrategy<S2 extends EmitStrategy>(strategy: S2): SessionWindowedKStream<K, V, S2>

  /**
   * Counts the records of each session.
   *
   * @example
   * const clicksOfSessions = clicks
   *   .groupByKey()
   *   .windowedBy(sessionWindows({ gap: minutes(30), grace: 0 }))
   *   .count({ store: 'clicks-of-sessions' })
   */
  count(
    options?: SessionWindowedOptions<K, number>,
  ): KTable<Windowed<K>, number, EmittedSession<S, number>>

  /**
   * Combines the values of each session, also those of sessions that become one.
   *
   * @example
   * const longest = numbers
   *   .groupByKey()
   *   .windowedBy(sessionWindows({ gap: minutes(30), grace: 0 }))
   *   .reduce((max, value) => Math.max(max, value))
   */
  reduce(
    reducer: (aggregate: NonNullable<V>, value: V) => NonNullable<V> | null | undefined,
    options?: SessionWindowedOptions<K, NonNullable<V>>,
  ): KTable<Windowed<K>, NonNullable<V>, EmittedSession<S, NonNullable<V>>>

  /**
   * Folds the values of each session into an aggregate of any type. The merger makes one aggregate of
   * two when sessions become one; its first may be what the initializer gave.
   *
   * @example
   * clicks
   *   .groupByKey()
   *   .windowedBy(sessionWindows({ gap: minutes(30), grace: 0 }))
   *   .aggregate(() => 0, (seconds, click) => seconds + click.seconds, (one, two) => one + two, { value: serdes.long })
   */
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>>(
    initializer: () => A,
    aggregator: (aggregate: A, value: V, key: K) => A | null | undefined,
    merger: (one: A, two: A, key: K) => A,
    options?: SessionWindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, EmittedSession<S, A>>
}
