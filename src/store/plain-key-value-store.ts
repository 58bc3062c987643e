import type { EntryRow } from './entry-table.ts'
import type { KeyValueStore, RangeOptions, StoreIterator } from './key-value-store.ts'
import { noTimestamp } from './stored-value.ts'
import { TypedStore } from './typed-store.ts'

const pair = <K, V>({ key, value }: EntryRow<K, V>): [K, V] => [key, value]

/** A key-value store without timestamps, for processors. Java's KeyValueStore. */
export class PlainKeyValueStore<K, V> extends TypedStore<K, V> implements KeyValueStore<K, V> {
  get(key: K): V | undefined {
    return this.entries.get(key)?.value
  }

  put(key: K, value: V): void {
    // As in Java, null deletes; it is not among the values of a store.
    this.entries.put(key, value ?? undefined, noTimestamp)
  }

  putIfAbsent(key: K, value: V): V | undefined {
    const present = this.get(key)
    if (present === undefined) this.put(key, value)
    return present
  }

  delete(key: K): V | undefined {
    const present = this.get(key)
    this.entries.put(key, undefined, noTimestamp)
    return present
  }

  range(options?: RangeOptions<K>): StoreIterator<[K, V]> {
    return this.scan(options, pair<K, V>)
  }

  prefix(prefix: Uint8Array, options?: { reverse?: boolean }): StoreIterator<[K, V]> {
    return this.scanPrefix(prefix, options, pair<K, V>)
  }
}
