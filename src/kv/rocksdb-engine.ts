/**
 * A persistent engine for state that is far larger than memory: RocksDB, by the package
 * `@nxtedition/rocksdb`. One database a task; its tables lie in one space of keys (rocksdb-keys.ts),
 * since the package must know column families before a database is opened, and stores make and drop
 * tables all the time.
 *
 * Every write is one native batch, in RocksDB's log before it is in memory: atomic over tables, and
 * safe from the death of the process. The log is not synced at each write. After the death of the
 * machine RocksDB takes it up to the first record that is not whole: an earlier commit, whose offsets
 * lie in the same batch, so that only more is replayed. Nothing is wiped then.
 *
 * A write that fails leaves the database able to read only: it must be opened anew.
 */
import { assert } from '../base/assert.ts'
import type { Disk } from '../base/disk.ts'
import { silentLog, type Log } from '../base/log.ts'
import type {
  KvBatch,
  KvEngine,
  KvEngineFactory,
  KvIterator,
  KvMetrics,
  KvRange,
  KvReader,
  KvSnapshot,
  KvTable,
  KvTransaction,
} from './kv.ts'
import { loadRocksdb, type NativeBatch, type RocksdbBinding } from './rocksdb-binding.ts'
import { encodeTableEntry, tableEntryKey } from './rocksdb-catalogue.ts'
import { RocksdbDirectory, diskFailure, type OpenDatabase } from './rocksdb-directory.ts'
import { isDamage } from './rocksdb-failure.ts'
import { rocksdbGauges, rocksdbProperty } from './rocksdb-gauges.ts'
import {
  allTablesBounds,
  rangeBounds,
  rocksdbKeyBytesMax,
  rowKey,
  tableIdMax,
} from './rocksdb-keys.ts'
import { nativeOptions, resolveRocksdbOptions, type RocksdbOptions } from './rocksdb-options.ts'
import { RocksdbIterator, SharedMoment, clearTable, type RocksdbFiles } from './rocksdb-rows.ts'
import { RocksdbTable, type TableHost } from './rocksdb-table.ts'
import { RocksdbWrites } from './rocksdb-writes.ts'

function asRocksdbTable(table: KvTable): RocksdbTable {
  assert(table instanceof RocksdbTable, 'a table of its own engine is written')
  return table
}

/** Writes that wait for `commit`, one way or the other: nothing is seen before. */
class RocksdbBatch implements KvBatch {
  readonly #engine: RocksdbEngine
  #writes: RocksdbWrites | undefined

  constructor(engine: RocksdbEngine) {
    this.#engine = engine
    this.#writes = new RocksdbWrites(engine.files())
  }

  put(table: KvTable, key: Buffer, value: Buffer): void {
    this.#open().put(asRocksdbTable(table), key, value)
  }

  delete(table: KvTable, key: Buffer): void {
    this.#open().delete(asRocksdbTable(table), key)
  }

  #open(): RocksdbWrites {
    assert(this.#writes !== undefined, 'the batch is not committed')
    return this.#writes
  }

  commit(): void {
    const writes = this.#open()
    this.#writes = undefined
    this.#engine.write(writes)
  }
}

class RocksdbTransaction implements KvTransaction {
  readonly #engine: RocksdbEngine
  readonly #onEnd: () => void
  #writes: RocksdbWrites | undefined

  constructor(engine: RocksdbEngine, onEnd: () => void) {
    this.#engine = engine
    this.#onEnd = onEnd
    this.#writes = new RocksdbWrites(engine.files())
  }

  get isOpen(): boolean {
    return this.#writes !== undefined
  }

  put(table: KvTable, key: Buffer, value: Buffer): void {
    this.#writes?.put(asRocksdbTable(table), key, value)
  }

  delete(table: KvTable, key: Buffer): void {
    this.#writes?.delete(asRocksdbTable(table), key)
  }

  commit(): boolean {
    const writes = this.#writes
    if (writes === undefined) return false
    this.discard()
    this.#engine.write(writes)
    return true
  }

  discard(): void {
    if (this.#writes === undefined) return
    this.#writes = undefined
    this.#onEnd()
  }
}

class RocksdbSnapshot implements KvSnapshot {
  readonly #engine: RocksdbEngine
  readonly #moment: SharedMoment
  /** Numbers of tables that were there. */
  readonly #tables: ReadonlyMap<string, number>
  readonly #onClose: () => void
  #isOpen = true

  constructor(
    engine: RocksdbEngine,
    moment: SharedMoment,
    tables: ReadonlyMap<string, number>,
    onClose: () => void,
  ) {
    this.#engine = engine
    this.#moment = moment
    this.#tables = tables
    this.#onClose = onClose
  }

  table(name: string): KvReader {
    const id = this.#tables.get(name)
    return {
      get: (key) =>
        this.#read((moment) => (id === undefined ? undefined : moment.get(rowKey(id, key)))),
      range: (range = {}) => this.#read((moment) => this.#range(moment, id, range)),
    }
  }

  #range(moment: SharedMoment, id: number | undefined, range: KvRange): KvIterator {
    const bounds = id === undefined ? undefined : rangeBounds(id, range)
    const rows = bounds && moment.range(bounds, range.reverse === true)
    return this.#engine.opened(new RocksdbIterator(this.#engine, rows))
  }

  #read<T>(work: (moment: SharedMoment) => T): T {
    assert(this.#isOpen, 'the snapshot is open')
    try {
      return work(this.#moment)
    } catch (error) {
      throw this.#engine.failure(error)
    }
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#moment.release()
    this.#onClose()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** State of one task in a database of RocksDB. */
export class RocksdbEngine implements KvEngine, TableHost {
  readonly persistent = true
  readonly keyBytesMax = rocksdbKeyBytesMax
  readonly transactionSpan = 'many-turns'
  readonly #directory: RocksdbDirectory
  readonly #database: OpenDatabase
  readonly #tables = new Map<string, RocksdbTable>()
  readonly #iterators = new Set<RocksdbIterator>()
  readonly #snapshots = new Set<RocksdbSnapshot>()
  #nextId: number
  #transaction: RocksdbTransaction | undefined
  #isClosed = false

  constructor(directory: RocksdbDirectory) {
    this.#directory = directory
    this.#database = directory.open()
    const { tables, nextId } = this.#database.catalogue
    this.#nextId = nextId
    for (const [name, entry] of tables) this.#tables.set(name, new RocksdbTable(name, entry, this))
  }

  files(): RocksdbFiles {
    assert(!this.#isClosed, 'the engine is open')
    return this.#database.files
  }

  failure(error: unknown): unknown {
    if (isDamage(error)) this.#directory.noteDamage()
    return diskFailure(this.#directory.path, error)
  }

  table(name: string): KvTable {
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    assert(name !== '', 'a table has a name')
    assert(this.#nextId < tableIdMax, 'there are numbers for more tables')
    const entry = { id: this.#nextId, sampledRows: 0 }
    this.#writeNow((binding, batch) =>
      binding.batch_put(batch, tableEntryKey(name), encodeTableEntry(entry)),
    )
    this.#nextId += 1
    const table = new RocksdbTable(name, entry, this)
    this.#tables.set(name, table)
    return table
  }

  tableNames(): string[] {
    return [...this.#tables.keys()].sort()
  }

  /** First the name goes, then the rows: without a name they go when the database is next opened. */
  dropTable(name: string): void {
    const table = this.#tables.get(name)
    if (table === undefined) return
    this.#writeNow((binding, batch) => binding.batch_del(batch, tableEntryKey(name)))
    this.#tables.delete(name)
    table.isDropped = true
    try {
      clearTable(this.files(), table.id)
    } catch (error) {
      throw this.failure(error)
    }
  }

  #writeNow(fill: (binding: RocksdbBinding, batch: NativeBatch) => void): void {
    const { binding, database } = this.files()
    this.#transaction?.discard()
    try {
      const batch = binding.batch_init()
      fill(binding, batch)
      binding.batch_write(database, batch)
    } catch (error) {
      throw this.failure(error)
    }
  }

  batch(): KvBatch {
    return new RocksdbBatch(this)
  }

  begin(): KvTransaction {
    assert(this.#transaction === undefined, 'one transaction at a time')
    this.#transaction = new RocksdbTransaction(this, () => {
      this.#transaction = undefined
    })
    return this.#transaction
  }

  write(writes: RocksdbWrites): void {
    this.files()
    if (writes.isEmpty) return
    this.#transaction?.discard()
    try {
      writes.apply()
    } catch (error) {
      throw this.failure(error)
    }
  }

  opened(iterator: RocksdbIterator): KvIterator {
    if (iterator.isOpen) this.#iterators.add(iterator)
    return iterator
  }

  closed(iterator: RocksdbIterator): void {
    this.#iterators.delete(iterator)
  }

  snapshot(): KvSnapshot {
    const files = this.files()
    try {
      const moment = new SharedMoment(files, allTablesBounds())
      const tables = new Map([...this.#tables].map(([name, { id }]) => [name, id]))
      const snapshot: RocksdbSnapshot = new RocksdbSnapshot(this, moment, tables, () =>
        this.#snapshots.delete(snapshot),
      )
      this.#snapshots.add(snapshot)
      return snapshot
    } catch (error) {
      throw this.failure(error)
    }
  }

  metrics(): KvMetrics {
    const files = this.files()
    let entryCount = 0
    for (const table of this.#tables.values()) entryCount += table.approximateEntryCount()
    return {
      entryCount,
      sizeBytes:
        rocksdbProperty(files, 'total-sst-files-size') +
        rocksdbProperty(files, 'cur-size-all-mem-tables'),
      openIterators: this.#iterators.size,
      openSnapshots: this.#snapshots.size,
    }
  }

  gauges(): ReadonlyMap<string, number> {
    return rocksdbGauges(this.files())
  }

  close(): void {
    if (this.#isClosed) return
    this.#transaction?.discard()
    for (const iterator of this.#iterators) iterator.return()
    for (const snapshot of this.#snapshots) snapshot.close()
    this.#isClosed = true
    this.#directory.close(this.#database)
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

export interface RocksdbEngineOptions {
  readonly disk: Disk
  /** Hears that files were wiped, and why. Default: nothing is logged. */
  readonly log?: Log
  readonly options?: RocksdbOptions
  /** A file: the package is looked for from there. Default: from here. */
  readonly from?: string | URL
}

/**
 * Makes engines of RocksDB, by the package `@nxtedition/rocksdb`. Files that RocksDB finds damaged are
 * wiped with a warning, at once or, when it finds out later, when they are next opened: the changelog
 * has everything.
 *
 * The engine throws `DISK_FAILED` when the disk is full or fails; it then reads on, with the last
 * commit, and writes again when it is opened anew. `KEY_TOO_LONG` for keys of more than
 * {@link rocksdbKeyBytesMax} bytes, `ENGINE_UNAVAILABLE` where the package is not installed or does not
 * run, `CONFIG_INVALID` for an option that is wrong.
 */
export function rocksdbEngine(setup: RocksdbEngineOptions): KvEngineFactory {
  const { disk, log = silentLog, from } = setup
  const options = nativeOptions(resolveRocksdbOptions(setup.options ?? {}))
  return (directory) => {
    const path = `${directory}/rocksdb`
    const rocksdb = loadRocksdb(from)
    return new RocksdbEngine(new RocksdbDirectory({ path, disk, log, rocksdb, options }))
  }
}
