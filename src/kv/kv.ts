/**
 * The engine interface: ordered bytes to bytes, synchronous, borrowed buffers. Order is unsigned
 * byte order. One engine holds what one task remembers: a named table for each store (and for each
 * window segment), so that a batch over several of them is atomic.
 *
 * What `get` returns is borrowed: it is valid until the next call on any engine (they share a
 * buffer). The rows of an iterator are the caller's. Keys and values that are given to an engine are
 * read before the call returns; those given to a batch are kept until it is committed.
 *
 * Any bytes are a key, none included, up to the engine's limit (`KEY_TOO_LONG` beyond).
 */

/** A row; it belongs to whoever reads it. */
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
  /**
   * Borrowed until the next call on any engine. `text` is the key's latin1 string, for those who have
   * it already: an engine may find rows by it.
   */
  get(key: Buffer, text?: string): Buffer | undefined
  range(range?: KvRange): KvIterator
}

export interface KvTable extends KvReader {
  readonly name: string
  /** A batch of one. `text` as for `get`. */
  put(key: Buffer, value: Buffer, text?: string): void
  /** A batch of one. `text` as for `get`. */
  delete(key: Buffer, text?: string): void
  /** Exact in memory; in a persistent engine what it counts cheaply, an open transaction included. */
  approximateEntryCount(): number
}

/** A row where it lies: its value follows its key. */
export interface PackedRow {
  readonly bytes: Buffer
  keyStart: number
  valueStart: number
  valueEnd: number
}

/** Writes of several tables that become visible together, or not at all. */
export interface KvBatch {
  put(table: KvTable, key: Buffer, value: Buffer): void
  delete(table: KvTable, key: Buffer): void
  /** Applies all writes in one atomic step. The batch is spent afterwards. */
  commit(): void
}

/**
 * Writes that become visible together, at `commit`; made over many turns of the event loop where
 * the engine allows that (`transactionSpan`). One is open at a time. Any other write to the engine (a
 * batch, a new or a dropped table) comes first: it discards the open transaction, whose owner then
 * begins anew.
 */
export interface KvTransaction {
  /** False once it was committed or discarded; writes then do nothing and `commit` returns false. */
  readonly isOpen: boolean
  put(table: KvTable, key: Buffer, value: Buffer): void
  /** As `put`, in engines that can read it where it lies; its bytes are a whole ArrayBuffer. */
  putRow?(table: KvTable, row: PackedRow): void
  delete(table: KvTable, key: Buffer): void
  /** True: everything is visible. False: it had been discarded, nothing is. */
  commit(): boolean
  /** Idempotent. */
  discard(): void
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
  /** The longest key that can be stored; longer ones are refused with `KEY_TOO_LONG`. */
  readonly keyBytesMax: number
  /** Opens the table, creating it when it is new. The same object for the same name. */
  table(name: string): KvTable
  tableNames(): string[]
  /**
   * Removes a table with all its rows in one cheap step: how window segments expire. Iterators and
   * snapshots go on to see it; the table object is dead. Nothing happens when there is none.
   */
  dropTable(name: string): void
  batch(): KvBatch
  /** `one-turn`: a transaction must end in the turn of the event loop in which it begins. */
  readonly transactionSpan: 'one-turn' | 'many-turns'
  /** Begins a transaction; asserts that none is open. */
  begin(): KvTransaction
  snapshot(): KvSnapshot
  metrics(): KvMetrics
  /** What the engine knows of itself beyond that, by its own names; read only when somebody asks. */
  gauges?(): ReadonlyMap<string, number>
  /** Idempotent. Open iterators and snapshots are closed first. */
  close(): void
}

/** How an engine for a task is made. `directory` exists and belongs to that task alone. */
export type KvEngineFactory = (directory: string) => KvEngine
