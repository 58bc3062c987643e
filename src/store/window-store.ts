import type { StoreIterator, ValueAndTimestamp } from './key-value-store.ts'
import type { Windowed } from './windowed.ts'

/** Bounds of a scan over the windows of a store, all inclusive; absent: open. */
export interface WindowRangeOptions<K> {
  from?: K
  to?: K
  /** Of the start of the window; milliseconds. */
  timeFrom?: number
  timeTo?: number
  reverse?: boolean
}

/** Reads of a window store. Java's ReadOnlyWindowStore. */
export interface ReadOnlyWindowStore<K, V> {
  readonly name: string
  /** What the window of that key and that start has. */
  fetch(key: K, windowStart: number): V | undefined
  /** The windows of a key whose start lies in [from, to], by their start. */
  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[windowStart: number, V]>
  /**
   * Rows of all keys. Their order is Java's for that kind of store: a persistent one goes from
   * segment to segment, each by serialized key and start; in memory, and in a time-ordered one, they
   * come by start, then by serialized key.
   */
  range(options?: WindowRangeOptions<K>): StoreIterator<[Windowed<K>, V]>
}

/** A window store inside a task: synchronous. Java's WindowStore. */
export interface WindowStore<K, V> extends ReadOnlyWindowStore<K, V> {
  /**
   * `value` undefined (or null) deletes; in a store that retains duplicates it does nothing. A
   * window that is older than the retention is not put; it is counted as a dropped record.
   *
   * @throws StreamsError `STORE_TIME_INVALID` for a start that is no time.
   */
  put(key: K, value: V | undefined, windowStart: number): void
}

/**
 * The store of a windowed aggregation. Java's TimestampedWindowStore. What a processor is given by
 * `fetch` is its own; operators of the engine get the live entry of the cache where there is one, to be
 * read at once.
 */
export interface TimestampedWindowStore<K, V> extends ReadOnlyWindowStore<K, ValueAndTimestamp<V>> {
  /**
   * `value` undefined deletes. A timestamp of -1 stands for none.
   *
   * @throws StreamsError `STORE_TIME_INVALID` for a timestamp or a start that is no time.
   */
  put(key: K, value: V | undefined, timestamp: number, windowStart: number): void
}
