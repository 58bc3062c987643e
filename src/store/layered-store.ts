/**
 * The life of a store as its task sees it, whatever its kind
 * (org.apache.kafka.streams.state.internals.MeteredStateStore): all of it happens in the layers below.
 *
 *     typed store ► RecordCache ► ChangeloggedTable ► PinnedTable ► persistent engine
 *                   (optional)                        DirectTable ► engine in memory
 */
import type { Gauge } from '../metrics/registry.ts'
import type { ByteTable } from './byte-table.ts'
import type { EntryTable, ObjectLayer, Rows } from './entry-table.ts'
import type { StoreIterator } from './key-value-store.ts'
import { RowIterator } from './row-iterator.ts'
import type { FlushListener, StateStore } from './state-store.ts'
import type { StoreSerdes } from './store-serdes.ts'

export interface LayeredStoreOptions<K, V, L extends ObjectLayer<K, V> = EntryTable<K, V>> {
  readonly persistent: boolean
  readonly logged: boolean
  readonly serdes: StoreSerdes<K, V>
  readonly entries: L
  /** The layer below all others. */
  readonly bytes: ByteTable
  /** Iterators that are open. */
  readonly openIterators: Gauge
}

/** A store in layers; what reading and writing look like is for its heirs. */
export abstract class LayeredStore<
  K,
  V,
  L extends ObjectLayer<K, V> = EntryTable<K, V>,
> implements StateStore {
  readonly persistent: boolean
  readonly logged: boolean
  protected readonly entries: L
  protected readonly serdes: StoreSerdes<K, V>
  protected readonly bytes: ByteTable
  readonly #openIterators: Gauge
  #isOpen = true

  constructor(options: LayeredStoreOptions<K, V, L>) {
    this.persistent = options.persistent
    this.logged = options.logged
    this.entries = options.entries
    this.serdes = options.serdes
    this.bytes = options.bytes
    this.#openIterators = options.openIterators
  }

  get name(): string {
    return this.serdes.store
  }

  protected get isOpen(): boolean {
    return this.#isOpen
  }

  protected iterate<R, T>(rows: Rows<R>, shape: (row: R) => T): StoreIterator<T> {
    return new RowIterator(rows, shape, this.#openIterators)
  }

  approximateEntryCount(): number {
    return this.bytes.approximateEntryCount()
  }

  /**
   * Hears each change that leaves the record cache. False: there is no cache, the listener is never
   * called. Old values are read, and given, only when asked for.
   */
  setFlushListener(listener: FlushListener<K, V>, options: { sendOldValues: boolean }): boolean {
    return this.entries.setFlushListener(listener, options)
  }

  restore(key: Buffer, value: Buffer | null, timestamp: number): void {
    this.bytes.restore(key, value, timestamp)
  }

  restored(offset: number): void {
    this.bytes.restored(offset)
  }

  restoreOffset(): number {
    return this.bytes.restoreOffset()
  }

  flush(): boolean {
    return this.entries.flush()
  }

  committed(offset: number | undefined): void {
    this.bytes.committed(offset)
  }

  writeBehind(): boolean {
    return this.bytes.writeBehind()
  }

  memoryBytes(): number {
    return this.entries.cachedBytes() + this.bytes.pinnedBytes()
  }

  dirtyBytes(): number {
    return this.bytes.pinnedBytes()
  }

  uncommittedBytes(): number {
    return this.bytes.uncommittedBytes()
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.entries.close()
  }
}
