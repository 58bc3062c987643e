/**
 * The engine interface: ordered bytes to bytes, synchronous, borrowed buffers. Order is unsigned
 * byte order. One engine holds what one task remembers: a named table for each store (and for each
 * window segment), so that a batch over several of them is atomic.
 *
 * Buffers that an engine returns are borrowed: they are valid until the next call on that engine.
 * Buffers that are given to it may be kept by it: the caller does not change them afterwards.
 */

/** A row; both parts are borrowed. */
export interface KvEntry {
  readonly key: Buffer
  readonly value: Buffer
}

/** Bounds of a scan. Absent: open. `from` is inclusive, `to` inclusive unless `toExclusive`. */
export interface KvRange {
  readonly from?: Buffer
  readonly to?: Buffer
  readonly toExclusive?: boolean
  readonly reverse?: boolean
}

/** Rows in order, as they were when the scan began. Closed at its end, by `return()` and by `using`. */
export interface KvIterator extends IterableIterator<KvEntry>, Disposable {}

/** What can be read at one moment: the live table, or a snapshot of it. */
export interface KvReader {
  get(key: Buffer): Buffer | undefined
  range(range?: KvRange): KvIterator
}

export interface KvTable extends KvReader {
  readonly name: string
  /** Exact in memory; in a persistent engine what it counts cheaply. */
  approximateEntryCount(): number
}

/** Writes of several tables that become visible together, or not at all. */
export interface KvBatch {
  put(table: KvTable, key: Buffer, value: Buffer): void
  delete(table: KvTable, key: Buffer): void
  /** Applies all writes in one atomic step. The batch is spent afterwards. */
  commit(): void
}

/** A consistent view of all tables. Holding one keeps old pages alive: bound its age. */
export interface KvSnapshot extends Disposable {
  table(name: string): KvReader
  close(): void
}

export interface KvMetrics {
  readonly entryCount: number
  /** Bytes that the engine occupies: on disk, or estimated in memory. */
  readonly sizeBytes: number
  readonly openIterators: number
  readonly openSnapshots: number
}

export interface KvEngine extends Disposable {
  /** False: everything is lost on close, and restored from the changelog. */
  readonly persistent: boolean
  /** Opens the table, creating it when it is new. The same object for the same name. */
  table(name: string): KvTable
  tableNames(): string[]
  /** Removes a table with all its rows in one cheap step: how window segments expire. */
  dropTable(name: string): void
  batch(): KvBatch
  snapshot(): KvSnapshot
  metrics(): KvMetrics
  /** Idempotent. Open iterators and snapshots are closed first. */
  close(): void
}

/** How an engine for a task is made. `directory` exists and belongs to that task alone. */
export type KvEngineFactory = (directory: string) => KvEngine
