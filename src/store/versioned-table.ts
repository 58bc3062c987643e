/**
 * The versions of keys, in bytes (org.apache.kafka.streams.state.internals.RocksDBVersionedStore). The
 * latest version of a key lies in a segment of its own that never expires; older ones lie in the segment
 * of the time at which they ended, all those of a key in one row (see version-row.ts):
 *
 *     segment -1   key  →  int64 since when, value        the latest; never a deletion
 *     segment n    key  →  the versions that ended in it
 *
 * A version that is put is looked for from the newest segment to the older ones, until it is known what
 * comes after it. It may end the version before it, which then moves to an older segment.
 */
import { keyText } from '../kv/sorted-rows.ts'
import type { ByteTable } from './byte-table.ts'
import { segmentBytes, type SegmentTables } from './segment-tables.ts'
import { noTimestamp, timestampedFormat } from './stored-value.ts'
import { writeTime } from './time-bytes.ts'
import { minTimestampOf, nextTimestampOf, VersionRow, type Version } from './version-row.ts'
import type { PutVersion } from './versioned-store.ts'

/** The segment of the latest versions. */
const latestSegment = -1

/** A version as a reader sees it. Undefined `validTo`: it is the latest. */
export interface StoredVersion {
  readonly value: Buffer
  readonly timestamp: number
  readonly validTo: number | undefined
}

export interface VersionedTableOptions {
  readonly bytes: ByteTable
  readonly segments: SegmentTables
  readonly historyRetention: number
  /** Counts a version that came too late. */
  readonly expired: () => void
}

/** What a version follows from; a deletion that came to an end has no value to move. */
interface Put {
  readonly key: Buffer
  readonly value: Buffer | null
  readonly timestamp: number
}

/** The layer of bytes of a versioned store. */
export class VersionedTable {
  readonly #bytes: ByteTable
  readonly #segments: SegmentTables
  readonly #historyRetention: number
  readonly #expired: () => void
  #observedTime = -1
  #oldestSegment = 0
  #isRestoring = false

  constructor(options: VersionedTableOptions) {
    this.#bytes = options.bytes
    this.#segments = options.segments
    this.#historyRetention = Math.min(options.historyRetention, Number.MAX_SAFE_INTEGER)
    this.#expired = options.expired
    this.#segments.ensure(latestSegment)
  }

  /** As `VersionedStore.put`; `value` null is a deletion. */
  put(key: Buffer, value: Buffer | null, timestamp: number): PutVersion {
    this.#isRestoring = false
    if (this.#isTooLate(timestamp)) {
      this.#expired()
      return 'not-put'
    }
    return this.#put({ key, value, timestamp })
  }

  /** One record of the changelog; the buffers are borrowed. */
  restore(key: Buffer, value: Buffer | null, timestamp: number): void {
    this.#isRestoring = true
    if (!this.#isTooLate(timestamp)) this.#put({ key, value, timestamp })
  }

  #isTooLate(timestamp: number): boolean {
    return timestamp < this.#observedTime - this.#historyRetention
  }

  #put(put: Put): PutVersion {
    this.#observedTime = Math.max(this.#observedTime, put.timestamp)
    const segments = this.#segments
    this.#oldestSegment = segments.segmentOf(this.#observedTime - this.#historyRetention)
    segments.expireBefore(this.#oldestSegment)
    const latest = this.#latest(put.key)
    if (latest === undefined) return this.#putToSegments(put, undefined)
    if (put.timestamp < latest.timestamp) return this.#putToSegments(put, latest.timestamp)
    if (put.timestamp > latest.timestamp) {
      this.#move({ ...latest, validTo: put.timestamp }, put.key)
    }
    this.#writeLatest(put)
    return undefined
  }

  #latest(key: Buffer): { value: Buffer; timestamp: number } | undefined {
    const row = this.#get(latestSegment, key)
    if (row === undefined) return undefined
    const { value, timestamp } = timestampedFormat.decode(row)
    return { value: Buffer.from(value), timestamp }
  }

  #writeLatest({ key, value, timestamp }: Put): void {
    const row = value && timestampedFormat.encode(value, timestamp)
    this.#write(latestSegment, key, row)
  }

  /** Puts a version that has ended into the segment of its end, unless that has expired. */
  #move({ value, timestamp, validTo }: Version & { validTo: number }, key: Buffer): void {
    const segment = this.#liveSegment(validTo)
    if (segment === undefined) return
    const bytes = this.#get(segment, key)
    if (bytes === undefined) {
      this.#writeRow(segment, key, VersionRow.of(value, timestamp, validTo))
      return
    }
    const row = VersionRow.read(bytes)
    row.insertAsLatest(timestamp, validTo, value)
    this.#writeRow(segment, key, row)
  }

  /**
   * Looks for the segment of a version. `next`: since when a later version of the key is known to be
   * valid; undefined: there is none.
   */
  #putToSegments(put: Put, next: number | undefined): PutVersion {
    const { key, timestamp } = put
    let validTo = next
    for (const segment of this.#newestFirst(timestamp)) {
      const bytes = this.#get(segment, key)
      if (bytes === undefined) continue
      // What this and all older segments have ended before.
      if (nextTimestampOf(bytes) <= timestamp) break
      const minTimestamp = minTimestampOf(bytes)
      if (minTimestamp <= timestamp) return this.#putToRow(put, segment, VersionRow.read(bytes))
      validTo = minTimestamp
    }
    if (validTo !== undefined) return this.#putBefore(put, validTo)
    return put.value === null ? this.#putDeletion(put) : this.#putAsLatest(put)
  }

  #putAsLatest(put: Put): PutVersion {
    this.#writeLatest(put)
    return undefined
  }

  /** The row covers the time of the version. */
  #putToRow({ key, value, timestamp }: Put, segment: number, row: VersionRow): PutVersion {
    const found = row.find(timestamp)
    if (found.timestamp === timestamp) {
      row.update(timestamp, value, found.index)
    } else if (this.#segments.segmentOf(timestamp) === segment) {
      row.insert(timestamp, value, found.index)
    } else {
      // The version that it ends belongs to an older segment from now on.
      this.#move({ ...found, validTo: timestamp }, key)
      row.update(timestamp, value, found.index)
    }
    this.#writeRow(segment, key, row)
    return found.validTo
  }

  /** Nothing comes after a deletion: it is kept where it can expire, not among the latest. */
  #putDeletion({ key, timestamp }: Put): PutVersion {
    const segment = this.#liveSegment(timestamp)
    if (segment === undefined) return 'not-put'
    const bytes = this.#get(segment, key)
    if (bytes === undefined) {
      this.#writeRow(segment, key, VersionRow.of(null, timestamp, timestamp))
      return undefined
    }
    const next = nextTimestampOf(bytes)
    // That the newest one ended then says the same.
    if (next === timestamp) return undefined
    const row = VersionRow.read(bytes)
    row.insertAsLatest(next, timestamp, null)
    this.#writeRow(segment, key, row)
    return undefined
  }

  /** The version is followed by one that is known, and by nothing else in its segment. */
  #putBefore({ key, value, timestamp }: Put, validTo: number): PutVersion {
    const segment = this.#liveSegment(validTo)
    if (segment === undefined) return 'not-put'
    const bytes = this.#get(segment, key)
    if (bytes === undefined) {
      this.#writeRow(segment, key, VersionRow.of(value, timestamp, validTo))
      return validTo
    }
    const row = VersionRow.read(bytes)
    if (nextTimestampOf(bytes) <= timestamp) row.insertAsLatest(timestamp, validTo, value)
    else row.insertAsEarliest(timestamp, value)
    this.#writeRow(segment, key, row)
    return validTo
  }

  /** The segment of a time; undefined: it has expired. */
  #liveSegment(time: number): number | undefined {
    const segment = this.#segments.segmentOf(time)
    if (segment < this.#oldestSegment) return undefined
    this.#segments.ensure(segment)
    return segment
  }

  /** Segments in which versions may lie that ended at a time or later. */
  #newestFirst(time: number): number[] {
    const segments = this.#segments
    return segments
      .between(segments.segmentOf(Math.max(0, time)), Number.MAX_SAFE_INTEGER)
      .reverse()
  }

  /** The latest version. */
  get(key: Buffer): StoredVersion | undefined {
    const latest = this.#latest(key)
    return latest && { ...latest, validTo: undefined }
  }

  /** The version that was valid at a time. */
  getAsOf(key: Buffer, time: number): StoredVersion | undefined {
    const latest = this.get(key)
    if (latest !== undefined && latest.timestamp <= time) return latest
    // Older ones may still be there: that depends on where segments begin, and is not shown.
    if (time < this.#observedTime - this.#historyRetention) return undefined
    for (const segment of this.#newestFirst(time)) {
      const bytes = this.#get(segment, key)
      if (bytes === undefined) continue
      if (nextTimestampOf(bytes) <= time) return undefined
      if (minTimestampOf(bytes) > time) continue
      const { value, timestamp, validTo } = VersionRow.read(bytes).find(time)
      return value === null ? undefined : { value, timestamp, validTo }
    }
    return undefined
  }

  /** All versions that were valid at any time in [from, to], the newest first. */
  versions(key: Buffer, from: number, to: number): StoredVersion[] {
    const found: StoredVersion[] = []
    const latest = this.get(key)
    if (latest !== undefined && latest.timestamp <= to) found.push(latest)
    if (to < this.#observedTime - this.#historyRetention) return found
    for (const segment of this.#newestFirst(from)) {
      const bytes = this.#get(segment, key)
      if (bytes === undefined) continue
      for (const { value, timestamp, validTo } of VersionRow.read(bytes).findAll(from, to)) {
        if (value !== null) found.push({ value, timestamp, validTo })
      }
    }
    return found
  }

  #keyIn(segment: number, key: Buffer): Buffer {
    const full = Buffer.allocUnsafe(segmentBytes + key.length)
    writeTime(full, segment, 0)
    full.set(key, segmentBytes)
    return full
  }

  #get(segment: number, key: Buffer): Buffer | undefined {
    const full = this.#keyIn(segment, key)
    return this.#bytes.get(full, keyText(full))?.value
  }

  #writeRow(segment: number, key: Buffer, row: VersionRow): void {
    this.#write(segment, key, row.write())
  }

  #write(segment: number, key: Buffer, row: Buffer | null): void {
    const full = this.#keyIn(segment, key)
    if (this.#isRestoring) this.#bytes.restore(full, row, noTimestamp)
    else this.#bytes.put(full, keyText(full), row, noTimestamp)
  }
}
