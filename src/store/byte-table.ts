import type { KvRange } from '../kv/kv.ts'
import type { Rows } from './entry-table.ts'
import type { ChangelogRow } from './state-store.ts'
import type { StoredRow, StoredValue } from './stored-value.ts'

/** Rows of a scan, in key order, as they were when it began. */
export interface StoredRows extends Disposable {
  /** Undefined at the end, and ever after. The row is the reader's. */
  next(): StoredRow | undefined
}

/** What an index is asked for, and what it would have of rows that are not in the engine yet. */
export interface IndexQuery {
  /** Of keys of the index. */
  readonly range: KvRange
  /** The index has, of the row with that key, a key in the range. */
  readonly has: (key: Buffer) => boolean
  readonly indexKeyOf: (key: Buffer) => Buffer
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
  /** Where there is an index: its keys in a range, in order. Some of them may be of rows that are deleted. */
  scanIndex?(query: IndexQuery): Rows<Buffer>
  approximateEntryCount(): number
  /** As `put`, while restoring; the buffers are borrowed. */
  restore(key: Buffer, value: Buffer | null, timestamp: number): void
  /** As `restore`, where no Buffer is needed for each of both. */
  restoreRow?(row: ChangelogRow): void
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
  /** Those of them that are not committed. */
  uncommittedBytes(): number
  /** Writes all that is committed; what is not is forgotten. */
  close(): void
}
