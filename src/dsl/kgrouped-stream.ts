import type { CogroupedKStream } from './cogrouped-kstream.ts'
import type { KTable } from './ktable.ts'
import type { TableStoreRef } from './materialized.ts'
import type { Named } from './naming.ts'
import type { SerdeOf } from './topic.ts'
import type {
  SessionWindowedKStream,
  TimeWindowedKStream,
  WindowedKStream,
} from './windowed-kstream.ts'
import type {
  CustomWindows,
  SessionWindows,
  SlidingWindows,
  TimeWindows,
  UnlimitedWindows,
} from './windows.ts'

/** What comes out of a table whose step gives R for an aggregate A: a null for each deletion. */
export type Emitted<A, R> = null extends R ? A | null : undefined extends R ? A | null : A

/**
 * A stream grouped by key. Records without a key or a value are left out of aggregations, and
 * counted in the metric of dropped records. Java's KGroupedStream.
 *
 * The result is a table with one row for each key. Its timestamp is the latest of the records
 * that went into it. With the record cache on, which is the default, changes come out at the commit,
 * the last one of each key; with `caching: false` in the store, every change comes out.
 */
export interface KGroupedStream<K, V> {
  /**
   * Counts the records of each key.
   *
   * @example
   * words.groupByKey().count({ store: 'word-counts' })
   */
  count(options?: Named & { store?: TableStoreRef<K, number> }): KTable<K, number, number>

  /**
   * Combines the values of each key; the first stands as it is. A reducer that gives null deletes the
   * row. It returns a new value: what it is given may be held by the store and by steps below.
   *
   * @example
   * const largest = numbers.groupByKey().reduce((max, value) => Math.max(max, value))
   */
  reduce<R extends NonNullable<V> | null | undefined>(
    reducer: (aggregate: NonNullable<V>, value: NonNullable<V>) => R,
    options?: Named & { store?: TableStoreRef<K, NonNullable<V>> },
  ): KTable<K, NonNullable<V>, Emitted<NonNullable<V>, R>>

  /**
   * Folds the values of each key into an aggregate of any type, beginning with what the initializer
   * gives. An aggregator that gives null deletes the row. It returns a new value: what it is given
   * may be held by the store and by steps below. The aggregate's serde comes from the store's
   * descriptor, or from `value`.
   *
   * @example
   * orders.groupByKey().aggregate(() => 0, (sum, order) => sum + order.total, { value: serdes.double })
   */
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    initializer: () => A,
    aggregator: (aggregate: A, value: NonNullable<V>, key: K) => R,
    options?: Named & { store?: TableStoreRef<K, A>; value?: SerdeOf<A> },
  ): KTable<K, A, Emitted<A, R>>

  /**
   * Puts the records of each key into windows by their timestamps: aggregations then have a row for each
   * key and window. Sliding windows leave out records without a value; the others do not.
   *
   * @example
   * clicks.groupByKey().windowedBy(timeWindows({ size: minutes(1), grace: seconds(10) })).count()
   * @throws StreamsError `TOPOLOGY_INVALID` for what is not windows.
   */
  windowedBy(windows: TimeWindows): TimeWindowedKStream<K, V>
  windowedBy(windows: SlidingWindows): TimeWindowedKStream<K, NonNullable<V>>
  windowedBy(windows: SessionWindows): SessionWindowedKStream<K, V>
  windowedBy(windows: UnlimitedWindows | CustomWindows): WindowedKStream<K, V>

  /**
   * Begins an aggregate that several grouped streams are folded into. Without windows, records without
   * a value are left out; with time windows or sessions, the aggregator is given them.
   *
   * @example
   * clicks.groupByKey().cogroup((count: number) => count + 1)
   */
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  cogroup<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    aggregator: (aggregate: A, value: V, key: K) => R,
  ): CogroupedKStream<K, A, R>
}
