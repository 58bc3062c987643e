import type { Windowed } from '../serde/windowed.ts'
import type { Emitted, KGroupedStream } from './kgrouped-stream.ts'
import type { KTable } from './ktable.ts'
import type { TableStoreRef } from './materialized.ts'
import type { Named } from './naming.ts'
import type { SerdeOf } from './topic.ts'
import type { SessionWindowedOptions, WindowedOptions } from './windowed-kstream.ts'
import type {
  CustomWindows,
  SessionWindows,
  SlidingWindows,
  TimeWindows,
  UnlimitedWindows,
} from './windows.ts'

/**
 * Several grouped streams that are folded into one aggregate A for each key; R is what their aggregators
 * give. One table instead of a join of several, and one store. Java's CogroupedKStream.
 */
export interface CogroupedKStream<K, A, R = A> {
  /**
   * Adds a grouped stream with its aggregator, to this very cogroup. A stream that is given again gets the
   * new aggregator.
   *
   * @example
   * const activity = clicks
   *   .groupByKey()
   *   .cogroup((count: number) => count + 1)
   *   .cogroup(orders.groupByKey(), (count) => count + 1)
   * @throws StreamsError `TOPOLOGY_INVALID` for a stream of another StreamsBuilder.
   */
  cogroup<V, R2 extends A | null | undefined>(
    grouped: KGroupedStream<K, V>,
    aggregator: (aggregate: A, value: V, key: K) => R2,
  ): CogroupedKStream<K, A, R | R2>

  /**
   * Folds the values of all streams, beginning with what the initializer gives. Records without a key or
   * a value are left out. An aggregator that gives null deletes the row.
   *
   * @example
   * clicks
   *   .groupByKey()
   *   .cogroup((visit: Visit, click) => ({ ...visit, clicks: visit.clicks + 1 }))
   *   .cogroup(orders.groupByKey(), (visit, order) => ({ ...visit, spent: visit.spent + order.total }))
   *   .aggregate(() => ({ clicks: 0, spent: 0 }), { value: serdes.json<Visit>() })
   */
  aggregate(
    initializer: () => A,
    options?: Named & { store?: TableStoreRef<K, A>; value?: SerdeOf<A> },
  ): KTable<K, A, Emitted<A, R>>

  /**
   * Puts the records of all streams into the same windows. Results are emitted on update only.
   *
   * @example
   * const activityPerHour = clicks
   *   .groupByKey()
   *   .cogroup((count: number) => count + 1)
   *   .cogroup(orders.groupByKey(), (count) => count + 1)
   *   .windowedBy(timeWindows({ size: hours(1), grace: minutes(5) }))
   *   .aggregate(() => 0, { value: serdes.long })
   */
  windowedBy(
    windows: TimeWindows | SlidingWindows | UnlimitedWindows | CustomWindows,
  ): TimeWindowedCogroupedKStream<K, A, R>
  windowedBy(windows: SessionWindows): SessionWindowedCogroupedKStream<K, A>
}

/** Cogrouped streams in time windows or sliding windows. Java's TimeWindowedCogroupedKStream. */
export interface TimeWindowedCogroupedKStream<K, A, R = A> {
  /**
   * Folds the values of all streams that are in a window. An aggregator that gives null deletes the row.
   *
   * @example
   * const clicksPerHour = clicks
   *   .groupByKey()
   *   .cogroup((count: number) => count + 1)
   *   .windowedBy(timeWindows({ size: hours(1), grace: 0 }))
   *   .aggregate(() => 0, { store: windowStore('clicks-per-hour', { key: serdes.string, value: serdes.long }) })
   */
  aggregate(
    initializer: () => A,
    options?: WindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, Emitted<A, R>>
}

/** Cogrouped streams in sessions. Java's SessionWindowedCogroupedKStream. */
export interface SessionWindowedCogroupedKStream<K, A> {
  /**
   * Folds the values of all streams that are in a session; the merger makes one aggregate of two.
   *
   * @example
   * const clicksOfVisits = clicks
   *   .groupByKey()
   *   .cogroup((count: number) => count + 1)
   *   .windowedBy(sessionWindows({ gap: minutes(30), grace: 0 }))
   *   .aggregate(() => 0, (one, two) => one + two, { value: serdes.long })
   */
  aggregate(
    initializer: () => A,
    merger: (one: A, two: A, key: K) => A,
    options?: SessionWindowedOptions<K, A> & { readonly value?: SerdeOf<A> },
  ): KTable<Windowed<K>, A, A | null>
}
