/** An iterator that closes itself at its end and by `using`. */
export interface StoreIterator<T> extends IterableIterator<T>, Disposable {}

/** Bounds of a scan, both inclusive; in the order of the serialized keys. */
export interface RangeOptions<K> {
  from?: K
  to?: K
  reverse?: boolean
}

/** Reads of a key-value store. Java's ReadOnlyKeyValueStore. */
export interface ReadOnlyKeyValueStore<K, V> {
  readonly name: string
  /** Undefined: there is no value for this key. */
  get(key: K): V | undefined
  /** Rows in the order of the serialized keys; without bounds, all. */
  range(options?: RangeOptions<K>): StoreIterator<[K, V]>
  /** All rows whose serialized key starts with these bytes. */
  prefix(prefix: Uint8Array, options?: { reverse?: boolean }): StoreIterator<[K, V]>
  /** How many rows there are, about: caches and segments may count some twice. */
  approximateEntryCount(): number
}

/** A key-value store inside a task: synchronous. Java's KeyValueStore. */
export interface KeyValueStore<K, V> extends ReadOnlyKeyValueStore<K, V> {
  /** Puts, over what was there. Null deletes, as {@link KeyValueStore.delete} does. */
  put(key: K, value: V): void
  /** Puts unless there is a value; returns what was there. */
  putIfAbsent(key: K, value: V): V | undefined
  /** Removes; returns what was there. */
  delete(key: K): V | undefined
}

/** A value with the timestamp of the record that made it. Java's ValueAndTimestamp. */
export interface ValueAndTimestamp<V> {
  readonly value: V
  readonly timestamp: number
}

/**
 * The store of every table of the DSL. Java's TimestampedKeyValueStore. What a processor is given by
 * `get` is its own; operators of the engine get the live entry of the cache where there is one, to be
 * read at once.
 */
export interface TimestampedKeyValueStore<K, V> {
  readonly name: string
  /** Undefined: there is no value for this key. */
  get(key: K): ValueAndTimestamp<V> | undefined
  /** `value` undefined deletes. */
  put(key: K, value: V | undefined, timestamp: number): void
  /** Rows in the order of the serialized keys; without bounds, all. */
  range(options?: RangeOptions<K>): StoreIterator<[K, ValueAndTimestamp<V>]>
  /** All rows whose serialized key starts with these bytes. */
  prefix(
    prefix: Uint8Array,
    options?: { reverse?: boolean },
  ): StoreIterator<[K, ValueAndTimestamp<V>]>
  /** How many rows there are, about: caches and segments may count some twice. */
  approximateEntryCount(): number
}
