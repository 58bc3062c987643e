import type { KvEngine, KvIterator, KvRange, KvTable, KvTransaction, PackedRow } from '../kv/kv.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { StoredRows } from './byte-table.ts'
import type { StoredFormat, StoredRow } from './stored-value.ts'

/** Where writes go: a batch, or a transaction. */
export type EngineWrites = Pick<KvTransaction, 'put' | 'delete' | 'putRow'>

/** Where the rows of a store lie in its engine: in one table, or in one for each segment of time. */
export interface EngineTable {
  /** Borrowed, as everything that an engine returns. */
  get(key: Buffer, text: string): Buffer | undefined
  scan(range: KvRange, format: StoredFormat): StoredRows
  /** Rows of an index of the table, where there is one: keys of their own, and no values. */
  scanIndex?(range: KvRange): StoredRows
  put(writes: EngineWrites, key: Buffer, value: Buffer): void
  /** As `put`; the positions of the row are changed. */
  putRow(writes: EngineWrites, row: PackedRow): void
  delete(writes: EngineWrites, key: Buffer): void
  /** A batch of one. */
  putNow(key: Buffer, value: Buffer, text: string): void
  /** A batch of one. */
  deleteNow(key: Buffer, text: string): void
  approximateEntryCount(): number
  /** What was asked of the table so far is committed. */
  committed(): void
  /** What is committed is written from here on. */
  beginWrite(): void
  /** It is written. */
  endWrite(): void
}

/** Engines that cannot read a packed row where it lies get its parts. */
export function putPackedRow(writes: EngineWrites, table: KvTable, row: PackedRow): void {
  if (writes.putRow !== undefined) {
    writes.putRow(table, row)
    return
  }
  const { bytes, keyStart, valueStart, valueEnd } = row
  writes.put(table, bytes.subarray(keyStart, valueStart), bytes.subarray(valueStart, valueEnd))
}

/** The rows of a scan of an engine. */
export class EngineRows implements StoredRows {
  readonly #rows: KvIterator
  readonly #format: StoredFormat

  constructor(rows: KvIterator, format: StoredFormat) {
    this.#rows = rows
    this.#format = format
  }

  next(): StoredRow | undefined {
    const { value: row } = this.#rows.next()
    if (row === undefined) return undefined
    const { value, timestamp } = this.#format.decode(row.value)
    return { text: keyText(row.key), key: row.key, value, timestamp }
  }

  [Symbol.dispose](): void {
    this.#rows[Symbol.dispose]()
  }
}

/** All rows in one table of the store's name. */
export class SingleTable implements EngineTable {
  readonly #table: KvTable

  constructor(engine: KvEngine, name: string) {
    this.#table = engine.table(name)
  }

  get(key: Buffer, text: string): Buffer | undefined {
    return this.#table.get(key, text)
  }

  scan(range: KvRange, format: StoredFormat): StoredRows {
    return new EngineRows(this.#table.range(range), format)
  }

  put(writes: EngineWrites, key: Buffer, value: Buffer): void {
    writes.put(this.#table, key, value)
  }

  putRow(writes: EngineWrites, row: PackedRow): void {
    putPackedRow(writes, this.#table, row)
  }

  delete(writes: EngineWrites, key: Buffer): void {
    writes.delete(this.#table, key)
  }

  putNow(key: Buffer, value: Buffer, text: string): void {
    this.#table.put(key, value, text)
  }

  deleteNow(key: Buffer, text: string): void {
    this.#table.delete(key, text)
  }

  approximateEntryCount(): number {
    return this.#table.approximateEntryCount()
  }

  committed(): void {
    // Nothing waits.
  }

  beginWrite(): void {
    // As above.
  }

  endWrite(): void {
    // As above.
  }
}
