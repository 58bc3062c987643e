import type { EntryRow } from './entry-table.ts'
import type {
  RangeOptions,
  StoreIterator,
  TimestampedKeyValueStore,
  ValueAndTimestamp,
} from './key-value-store.ts'
import { TypedStore } from './typed-store.ts'

const pair = <K, V>({ key, value, timestamp }: EntryRow<K, V>): [K, ValueAndTimestamp<V>] => [
  key,
  { value, timestamp },
]

/** The store of a table: each value with its timestamp. Java's TimestampedKeyValueStore. */
export class TimestampedStore<K, V>
  extends TypedStore<K, V>
  implements TimestampedKeyValueStore<K, V>
{
  get(key: K): ValueAndTimestamp<V> | undefined {
    return this.entries.get(key)
  }

  put(key: K, value: V | undefined, timestamp: number): void {
    this.entries.put(key, value ?? undefined, timestamp)
  }

  range(options?: RangeOptions<K>): StoreIterator<[K, ValueAndTimestamp<V>]> {
    return this.scan(options, pair<K, V>)
  }

  prefix(
    prefix: Uint8Array,
    options?: { reverse?: boolean },
  ): StoreIterator<[K, ValueAndTimestamp<V>]> {
    return this.scanPrefix(prefix, options, pair<K, V>)
  }
}
