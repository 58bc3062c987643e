/**
 * The log of one partition: segments, the last of which is active and appended to.
 *
 *     start offset                            last stable offset   end offset = high watermark
 *        v                                          v                     v
 *     |  00..0.log (cleaned, offsets have gaps) | 00..812.log | 00..1500.log (active) |
 *
 * From the last stable offset on there are records of transactions that are open, and others.
 *
 * A directory holds the segments, `start-offset` and `checkpoint.json`. What is acknowledged has been
 * handed to the operating system; it is put on the medium when the log is closed.
 */
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { patchBaseOffset, patchLeaderEpoch } from '../protocol/record-batch-patch.ts'
import { buildControlBatch, readMarker } from '../protocol/record-control.ts'
import type { BatchScanner } from './batch-scanner.ts'
import type { BatchFacts } from './batch-validation.ts'
import { LeaderEpochs, type EpochEnd } from './leader-epochs.ts'
import { LogCheckpoint } from './log-checkpoint.ts'
import { recoverSegments } from './log-recovery.ts'
import { LogSegment, type ReadLimits, type TimestampOffset } from './log-segment.ts'
import { LogTransactions, type TransactionMarker } from './log-transactions.ts'
import { ProducerStates } from './producer-states.ts'

/** The settings of a topic that its logs obey; they may change while the log is open. */
export interface LogSettings {
  readonly segmentBytes: number
  readonly segmentMs: number
  /** Infinity: none. */
  readonly retentionMs: number
  readonly retentionBytes: number
}

export interface PartitionLogOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Log
  readonly directory: string
  /** Asked again each time. */
  readonly settings: () => LogSettings
  readonly leaderEpoch: number
}

/** Takes note of appends, and of a log that comes to its end. */
export interface LogWatcher {
  onAppend(sizeInBytes: number): void
  onClose(): void
}

/** What a read gives when its offset is not in the log. */
export type OutOfRange = 'out-of-range'

const noBytes = Buffer.alloc(0)

/** A partition's records. All methods but the constructor leave the log usable when they throw. */
export class PartitionLog {
  readonly directory: string
  readonly leaderEpoch: number
  readonly producers = new ProducerStates()
  readonly transactions = new LogTransactions()
  /** Told of every append, synchronously, after it. */
  readonly watchers = new Set<LogWatcher>()
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #settings: () => LogSettings
  readonly #checkpoint: LogCheckpoint
  /** Ascending, never empty; the last one is active. */
  #segments: LogSegment[]
  /** The segment before the active one that was read last: its file is open. */
  #lastRead: LogSegment | undefined
  readonly #epochs: LeaderEpochs
  #startOffset: number
  #isOpen = true

  /** Opens the log, or makes a new one; what a crash has left half done is put right. */
  constructor(options: PartitionLogOptions) {
    this.directory = options.directory
    this.leaderEpoch = options.leaderEpoch
    this.#disk = options.disk
    this.#clock = options.clock
    this.#settings = options.settings
    this.#checkpoint = new LogCheckpoint(options.disk, options.directory)
    this.#epochs = new LeaderEpochs(options.leaderEpoch)
    const found = recoverSegments({ ...options, onBatch: (batch) => this.#replay(batch) })
    this.#segments = found.length === 0 ? [this.#newSegment(0)] : found
    const first = this.#segments[0] as LogSegment
    this.#startOffset = Math.max(first.baseOffset, this.#checkpoint.startOffset)
    // A crash of the machine took more than what was deleted: the log goes on after that.
    if (this.#startOffset > this.endOffset) {
      for (const segment of this.#segments) segment.remove()
      this.#segments = [this.#newSegment(this.#startOffset)]
      this.#active.create()
    }
    this.#epochs.note(options.leaderEpoch, this.endOffset)
    this.transactions.forgetBefore(this.#startOffset)
  }

  /** The first offset that can be read. */
  get startOffset(): number {
    return this.#startOffset
  }

  /** The offset of the next record. With one replica it is the high watermark as well. */
  get endOffset(): number {
    return this.#active.nextOffset
  }

  /** Everything before it is decided: committed, aborted, or never in a transaction. */
  get lastStableOffset(): number {
    const firstUnstable = this.transactions.firstUnstableOffset ?? this.endOffset
    return Math.max(this.#startOffset, firstUnstable)
  }

  /** Bytes of all segments. */
  get size(): number {
    let size = 0
    for (const segment of this.#segments) size += segment.size
    return size
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** All segments, the active one last. */
  get segments(): readonly LogSegment[] {
    return this.#segments
  }

  /** What the cleaner has done to this log. */
  get checkpoint(): LogCheckpoint {
    return this.#checkpoint
  }

  /**
   * Appends one batch: sets its base offset and leader epoch in place and writes the bytes. Returns
   * the base offset.
   *
   * @throws StreamsError `DISK_FAILED`; the log is then as before.
   */
  append(batch: Buffer, facts: BatchFacts): number {
    assert(this.#isOpen, 'a closed log is not written to')
    if (this.#mustRoll(batch.length)) this.roll()
    const baseOffset = this.endOffset
    const lastOffset = baseOffset + facts.lastOffsetDelta
    patchBaseOffset(batch, baseOffset)
    patchLeaderEpoch(batch, this.leaderEpoch)
    this.#active.append(batch, { lastOffset, maxTimestamp: facts.maxTimestamp })
    if (facts.producerId >= 0) {
      this.producers.add({ ...facts, baseOffset, lastOffset })
      if (facts.isTransactional) this.transactions.add(facts.producerId, baseOffset)
    }
    for (const watcher of this.watchers) watcher.onAppend(batch.length)
    return baseOffset
  }

  /**
   * Appends the marker that ends a transaction, whether its producer wrote here or not.
   *
   * @throws StreamsError `DISK_FAILED`; the log is then as before.
   */
  appendMarker(marker: TransactionMarker): void {
    assert(this.#isOpen, 'a closed log is not written to')
    const timestamp = this.#clock.now()
    const offset = this.endOffset
    const partitionLeaderEpoch = this.leaderEpoch
    const batch = buildControlBatch({
      ...marker,
      timestamp,
      baseOffset: offset,
      partitionLeaderEpoch,
    })
    if (this.#mustRoll(batch.length)) this.roll()
    this.#active.append(batch, { lastOffset: offset, maxTimestamp: timestamp })
    this.#noteMarker(marker, { offset, timestamp })
    for (const watcher of this.watchers) watcher.onAppend(batch.length)
  }

  /**
   * Whole batches from the one that holds the offset on, at most `bytesMax` together; the first one
   * in any case when `atLeastOne` is set. No bytes at the end of the log, or of what is wanted.
   */
  read(offset: number, limits: ReadLimits): Buffer | OutOfRange {
    if (offset < this.#startOffset || offset > this.endOffset) return 'out-of-range'
    for (let index = this.#indexOf(offset); index < this.#segments.length; index += 1) {
      const segment = this.#use(index)
      const bytes = segment.read(offset, limits)
      if (bytes !== undefined) return bytes
    }
    return noBytes
  }

  /** The first record at or after this time; undefined when all are older. */
  findTimestamp(timestamp: number): TimestampOffset | undefined {
    for (let index = 0; index < this.#segments.length; index += 1) {
      const segment = this.#segments[index] as LogSegment
      if (segment.maxTimestamp < timestamp) continue
      const found = this.#use(index).findTimestamp(timestamp, this.#startOffset)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** The first record with the largest timestamp; undefined when no record has one. */
  findMaxTimestamp(): TimestampOffset | undefined {
    let largest = 0
    for (const [index, segment] of this.#segments.entries()) {
      const best = this.#segments[largest] as LogSegment
      if (segment.maxTimestamp > best.maxTimestamp) largest = index
    }
    return this.#use(largest).findMaxTimestamp()
  }

  /**
   * Where the records of a leader epoch end, as a consumer asks to find out whether any were lost.
   */
  epochEnd(epoch: number): EpochEnd {
    return this.#epochs.endOf(epoch, this.endOffset)
  }

  /** The leader epoch in which the record at this offset was, or will be, appended. */
  epochOf(offset: number): number {
    return this.#epochs.at(offset)
  }

  /**
   * Makes everything before the offset unreadable, and deletes the segments that hold nothing else.
   *
   * @throws StreamsError `DISK_FAILED`; trying again is harmless.
   */
  deleteBefore(offset: number): void {
    assert(offset <= this.endOffset, 'only what is there can be deleted')
    if (offset <= this.#startOffset) return
    this.#checkpoint.setStartOffset(offset)
    this.#setStartOffset(offset)
    if (offset === this.endOffset && this.#active.size > 0) this.roll()
    this.#dropWhile((segment) => segment.nextOffset <= offset)
  }

  /** Deletes the segments that are older, or more, than the topic keeps. Returns how many. */
  deleteExpired(): number {
    const { retentionMs, retentionBytes } = this.#settings()
    const nowMs = this.#clock.now()
    // A transaction that is open may be read from its first record on when it is committed.
    const stableOffset = this.lastStableOffset
    const isExpired = (segment: LogSegment): boolean =>
      segment.nextOffset <= stableOffset &&
      nowMs - (segment.maxTimestamp < 0 ? segment.createdAtMs : segment.maxTimestamp) > retentionMs
    // An active segment with nothing but expired records goes too.
    if (this.#active.size > 0 && this.#segments.every(isExpired)) this.roll()
    const expiredCount = this.#dropWhile(isExpired)
    let excess = this.size - retentionBytes
    const excessCount = this.#dropWhile((segment) => {
      excess -= segment.size
      return excess >= 0 && segment.nextOffset <= stableOffset
    })
    const firstOffset = (this.#segments[0] as LogSegment).baseOffset
    if (firstOffset > this.#startOffset) this.#setStartOffset(firstOffset)
    return expiredCount + excessCount
  }

  /** Ends the active segment and starts a new one. */
  roll(): void {
    const segment = this.#newSegment(this.endOffset)
    segment.create()
    this.#lastRead?.release()
    this.#lastRead = this.#active
    this.#segments.push(segment)
  }

  /**
   * Puts one cleaned segment in the place of some that follow each other. Its file takes the name
   * of the first; the others are removed from the first on, so that after a crash in between a
   * tombstone is never gone while what it deletes is still there.
   */
  replace(old: readonly LogSegment[], cleaned: LogSegment): void {
    const index = this.#segments.indexOf(old[0] as LogSegment)
    assert(index >= 0 && index + old.length < this.#segments.length, 'cleaned segments were there')
    this.#lastRead?.release()
    this.#lastRead = undefined
    for (const segment of old) segment.release()
    cleaned.rename()
    this.#segments.splice(index, old.length, cleaned)
    for (const segment of old.slice(1)) segment.remove()
  }

  /** Puts everything on the medium. */
  sync(): void {
    for (const segment of this.#segments) segment.sync()
  }

  /** Syncs and closes; idempotent. Watchers are told. */
  close(): void {
    if (!this.#isOpen) return
    this.#end()
    try {
      this.sync()
    } finally {
      for (const segment of this.#segments) segment.release()
    }
  }

  /** Closes and removes the directory. */
  remove(): void {
    this.#end()
    for (const segment of this.#segments) segment.release()
    this.#disk.remove(this.directory)
  }

  get #active(): LogSegment {
    return this.#segments.at(-1) as LogSegment
  }

  #end(): void {
    this.#isOpen = false
    for (const watcher of this.watchers) watcher.onClose()
    this.watchers.clear()
  }

  #setStartOffset(offset: number): void {
    this.#startOffset = offset
    this.transactions.forgetBefore(offset)
  }

  #newSegment(baseOffset: number): LogSegment {
    return new LogSegment(this.#disk, this.directory, { baseOffset, nowMs: this.#clock.now() })
  }

  #mustRoll(batchBytes: number): boolean {
    const active = this.#active
    if (active.size === 0) return false
    const { segmentBytes, segmentMs } = this.#settings()
    return (
      active.size + batchBytes > segmentBytes || this.#clock.now() - active.createdAtMs > segmentMs
    )
  }

  /** The last segment that starts at or before the offset. */
  #indexOf(offset: number): number {
    let low = 0
    let high = this.#segments.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if ((this.#segments[middle] as LogSegment).baseOffset <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  /** At most one file besides the active one stays open for reading. */
  #use(index: number): LogSegment {
    const segment = this.#segments[index] as LogSegment
    if (segment !== this.#active && segment !== this.#lastRead) {
      this.#lastRead?.release()
      this.#lastRead = segment
    }
    return segment
  }

  /** Removes segments from the first on; the active one stays. */
  #dropWhile(isDone: (segment: LogSegment) => boolean): number {
    let count = 0
    while (this.#segments.length > 1 && isDone(this.#segments[0] as LogSegment)) {
      const segment = this.#segments[0] as LogSegment
      segment.remove()
      if (this.#lastRead === segment) this.#lastRead = undefined
      this.#segments.shift()
      count += 1
    }
    return count
  }

  #replay(batch: BatchScanner): void {
    const { producerId, producerEpoch, baseOffset, lastOffset, maxTimestamp } = batch
    this.#epochs.note(batch.partitionLeaderEpoch, baseOffset)
    if (producerId < 0) return
    if (batch.isControl) {
      const marker = readMarker(batch.batch())
      if (marker !== undefined && marker.type !== 'other')
        this.#noteMarker(
          { ...marker, type: marker.type },
          { offset: baseOffset, timestamp: maxTimestamp },
        )
      return
    }
    this.producers.add({
      producerId,
      producerEpoch,
      baseSequence: batch.baseSequence,
      recordCount: batch.recordCount,
      baseOffset,
      lastOffset,
      maxTimestamp,
      logAppendTimeMs: batch.isLogAppendTime ? maxTimestamp : -1,
    })
    if (batch.isTransactional) this.transactions.add(producerId, baseOffset)
  }

  #noteMarker(marker: TransactionMarker, at: { offset: number; timestamp: number }): void {
    this.producers.addMarker({ ...marker, ...at })
    this.transactions.end(marker, at.offset)
  }
}
