import type { KvRange } from '../kv/kv.ts'
import type { StoredRow, StoredValue } from './stored-value.ts'

/** Rows of a scan, in key order, as they were when it began. */
export interface StoredRows extends Disposable {
  /** Undefined at the end, and ever after. The row is the reader's. */
  next(): StoredRow | undefined
}

/**
 * The layer of bytes below a store: what is put is read at once; it is durable when `committed` says
 * so (or never, in memory). Keys come with their latin1 string (`keyText`), which finds them in Maps.
 */
export interface ByteTable {
  /** The longest key that can be put with a value. */
  readonly keyBytesMax: number
  get(key: Buffer, text: string): StoredValue | undefined
  /** `value` null deletes. The buffers may be kept: they are not changed afterwards. */
  put(key: Buffer, text: string, value: Buffer | null, timestamp: number): void
  /** As a put of null, where that differs: a session that is too old is not counted. */
  remove?(key: Buffer, text: string): void
  scan(range: KvRange): StoredRows
  approximateEntryCount(): number
  /** As `put`, while restoring; the buffers are borrowed. */
  restore(key: Buffer, value: Buffer | null, timestamp: number): void
  /** All that was restored stands for the changelog up to and including that offset. */
  restored(offset: number): void
  /** The next changelog offset, as the engine has it; 0 when it knows none. */
  restoreOffset(): number
  /** All that was put stands for the changelog before that offset, and may go to the engine. */
  committed(offset: number | undefined): void
  /** Writes a slice of it; true while there is more. */
  writeBehind(): boolean
  /** Bytes that wait for the engine. */
  pinnedBytes(): number
  /** Writes all that is committed; what is not is forgotten. */
  close(): void
}
