/**
 * The layer that serializes, and writes each change to the changelog
 * (org.apache.kafka.streams.state.internals.ChangeLoggingKeyValueBytesStore and
 * ChangeLoggingTimestampedKeyValueBytesStore). Without a cache, it is the store.
 */
import type { KvRange } from '../kv/kv.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { ByteTable, StoredRows } from './byte-table.ts'
import type { EntryRow, EntryRows, EntryTable } from './entry-table.ts'
import type { ValueAndTimestamp } from './key-value-store.ts'
import type { ChangelogWriter, RecordContext } from './state-store.ts'
import type { StoreSerdes } from './store-serdes.ts'
import { noTimestamp, type StoredValue } from './stored-value.ts'

export interface ChangeloggedTableOptions<K, V> {
  readonly bytes: ByteTable
  readonly serdes: StoreSerdes<K, V>
  /** Each value has a timestamp of its own, which its changelog record carries. */
  readonly isTimestamped: boolean
  readonly record: RecordContext
  /** Undefined: the store has no changelog. */
  readonly changelog: ChangelogWriter | undefined
  /** The key as the changelog has it. Default: as the layers have it. */
  readonly changelogKey?: (keyBytes: Buffer) => Buffer
}

const sameKey = (keyBytes: Buffer): Buffer => keyBytes

/** Rows of bytes as objects. */
export class DecodedRows<K, V> implements EntryRows<K, V> {
  readonly #rows: StoredRows
  readonly #serdes: StoreSerdes<K, V>

  constructor(rows: StoredRows, serdes: StoreSerdes<K, V>) {
    this.#rows = rows
    this.#serdes = serdes
  }

  next(): EntryRow<K, V> | undefined {
    const row = this.#rows.next()
    if (row === undefined) return undefined
    const { key: keyBytes, timestamp } = row
    const key = this.#serdes.readKey(keyBytes)
    return { key, keyBytes, value: this.#serdes.readValue(row.value), timestamp }
  }

  [Symbol.dispose](): void {
    this.#rows[Symbol.dispose]()
  }
}

/** Objects over bytes, with a changelog. */
export class ChangeloggedTable<K, V> implements EntryTable<K, V> {
  readonly bytes: ByteTable
  readonly serdes: StoreSerdes<K, V>
  readonly isTimestamped: boolean
  readonly #record: RecordContext
  readonly #changelog: ChangelogWriter | undefined
  readonly #changelogKey: (keyBytes: Buffer) => Buffer

  constructor(options: ChangeloggedTableOptions<K, V>) {
    this.bytes = options.bytes
    this.serdes = options.serdes
    this.isTimestamped = options.isTimestamped
    this.#record = options.record
    this.#changelog = options.changelog
    this.#changelogKey = options.changelogKey ?? sameKey
  }

  get(key: K): ValueAndTimestamp<V> | undefined {
    const keyBytes = this.serdes.writeKey(key)
    const stored = this.bytes.get(keyBytes, keyText(keyBytes))
    return stored && this.decode(stored)
  }

  peek(key: K): ValueAndTimestamp<V> | undefined {
    return this.get(key)
  }

  decode({ value, timestamp }: StoredValue): ValueAndTimestamp<V> {
    return { value: this.serdes.readValue(value), timestamp }
  }

  put(key: K, value: V | undefined, timestamp: number): void {
    const keyBytes = this.serdes.writeKey(key)
    this.putBytes(keyBytes, keyText(keyBytes), value, timestamp)
  }

  /** Writes below and to the changelog; returns the size of the serialized value. */
  putBytes(keyBytes: Buffer, text: string, value: V | undefined, timestamp: number): number {
    const valueBytes = value === undefined ? null : this.serdes.writeValue(value)
    this.bytes.put(keyBytes, text, valueBytes, timestamp)
    // A tombstone has no timestamp of its own.
    const isOwn = this.isTimestamped && valueBytes !== null
    const recordTimestamp = isOwn ? timestamp : this.#record.timestamp
    this.#log(keyBytes, valueBytes, recordTimestamp)
    return valueBytes?.length ?? 0
  }

  #log(keyBytes: Buffer, valueBytes: Buffer | null, timestamp: number): void {
    const key = this.#changelogKey(keyBytes)
    this.#changelog?.write(this.serdes.store, key, valueBytes, timestamp)
  }

  remove(key: K): void {
    const keyBytes = this.serdes.writeKey(key)
    const text = keyText(keyBytes)
    if (this.bytes.remove === undefined) this.bytes.put(keyBytes, text, null, noTimestamp)
    else this.bytes.remove(keyBytes, text)
    this.#log(keyBytes, null, this.#record.timestamp)
  }

  scan(range: KvRange): EntryRows<K, V> {
    return new DecodedRows(this.bytes.scan(range), this.serdes)
  }

  flush(): boolean {
    // Every change was written at once.
    return false
  }

  setFlushListener(): boolean {
    return false
  }

  cachedBytes(): number {
    return 0
  }

  close(): void {
    this.bytes.close()
  }
}
