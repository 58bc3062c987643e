/**
 * What both key-value stores share: the outermost layer, with typed keys and values, and the life of a
 * store as its task sees it (org.apache.kafka.streams.state.internals.MeteredKeyValueStore).
 *
 *     TypedStore ► RecordCache ► ChangeloggedTable ► PinnedTable ► persistent engine
 *                  (optional)                        DirectTable ► engine in memory
 */
import type { ByteTable } from './byte-table.ts'
import type { EntryRow, EntryTable } from './entry-table.ts'
import { keyRange, prefixRange } from './key-range.ts'
import type { RangeOptions, StoreIterator } from './key-value-store.ts'
import { ReadView } from './read-view.ts'
import { RowIterator } from './row-iterator.ts'
import type { FlushListener, StateStore } from './state-store.ts'
import type { StoreSerdes } from './store-serdes.ts'

export interface TypedStoreOptions<K, V> {
  readonly persistent: boolean
  readonly logged: boolean
  readonly serdes: StoreSerdes<K, V>
  readonly entries: EntryTable<K, V>
  /** The layer below all others. */
  readonly bytes: ByteTable
}

/** A store of keys and values; what reading and writing look like is for its heirs. */
export abstract class TypedStore<K, V> implements StateStore {
  readonly persistent: boolean
  readonly logged: boolean
  protected readonly entries: EntryTable<K, V>
  readonly #serdes: StoreSerdes<K, V>
  readonly #bytes: ByteTable
  #isOpen = true

  constructor(options: TypedStoreOptions<K, V>) {
    this.persistent = options.persistent
    this.logged = options.logged
    this.entries = options.entries
    this.#serdes = options.serdes
    this.#bytes = options.bytes
  }

  get name(): string {
    return this.#serdes.store
  }

  protected scan<T>(options: RangeOptions<K> | undefined, shape: Shape<K, V, T>): StoreIterator<T> {
    const range = keyRange((key: K) => this.#serdes.writeKey(key), options)
    return new RowIterator(this.entries.scan(range), shape)
  }

  protected scanPrefix<T>(
    prefix: Uint8Array,
    options: { reverse?: boolean } | undefined,
    shape: Shape<K, V, T>,
  ): StoreIterator<T> {
    return new RowIterator(this.entries.scan(prefixRange(prefix, options)), shape)
  }

  approximateEntryCount(): number {
    return this.#bytes.approximateEntryCount()
  }

  /** What queries read: see {@link ReadView}. */
  readView(): ReadView<K, V> {
    return new ReadView({
      serdes: this.#serdes,
      entries: this.entries,
      approximateEntryCount: () => this.#bytes.approximateEntryCount(),
      isOpen: () => this.#isOpen,
    })
  }

  /**
   * Hears each change that leaves the record cache. False: there is no cache, the listener is never
   * called. Old values are read, and given, only when asked for.
   */
  setFlushListener(listener: FlushListener<K, V>, options: { sendOldValues: boolean }): boolean {
    return this.entries.setFlushListener(listener, options)
  }

  restore(key: Buffer, value: Buffer | null, timestamp: number): void {
    this.#bytes.restore(key, value, timestamp)
  }

  restored(offset: number): void {
    this.#bytes.restored(offset)
  }

  restoreOffset(): number {
    return this.#bytes.restoreOffset()
  }

  flush(): boolean {
    return this.entries.flush()
  }

  committed(offset: number | undefined): void {
    this.#bytes.committed(offset)
  }

  writeBehind(): boolean {
    return this.#bytes.writeBehind()
  }

  memoryBytes(): number {
    return this.entries.cachedBytes() + this.#bytes.pinnedBytes()
  }

  dirtyBytes(): number {
    return this.#bytes.pinnedBytes()
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.entries.close()
  }
}

/** Makes of a row what a reader sees. */
export type Shape<K, V, T> = (row: EntryRow<K, V>) => T
