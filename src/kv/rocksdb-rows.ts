/** Reading rows of RocksDB in order, a piece at a time. */
import type { KvEntry, KvIterator } from './kv.ts'
import type {
  NativeDatabase,
  NativeIterator,
  NativeRows,
  RocksdbBinding,
} from './rocksdb-binding.ts'
import { keyAfter, tableBounds, tableIdBytes, type KeyBounds } from './rocksdb-keys.ts'

/** Scans are mostly of a few rows: pieces begin small and grow. */
const firstPieceRows = 4
const pieceGrowth = 4
const pieceRowsMax = 256
/** A piece ends with the row that exceeds this. */
const pieceBytesMax = 256 * 1024

/** An open database, and what it is asked by. */
export interface RocksdbFiles {
  readonly binding: RocksdbBinding
  readonly database: NativeDatabase
}

/** A native iterator over a part of the space of keys, at its first row. It sees this moment for ever. */
export function nativeIterator(
  { binding, database }: RocksdbFiles,
  options: { bounds: KeyBounds; reverse: boolean; keysOnly?: boolean },
): NativeIterator {
  const { bounds, reverse, keysOnly = false } = options
  return binding.iterator_init(database, {
    gte: bounds.from,
    lt: bounds.to,
    reverse,
    values: !keysOnly,
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    highWaterMarkBytes: pieceBytesMax,
    // As Java reads: the package's own defaults are for scans of whole databases.
    fillCache: true,
    asyncIO: false,
    adaptiveReadahead: false,
  })
}

/** Removes all rows of a table in one cheap step. Who reads already goes on to see them. */
export function clearTable({ binding, database }: RocksdbFiles, tableId: number): void {
  const { from, to } = tableBounds(tableId)
  binding.db_clear(database, { gte: from, lt: to })
}

/** Keys, with their table's number in front, and values in turn. */
type Rows = readonly Buffer[]

/** Rows in an order. */
export interface RowSource {
  /** The next ones, about so many; none at the end, and from then on. */
  read(rowsMax: number): Rows
  close(): void
}

const noRows: Rows = []

/** A native iterator of its own, with its bounds. */
export class OwnRows implements RowSource {
  readonly #binding: RocksdbBinding
  #native: NativeIterator | undefined
  #isFinished = false

  constructor(files: RocksdbFiles, bounds: KeyBounds, reverse: boolean) {
    this.#binding = files.binding
    this.#native = nativeIterator(files, { bounds, reverse })
  }

  read(rowsMax: number): Rows {
    // A native iterator must not be moved beyond its end.
    if (this.#native === undefined || this.#isFinished) return noRows
    const { rows, finished } = this.#binding.iterator_nextv_sync(this.#native, rowsMax)
    this.#isFinished = finished
    return rows as Rows
  }

  close(): void {
    if (this.#native !== undefined) this.#binding.iterator_close(this.#native)
    this.#native = undefined
  }
}

/** A native iterator with which several readers take turns: each says where it goes on. */
class SharedCursor {
  readonly #binding: RocksdbBinding
  readonly #native: NativeIterator
  /** Who moved it last, and finds it where it left it. */
  #last: object | undefined

  constructor(binding: RocksdbBinding, native: NativeIterator) {
    this.#binding = binding
    this.#native = native
  }

  /** `start`: where the reader goes on, unless it was the last to read. */
  read(reader: object, start: Buffer, rowsMax: number): NativeRows {
    if (this.#last !== reader) this.#binding.iterator_seek(this.#native, start)
    this.#last = undefined
    const piece = this.#binding.iterator_nextv_sync(this.#native, rowsMax)
    // It must not be moved beyond its end.
    if (!piece.finished) this.#last = reader
    return piece
  }

  close(): void {
    this.#binding.iterator_close(this.#native)
  }
}

/**
 * One moment of a whole database: RocksDB has snapshots, the package does not. But a native iterator
 * sees the moment at which it was made, wherever it is moved. Two are made in one step, one for each
 * direction, and all that read the snapshot share them.
 */
export class SharedMoment {
  readonly #forward: SharedCursor
  readonly #backward: SharedCursor
  /** The snapshot itself, and iterators that outlive it. */
  #holders = 1

  constructor(files: RocksdbFiles, bounds: KeyBounds) {
    const { binding } = files
    this.#forward = new SharedCursor(binding, nativeIterator(files, { bounds, reverse: false }))
    this.#backward = new SharedCursor(binding, nativeIterator(files, { bounds, reverse: true }))
  }

  get(key: Buffer): Buffer | undefined {
    const [found, value] = this.#forward.read({}, key, 1).rows
    return found?.equals(key) === true ? value : undefined
  }

  range(bounds: KeyBounds, reverse: boolean): RowSource {
    this.#holders += 1
    return new SharedRows(this, reverse ? this.#backward : this.#forward, { bounds, reverse })
  }

  release(): void {
    this.#holders -= 1
    if (this.#holders > 0) return
    this.#forward.close()
    this.#backward.close()
  }
}

/** A range of a snapshot. The bounds move with what was read. */
class SharedRows implements RowSource {
  #moment: SharedMoment | undefined
  readonly #cursor: SharedCursor
  readonly #reverse: boolean
  #bounds: KeyBounds
  #isFinished = false

  constructor(
    moment: SharedMoment,
    cursor: SharedCursor,
    options: { bounds: KeyBounds; reverse: boolean },
  ) {
    this.#moment = moment
    this.#cursor = cursor
    this.#bounds = options.bounds
    this.#reverse = options.reverse
  }

  read(rowsMax: number): Rows {
    if (this.#moment === undefined || this.#isFinished) return noRows
    return this.#reverse ? this.#readBackward(rowsMax) : this.#readForward(rowsMax)
  }

  #readForward(rowsMax: number): Rows {
    const { from, to } = this.#bounds
    const rows = this.#readPiece(from, rowsMax)
    let end = rows.length
    while (end > 0 && (rows[end - 2] as Buffer).compare(to) >= 0) end -= 2
    if (end > 0) this.#bounds = { from: keyAfter(rows[end - 2] as Buffer), to }
    return this.#within(rows, 0, end)
  }

  #readBackward(rowsMax: number): Rows {
    const { from, to } = this.#bounds
    const rows = this.#readPiece(to, rowsMax)
    // The upper bound does not belong to the range, and is found first when it is a row.
    const start = rows[0]?.equals(to) === true ? 2 : 0
    if (start === rows.length && !this.#isFinished) return this.#readBackward(rowsMax)
    let end = rows.length
    while (end > start && (rows[end - 2] as Buffer).compare(from) < 0) end -= 2
    if (end > start) this.#bounds = { from, to: rows[end - 2] as Buffer }
    return this.#within(rows, start, end)
  }

  #readPiece(start: Buffer, rowsMax: number): Rows {
    const { rows, finished } = this.#cursor.read(this, start, rowsMax)
    this.#isFinished = finished
    return rows as Rows
  }

  #within(rows: Rows, start: number, end: number): Rows {
    if (end < rows.length) this.#isFinished = true
    return start === 0 && end === rows.length ? rows : rows.slice(start, end)
  }

  close(): void {
    this.#moment?.release()
    this.#moment = undefined
  }
}

/** Who has an iterator open, and hears of its end. */
export interface IteratorOwner {
  closed(iterator: RocksdbIterator): void
  failure(error: unknown): unknown
}

/** Rows of one table, without their table's number. */
export class RocksdbIterator implements KvIterator {
  readonly #owner: IteratorOwner
  #source: RowSource | undefined
  #rows: Rows = noRows
  #at = 0
  #pieceRows = firstPieceRows

  /** Without a source there is no row. */
  constructor(owner: IteratorOwner, source: RowSource | undefined) {
    this.#owner = owner
    this.#source = source
  }

  get isOpen(): boolean {
    return this.#source !== undefined
  }

  next(): IteratorResult<KvEntry, undefined> {
    if (this.#at === this.#rows.length) this.#readPiece()
    const key = this.#rows[this.#at]
    if (key === undefined) return this.return()
    const value = this.#rows[this.#at + 1] as Buffer
    this.#at += 2
    return { done: false, value: { key: key.subarray(tableIdBytes), value } }
  }

  #readPiece(): void {
    this.#at = 0
    try {
      this.#rows = this.#source?.read(this.#pieceRows) ?? noRows
    } catch (error) {
      this.return()
      throw this.#owner.failure(error)
    }
    this.#pieceRows = Math.min(pieceRowsMax, this.#pieceRows * pieceGrowth)
  }

  return(): IteratorReturnResult<undefined> {
    this.#rows = noRows
    this.#at = 0
    if (this.#source !== undefined) {
      this.#source.close()
      this.#source = undefined
      this.#owner.closed(this)
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
