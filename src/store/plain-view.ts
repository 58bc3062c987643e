import type {
  KeyValueStore,
  RangeOptions,
  StoreIterator,
  TimestampedKeyValueStore,
  ValueAndTimestamp,
} from './key-value-store.ts'

/** Shows a store with timestamps as one of plain values; what is put has the time `now`. Java's KeyValueStoreFacade. */
export class PlainView<K, V> implements KeyValueStore<K, V> {
  readonly #store: TimestampedKeyValueStore<K, V>
  readonly #now: () => number

  constructor(store: TimestampedKeyValueStore<K, V>, options: { now: () => number }) {
    this.#store = store
    this.#now = options.now
  }

  get name(): string {
    return this.#store.name
  }

  get(key: K): V | undefined {
    return this.#store.get(key)?.value
  }

  put(key: K, value: V): void {
    this.#store.put(key, value, this.#now())
  }

  putIfAbsent(key: K, value: V): V | undefined {
    const before = this.get(key)
    if (before === undefined) this.put(key, value)
    return before
  }

  delete(key: K): V | undefined {
    const before = this.get(key)
    this.#store.put(key, undefined, this.#now())
    return before
  }

  range(options?: RangeOptions<K>): StoreIterator<[K, V]> {
    return new PlainIterator(this.#store.range(options))
  }

  prefix(prefix: Uint8Array, options?: { reverse?: boolean }): StoreIterator<[K, V]> {
    return new PlainIterator(this.#store.prefix(prefix, options))
  }

  approximateEntryCount(): number {
    return this.#store.approximateEntryCount()
  }
}

/** Rows without their timestamps. */
export class PlainIterator<K, V> implements StoreIterator<[K, V]> {
  readonly #rows: StoreIterator<[K, ValueAndTimestamp<V>]>

  constructor(rows: StoreIterator<[K, ValueAndTimestamp<V>]>) {
    this.#rows = rows
  }

  [Symbol.iterator](): this {
    return this
  }

  next(): IteratorResult<[K, V], undefined> {
    const row = this.#rows.next()
    if (row.done === true) return { done: true, value: undefined }
    const [key, { value }] = row.value
    return { done: false, value: [key, value] }
  }

  return(): IteratorResult<[K, V], undefined> {
    this.#rows[Symbol.dispose]()
    return { done: true, value: undefined }
  }

  [Symbol.dispose](): void {
    this.#rows[Symbol.dispose]()
  }
}
