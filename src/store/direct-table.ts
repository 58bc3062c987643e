/**
 * The layer of bytes over an engine in memory. Nothing of it outlives the process, so that nothing
 * has to wait for a commit: what is put is in the engine.
 */
import type { KvEngine, KvRange, KvTable } from '../kv/kv.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { ByteTable, StoredRows } from './byte-table.ts'
import { SingleTable, type EngineTable } from './engine-table.ts'
import { OffsetTable } from './offset-table.ts'
import type { StoredFormat, StoredValue } from './stored-value.ts'

const directWrites = {
  put: (table: KvTable, key: Buffer, value: Buffer): void => table.put(key, value),
}

/** A table whose writes go straight to its engine. */
export class DirectTable implements ByteTable {
  readonly keyBytesMax: number
  readonly #name: string
  readonly #table: EngineTable
  readonly #offsets: OffsetTable
  readonly #format: StoredFormat

  /** `rows`: where they lie; by default in the table of that name. */
  constructor(
    engine: KvEngine,
    name: string,
    format: StoredFormat,
    rows: EngineTable = new SingleTable(engine, name),
  ) {
    this.keyBytesMax = engine.keyBytesMax
    this.#name = name
    this.#table = rows
    this.#offsets = new OffsetTable(engine)
    this.#format = format
  }

  get(key: Buffer, text: string): StoredValue | undefined {
    const bytes = this.#table.get(key, text)
    return bytes && this.#format.decode(bytes)
  }

  put(key: Buffer, text: string, value: Buffer | null, timestamp: number): void {
    if (value === null) this.#table.deleteNow(key, text)
    else this.#table.putNow(key, this.#format.encode(value, timestamp), text)
  }

  scan(range: KvRange): StoredRows {
    return this.#table.scan(range, this.#format)
  }

  approximateEntryCount(): number {
    return this.#table.approximateEntryCount()
  }

  restore(key: Buffer, value: Buffer | null, timestamp: number): void {
    this.put(key, keyText(key), value, timestamp)
  }

  restored(offset: number): void {
    this.committed(offset + 1)
  }

  restoreOffset(): number {
    return this.#offsets.get(this.#name) ?? 0
  }

  committed(offset: number | undefined): void {
    if (offset !== undefined) this.#offsets.put(directWrites, this.#name, offset)
  }

  writeBehind(): boolean {
    return false
  }

  pinnedBytes(): number {
    return 0
  }

  uncommittedBytes(): number {
    return 0
  }

  close(): void {
    // The rows go with the engine.
  }
}
