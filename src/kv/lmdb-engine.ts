/**
 * The persistent engine: LMDB, by the package `lmdb`, pinned to one version because some of its
 * inner ways are used. One environment a task, every table a named database, never the root.
 *
 * LMDB refuses the empty key. Keys that begin with a zero byte (and the empty one) are therefore
 * stored with one more zero byte in front, which keeps the order and costs other keys nothing.
 *
 * A write transaction that stays open over many turns is made of the package's synchronous one: its
 * callback returns a thenable, and the transaction ends when that is resolved. Meanwhile readers
 * must not see it: `env.writeTxn`, which they would prefer, is cleared, and scans state their own
 * transaction.
 *
 * In threads other than the main one, none stays open for so long: it would keep one that is ended from
 * outside from ever ending (write-gate.ts).
 *
 * There is no fsync at a commit: see engine-session.ts.
 */
import { createRequire } from 'node:module'
import { platform } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import type { Database, RootDatabase } from 'lmdb'
import { assert } from '../base/assert.ts'
import { emptyBytes } from '../base/bytes.ts'
import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import { silentLog, type Log } from '../base/log.ts'
import { StreamsError, messageOf } from '../errors.ts'
import { EngineSession } from './engine-session.ts'
import type {
  KvBatch,
  KvEngine,
  KvEngineFactory,
  KvEntry,
  KvIterator,
  KvMetrics,
  KvRange,
  KvReader,
  KvSnapshot,
  KvTable,
  KvTransaction,
  PackedRow,
} from './kv.ts'
import { binaryOf, valueOf, writeKey } from './lmdb-row.ts'
import { ownGate } from './write-gate.ts'

/** The longest key, in bytes. */
export const lmdbKeyBytesMax = 4025
/** Larger pages than the system's make writes cheaper: fewer pages are copied (measured). */
const pageBytes = 16_384
/**
 * Addresses set aside for the file. When it outgrows them the package maps it anew, and leaves the old map
 * for readers, until the end: each page that was seen through several maps counts for the process once in
 * each. On Windows the file would be as large, and where addresses have 32 bits there are too few.
 */
const mapBytes = 2 ** 30
const mayMapMore = platform() !== 'win32' && !['arm', 'ia32'].includes(process.arch)
/** Named databases of one environment: stores, window segments, offsets. */
const tablesMax = 1024
/** Read transactions that may be open in one environment. */
const readersMax = 1024
/** LMDB's magic number, in the first bytes of each of the first two pages. */
const magic = 0xbeef_c0de
const magicWithinBytes = 64
/** After so many rows of a transaction the gate hears that it gets on. */
const rowsPerStep = 1024

type Transaction = ReturnType<RootDatabase['useReadTransaction']>
type Binary = Database<Buffer, Buffer>

/** Inner parts of the package's databases that are used here. */
interface DatabaseInternals {
  readonly env: { writeTxn: unknown; info(): { lastPageNumber: number } }
  readonly db: { stat(): { entryCount: number } }
  readonly lastSize: number
  ensureReadTxn(): void
  /** Writes a key into the bytes of an instruction; returns where it ends. */
  writeKey: typeof writeKey
}

const internals = (database: Binary): DatabaseInternals => database as unknown as DatabaseInternals

const databaseOptions = {
  encoding: 'binary',
  keyEncoding: 'binary',
  cache: false,
  compression: false,
} as const

function failed(path: string, error: unknown): StreamsError {
  if (error instanceof StreamsError) return error
  return new StreamsError('DISK_FAILED', { path, detail: messageOf(error) }, { cause: error })
}

/** What the package does in transactions of its own. */
function writing<T>(work: () => T): T {
  const gate = ownGate()
  gate.enter()
  try {
    return work()
  } finally {
    gate.leave()
  }
}

function assertKeyLength(bytes: number): void {
  if (bytes > lmdbKeyBytesMax) {
    throw new StreamsError('KEY_TOO_LONG', { bytes, limit: lmdbKeyBytesMax })
  }
}

function encodeKey(key: Buffer): Buffer {
  assertKeyLength(key.length)
  return escapeKey(key)
}

function escapeKey(key: Buffer): Buffer {
  if (key.length > 0 && key[0] !== 0) return key
  const escaped = Buffer.allocUnsafe(key.length + 1)
  escaped[0] = 0
  escaped.set(key, 1)
  return escaped
}

const decodeKey = (key: Buffer): Buffer => (key[0] === 0 ? key.subarray(1) : key)

/** A bound may be longer than any key: then it lies just behind its beginning. */
function encodeBound(bound: Buffer): { key: Buffer; isCut: boolean } {
  const isCut = bound.length > lmdbKeyBytesMax
  return { key: escapeKey(isCut ? bound.subarray(0, lmdbKeyBytesMax) : bound), isCut }
}

/** The range in the package's words. The end is always stated: by default it skips the first key. */
function rangeOptions({ from, to, toExclusive, reverse }: KvRange): {
  start?: Buffer | undefined
  end: Buffer | undefined
  reverse: boolean
  exclusiveStart: boolean
  inclusiveEnd: boolean
} {
  const lower = from && encodeBound(from)
  const upper = to && encodeBound(to)
  const isLowerExcluded = lower?.isCut === true
  const isUpperExcluded = toExclusive === true && upper?.isCut !== true
  if (reverse === true) {
    return {
      start: upper?.key,
      end: lower?.key,
      reverse: true,
      exclusiveStart: isUpperExcluded,
      inclusiveEnd: !isLowerExcluded,
    }
  }
  const options = {
    end: upper?.key,
    reverse: false,
    exclusiveStart: isLowerExcluded,
    inclusiveEnd: !isUpperExcluded,
  }
  return lower === undefined ? options : Object.assign(options, { start: lower.key })
}

function read(database: Binary, key: Buffer, transaction?: Transaction): Buffer | undefined {
  if (key.length > lmdbKeyBytesMax) return undefined
  const options = transaction && { transaction }
  // The bytes lie in a buffer that all environments share, longer than the value; or, when they are
  // many, in the mapped file itself, which they must not outlive.
  const bytes = (
    database as unknown as {
      getBinaryFast(key: Buffer, options?: object): (Buffer & { isGlobal?: boolean }) | undefined
    }
  ).getBinaryFast(escapeKey(key), options)
  if (bytes === undefined) return undefined
  return bytes.isGlobal === true
    ? bytes.subarray(0, internals(database).lastSize)
    : Buffer.from(bytes)
}

class LmdbTable implements KvTable {
  readonly name: string
  readonly database: Binary
  readonly #engine: LmdbEngine
  isDropped = false

  constructor(name: string, database: Binary, engine: LmdbEngine) {
    this.name = name
    this.database = database
    this.#engine = engine
  }

  get(key: Buffer): Buffer | undefined {
    this.check()
    return this.#engine.attempt(() => read(this.database, key))
  }

  range(range: KvRange = {}): KvIterator {
    this.check()
    return this.#engine.scan(this.database, range)
  }

  approximateEntryCount(): number {
    this.check()
    internals(this.database).ensureReadTxn()
    return internals(this.database).db.stat().entryCount
  }

  put(key: Buffer, value: Buffer): void {
    const batch = this.#engine.batch()
    batch.put(this, key, value)
    batch.commit()
  }

  delete(key: Buffer): void {
    const batch = this.#engine.batch()
    batch.delete(this, key)
    batch.commit()
  }

  check(): void {
    assert(!this.isDropped, `the table ${this.name} is there`)
  }
}

/** Rows of one table, in the order of a transaction of its own. */
class LmdbIterator implements KvIterator {
  readonly #rows: Iterator<{ key: Buffer; value: Buffer }>
  readonly #engine: LmdbEngine
  readonly #onClose: () => void
  #isOpen = true

  constructor(
    rows: Iterator<{ key: Buffer; value: Buffer }>,
    engine: LmdbEngine,
    onClose: () => void,
  ) {
    this.#rows = rows
    this.#engine = engine
    this.#onClose = onClose
  }

  next(): IteratorResult<KvEntry, undefined> {
    if (!this.#isOpen) return { done: true, value: undefined }
    const result = this.#engine.attempt(() => this.#rows.next())
    if (result.done === true) return this.return()
    const { key, value } = result.value
    return { done: false, value: { key: decodeKey(key), value } }
  }

  return(): IteratorReturnResult<undefined> {
    if (this.#isOpen) {
      this.#isOpen = false
      this.#rows.return?.()
      this.#onClose()
    }
    return { done: true, value: undefined }
  }

  [Symbol.iterator](): this {
    return this
  }

  [Symbol.dispose](): void {
    this.return()
  }
}

class LmdbSnapshot implements KvSnapshot {
  readonly #engine: LmdbEngine
  readonly #transaction: Transaction
  readonly #tables: ReadonlyMap<string, LmdbTable>
  readonly #onClose: () => void
  #isOpen = true

  constructor(
    engine: LmdbEngine,
    transaction: Transaction,
    tables: ReadonlyMap<string, LmdbTable>,
    onClose: () => void,
  ) {
    this.#engine = engine
    this.#transaction = transaction
    this.#tables = tables
    this.#onClose = onClose
  }

  table(name: string): KvReader {
    const database = this.#tables.get(name)?.database
    const check = (): void => assert(this.#isOpen, 'the snapshot is open')
    return {
      get: (key) => {
        check()
        return database && this.#engine.attempt(() => read(database, key, this.#transaction))
      },
      range: (range = {}) => {
        check()
        return database === undefined
          ? new LmdbIterator([].values(), this.#engine, () => undefined)
          : this.#engine.scan(database, range, this.#transaction)
      },
    }
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#transaction.done()
    this.#onClose()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

interface Write {
  readonly table: LmdbTable
  readonly key: Buffer
  /** Undefined: delete. */
  readonly value: Buffer | undefined
}

function asLmdbTable(table: KvTable): LmdbTable {
  assert(table instanceof LmdbTable, 'a table of its own engine is written')
  table.check()
  return table
}

class LmdbBatch implements KvBatch {
  readonly #engine: LmdbEngine
  #writes: Write[] = []

  constructor(engine: LmdbEngine) {
    this.#engine = engine
  }

  put(table: KvTable, key: Buffer, value: Buffer): void {
    this.#writes.push({ table: asLmdbTable(table), key: encodeKey(key), value })
  }

  delete(table: KvTable, key: Buffer): void {
    if (key.length > lmdbKeyBytesMax) return
    this.#writes.push({ table: asLmdbTable(table), key: escapeKey(key), value: undefined })
  }

  commit(): void {
    const writes = this.#writes
    this.#writes = []
    if (writes.length > 0) this.#engine.write(writes)
  }
}

function apply({ table, key, value }: Write): void {
  // Inside of a write transaction these are done at once; what they return is of no use.
  if (value === undefined) void table.database.remove(key)
  else void table.database.put(key, binaryOf(value))
}

/** The thenable that keeps the package's synchronous transaction open. */
class OpenEnd {
  #commit: (() => void) | undefined
  #abort: ((reason: unknown) => void) | undefined

  // oxlint-disable-next-line unicorn/no-thenable -- that it is one is the point
  then(commit: () => void, abort: (reason: unknown) => void): this {
    this.#commit = commit
    this.#abort = abort
    return this
  }

  commit(): void {
    this.#commit?.()
  }

  abort(): void {
    try {
      this.#abort?.(this)
    } catch (error) {
      // The package throws the reason of the abort, once it is done.
      if (error !== this) throw error
    }
  }
}

class LmdbTransaction implements KvTransaction {
  isOpen = true
  readonly #engine: LmdbEngine
  readonly #end: OpenEnd
  readonly #onEnd: () => void
  #writtenTable: LmdbTable | undefined
  #rowCount = 0

  constructor(engine: LmdbEngine, end: OpenEnd, onEnd: () => void) {
    this.#engine = engine
    this.#end = end
    this.#onEnd = onEnd
  }

  put(table: KvTable, key: Buffer, value: Buffer): void {
    this.#write({ table: asLmdbTable(table), key: encodeKey(key), value })
  }

  delete(table: KvTable, key: Buffer): void {
    if (key.length > lmdbKeyBytesMax) return
    this.#write({ table: asLmdbTable(table), key: escapeKey(key), value: undefined })
  }

  putRow(table: KvTable, row: PackedRow): void {
    if (!this.isOpen) return
    assertKeyLength(row.valueStart - row.keyStart)
    // A table that is dropped ends the transaction: the one that was written last need not be looked at.
    if (table !== this.#writtenTable) this.#writtenTable = asLmdbTable(table)
    this.#count()
    try {
      void this.#writtenTable.database.put(row as unknown as Buffer, valueOf(row))
    } catch (error) {
      this.#fail(error)
    }
  }

  #write(write: Write): void {
    if (!this.isOpen) return
    this.#count()
    try {
      apply(write)
    } catch (error) {
      this.#fail(error)
    }
  }

  #count(): void {
    this.#rowCount += 1
    if (this.#rowCount % rowsPerStep === 0) ownGate().step()
  }

  #fail(error: unknown): never {
    this.discard()
    throw failed(this.#engine.path, error)
  }

  commit(): boolean {
    if (!this.isOpen) return false
    this.#close(() => this.#end.commit())
    return true
  }

  discard(): void {
    if (!this.isOpen) return
    this.#close(() => this.#end.abort())
  }

  #close(end: () => void): void {
    this.isOpen = false
    // What was written last is not to be kept for its own sake.
    binaryOf(emptyBytes)
    try {
      this.#engine.attempt(end)
    } finally {
      this.#onEnd()
    }
  }
}

/** State of one task in files. */
export class LmdbEngine implements KvEngine {
  readonly persistent = true
  readonly keyBytesMax = lmdbKeyBytesMax
  readonly transactionSpan = isMainThread ? 'many-turns' : 'one-turn'
  readonly path: string
  readonly #root: RootDatabase<Buffer, Buffer>
  readonly #onClose: () => void
  readonly #tables = new Map<string, LmdbTable>()
  /** Emptied while readers see them; removed when the last reader is gone. */
  readonly #emptied = new Set<LmdbTable>()
  readonly #iterators = new Set<LmdbIterator>()
  readonly #snapshots = new Set<LmdbSnapshot>()
  #transaction: LmdbTransaction | undefined
  #isClosed = false

  constructor(options: { path: string; root: RootDatabase<Buffer, Buffer>; onClose: () => void }) {
    this.path = options.path
    this.#root = options.root
    this.#onClose = options.onClose
    // All at once: a snapshot cannot see a database that is opened after it. The names end in a zero
    // byte.
    const names = [...this.#root.getKeys()].map((key) => key.toString().replace(/\0$/, ''))
    for (const name of names) this.#openTable(name)
  }

  /** Failures of LMDB are failures of the disk. */
  attempt<T>(work: () => T): T {
    assert(!this.#isClosed, 'the engine is open')
    try {
      return work()
    } catch (error) {
      throw failed(this.path, error)
    }
  }

  #writing<T>(work: () => T): T {
    return writing(() => this.attempt(work))
  }

  #openTable(name: string): LmdbTable {
    assert(name !== '', 'a table has a name')
    // Opening ends the current read transaction, also under an iterator that reads in it. It is
    // therefore put aside first: it then ends with its last reader.
    this.#root.resetReadTxn()
    const database = this.#root.openDB<Buffer, Buffer>({ name, ...databaseOptions })
    internals(database).writeKey = writeKey
    const table = new LmdbTable(name, database, this)
    this.#tables.set(name, table)
    return table
  }

  table(name: string): KvTable {
    const table = this.#tables.get(name)
    if (table !== undefined) return table
    this.#transaction?.discard()
    for (const emptied of this.#emptied) {
      if (emptied.name !== name) continue
      this.#emptied.delete(emptied)
      const revived = new LmdbTable(name, emptied.database, this)
      this.#tables.set(name, revived)
      return revived
    }
    return this.#writing(() => this.#openTable(name))
  }

  tableNames(): string[] {
    return [...this.#tables.keys()].sort()
  }

  dropTable(name: string): void {
    const table = this.#tables.get(name)
    if (table === undefined) return
    this.#transaction?.discard()
    this.#tables.delete(name)
    table.isDropped = true
    if (this.#hasReaders()) {
      this.#writing(() => table.database.clearSync())
      this.#emptied.add(table)
    } else this.#writing(() => table.database.dropSync())
  }

  #hasReaders(): boolean {
    return this.#iterators.size + this.#snapshots.size > 0
  }

  #removeEmptied(): void {
    if (this.#emptied.size === 0 || this.#hasReaders() || this.#isClosed) return
    this.#transaction?.discard()
    for (const { database } of this.#emptied) this.#writing(() => database.dropSync())
    this.#emptied.clear()
  }

  batch(): KvBatch {
    assert(!this.#isClosed, 'the engine is open')
    return new LmdbBatch(this)
  }

  write(writes: readonly Write[]): void {
    this.#transaction?.discard()
    this.#writing(() => {
      this.#root.transactionSync(() => {
        for (const write of writes) apply(write)
      })
    })
  }

  begin(): KvTransaction {
    assert(this.#transaction === undefined, 'one transaction at a time')
    const end = new OpenEnd()
    const gate = ownGate()
    gate.enter()
    try {
      this.attempt(() => {
        this.#root.transactionSync(() => end)
        internals(this.#root).env.writeTxn = null
      })
    } catch (error) {
      gate.leave()
      throw error
    }
    this.#transaction = new LmdbTransaction(this, end, () => {
      this.#transaction = undefined
      gate.leave()
    })
    return this.#transaction
  }

  scan(database: Binary, range: KvRange, within?: Transaction): KvIterator {
    return this.attempt(() => {
      const transaction = within ?? this.#root.useReadTransaction()
      const rows = database.getRange({ ...rangeOptions(range), transaction })[Symbol.iterator]()
      const iterator: LmdbIterator = new LmdbIterator(rows, this, () => {
        if (within === undefined) transaction.done()
        this.#iterators.delete(iterator)
        this.#removeEmptied()
      })
      this.#iterators.add(iterator)
      return iterator
    })
  }

  snapshot(): KvSnapshot {
    return this.attempt(() => {
      const transaction = this.#root.useReadTransaction()
      const tables = new Map(this.#tables)
      const snapshot: LmdbSnapshot = new LmdbSnapshot(this, transaction, tables, () => {
        this.#snapshots.delete(snapshot)
        this.#removeEmptied()
      })
      this.#snapshots.add(snapshot)
      return snapshot
    })
  }

  metrics(): KvMetrics {
    assert(!this.#isClosed, 'the engine is open')
    let entryCount = 0
    for (const table of this.#tables.values()) entryCount += table.approximateEntryCount()
    return {
      entryCount,
      sizeBytes: (internals(this.#root).env.info().lastPageNumber + 1) * pageBytes,
      openIterators: this.#iterators.size,
      openSnapshots: this.#snapshots.size,
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#transaction?.discard()
    for (const iterator of this.#iterators) iterator.return()
    for (const snapshot of this.#snapshots) snapshot.close()
    this.#isClosed = true
    // Nothing is written in the background, so that it is closed when this returns.
    void this.#root.close()
    this.#onClose()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** The package dies of a file that is not LMDB's, so that we look first. */
function isLmdbFile(disk: Disk, path: string): boolean {
  using file = disk.open(path)
  const head = Buffer.alloc(magicWithinBytes)
  return [0, pageBytes].every((position) => {
    if (file.read(head, position) < magicWithinBytes) return false
    for (let at = 0; at < magicWithinBytes; at += 4)
      if (head.readUInt32LE(at) === magic) return true
    return false
  })
}

/** Loaded with the first engine: a program whose stores are in memory needs no native code. */
function loadLmdb(): typeof import('lmdb') {
  try {
    return createRequire(import.meta.url)('lmdb') as typeof import('lmdb')
  } catch (error) {
    const context = { engine: 'lmdb', detail: messageOf(error) }
    throw new StreamsError('ENGINE_UNAVAILABLE', context, { cause: error })
  }
}

export interface LmdbOptions {
  readonly disk: Disk
  readonly clock: Clock
  /** Hears that a file was wiped, and why. Default: nothing is logged. */
  readonly log?: Log
}

/**
 * Makes engines in files. A file that cannot be trusted, because the machine stopped while it was
 * open or because it is damaged, is wiped with a warning: the changelog has everything.
 *
 * The engine throws `DISK_FAILED` when the disk is full or fails; it then still holds the last
 * commit. `KEY_TOO_LONG` for keys of more than {@link lmdbKeyBytesMax} bytes, `ENGINE_UNAVAILABLE`
 * where LMDB does not run.
 */
export function lmdbEngine({ disk, clock, log = silentLog }: LmdbOptions): KvEngineFactory {
  return (directory) => {
    const path = `${directory}/lmdb`
    const dataPath = `${path}/data.mdb`
    const session = new EngineSession({ disk, clock, path: `${path}/session.json` })
    const wipe = (reason: string): void => {
      log.warn('A state file is wiped, to be restored from the changelog', { path, reason })
      disk.remove(path)
    }
    const { open } = loadLmdb()
    const openRoot = (): RootDatabase<Buffer, Buffer> => {
      disk.makeDirectory(path)
      session.begin()
      return open<Buffer, Buffer>({
        path,
        ...databaseOptions,
        noSync: true,
        pageSize: pageBytes,
        ...(mayMapMore && { mapSize: mapBytes }),
        maxDbs: tablesMax,
        maxReaders: readersMax,
      })
    }
    const onClose = (): void => {
      using file = disk.open(dataPath)
      file.sync()
      session.end()
    }
    const distrust = (): string | undefined => {
      if (!disk.exists(dataPath)) return undefined
      return isLmdbFile(disk, dataPath) ? session.distrust() : 'it is not a file of LMDB'
    }
    const reason = distrust()
    if (reason !== undefined) wipe(reason)
    return writing(() => {
      try {
        return new LmdbEngine({ path, root: openRoot(), onClose })
      } catch (error) {
        throw failed(path, error)
      }
    })
  }
}
