import type { KvEngine, KvTable } from '../kv/kv.ts'

/** The table of an engine that says how far each store has come; no store can have this name. */
export const offsetTableName = '__offsets'

/** Where the writes go: a batch or a transaction. */
interface Writes {
  put(table: KvTable, key: Buffer, value: Buffer): void
}

/**
 * The changelog offsets of the stores of one engine, written in the same atomic step as the rows that
 * they stand for. This takes the place of Kafka Streams' checkpoint file, which can only ever be
 * older than the rows.
 */
export class OffsetTable {
  readonly #table: KvTable

  constructor(engine: KvEngine) {
    this.#table = engine.table(offsetTableName)
  }

  /** The next offset of the store's changelog; undefined: none was written. */
  get(store: string): number | undefined {
    const bytes = this.#table.get(Buffer.from(store))
    return bytes === undefined ? undefined : Number(bytes.readBigInt64BE())
  }

  /** Of all stores that have one. */
  all(): Map<string, number> {
    const offsets = new Map<string, number>()
    using rows = this.#table.range()
    for (const { key, value } of rows) {
      offsets.set(key.toString(), Number(value.readBigInt64BE()))
    }
    return offsets
  }

  put(writes: Writes, store: string, offset: number): void {
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeBigInt64BE(BigInt(offset))
    writes.put(this.#table, Buffer.from(store), bytes)
  }
}
