/**
 * The versions of a key in one segment, as they lie in one row
 * (org.apache.kafka.streams.state.internals.RocksDBVersionedStoreSegmentValueFormatter):
 *
 *     int64  until when the newest one is valid
 *     int64  since when the oldest one is valid
 *     for each version, the newest first:  int64 since when, int32 bytes of its value (-1: a deletion)
 *     the values, the oldest first
 *
 * A row whose two times are the same is degenerate: it has one deletion of a key of which nothing else
 * was known, and covers no time at all.
 */
import { readTime, timeBytes, writeTime } from './time-bytes.ts'

const sizeBytes = 4
const headBytes = 2 * timeBytes
const versionBytes = timeBytes + sizeBytes
const deletion = -1

/** A value from some time on; null: a deletion. */
export interface Version {
  readonly timestamp: number
  readonly value: Buffer | null
}

/** A version with the time until which it is valid. */
export interface FoundVersion extends Version {
  readonly validTo: number
  /** Its place in the row. */
  readonly index: number
}

/** Until when the newest version of a row is valid. */
export function nextTimestampOf(row: Buffer): number {
  return readTime(row, 0)
}

/** Since when the oldest version of a row is valid. */
export function minTimestampOf(row: Buffer): number {
  return readTime(row, timeBytes)
}

/** The versions of a row, to be looked through and changed. */
export class VersionRow {
  #nextTimestamp: number
  /** The newest first; at least one. */
  #versions: Version[]

  private constructor(nextTimestamp: number, versions: Version[]) {
    this.#nextTimestamp = nextTimestamp
    this.#versions = versions
  }

  /** A row with one version. */
  static of(value: Buffer | null, timestamp: number, validTo: number): VersionRow {
    return new VersionRow(validTo, [{ timestamp, value }])
  }

  /** Of bytes that are borrowed. */
  static read(row: Buffer): VersionRow {
    const versions: Version[] = []
    const minTimestamp = minTimestampOf(row)
    let end = row.length
    for (let at = headBytes; ; at += versionBytes) {
      const timestamp = readTime(row, at)
      const size = row.readInt32BE(at + timeBytes)
      const start = end - Math.max(0, size)
      const value = size === deletion ? null : Buffer.from(row.subarray(start, end))
      versions.push({ timestamp, value })
      if (timestamp === minTimestamp) break
      end = start
    }
    return new VersionRow(nextTimestampOf(row), versions)
  }

  get #oldest(): Version {
    return this.#versions.at(-1) as Version
  }

  get #isDegenerate(): boolean {
    return this.#nextTimestamp === this.#oldest.timestamp
  }

  /** The version that was valid at a time, which must be one that the row covers. */
  find(time: number): FoundVersion {
    let validTo = this.#nextTimestamp
    for (const [index, version] of this.#versions.entries()) {
      if (version.timestamp <= time) return { ...version, validTo, index }
      validTo = version.timestamp
    }
    throw new RangeError(`the row begins after ${time}`)
  }

  /** All values that were valid at any time in [from, to], the newest first. */
  *findAll(from: number, to: number): Iterable<FoundVersion> {
    let validTo = this.#nextTimestamp
    for (const [index, version] of this.#versions.entries()) {
      const { timestamp, value } = version
      if (value !== null && timestamp <= to && validTo > from) yield { ...version, validTo, index }
      validTo = timestamp
    }
  }

  /** Adds a version that follows all others; between them and it, there was nothing. */
  insertAsLatest(timestamp: number, validTo: number, value: Buffer | null): void {
    if (timestamp < this.#nextTimestamp) this.#truncate(timestamp)
    const gap = this.#nextTimestamp
    if (this.#isDegenerate) this.#versions = []
    if (gap !== timestamp) this.#versions.unshift({ timestamp: gap, value: null })
    this.#versions.unshift({ timestamp, value })
    this.#nextTimestamp = validTo
  }

  /** Takes away what is newer, and ends what is valid then. */
  #truncate(time: number): void {
    this.#versions = this.#versions.filter(({ timestamp }) => timestamp < time)
    if (this.#versions.length === 0) this.#versions = [{ timestamp: time, value: null }]
    this.#nextTimestamp = time
  }

  /** Adds a version before all others. */
  insertAsEarliest(timestamp: number, value: Buffer | null): void {
    if (this.#isDegenerate) this.#versions = []
    this.#versions.push({ timestamp, value })
  }

  /** Puts a version at the place of one that was found, which becomes older than it. */
  insert(timestamp: number, value: Buffer | null, index: number): void {
    this.#versions.splice(index, 0, { timestamp, value })
  }

  /** Replaces a version that was found. */
  update(timestamp: number, value: Buffer | null, index: number): void {
    this.#versions[index] = { timestamp, value }
  }

  write(): Buffer {
    const versions = this.#versions
    let length = headBytes + versions.length * versionBytes
    for (const { value } of versions) length += value?.length ?? 0
    const row = Buffer.allocUnsafe(length)
    writeTime(row, this.#nextTimestamp, 0)
    writeTime(row, this.#oldest.timestamp, timeBytes)
    let at = headBytes
    let end = length
    for (const { timestamp, value } of versions) {
      writeTime(row, timestamp, at)
      row.writeInt32BE(value?.length ?? deletion, at + timeBytes)
      at += versionBytes
      if (value === null) continue
      end -= value.length
      row.set(value, end)
    }
    return row
  }
}
