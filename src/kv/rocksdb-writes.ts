import { assert } from '../base/assert.ts'
import type { NativeBatch } from './rocksdb-binding.ts'
import { encodeTableEntry, tableEntryKey } from './rocksdb-catalogue.ts'
import { rocksdbKeyBytesMax, rowKey, writtenRowKey } from './rocksdb-keys.ts'
import type { RocksdbFiles } from './rocksdb-rows.ts'
import type { RocksdbTable } from './rocksdb-table.ts'
import { isSampled } from './row-sample.ts'

/** A row of the sample that is written: what becomes of it in the end. */
interface SampledWrite {
  readonly table: RocksdbTable
  readonly key: Buffer
  isPut: boolean
}

/** Writes of several tables, in one native batch that has copied them. */
export class RocksdbWrites {
  readonly #files: RocksdbFiles
  readonly #native: NativeBatch
  /** By the bytes of the key of the row. */
  readonly #sampled = new Map<string, SampledWrite>()
  isEmpty = true

  constructor(files: RocksdbFiles) {
    this.#files = files
    this.#native = files.binding.batch_init()
  }

  /** Throws `KEY_TOO_LONG`. */
  put(table: RocksdbTable, key: Buffer, value: Buffer): void {
    table.check()
    const row = writtenRowKey(table.id, key)
    this.#files.binding.batch_put(this.#native, row, value)
    if (isSampled(key)) this.#sample(table, row, true)
    this.isEmpty = false
  }

  delete(table: RocksdbTable, key: Buffer): void {
    table.check()
    if (key.length > rocksdbKeyBytesMax) return
    const row = rowKey(table.id, key)
    this.#files.binding.batch_del(this.#native, row)
    if (isSampled(key)) this.#sample(table, row, false)
    this.isEmpty = false
  }

  #sample(table: RocksdbTable, row: Buffer, isPut: boolean): void {
    const text = row.toString('latin1')
    const known = this.#sampled.get(text)
    if (known === undefined) this.#sampled.set(text, { table, key: row, isPut })
    else known.isPut = isPut
  }

  /** Writes all at once, with the sizes of the samples that it changes. Only once. */
  apply(): void {
    const { binding, database } = this.#files
    const counts = this.#countSampled()
    for (const [{ name, id }, sampledRows] of counts) {
      binding.batch_put(this.#native, tableEntryKey(name), encodeTableEntry({ id, sampledRows }))
    }
    binding.batch_write(database, this.#native)
    for (const [table, sampledRows] of counts) table.sampledRows = sampledRows
  }

  /** The sizes that the samples of tables will have. */
  #countSampled(): Map<RocksdbTable, number> {
    const counts = new Map<RocksdbTable, number>()
    if (this.#sampled.size === 0) return counts
    const { binding, database } = this.#files
    const writes = [...this.#sampled.values()]
    const before = binding.db_get_many_sync(
      database,
      writes.map(({ key }) => key),
    )
    writes.forEach(({ table, isPut }, index) => {
      const change = Number(isPut) - Number(before[index] !== undefined)
      // A table that was dropped meanwhile must not come back.
      if (change === 0 || table.isDropped) return
      counts.set(table, (counts.get(table) ?? table.sampledRows) + change)
    })
    for (const count of counts.values()) assert(count >= 0, 'a sample has a size')
    return counts
  }
}
