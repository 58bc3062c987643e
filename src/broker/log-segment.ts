import type { Disk, DiskFile } from '../base/disk.ts'
import { isStreamsError } from '../errors.ts'
import { crc32c } from '../protocol/crc32c.ts'
import { batchPosition, lengthEnd, readInt64 } from '../protocol/record-batch-layout.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { BatchScanner } from './batch-scanner.ts'

/** A batch that starts this many bytes after the last one in the index gets an entry. */
const indexIntervalBytes = 4096

/** What recovery reads from the disk at once. */
const recoveryBlockBytes = 1024 * 1024

const suffix = '.log'

/** A segment that the cleaner writes has this behind its name until it takes another's place. */
export const cleanedSuffix = '.cleaned'

/** Long offsets have nineteen digits; Kafka pads to twenty. */
const nameDigits = 20

/** A point in the log. */
export interface TimestampOffset {
  readonly timestamp: number
  readonly offset: number
}

/** How much a read gives. */
export interface ReadLimits {
  readonly bytesMax: number
  /** Whether the first batch is given whole when it alone is larger. */
  readonly atLeastOne: boolean
  /** Batches from this offset on are not given. Default: all are. */
  readonly before?: number
}

/** What {@link LogSegment.recover} found at the end of the file. */
export interface Recovery {
  /** Bytes that are not sound batches and were cut off. */
  readonly cutBytes: number
  /** True when more than one torn batch was cut off: a damage, not the trace of a crash. */
  readonly isDamaged: boolean
}

/** The base offset that a segment's file name states, undefined for other files. */
export function segmentBaseOffset(fileName: string): number | undefined {
  const match = /^(\d{20})\.log$/.exec(fileName)
  return match === null ? undefined : Number(match[1])
}

export function segmentFileName(baseOffset: number): string {
  return String(baseOffset).padStart(nameDigits, '0') + suffix
}

export interface SegmentOptions {
  readonly baseOffset: number
  readonly nowMs: number
  /** The file is not part of the log until `rename`. Default false. */
  readonly isCleaned?: boolean
}

/**
 * One file of a partition's log: batches, one after the other, whose offsets are `baseOffset` or
 * more. The index (every 4 KiB of log one entry) is kept in memory only; `recover` rebuilds it.
 */
export class LogSegment {
  readonly baseOffset: number
  readonly #disk: Disk
  #path: string
  #file: DiskFile | undefined
  #size = 0
  #nextOffset: number
  #maxTimestamp = -1
  /** Where the batch with the largest timestamp starts in the file. */
  #maxTimestampPosition = 0
  /** For retention and rolling where records have no timestamps. */
  readonly createdAtMs: number
  /** Bytes after the end that a failed write has left, or may have. */
  #tailIsDirty = false
  #isSynced = true

  // The index. The timestamp is the largest one before the entry's batch.
  #indexOffsets: number[] = []
  #indexPositions: number[] = []
  #indexTimestamps: number[] = []
  #indexedTo = -indexIntervalBytes

  constructor(disk: Disk, directory: string, options: SegmentOptions) {
    this.#disk = disk
    this.baseOffset = options.baseOffset
    this.createdAtMs = options.nowMs
    const end = options.isCleaned === true ? cleanedSuffix : ''
    this.#path = `${directory}/${segmentFileName(options.baseOffset)}${end}`
    this.#nextOffset = options.baseOffset
  }

  get path(): string {
    return this.#path
  }

  /** Bytes of sound batches. */
  get size(): number {
    return this.#size
  }

  /** The offset after the last batch. */
  get nextOffset(): number {
    return this.#nextOffset
  }

  /** Largest timestamp of a record, -1 when there is none. */
  get maxTimestamp(): number {
    return this.#maxTimestamp
  }

  /** Makes the file exist, so that its name states where the log goes on. */
  create(): void {
    this.#open()
  }

  /**
   * Reads the file from the start, checks every batch, cuts off what is not sound, and tells each
   * sound batch to `onBatch`. What is cut off beyond a torn last batch is kept in a file beside.
   */
  recover(onBatch: (scanner: BatchScanner) => void): Recovery {
    const file = this.#open()
    const fileSize = file.size()
    const scanner = new BatchScanner(file, {
      from: 0,
      to: fileSize,
      blockBytes: recoveryBlockBytes,
    })
    while (scanner.next() && scanner.baseOffset >= this.#nextOffset && hasRightCrc(scanner)) {
      this.#count(scanner)
      onBatch(scanner)
    }
    const cutBytes = fileSize - this.#size
    if (cutBytes === 0) return { cutBytes: 0, isDamaged: false }
    const isDamaged = tornBytes(file, { from: this.#size, to: fileSize }) < cutBytes
    if (isDamaged) this.#setAside(file, cutBytes)
    file.truncate(this.#size)
    return { cutBytes, isDamaged }
  }

  /** Appends one batch with its final offsets, or throws DISK_FAILED and is as before. */
  append(batch: Buffer, facts: { lastOffset: number; maxTimestamp: number }): void {
    const file = this.#open()
    if (this.#tailIsDirty) {
      file.truncate(this.#size)
      this.#tailIsDirty = false
    }
    try {
      file.write(batch, this.#size)
    } catch (error) {
      this.#tailIsDirty = true
      throw error
    }
    this.#isSynced = false
    this.#add({
      baseOffset: facts.lastOffset - batch.readInt32BE(batchPosition.lastOffsetDelta),
      lastOffset: facts.lastOffset,
      maxTimestamp: facts.maxTimestamp,
      sizeInBytes: batch.length,
    })
  }

  /**
   * Whole batches from the one that holds `offset` (or the first after it) on. Undefined when the
   * segment has nothing at or after the offset.
   */
  read(offset: number, limits: ReadLimits): Buffer | undefined {
    const found = this.#locate(offset)
    if (found === undefined) return undefined
    const { bytesMax, atLeastOne, before = Number.POSITIVE_INFINITY } = limits
    const wanted = Math.max(bytesMax, atLeastOne ? found.sizeInBytes : 0)
    if (wanted < found.sizeInBytes || found.baseOffset >= before) return Buffer.alloc(0)
    const bytes = Buffer.allocUnsafeSlow(Math.min(wanted, this.#size - found.position))
    this.#open().read(bytes, found.position)
    return bytes.subarray(0, wholeBatchesEnd(bytes, before))
  }

  /** The first record from this offset on whose timestamp is at least this one, if any. */
  findTimestamp(timestamp: number, offsetMin: number): TimestampOffset | undefined {
    if (this.#maxTimestamp < timestamp) return undefined
    // All before the last entry that saw only older timestamps can be passed over.
    let entry = 0
    for (let low = 1, high = this.#indexTimestamps.length - 1; low <= high;) {
      const middle = (low + high) >>> 1
      if ((this.#indexTimestamps[middle] as number) < timestamp) {
        entry = middle
        low = middle + 1
      } else high = middle - 1
    }
    const scanner = this.scan(this.#indexPositions[entry] ?? 0)
    while (scanner.next()) {
      if (scanner.maxTimestamp < timestamp || scanner.lastOffset < offsetMin) continue
      const found = findInBatch(scanner, timestamp, offsetMin)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** The first record that has the largest timestamp; undefined when no record has one. */
  findMaxTimestamp(): TimestampOffset | undefined {
    if (this.#maxTimestamp < 0) return undefined
    const scanner = this.scan(this.#maxTimestampPosition)
    if (!scanner.next()) return undefined
    return findInBatch(scanner, this.#maxTimestamp, 0)
  }

  /** A walk over the batches from this position on. */
  scan(from = 0): BatchScanner {
    return new BatchScanner(this.#open(), { from, to: this.#size })
  }

  /** Puts what was appended on the medium. */
  sync(): void {
    if (this.#isSynced) return
    this.#open().sync()
    this.#isSynced = true
  }

  /** Puts a cleaned segment on the medium and makes it part of the log, in one step. */
  rename(): void {
    this.sync()
    this.release()
    const path = this.#path.slice(0, -cleanedSuffix.length)
    this.#disk.rename(this.#path, path)
    this.#path = path
  }

  /** Gives the file handle back; it is opened again when it is needed. */
  release(): void {
    this.#file?.close()
    this.#file = undefined
  }

  remove(): void {
    this.release()
    this.#disk.remove(this.#path)
  }

  #open(): DiskFile {
    this.#file ??= this.#disk.open(this.#path, { create: true })
    return this.#file
  }

  #count(scanner: BatchScanner): void {
    this.#add({
      baseOffset: scanner.baseOffset,
      lastOffset: scanner.lastOffset,
      maxTimestamp: scanner.maxTimestamp,
      sizeInBytes: scanner.sizeInBytes,
    })
  }

  #add(batch: {
    baseOffset: number
    lastOffset: number
    maxTimestamp: number
    sizeInBytes: number
  }): void {
    if (this.#size - this.#indexedTo >= indexIntervalBytes) {
      this.#indexOffsets.push(batch.baseOffset)
      this.#indexPositions.push(this.#size)
      this.#indexTimestamps.push(this.#maxTimestamp)
      this.#indexedTo = this.#size
    }
    if (batch.maxTimestamp > this.#maxTimestamp) {
      this.#maxTimestamp = batch.maxTimestamp
      this.#maxTimestampPosition = this.#size
    }
    this.#size += batch.sizeInBytes
    this.#nextOffset = batch.lastOffset + 1
  }

  /** The first batch whose last offset is at least this one. */
  #locate(offset: number): BatchScanner | undefined {
    if (offset >= this.#nextOffset) return undefined
    let entry = 0
    for (let low = 1, high = this.#indexOffsets.length - 1; low <= high;) {
      const middle = (low + high) >>> 1
      if ((this.#indexOffsets[middle] as number) <= offset) {
        entry = middle
        low = middle + 1
      } else high = middle - 1
    }
    const scanner = this.scan(this.#indexPositions[entry] ?? 0)
    while (scanner.next()) if (scanner.lastOffset >= offset) return scanner
    return undefined
  }

  #setAside(file: DiskFile, length: number): void {
    const bytes = Buffer.allocUnsafe(length)
    const count = file.read(bytes, this.#size)
    this.#disk.writeFileAtomic(`${this.#path}.cut`, bytes.subarray(0, count))
  }
}

function hasRightCrc(scanner: BatchScanner): boolean {
  const batch = scanner.batch()
  return (
    batch.length === scanner.sizeInBytes &&
    batch.readUInt32BE(batchPosition.crc) === crc32c(batch.subarray(batchPosition.attributes))
  )
}

/** How many bytes the unsound batch at `from` claims or has, at most to the end. */
function tornBytes(file: DiskFile, { from, to }: { from: number; to: number }): number {
  const start = Buffer.alloc(lengthEnd)
  if (file.read(start, from) < lengthEnd) return to - from
  const claimed = start.readInt32BE(batchPosition.length) + lengthEnd
  return claimed < batchPosition.records ? to - from : Math.min(claimed, to - from)
}

/** Where the last whole batch ends that starts before this offset. */
function wholeBatchesEnd(bytes: Buffer, before: number): number {
  let end = 0
  while (bytes.length - end >= lengthEnd) {
    const size = bytes.readInt32BE(end + batchPosition.length) + lengthEnd
    if (size > bytes.length - end) break
    if (readInt64(bytes, end + batchPosition.baseOffset) >= before) break
    end += size
  }
  return end
}

function findInBatch(
  scanner: BatchScanner,
  timestamp: number,
  offsetMin: number,
): TimestampOffset | undefined {
  const reader = new RecordBatchReader()
  reader.reset(scanner.batch())
  try {
    if (!reader.nextBatch()) return undefined
    while (reader.next()) {
      if (reader.timestamp >= timestamp && reader.offset >= offsetMin)
        return { timestamp: reader.timestamp, offset: reader.offset }
    }
    return undefined
  } catch (error) {
    if (!isStreamsError(error)) throw error
    // A codec that is missing here, or a producer that compressed rubbish. The start of the batch
    // is the closest that is known, and never later than what was asked for.
    return { timestamp: scanner.maxTimestamp, offset: Math.max(scanner.baseOffset, offsetMin) }
  }
}
