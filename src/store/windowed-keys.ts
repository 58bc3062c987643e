/**
 * The keys of rows in windows (org.apache.kafka.streams.state.internals.WindowKeySchema and
 * SessionKeySchema). A changelog has them without the segment:
 *
 *     window    segment  key bytes  start  sequence (4 bytes)
 *     session   segment  key bytes  end    start
 *
 * In one segment they are in the order of their bytes, so that keys of different lengths lie between
 * each other: what a scan finds is looked at again.
 */
import { compareBytes } from '../base/bytes.ts'
import type { KvRange } from '../kv/kv.ts'
import { segmentBytes } from './segment-tables.ts'
import { readTime, timeBytes, writeTime } from './time-bytes.ts'
import type { Window } from './windowed.ts'

const sequenceBytes = 4
const byteMax = 0xff

/**
 * What a scan looks for. Of windows: `lowest` and `highest` start. Of sessions: the lowest end and the
 * highest start.
 */
export interface WindowedQuery {
  /** Bytes of keys, both inclusive; of one key when they are the same Buffer. */
  readonly from: Buffer | undefined
  readonly to: Buffer | undefined
  readonly lowest: number
  readonly highest: number
  /** Of sessions: the highest end. Default: open. */
  readonly latestEnd?: number
  /** Rows that are too old, too, as long as they are there. */
  readonly withExpired?: boolean
  readonly reverse: boolean
}

/**
 * What an index by time is asked for: see {@link WindowedKeys.closingKey}. `has` tells of the key of a row
 * whether it is in the range.
 */
export interface ClosingQuery {
  readonly range: KvRange
  readonly has: (key: Buffer) => boolean
}

/** Makes and reads the keys of one store. */
export abstract class WindowedKeys {
  /** Of the times behind the key. */
  protected abstract readonly suffixBytes: number
  readonly #segmentOf: (time: number) => number

  constructor(segmentOf: (time: number) => number) {
    this.#segmentOf = segmentOf
  }

  /** The time that puts a row into its segment: the start of a window, the end of a session. */
  abstract timeOf(key: Buffer): number
  abstract windowOf(key: Buffer): Window
  abstract timeOfWindow(window: Window): number
  protected abstract writeSuffix(key: Buffer, at: number, window: Window, sequence: number): void
  /** The last segment in which rows of a query may be. */
  abstract lastSegment(query: WindowedQuery): number
  /** The times of a row are those of a query. */
  protected abstract isWithin(key: Buffer, query: WindowedQuery): boolean
  /** The first and the last suffix of a query. */
  protected abstract writeBounds(from: Buffer, to: Buffer, at: number, query: WindowedQuery): void
  /** The order by time first. */
  abstract compareByTime(a: Buffer, b: Buffer): number
  /**
   * The key of a row with its time in front: in the order of its bytes, rows are as `compareByTime` has
   * them on disk.
   *
   *     window    segment  start  key bytes  sequence (4 bytes)
   *     session   segment  end    start      key bytes
   */
  abstract closingKey(key: Buffer): Buffer
  /** The key of the row of which {@link closingKey} was made. */
  abstract keyOfClosing(closingKey: Buffer): Buffer

  /** The rows whose time lies in [from, to]. */
  closingQuery(from: number, to: number): ClosingQuery {
    const bound = (time: number): Buffer => {
      const bytes = Buffer.allocUnsafe(segmentBytes + timeBytes)
      const known = Math.min(Math.max(0, time), Number.MAX_SAFE_INTEGER)
      writeTime(bytes, this.#segmentOf(known), 0)
      writeTime(bytes, known, segmentBytes)
      return bytes
    }
    return {
      range: { from: bound(from), to: bound(to + 1), toExclusive: true },
      has: (key) => {
        const time = this.timeOf(key)
        return time >= from && time <= to
      },
    }
  }

  segmentOf(time: number): number {
    return this.#segmentOf(time)
  }

  write(keyBytes: Uint8Array, window: Window, sequence = 0): Buffer {
    const end = segmentBytes + keyBytes.length
    const key = Buffer.allocUnsafe(end + this.suffixBytes)
    writeTime(key, this.#segmentOf(this.timeOfWindow(window)), 0)
    key.set(keyBytes, segmentBytes)
    this.writeSuffix(key, end, window, sequence)
    return key
  }

  /** The key of a changelog record with its segment in front. */
  withSegment(changelogKey: Buffer): Buffer {
    const key = Buffer.allocUnsafe(segmentBytes + changelogKey.length)
    writeTime(key, this.#segmentOf(this.timeOf(changelogKey)), 0)
    key.set(changelogKey, segmentBytes)
    return key
  }

  /** False: no key of this kind can have so few bytes. */
  isChangelogKey(key: Buffer): boolean {
    return key.length >= this.suffixBytes
  }

  /** The bytes of the key alone. */
  keyOf(key: Buffer): Buffer {
    return key.subarray(segmentBytes, key.length - this.suffixBytes)
  }

  protected suffixAt(key: Buffer): number {
    return key.length - this.suffixBytes
  }

  firstSegment({ lowest }: WindowedQuery): number {
    return this.#segmentOf(Math.max(0, lowest))
  }

  /** All rows that a query may have in one segment lie within; others may too. */
  rangeIn(segment: number, query: WindowedQuery): KvRange {
    const { from, to, reverse } = query
    if (from !== undefined && from === to) return this.#rangeOfKey(segment, from, query)
    const first = Buffer.alloc(segmentBytes + (from?.length ?? 0))
    writeTime(first, segment, 0)
    if (from !== undefined) first.set(from, segmentBytes)
    return { from: first, to: this.#lastOf(segment, to), reverse }
  }

  /** As `rangeIn`, over all segments. */
  rangeOver(query: WindowedQuery): KvRange {
    const from = Buffer.alloc(segmentBytes)
    writeTime(from, this.firstSegment(query), 0)
    return { from, to: this.#lastOf(this.lastSegment(query), query.to), reverse: query.reverse }
  }

  #rangeOfKey(segment: number, keyBytes: Buffer, query: WindowedQuery): KvRange {
    const end = segmentBytes + keyBytes.length
    const from = Buffer.alloc(end + this.suffixBytes)
    writeTime(from, segment, 0)
    from.set(keyBytes, segmentBytes)
    const to = Buffer.from(from)
    this.writeBounds(from, to, end, query)
    return { from, to, reverse: query.reverse }
  }

  /**
   * Not before any row whose key is at most `to`. A shorter key, which is the beginning of `to`, may lie
   * behind it: where its time is greater than what `to` has there. Times begin with a zero byte.
   */
  #lastOf(segment: number, to: Buffer | undefined): Buffer {
    const keyBytes = to ?? Buffer.alloc(0)
    const bound = (length: number, filler: number): Buffer => {
      const end = segmentBytes + length
      const bytes = Buffer.alloc(end + this.suffixBytes, filler)
      writeTime(bytes, segment, 0)
      keyBytes.copy(bytes, segmentBytes, 0, length)
      return bytes
    }
    let last = bound(keyBytes.length, byteMax)
    if (to === undefined) return last
    for (let length = 0; length < to.length; length += 1) {
      if (to[length] !== 0) continue
      const shorter = bound(length, byteMax)
      shorter[segmentBytes + length] = 0
      if (compareBytes(shorter, last) > 0) last = shorter
    }
    return last
  }

  /** The row is one that a query looks for. */
  isOf(key: Buffer, query: WindowedQuery): boolean {
    const { from, to } = query
    if (from !== undefined && from === to) {
      // It lies between two keys that begin with this one, so that it does too.
      if (key.length - segmentBytes - this.suffixBytes !== from.length) return false
    } else {
      if (from !== undefined && compareBytes(this.keyOf(key), from) < 0) return false
      if (to !== undefined && compareBytes(this.keyOf(key), to) > 0) return false
    }
    return this.isWithin(key, query)
  }
}

/** Keys of windows of one size. */
export class WindowKeys extends WindowedKeys {
  readonly #size: number
  protected readonly suffixBytes = timeBytes + sequenceBytes

  constructor(segmentOf: (time: number) => number, size: number) {
    super(segmentOf)
    this.#size = size
  }

  timeOf(key: Buffer): number {
    return readTime(key, key.length - this.suffixBytes)
  }

  timeOfWindow({ start }: Window): number {
    return start
  }

  windowOf(key: Buffer): Window {
    const start = this.timeOf(key)
    return { start, end: this.endOf(start) }
  }

  endOf(start: number): number {
    return start + this.#size
  }

  protected writeSuffix(key: Buffer, at: number, { start }: Window, sequence: number): void {
    writeTime(key, start, at)
    key.writeInt32BE(sequence, at + timeBytes)
  }

  lastSegment({ highest }: WindowedQuery): number {
    return this.segmentOf(Math.min(highest, Number.MAX_SAFE_INTEGER))
  }

  protected isWithin(key: Buffer, { lowest, highest }: WindowedQuery): boolean {
    const start = this.timeOf(key)
    return start >= lowest && start <= highest
  }

  protected writeBounds(from: Buffer, to: Buffer, at: number, query: WindowedQuery): void {
    writeTime(from, Math.max(0, query.lowest), at)
    writeTime(to, query.highest, at)
    to.fill(byteMax, at + timeBytes)
  }

  compareByTime(a: Buffer, b: Buffer): number {
    return this.timeOf(a) - this.timeOf(b) || compareBytes(this.#numbered(a), this.#numbered(b))
  }

  closingKey(key: Buffer): Buffer {
    return moved(key, { from: this.suffixAt(key), bytes: timeBytes, to: segmentBytes })
  }

  keyOfClosing(closingKey: Buffer): Buffer {
    const to = closingKey.length - this.suffixBytes
    return moved(closingKey, { from: segmentBytes, bytes: timeBytes, to })
  }

  /** Key and number in one: so a key may stand before another one that it begins with, or behind. */
  #numbered(key: Buffer): Buffer {
    return Buffer.concat([this.keyOf(key), key.subarray(key.length - sequenceBytes)])
  }
}

/**
 * How sessions that end together follow one another where rows come by time, as Java's stores have it:
 * by start on disk; in memory by key, and of one key the one that began last comes first, unless they
 * come from a cache.
 */
export type SessionOrder = 'start-key' | 'key-start' | 'key-latest-start'

/** Keys of sessions. */
export class SessionKeys extends WindowedKeys {
  readonly order: SessionOrder
  protected readonly suffixBytes = 2 * timeBytes

  constructor(segmentOf: (time: number) => number, order: SessionOrder) {
    super(segmentOf)
    this.order = order
  }

  timeOf(key: Buffer): number {
    return readTime(key, key.length - this.suffixBytes)
  }

  timeOfWindow({ end }: Window): number {
    return end
  }

  windowOf(key: Buffer): Window {
    return { start: this.#startOf(key), end: this.timeOf(key) }
  }

  #startOf(key: Buffer): number {
    return readTime(key, key.length - timeBytes)
  }

  protected writeSuffix(key: Buffer, at: number, { start, end }: Window): void {
    writeTime(key, end, at)
    writeTime(key, start, at + timeBytes)
  }

  lastSegment({ latestEnd = Infinity }: WindowedQuery): number {
    return this.segmentOf(Math.min(latestEnd, Number.MAX_SAFE_INTEGER))
  }

  protected isWithin(key: Buffer, query: WindowedQuery): boolean {
    const { start, end } = this.windowOf(key)
    const { lowest, highest, latestEnd = Infinity } = query
    return end >= lowest && end <= latestEnd && start <= highest
  }

  protected writeBounds(from: Buffer, to: Buffer, at: number, { lowest }: WindowedQuery): void {
    writeTime(from, Math.max(0, lowest), at)
    to.fill(byteMax, at)
  }

  compareByTime(a: Buffer, b: Buffer): number {
    const byEnd = this.timeOf(a) - this.timeOf(b)
    if (byEnd !== 0) return byEnd
    const byStart = this.#startOf(a) - this.#startOf(b)
    const byKey = compareBytes(this.keyOf(a), this.keyOf(b))
    if (this.order === 'start-key') return byStart || byKey
    return byKey || (this.order === 'key-start' ? byStart : -byStart)
  }
  closingKey(key: Buffer): Buffer {
    return moved(key, { from: this.suffixAt(key), bytes: this.suffixBytes, to: segmentBytes })
  }

  keyOfClosing(closingKey: Buffer): Buffer {
    const to = closingKey.length - this.suffixBytes
    return moved(closingKey, { from: segmentBytes, bytes: this.suffixBytes, to })
  }
}

/** A copy in which some bytes lie elsewhere; those between make room. */
function moved(key: Buffer, { from, bytes, to }: Record<'from' | 'bytes' | 'to', number>): Buffer {
  const copy = Buffer.allocUnsafe(key.length)
  const end = from + bytes
  key.copy(copy, 0, 0, Math.min(from, to))
  key.copy(copy, to, from, end)
  if (from > to) {
    key.copy(copy, to + bytes, to, from)
    key.copy(copy, end, end)
  } else {
    key.copy(copy, from, end, to + bytes)
    key.copy(copy, to + bytes, to + bytes)
  }
  return copy
}
