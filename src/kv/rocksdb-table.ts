import { assert } from '../base/assert.ts'
import type { KvIterator, KvRange, KvTable } from './kv.ts'
import type { TableEntry } from './rocksdb-catalogue.ts'
import { rangeBounds, rocksdbKeyBytesMax, rowKey, tableBounds } from './rocksdb-keys.ts'
import {
  OwnRows,
  RocksdbIterator,
  nativeIterator,
  type IteratorOwner,
  type RocksdbFiles,
} from './rocksdb-rows.ts'
import { RocksdbWrites } from './rocksdb-writes.ts'
import { rowsPerSampled } from './row-sample.ts'

/** So many rows are counted; more are estimated. */
const countedRowsMax = 1024

/** What a table needs of its engine. */
export interface TableHost extends IteratorOwner {
  /** Asserts that the engine is open. */
  files(): RocksdbFiles
  opened(iterator: RocksdbIterator): KvIterator
  write(writes: RocksdbWrites): void
}

export class RocksdbTable implements KvTable {
  readonly name: string
  readonly id: number
  readonly #host: TableHost
  /** Rows in the sample (see row-sample.ts), as the catalogue has it. */
  sampledRows: number
  isDropped = false

  constructor(name: string, entry: TableEntry, host: TableHost) {
    this.name = name
    this.id = entry.id
    this.sampledRows = entry.sampledRows
    this.#host = host
  }

  get(key: Buffer): Buffer | undefined {
    this.check()
    if (key.length > rocksdbKeyBytesMax) return undefined
    const { binding, database } = this.#host.files()
    try {
      return binding.db_get_many_sync(database, [rowKey(this.id, key)])[0]
    } catch (error) {
      throw this.#host.failure(error)
    }
  }

  range(range: KvRange = {}): KvIterator {
    this.check()
    const files = this.#host.files()
    const bounds = rangeBounds(this.id, range)
    try {
      const rows = bounds && new OwnRows(files, bounds, range.reverse === true)
      return this.#host.opened(new RocksdbIterator(this.#host, rows))
    } catch (error) {
      throw this.#host.failure(error)
    }
  }

  /** RocksDB has no count of a part of its keys. */
  approximateEntryCount(): number {
    this.check()
    const counted = this.#countRows(countedRowsMax + 1)
    return counted > countedRowsMax ? Math.max(counted, this.sampledRows * rowsPerSampled) : counted
  }

  #countRows(most: number): number {
    const files = this.#host.files()
    const { binding } = files
    const bounds = tableBounds(this.id)
    try {
      const native = nativeIterator(files, { bounds, reverse: false, keysOnly: true })
      try {
        let count = 0
        while (count < most) {
          const { rows, finished } = binding.iterator_nextv_sync(native, most - count)
          count += rows.length / 2
          if (finished) break
        }
        return count
      } finally {
        binding.iterator_close(native)
      }
    } catch (error) {
      throw this.#host.failure(error)
    }
  }

  put(key: Buffer, value: Buffer): void {
    const writes = new RocksdbWrites(this.#host.files())
    writes.put(this, key, value)
    this.#host.write(writes)
  }

  delete(key: Buffer): void {
    const writes = new RocksdbWrites(this.#host.files())
    writes.delete(this, key)
    this.#host.write(writes)
  }

  check(): void {
    assert(!this.isDropped, `the table ${this.name} is there`)
  }
}
