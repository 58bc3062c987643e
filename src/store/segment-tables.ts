/**
 * Rows in segments of time, each in a table of its own, so that a segment that is too old is dropped as
 * a whole (org.apache.kafka.streams.state.internals.AbstractSegments). A key up here begins with the
 * number of its segment in eight bytes, which gives the order of a scan; the tables have it without:
 *
 *     key        segment  what the store makes of key and time
 *     in table   store/interval/segment:  what the store makes of key and time
 *
 * A store whose operator emits what has closed has an index beside each table, which is written with it and
 * goes with it: the keys of its rows, the time first. So what has closed is found without a look at what
 * is open (org.apache.kafka.streams.state.internals.AbstractRocksDBTimeOrderedSegmentedBytesStore):
 *
 *     in tables  store/interval+/segment:       as above
 *                store/interval+index/segment:  time and key, without a value
 *
 * A segment expires at once for readers. Its table goes only when the commit in which it expired is in
 * the engine: after a crash, the engine must have what an earlier commit saw.
 */
import type { KvEngine, KvIterator, KvRange, KvTable, PackedRow } from '../kv/kv.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { StoredRows } from './byte-table.ts'
import { putPackedRow, type EngineTable, type EngineWrites } from './engine-table.ts'
import { plainFormat, type StoredFormat, type StoredRow } from './stored-value.ts'
import { OffsetTable } from './offset-table.ts'
import { readTime, timeBytes, writeTime } from './time-bytes.ts'

const noValue = Buffer.alloc(0)

/** The bytes of a segment's number at the beginning of a key. */
export const segmentBytes = timeBytes

/** The order of segments is that of their bytes: negative numbers come last. */
function compareSegments(a: number, b: number): number {
  return a < 0 === b < 0 ? a - b : b - a
}

interface Segment {
  readonly id: number
  readonly table: KvTable
  readonly index: KvTable | undefined
  /** The bytes of its number. */
  readonly prefix: Buffer
}

export interface SegmentTablesOptions {
  readonly name: string
  readonly interval: number
  /** What a row is in the index, the segment in front; undefined: there is no index. */
  readonly indexKeyOf?: ((key: Buffer) => Buffer) | undefined
}

/** The tables of one store's segments. */
export class SegmentTables implements EngineTable {
  readonly interval: number
  readonly #engine: KvEngine
  readonly #name: string
  readonly #indexName: string
  readonly #indexKeyOf: ((key: Buffer) => Buffer) | undefined
  readonly #segments = new Map<number, Segment>()
  /** The segment that was used last: the next row is most often in the same. */
  #latest: Segment | undefined
  /** Segments that have a table and have not expired, in their order. */
  #live: number[] = []
  /** Segments from 0 to before this one have expired. */
  #expiredBefore = 0
  #committedBefore = 0
  #writingBefore = 0

  constructor(engine: KvEngine, { name: store, interval, indexKeyOf }: SegmentTablesOptions) {
    this.#engine = engine
    this.interval = interval
    this.#indexKeyOf = indexKeyOf
    this.#name = `${store}/${interval}${indexKeyOf === undefined ? '' : '+'}/`
    this.#indexName = `${store}/${interval}+index/`
    this.#forgetOthers(store)
    for (const name of engine.tableNames()) {
      if (name.startsWith(this.#name)) this.ensure(Number(name.slice(this.#name.length)))
    }
  }

  /**
   * Rows in segments of another interval would not be found, and rows that lack an index would never close:
   * they are restored from the changelog.
   */
  #forgetOthers(store: string): void {
    const engine = this.#engine
    const others = engine
      .tableNames()
      .filter((name) => name.startsWith(`${store}/`) && !this.#isOwn(name))
    if (others.length === 0) return
    const batch = engine.batch()
    new OffsetTable(engine).put(batch, store, 0)
    batch.commit()
    for (const name of others) engine.dropTable(name)
  }

  #isOwn(name: string): boolean {
    if (name.startsWith(this.#name)) return true
    return this.#indexKeyOf !== undefined && name.startsWith(this.#indexName)
  }

  segmentOf(time: number): number {
    return Math.trunc(time / this.interval)
  }

  /** Makes the table of a segment unless there is one. */
  ensure(id: number): void {
    if (this.#latest?.id === id || this.#segments.has(id)) return
    const prefix = Buffer.allocUnsafeSlow(segmentBytes)
    writeTime(prefix, id, 0)
    const table = this.#engine.table(`${this.#name}${id}`)
    const hasIndex = this.#indexKeyOf !== undefined
    const index = hasIndex ? this.#engine.table(`${this.#indexName}${id}`) : undefined
    this.#segments.set(id, { id, prefix, table, index })
    this.#live.push(id)
    this.#live.sort(compareSegments)
  }

  /** No row is of a later time; -1: there are none. */
  get newestTime(): number {
    const newest = this.#live.findLast((id) => id >= 0)
    return newest === undefined ? -1 : (newest + 1) * this.interval - 1
  }

  /** The segment has a table and has not expired. */
  has(id: number): boolean {
    return this.#live.includes(id)
  }

  /** Segments between two, both included, that have not expired. */
  between(first: number, last: number): number[] {
    return this.#live.filter(
      (id) => compareSegments(id, first) >= 0 && compareSegments(id, last) <= 0,
    )
  }

  /** All segments before that one have expired. */
  expireBefore(id: number): void {
    if (id <= this.#expiredBefore) return
    this.#expiredBefore = id
    this.#live = this.#live.filter((live) => !this.#isExpired(live, id))
    this.#latest = undefined
    if (!this.#engine.persistent) this.#drop(id)
  }

  #isExpired(id: number, before: number): boolean {
    return id >= 0 && id < before
  }

  #drop(before: number): void {
    for (const { id, table, index } of this.#segments.values()) {
      if (!this.#isExpired(id, before)) continue
      this.#segments.delete(id)
      if (index !== undefined) this.#engine.dropTable(index.name)
      this.#engine.dropTable(table.name)
    }
  }

  committed(): void {
    this.#committedBefore = this.#expiredBefore
  }

  beginWrite(): void {
    this.#writingBefore = this.#committedBefore
  }

  endWrite(): void {
    this.#drop(this.#writingBefore)
  }

  /** `keyStart`: where the key begins in the bytes. */
  #segment(bytes: Buffer, keyStart = 0): Segment | undefined {
    const id = readTime(bytes, keyStart)
    const latest = this.#latest
    if (latest?.id === id) return latest
    const segment = this.#segments.get(id)
    if (segment !== undefined) this.#latest = segment
    return segment
  }

  get(key: Buffer, text: string): Buffer | undefined {
    const segment = this.#segment(key)
    if (segment === undefined || this.#isExpired(segment.id, this.#expiredBefore)) return undefined
    return segment.table.get(key.subarray(segmentBytes), text.slice(segmentBytes))
  }

  put(writes: EngineWrites, key: Buffer, value: Buffer): void {
    const segment = this.#segment(key)
    if (segment === undefined || this.#isExpired(segment.id, this.#writingBefore)) return
    writes.put(segment.table, key.subarray(segmentBytes), value)
    if (segment.index !== undefined) writes.put(segment.index, this.#indexKey(key), noValue)
  }

  putRow(writes: EngineWrites, row: PackedRow): void {
    const segment = this.#segment(row.bytes, row.keyStart)
    if (segment === undefined || this.#isExpired(segment.id, this.#writingBefore)) return
    if (segment.index !== undefined) {
      const key = row.bytes.subarray(row.keyStart, row.valueStart)
      writes.put(segment.index, this.#indexKey(key), noValue)
    }
    row.keyStart += segmentBytes
    putPackedRow(writes, segment.table, row)
  }

  #indexKey(key: Buffer): Buffer {
    return (this.#indexKeyOf?.(key) ?? key).subarray(segmentBytes)
  }

  delete(writes: EngineWrites, key: Buffer): void {
    const segment = this.#segment(key)
    if (segment === undefined) return
    writes.delete(segment.table, key.subarray(segmentBytes))
    if (segment.index !== undefined) writes.delete(segment.index, this.#indexKey(key))
  }

  putNow(key: Buffer, value: Buffer): void {
    this.#segment(key)?.table.put(key.subarray(segmentBytes), value)
  }

  deleteNow(key: Buffer): void {
    this.#segment(key)?.table.delete(key.subarray(segmentBytes))
  }

  /** `from` and `to` begin with their segments. */
  scan(range: KvRange, format: StoredFormat): StoredRows {
    return this.#scan(range, format, ({ table }) => table)
  }

  /** Rows of the index, without values; `from` and `to` as for `scan`. */
  scanIndex(range: KvRange): StoredRows {
    return this.#scan(range, plainFormat, ({ index, table }) => index ?? table)
  }

  #scan(range: KvRange, format: StoredFormat, tableOf: (segment: Segment) => KvTable): StoredRows {
    const { from, to, toExclusive, reverse } = range
    const first = from === undefined ? undefined : readTime(from, 0)
    const last = to === undefined ? undefined : readTime(to, 0)
    const segments = this.#between(first, last)
    if (reverse === true) segments.reverse()
    const scans = segments.map((segment) => {
      const { id, prefix } = segment
      const isLast = id === last
      const bounds = {
        from: id === first ? from?.subarray(segmentBytes) : undefined,
        to: isLast ? to?.subarray(segmentBytes) : undefined,
        toExclusive: isLast ? toExclusive : undefined,
        reverse,
      }
      return { prefix, rows: tableOf(segment).range(bounds) }
    })
    return new SegmentRows(scans, format)
  }

  /** Segments from one to another, both included, in their order. */
  #between(first: number | undefined, last: number | undefined): Segment[] {
    if (first !== undefined && first === last) {
      const segment = this.#segments.get(first)
      const isSeen = segment !== undefined && !this.#isExpired(first, this.#expiredBefore)
      return isSeen ? [segment] : []
    }
    const segments = [...this.#segments.values()].filter(
      ({ id }) =>
        !this.#isExpired(id, this.#expiredBefore) &&
        (first === undefined || compareSegments(id, first) >= 0) &&
        (last === undefined || compareSegments(id, last) <= 0),
    )
    return segments.sort((a, b) => compareSegments(a.id, b.id))
  }

  approximateEntryCount(): number {
    let count = 0
    for (const { id, table } of this.#segments.values()) {
      if (!this.#isExpired(id, this.#expiredBefore)) count += table.approximateEntryCount()
    }
    return count
  }
}

interface SegmentScan {
  readonly prefix: Buffer
  readonly rows: KvIterator
}

/** The rows of several segments, one after the other; all were begun at one moment. */
class SegmentRows implements StoredRows {
  readonly #scans: readonly SegmentScan[]
  readonly #format: StoredFormat
  #current = 0

  constructor(scans: readonly SegmentScan[], format: StoredFormat) {
    this.#scans = scans
    this.#format = format
  }

  next(): StoredRow | undefined {
    while (this.#current < this.#scans.length) {
      const { prefix, rows } = this.#scans[this.#current] as SegmentScan
      const { value: row } = rows.next()
      if (row !== undefined) {
        const key = Buffer.concat([prefix, row.key])
        const { value, timestamp } = this.#format.decode(row.value)
        return { text: keyText(key), key, value, timestamp }
      }
      this.#current += 1
    }
    return undefined
  }

  [Symbol.dispose](): void {
    for (const { rows } of this.#scans) rows[Symbol.dispose]()
    this.#current = this.#scans.length
  }
}
