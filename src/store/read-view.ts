import { StreamsError } from '../errors.ts'
import type { KvRange } from '../kv/kv.ts'
import type { EntryRow, EntryRows, EntryTable } from './entry-table.ts'
import { keyRange, prefixRange } from './key-range.ts'
import type {
  RangeOptions,
  ReadOnlyKeyValueStore,
  StoreIterator,
  ValueAndTimestamp,
} from './key-value-store.ts'
import type { Shape } from './row-iterator.ts'
import type { StoreSerdes } from './store-serdes.ts'

export interface ReadViewOptions<K, V> {
  readonly serdes: StoreSerdes<K, V>
  readonly entries: EntryTable<K, V>
  readonly iterate: <T>(rows: EntryRows<K, V>, shape: Shape<K, V, T>) => StoreIterator<T>
  readonly approximateEntryCount: () => number
  readonly isOpen: () => boolean
}

const pair = <K, V>({ key, value }: EntryRow<K, V>): [K, V] => [key, value]
const same = <K, V>(row: EntryRow<K, V>): EntryRow<K, V> => row

/**
 * Reads of a store from outside of its task, between two of its records: Java's interactive queries. They
 * see what the task sees, with updates that are still in its cache and not committed, and leave the
 * cache as it is. A value may be the very object that the task goes on to use: do not change it.
 *
 * When the store is closed, also in the middle of a scan, `STORE_NOT_AVAILABLE` is thrown.
 */
export class ReadView<K, V> implements ReadOnlyKeyValueStore<K, V> {
  readonly kind = 'key-value'
  readonly #serdes: StoreSerdes<K, V>
  readonly #entries: EntryTable<K, V>
  readonly #iterate: ReadViewOptions<K, V>['iterate']
  readonly #approximateEntryCount: () => number
  readonly #isOpen: () => boolean

  constructor(options: ReadViewOptions<K, V>) {
    this.#serdes = options.serdes
    this.#entries = options.entries
    this.#iterate = options.iterate
    this.#approximateEntryCount = options.approximateEntryCount
    this.#isOpen = options.isOpen
  }

  get name(): string {
    return this.#serdes.store
  }

  #check(): void {
    if (this.#isOpen()) return
    throw new StreamsError('STORE_NOT_AVAILABLE', { store: this.name, detail: 'it is closed' })
  }

  get(key: K): V | undefined {
    this.#check()
    return this.#entries.peek(key)?.value
  }

  /** The timestamp is -1 in stores without timestamps. */
  getWithTimestamp(key: K): ValueAndTimestamp<V> | undefined {
    this.#check()
    const found = this.#entries.peek(key)
    return found && { value: found.value, timestamp: found.timestamp }
  }

  /** As `getWithTimestamp`, by the serialized key. */
  getBytes(keyBytes: Buffer): ValueAndTimestamp<V> | undefined {
    return this.getWithTimestamp(this.#serdes.readKey(keyBytes))
  }

  range(options?: RangeOptions<K>): StoreIterator<[K, V]> {
    return this.#iterate(this.#scan(this.#keyRange(options)), pair<K, V>)
  }

  prefix(prefix: Uint8Array, options?: { reverse?: boolean }): StoreIterator<[K, V]> {
    return this.#iterate(this.#scan(prefixRange(this.#serdes.store, prefix, options)), pair<K, V>)
  }

  /** As `range`, with the serialized key and the timestamp of each row. */
  rows(options?: RangeOptions<K>): StoreIterator<EntryRow<K, V>> {
    return this.#iterate(this.#scan(this.#keyRange(options)), same<K, V>)
  }

  /** As `prefix`, with the serialized key and the timestamp of each row. */
  prefixRows(prefix: Uint8Array, options?: { reverse?: boolean }): StoreIterator<EntryRow<K, V>> {
    return this.#iterate(this.#scan(prefixRange(this.#serdes.store, prefix, options)), same<K, V>)
  }

  /** Rows between serialized keys: how a page continues behind the last key of the one before. */
  byteRows(range: KvRange): StoreIterator<EntryRow<K, V>> {
    return this.#iterate(this.#scan(range), same<K, V>)
  }

  approximateEntryCount(): number {
    this.#check()
    return this.#approximateEntryCount()
  }

  #keyRange(options: RangeOptions<K> | undefined): KvRange {
    return keyRange((key: K) => this.#serdes.writeKey(key), options)
  }

  #scan(range: KvRange): EntryRows<K, V> {
    this.#check()
    const rows = this.#entries.scan(range)
    return {
      next: () => {
        this.#check()
        return rows.next()
      },
      [Symbol.dispose]: () => rows[Symbol.dispose](),
    }
  }
}
