import type { AnyStore, KeyValueStoreDescriptor } from '../store/descriptor.ts'
import type { RangeOptions } from '../store/key-value-store.ts'

/** Options of every question. */
export interface QueryOptions {
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
  /** Ends the scan after so many rows. Default: no limit. */
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

/** What questions a store of that kind answers. */
export type QueryableStore<D extends AnyStore> =
  D extends KeyValueStoreDescriptor<infer K, infer V> ? QueryableKeyValueStore<K, V> : never
