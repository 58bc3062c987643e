/**
 * The engine in memory: a row is found by a Map, and put in order only when somebody scans. Readers
 * see their own version of it (see row-versions.ts).
 *
 * Keys and values are held as latin1 strings, one byte a character. A Buffer of its own for each
 * would cost much more memory, and as a slice of a pool it would keep the whole pool alive.
 */
import { assert } from '../base/assert.ts'
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
} from './kv.ts'
import { RowVersions, valueAt, type VersionedRow } from './row-versions.ts'
import { SortedRows, keyText, type SortedCursor } from './sorted-rows.ts'

/** One row: its object, two string headers, its places in the Map and in the order. */
const rowOverheadBytes = 160
/** Deleted rows that are kept at most before they are cleared, unless there are as many live ones. */
const deletedRowsMax = 1024
/** Up to this length a loop decodes faster than native code (measured on Node 20). */
const loopBytesMax = 32

/** What `get` returns lies here; views of every short length are made once. */
let shared = Buffer.allocUnsafeSlow(4096)
let sharedViews: (Buffer | undefined)[] = []

/** The bytes of a latin1 string, borrowed until the next call. */
function borrow(text: string): Buffer {
  const { length } = text
  if (length > shared.length) {
    shared = Buffer.allocUnsafeSlow(length * 2)
    sharedViews = []
  }
  if (length > loopBytesMax) shared.write(text, 'latin1')
  else for (let at = 0; at < length; at += 1) shared[at] = text.charCodeAt(at)
  return (sharedViews[length] ??= shared.subarray(0, length))
}

const optionalText = (bytes: Buffer | undefined): string | undefined => bytes && keyText(bytes)

/** What a table asks of its engine. */
interface Host {
  readonly versions: RowVersions
  openIterator(iterator: MemoryIterator): MemoryIterator
  discardTransaction(): void
}

class MemoryTable implements KvTable {
  readonly name: string
  readonly #host: Host
  readonly #versions: RowVersions
  readonly #rows = new Map<string, VersionedRow>()
  readonly #order = new SortedRows<VersionedRow>()
  #liveCount = 0
  sizeBytes = 0

  constructor(name: string, host: Host) {
    this.name = name
    this.#host = host
    this.#versions = host.versions
  }

  get(key: Buffer, text = keyText(key)): Buffer | undefined {
    const value = this.#rows.get(text)?.value
    return value === undefined ? undefined : borrow(value)
  }

  getAt(key: Buffer, version: number): Buffer | undefined {
    const row = this.#rows.get(keyText(key))
    const value = row && valueAt(row, version)
    return value === undefined ? undefined : borrow(value)
  }

  range(range: KvRange = {}): KvIterator {
    return this.rangeAt(this.#versions.current, range)
  }

  rangeAt(version: number, { from, to, toExclusive, reverse }: KvRange): KvIterator {
    const bounds = { from: optionalText(from), to: optionalText(to), toExclusive, reverse }
    return this.#host.openIterator(new MemoryIterator(this.#order.view().cursor(bounds), version))
  }

  approximateEntryCount(): number {
    return this.#liveCount
  }

  put(key: Buffer, value: Buffer, text = keyText(key)): void {
    this.#host.discardTransaction()
    this.write(text, keyText(value), (this.#versions.current += 1))
  }

  delete(key: Buffer, text = keyText(key)): void {
    this.#host.discardTransaction()
    this.write(text, undefined, (this.#versions.current += 1))
  }

  write(text: string, value: string | undefined, version: number): void {
    const row = this.#rows.get(text)
    if (row === undefined) {
      if (value === undefined) return
      const added: VersionedRow = { text, value, version, older: undefined }
      this.#rows.set(text, added)
      this.#order.add(added)
      this.#count(1, rowOverheadBytes + text.length + value.length)
      return
    }
    if (this.#versions.newestReader >= row.version) this.#versions.keep(row)
    const before = row.value
    row.value = value
    row.version = version
    const grown = (value?.length ?? 0) - (before?.length ?? 0)
    const isLive = value !== undefined
    this.#count(Number(isLive) - Number(before !== undefined), grown)
    if (!isLive) this.#clearDeleted()
  }

  #count(rows: number, bytes: number): void {
    this.#liveCount += rows
    this.sizeBytes += bytes
  }

  #clearDeleted(): void {
    const deletedCount = this.#rows.size - this.#liveCount
    if (deletedCount <= deletedRowsMax || deletedCount <= this.#liveCount) return
    const oldest = this.#versions.oldest
    this.#order.retain((row) => {
      if (row.value !== undefined || row.version > oldest) return true
      this.#rows.delete(row.text)
      this.sizeBytes -= rowOverheadBytes + row.text.length
      return false
    })
  }
}

/** Rows of one table as they were at one version. */
class MemoryIterator implements KvIterator {
  readonly version: number
  readonly #cursor: SortedCursor<VersionedRow>
  onClose: (() => void) | undefined

  constructor(cursor: SortedCursor<VersionedRow>, version: number) {
    this.#cursor = cursor
    this.version = version
  }

  next(): IteratorResult<KvEntry, undefined> {
    while (this.onClose !== undefined) {
      const row = this.#cursor.next()
      if (row === undefined) break
      const value = valueAt(row, this.version)
      if (value === undefined) continue
      const entry = { key: Buffer.from(row.text, 'latin1'), value: Buffer.from(value, 'latin1') }
      return { done: false, value: entry }
    }
    return this.return()
  }

  return(): IteratorReturnResult<undefined> {
    const close = this.onClose
    this.onClose = undefined
    close?.()
    return { done: true, value: undefined }
  }

  [Symbol.iterator](): this {
    return this
  }

  [Symbol.dispose](): void {
    this.return()
  }
}

/** Writes that wait for `commit`. Transactions are the same: nothing is seen before. */
class MemoryBatch implements KvBatch, KvTransaction {
  isOpen = true
  readonly #versions: RowVersions
  readonly #onEnd: () => void
  #writes: { table: MemoryTable; text: string; value: string | undefined }[] = []

  constructor(versions: RowVersions, onEnd: () => void) {
    this.#versions = versions
    this.#onEnd = onEnd
  }

  put(table: KvTable, key: Buffer, value: Buffer): void {
    this.#add(table, key, keyText(value))
  }

  delete(table: KvTable, key: Buffer): void {
    this.#add(table, key, undefined)
  }

  #add(table: KvTable, key: Buffer, value: string | undefined): void {
    assert(table instanceof MemoryTable, 'a batch writes to tables of its own engine')
    if (this.isOpen) this.#writes.push({ table, text: keyText(key), value })
  }

  commit(): boolean {
    if (!this.isOpen) return false
    const version = (this.#versions.current += 1)
    for (const { table, text, value } of this.#writes) table.write(text, value, version)
    this.discard()
    return true
  }

  discard(): void {
    this.isOpen = false
    this.#writes = []
    this.#onEnd()
  }
}

class MemorySnapshot implements KvSnapshot {
  readonly #version: number
  readonly #tables: ReadonlyMap<string, MemoryTable>
  onClose: (() => void) | undefined

  constructor(version: number, tables: ReadonlyMap<string, MemoryTable>) {
    this.#version = version
    this.#tables = tables
  }

  table(name: string): KvReader {
    const table = this.#tables.get(name)
    const check = (): void => assert(this.onClose !== undefined, 'the snapshot is closed')
    return {
      get: (key) => {
        check()
        return table?.getAt(key, this.#version)
      },
      range: (range = {}) => {
        check()
        return table === undefined
          ? new MemoryIterator(new SortedRows<VersionedRow>().view().cursor(), this.#version)
          : table.rangeAt(this.#version, range)
      },
    }
  }

  close(): void {
    const close = this.onClose
    this.onClose = undefined
    close?.()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** State of one task in memory. Nothing outlives it. */
export class MemoryEngine implements KvEngine {
  readonly persistent: boolean = false
  readonly keyBytesMax: number = Infinity
  readonly transactionSpan: KvEngine['transactionSpan'] = 'many-turns'
  readonly #versions = new RowVersions()
  readonly #tables = new Map<string, MemoryTable>()
  readonly #iterators = new Set<MemoryIterator>()
  readonly #snapshots = new Set<MemorySnapshot>()
  #transaction: MemoryBatch | undefined
  #isClosed = false
  readonly #host: Host = {
    versions: this.#versions,
    openIterator: (iterator) => this.#openIterator(iterator),
    discardTransaction: () => this.#transaction?.discard(),
  }

  table(name: string): KvTable {
    assert(!this.#isClosed, 'the engine is open')
    let table = this.#tables.get(name)
    if (table === undefined) {
      this.#transaction?.discard()
      table = new MemoryTable(name, this.#host)
      this.#tables.set(name, table)
    }
    return table
  }

  #openIterator(iterator: MemoryIterator): MemoryIterator {
    assert(!this.#isClosed, 'the engine is open')
    this.#versions.open(iterator.version)
    this.#iterators.add(iterator)
    iterator.onClose = () => {
      this.#iterators.delete(iterator)
      this.#versions.close(iterator.version)
    }
    return iterator
  }

  tableNames(): string[] {
    return [...this.#tables.keys()].sort()
  }

  dropTable(name: string): void {
    if (!this.#tables.delete(name)) return
    this.#transaction?.discard()
  }

  batch(): KvBatch {
    assert(!this.#isClosed, 'the engine is open')
    const batch = new MemoryBatch(this.#versions, () => undefined)
    return {
      put: (table, key, value) => batch.put(table, key, value),
      delete: (table, key) => batch.delete(table, key),
      commit: () => {
        this.#transaction?.discard()
        batch.commit()
      },
    }
  }

  begin(): KvTransaction {
    assert(!this.#isClosed, 'the engine is open')
    assert(this.#transaction === undefined, 'one transaction at a time')
    this.#transaction = new MemoryBatch(this.#versions, () => {
      this.#transaction = undefined
    })
    return this.#transaction
  }

  snapshot(): KvSnapshot {
    assert(!this.#isClosed, 'the engine is open')
    const version = this.#versions.current
    this.#versions.open(version)
    const snapshot = new MemorySnapshot(version, new Map(this.#tables))
    this.#snapshots.add(snapshot)
    snapshot.onClose = () => {
      this.#snapshots.delete(snapshot)
      this.#versions.close(version)
    }
    return snapshot
  }

  metrics(): KvMetrics {
    let entryCount = 0
    let sizeBytes = 0
    for (const table of this.#tables.values()) {
      entryCount += table.approximateEntryCount()
      sizeBytes += table.sizeBytes
    }
    const openIterators = this.#iterators.size
    return { entryCount, sizeBytes, openIterators, openSnapshots: this.#snapshots.size }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const iterator of this.#iterators) iterator.return()
    for (const snapshot of this.#snapshots) snapshot.close()
    this.#transaction?.discard()
    this.#tables.clear()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** Makes engines in memory; the directory is not used. */
export const memoryEngine: KvEngineFactory = () => new MemoryEngine()
