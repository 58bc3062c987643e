import type { DiskFile } from '../base/disk.ts'
import {
  batchAttribute,
  batchPosition,
  lengthEnd,
  readInt64,
} from '../protocol/record-batch-layout.ts'

/** Default of what is read from the file at once. */
const blockBytesDefault = 16 * 1024

/**
 * Walks over the batches of a stretch of a log file by their headers; records are not looked at,
 * and CRCs not checked. What is not a whole batch of magic 2 ends the walk.
 *
 *     const scanner = new BatchScanner(file, { from: 0, to: file.size() })
 *     while (scanner.next()) use(scanner.baseOffset, scanner.position)
 */
export class BatchScanner {
  readonly #file: DiskFile
  readonly #to: number
  readonly #block: Buffer
  #blockStart = 0
  #blockEnd = 0
  /** Where the header lies in the block. */
  #at = 0
  /** Where the batch starts in the file; at the end of the walk, where the next one would have. */
  position: number
  /** Bytes of the batch, header included; 0 before the first. */
  sizeInBytes = 0

  constructor(file: DiskFile, range: { from: number; to: number; blockBytes?: number }) {
    this.#file = file
    this.#to = range.to
    this.position = range.from
    const blockBytes = Math.min(range.blockBytes ?? blockBytesDefault, range.to - range.from)
    this.#block = Buffer.allocUnsafe(Math.max(blockBytes, batchPosition.records))
  }

  /** Moves to the next batch; false when there is none, or what is there is not one. */
  next(): boolean {
    const start = this.position + this.sizeInBytes
    this.position = start
    this.sizeInBytes = 0
    if (this.#to - start < batchPosition.records) return false
    if (start < this.#blockStart || start + batchPosition.records > this.#blockEnd) {
      this.#load(start)
      if (this.#blockEnd - start < batchPosition.records) return false
    }
    this.#at = start - this.#blockStart
    const size = this.#block.readInt32BE(this.#at + batchPosition.length) + lengthEnd
    if (this.#block[this.#at + batchPosition.magic] !== 2) return false
    if (size < batchPosition.records || size > this.#to - start) return false
    if (this.baseOffset < 0 || this.lastOffset < this.baseOffset) return false
    this.sizeInBytes = size
    return true
  }

  get baseOffset(): number {
    return readInt64(this.#block, this.#at + batchPosition.baseOffset)
  }

  get lastOffset(): number {
    return this.baseOffset + this.#block.readInt32BE(this.#at + batchPosition.lastOffsetDelta)
  }

  get maxTimestamp(): number {
    return readInt64(this.#block, this.#at + batchPosition.maxTimestamp)
  }

  get partitionLeaderEpoch(): number {
    return this.#block.readInt32BE(this.#at + batchPosition.partitionLeaderEpoch)
  }

  get producerId(): number {
    return readInt64(this.#block, this.#at + batchPosition.producerId)
  }

  get producerEpoch(): number {
    return this.#block.readInt16BE(this.#at + batchPosition.producerEpoch)
  }

  get baseSequence(): number {
    return this.#block.readInt32BE(this.#at + batchPosition.baseSequence)
  }

  get recordCount(): number {
    return this.#block.readInt32BE(this.#at + batchPosition.recordCount)
  }

  get isControl(): boolean {
    return (this.#attributes & batchAttribute.control) !== 0
  }

  get isTransactional(): boolean {
    return (this.#attributes & batchAttribute.transactional) !== 0
  }

  get isLogAppendTime(): boolean {
    return (this.#attributes & batchAttribute.logAppendTime) !== 0
  }

  get #attributes(): number {
    return this.#block.readInt16BE(this.#at + batchPosition.attributes)
  }

  /** The bytes of the batch: valid until the next move. */
  batch(): Buffer {
    const end = this.position + this.sizeInBytes
    if (end <= this.#blockEnd) return this.#block.subarray(this.#at, this.#at + this.sizeInBytes)
    const bytes = Buffer.allocUnsafe(this.sizeInBytes)
    const count = this.#file.read(bytes, this.position)
    return bytes.subarray(0, count)
  }

  #load(start: number): void {
    const length = Math.min(this.#block.length, this.#to - start)
    this.#blockStart = start
    this.#blockEnd = start + this.#file.read(this.#block.subarray(0, length), start)
  }
}
