import type { Serde } from '../serde/serde.ts'

/** What all store descriptors share. */
export interface StoreOptions {
  /** Keep the state in files below `stateDir` (default), or only in memory. Both are restored from the changelog. */
  readonly persistent?: boolean
  /**
   * Collect updates of a key in the record cache and forward the last one at the commit. Default:
   * true for stores of the DSL (as Java's Materialized).
   */
  readonly caching?: boolean
  /** Write every change to a compacted changelog topic (default). An object: with these topic configs. */
  readonly changelog?: boolean | { readonly [config: string]: string }
}

/** A key-value store: its name, its serdes, and how it is kept. Made by {@link keyValueStore}. */
export interface KeyValueStoreDescriptor<K, V> extends StoreOptions {
  readonly kind: 'key-value'
  readonly name: string
  readonly key: Serde<K>
  readonly value: Serde<V>
}

// Window, session and versioned stores join this union with the operators that need them.
// oxlint-disable-next-line typescript/no-explicit-any -- variance: a descriptor of any types fits
export type AnyStore = KeyValueStoreDescriptor<any, any>

/**
 * Names a key-value store and the serdes of its keys and values. The same value materializes a
 * table, opens the store for queries, and types the remote client.
 *
 * @example
 * const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })
 */
export function keyValueStore<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & StoreOptions,
): KeyValueStoreDescriptor<K, V> {
  return Object.freeze({ kind: 'key-value', name, ...options })
}
