/**
 * Forgets windows that are too old. Time is what the store has seen: the latest start of a window, or
 * end of a session, that was put or restored since it was opened
 * (org.apache.kafka.streams.state.internals.AbstractRocksDBSegmentedBytesStore and InMemoryWindowStore).
 *
 * A row is not seen any more once it is as old as the retention. What comes too late is not put, but
 * counted: in memory when it could not be seen, on disk when its whole segment has expired.
 */
import type { KvRange } from '../kv/kv.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { ByteTable, StoredRows } from './byte-table.ts'
import { ClosingIndex } from './closing-index.ts'
import type { Rows } from './entry-table.ts'
import { GatheredRows } from './gathered-rows.ts'
import type { SegmentTables } from './segment-tables.ts'
import { noTimestamp, type StoredRow, type StoredValue } from './stored-value.ts'
import type { WindowedKeys } from './windowed-keys.ts'

export interface RetentionTableOptions {
  readonly bytes: ByteTable
  readonly segments: SegmentTables
  readonly keys: WindowedKeys
  readonly retention: number
  readonly persistent: boolean
  /** Rows are seen one moment longer: windows that emit on close are read when they are as old as that. */
  readonly emitsOnClose?: boolean
  /**
   * Where rows are found by time, for an operator that emits what has closed; undefined: nowhere. In the
   * engine: the tables of the segments have an index.
   */
  readonly closing: 'in-engine' | 'in-memory' | undefined
  /** Counts a row that came too late. */
  readonly expired: () => void
}

/** The layer of bytes of a store of windows or sessions. */
export class RetentionTable implements ByteTable {
  readonly keyBytesMax: number
  readonly #bytes: ByteTable
  readonly #segments: SegmentTables
  readonly #keys: WindowedKeys
  readonly #retention: number
  /** The age from which on a row is not seen. */
  readonly #visibleFor: number
  readonly #persistent: boolean
  readonly #expired: () => void
  #observedTime = -1
  /** The latest time of rows that were not put but were there, or restored; -1: there are none. */
  newestRestored: number
  /** By time, and then by the text of the key. */
  readonly #closing: ClosingIndex<string, Buffer> | undefined
  readonly #hasIndex: boolean

  constructor(options: RetentionTableOptions) {
    this.#bytes = options.bytes
    this.keyBytesMax = options.bytes.keyBytesMax
    this.#segments = options.segments
    this.#keys = options.keys
    // So that differences of times are exact, of unlimited windows too.
    this.#retention = Math.min(options.retention, Number.MAX_SAFE_INTEGER)
    this.#visibleFor = this.#retention + (options.emitsOnClose === true ? 1 : 0)
    this.#persistent = options.persistent
    this.#expired = options.expired
    this.newestRestored = options.segments.newestTime
    this.#hasIndex = options.closing === 'in-engine'
    if (options.closing === 'in-memory') this.#closing = new ClosingIndex()
  }

  #isVisible(key: Buffer): boolean {
    return this.#keys.timeOf(key) > this.#observedTime - this.#visibleFor
  }

  get(key: Buffer, text: string): StoredValue | undefined {
    return this.#isVisible(key) ? this.#bytes.get(key, text) : undefined
  }

  put(key: Buffer, text: string, value: Buffer | null, timestamp: number): void {
    if (!this.#admit(key)) {
      this.#expired()
      return
    }
    this.#bytes.put(key, text, value, timestamp)
    this.#note(key, text, value)
  }

  /** As a put of null, of which nothing is counted; in memory it does not move the time either. */
  remove(key: Buffer, text: string): void {
    if (this.#persistent) this.#observe(key)
    if (this.#segments.has(this.#segments.segmentOf(this.#keys.timeOf(key)))) {
      this.#bytes.put(key, text, null, noTimestamp)
      this.#note(key, text, null)
    }
  }

  #note(key: Buffer, text: string, value: Buffer | null): void {
    const closing = this.#closing
    if (closing === undefined) return
    const time = this.#keys.timeOf(key)
    if (value === null) closing.delete(time, text)
    else closing.add(time, text, key)
  }

  /**
   * Keys of the rows whose time lies in [from, to], by time and then as the store orders them, for who asks
   * for none twice. Some rows may be deleted. Undefined: they cannot be found by time.
   */
  closedKeys(from: number, to: number): Rows<Buffer> | undefined {
    const keys = this.#keys
    if (this.#hasIndex) return this.#indexedKeys(from, to)
    const closing = this.#closing
    if (closing === undefined || from < closing.floor) return undefined
    const closed = closing.take(to).filter((key) => keys.timeOf(key) >= from)
    return new GatheredRows(closed.sort((one, other) => keys.compareByTime(one, other)))
  }

  #indexedKeys(from: number, to: number): Rows<Buffer> | undefined {
    const keys = this.#keys
    const indexKeyOf = (key: Buffer): Buffer => keys.closingKey(key)
    const rows = this.#bytes.scanIndex?.({ ...keys.closingQuery(from, to), indexKeyOf })
    if (rows === undefined) return undefined
    return {
      next: () => {
        const key = rows.next()
        return key && keys.keyOfClosing(key)
      },
      [Symbol.dispose]: () => rows[Symbol.dispose](),
    }
  }

  #observe(key: Buffer): void {
    const time = this.#keys.timeOf(key)
    if (time > this.#observedTime) this.#observedTime = time
  }

  /** Moves the time; false: the row comes too late. */
  #admit(key: Buffer): boolean {
    this.#observe(key)
    const time = this.#keys.timeOf(key)
    const segments = this.#segments
    const oldest = this.#observedTime - this.#retention
    const oldestSegment = segments.segmentOf(oldest)
    const segment = segments.segmentOf(time)
    const isLate = this.#persistent ? segment < oldestSegment : time <= oldest
    if (isLate) return false
    segments.ensure(segment)
    segments.expireBefore(oldestSegment)
    this.#closing?.forget(oldestSegment * segments.interval)
    return true
  }

  scan(range: KvRange): StoredRows {
    const oldest = this.#observedTime - this.#visibleFor
    return new VisibleRows(this.#bytes.scan(range), (key) => this.#keys.timeOf(key) > oldest)
  }

  /** As `get`, also of a row that is too old but not deleted yet; of a store in memory there are none. */
  getLive(key: Buffer, text: string): StoredValue | undefined {
    return this.#persistent ? this.#bytes.get(key, text) : this.get(key, text)
  }

  /** As `scan`, with rows that are too old but not deleted yet; of a store in memory there are none. */
  scanLive(range: KvRange): StoredRows {
    return this.#persistent ? this.#bytes.scan(range) : this.scan(range)
  }

  approximateEntryCount(): number {
    return this.#bytes.approximateEntryCount()
  }

  restore(changelogKey: Buffer, value: Buffer | null, timestamp: number): void {
    // Nobody writes such a record.
    if (!this.#keys.isChangelogKey(changelogKey)) return
    const key = this.#keys.withSegment(changelogKey)
    this.newestRestored = Math.max(this.newestRestored, this.#keys.timeOf(key))
    if (this.#admit(key)) {
      this.#bytes.restore(key, value, timestamp)
      if (this.#closing !== undefined) this.#note(key, keyText(key), value)
    } else if (!this.#persistent) this.#expired()
  }

  restored(offset: number): void {
    this.#bytes.restored(offset)
  }

  restoreOffset(): number {
    return this.#bytes.restoreOffset()
  }

  committed(offset: number | undefined): void {
    this.#bytes.committed(offset)
  }

  writeBehind(): boolean {
    return this.#bytes.writeBehind()
  }

  pinnedBytes(): number {
    return this.#bytes.pinnedBytes()
  }

  uncommittedBytes(): number {
    return this.#bytes.uncommittedBytes()
  }

  close(): void {
    this.#bytes.close()
  }
}

/** Rows without those that are too old. */
class VisibleRows implements StoredRows {
  readonly #rows: StoredRows
  readonly #isVisible: (key: Buffer) => boolean

  constructor(rows: StoredRows, isVisible: (key: Buffer) => boolean) {
    this.#rows = rows
    this.#isVisible = isVisible
  }

  next(): StoredRow | undefined {
    let row = this.#rows.next()
    while (row !== undefined && !this.#isVisible(row.key)) row = this.#rows.next()
    return row
  }

  [Symbol.dispose](): void {
    this.#rows[Symbol.dispose]()
  }
}
