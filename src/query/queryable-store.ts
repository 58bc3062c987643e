import type {
  AnyStore,
  KeyValueStoreDescriptor,
  SessionStoreDescriptor,
  VersionedStoreDescriptor,
  WindowStoreDescriptor,
} from '../store/descriptor.ts'
import type { RangeOptions } from '../store/key-value-store.ts'
import type { VersionedRecord } from '../store/versioned-store.ts'
import type { WindowRangeOptions } from '../store/window-store.ts'
import type { Windowed } from '../store/windowed.ts'
import type { ConsistencyOptions } from './consistency.ts'

/** Options of every question. */
export interface QueryOptions extends ConsistencyOptions {
  /**
   * Milliseconds to wait for an owner that is starting, moving or restoring, before its error is
   * thrown; 0: not at all. Default: 10 seconds for `service.store`, which asks the whole application;
   * `streams.store` never waits.
   */
  readonly timeout?: number
  /** Ends the wait with `ABORTED`. */
  readonly signal?: AbortSignal
}

/** Options of a scan. */
export interface QueryRangeOptions<K> extends RangeOptions<K>, QueryOptions {
  /** Ends the scan after so many rows; a whole number. Default: no limit. */
  readonly limit?: number
}

/**
 * A key-value store from outside its task: asynchronous, and it never goes stale, because each call
 * finds the tasks anew.
 */
export interface QueryableKeyValueStore<K, V> {
  readonly name: string
  /** Undefined: there is no value for this key. */
  get(key: K, options?: QueryOptions): Promise<V | undefined>
  /** The values of those keys that have one. */
  getMany(keys: Iterable<K>, options?: QueryOptions): Promise<Map<K, V>>
  /** Rows in the order of the serialized keys. */
  range(options?: QueryRangeOptions<K>): AsyncIterable<[K, V]>
  /** Rows whose serialized key starts with these bytes. */
  prefix(
    prefix: Uint8Array,
    options?: QueryOptions & { readonly reverse?: boolean; readonly limit?: number },
  ): AsyncIterable<[K, V]>
  /** About how many rows there are. */
  approximateEntryCount(options?: QueryOptions): Promise<number>
}

/** Options of a scan over windows or sessions. */
export interface QueryScanOptions extends QueryOptions {
  readonly reverse?: boolean
  /** Ends the scan after so many rows; a whole number. Default: no limit. */
  readonly limit?: number
}

/**
 * A window store from outside its task; see {@link QueryableKeyValueStore}. Rows are as they were when
 * the scan of their partition began; leave a scan early by ending its loop.
 *
 * @example
 * for await (const [start, count] of streams.store(clicksByMinute).fetchRange('ann', from, to)) {
 *   console.log(new Date(start), count)
 * }
 */
export interface QueryableWindowStore<K, V> {
  readonly name: string
  /** Undefined: there is no window of that key and that start. */
  fetch(key: K, windowStart: number, options?: QueryOptions): Promise<V | undefined>
  /** The windows of a key whose start lies in [from, to], by their start. */
  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: QueryScanOptions,
  ): AsyncIterable<[windowStart: number, V]>
  /** Windows of all keys, partition by partition, each in the order of the store. */
  range(options?: WindowRangeOptions<K> & QueryScanOptions): AsyncIterable<[Windowed<K>, V]>
}

/** A session store from outside its task; as {@link QueryableWindowStore}. */
export interface QueryableSessionStore<K, A> {
  readonly name: string
  /** Sessions of a key that end at `earliestEnd` or later and start at `latestStart` or earlier. */
  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
    options?: QueryScanOptions,
  ): AsyncIterable<[Windowed<K>, A]>
  /** Undefined: there is no session of that key with exactly these bounds. */
  fetchSession(key: K, start: number, end: number, options?: QueryOptions): Promise<A | undefined>
  /** All sessions of a key, by their end. */
  fetch(key: K, options?: QueryScanOptions): AsyncIterable<[Windowed<K>, A]>
  /** Sessions of all keys within bounds, partition by partition. */
  range(options?: RangeOptions<K> & QueryScanOptions): AsyncIterable<[Windowed<K>, A]>
}

/** A versioned store from outside its task; as {@link QueryableWindowStore}. */
export interface QueryableVersionedStore<K, V> {
  readonly name: string
  /** The latest version of a key, or the one that was valid at the time `asOf`. */
  get(
    key: K,
    options?: QueryOptions & { readonly asOf?: number },
  ): Promise<VersionedRecord<V> | undefined>
  /** The versions of a key that were valid at any time in [from, to], the newest first. */
  versions(
    key: K,
    from: number,
    to: number,
    options?: QueryScanOptions,
  ): AsyncIterable<VersionedRecord<V>>
}

/** What questions a store of that kind answers. */
export type QueryableStore<D extends AnyStore> =
  D extends KeyValueStoreDescriptor<infer K, infer V>
    ? QueryableKeyValueStore<K, V>
    : D extends WindowStoreDescriptor<infer K, infer V>
      ? QueryableWindowStore<K, V>
      : D extends SessionStoreDescriptor<infer K, infer A>
        ? QueryableSessionStore<K, A>
        : D extends VersionedStoreDescriptor<infer K, infer V>
          ? QueryableVersionedStore<K, V>
          : never
