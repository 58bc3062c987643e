/**
 * Compaction (org.apache.kafka.storage.internals.log.LogCleaner): of all records with one key, the
 * last stays. Offsets and order never change, and the active segment is never touched.
 *
 *     | clean: cleaned before  | dirty: new since then  | active |
 *                              |-- keys and their last offsets are collected from here
 *     |-- everything here is written anew without what these make obsolete
 *
 * A tombstone stays for `delete.retention.ms` after its first cleaning, then goes too. Nothing at or
 * after the last stable offset is touched. Records of aborted transactions go; the marker of a
 * transaction goes as a tombstone does, once none of its batches is left: without it, recovery would
 * take the transaction for open.
 */
import type { Disk } from '../base/disk.ts'
import { isStreamsError } from '../errors.ts'
import { batchPosition, readInt64 } from '../protocol/record-batch-layout.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { BatchScanner } from './batch-scanner.ts'
import { LogSegment } from './log-segment.ts'
import type { AbortedTransaction, LogTransactions } from './log-transactions.ts'
import type { PartitionLog } from './partition-log.ts'

/** Keys that one cleaning keeps in memory; with more, it cleans a shorter part of the log. */
const keysMaxDefault = 1_000_000

/** How a compacted topic wants to be cleaned. */
export interface CompactionSettings {
  /** Part of the log that must be dirty before a cleaning is worth its work. */
  readonly minCleanableDirtyRatio: number
  /** Records younger than this are left alone. */
  readonly minCompactionLagMs: number
  /** A dirty record older than this is reason enough to clean. */
  readonly maxCompactionLagMs: number
  readonly deleteRetentionMs: number
  readonly segmentBytes: number
}

export interface CompactionOptions {
  readonly disk: Disk
  readonly nowMs: number
  /** Default one million. */
  readonly keysMax?: number
}

/** Records that a cleaning keeps, and those that it takes away. */
export interface CompactionResult {
  readonly keptBytes: number
  readonly removedBytes: number
}

/**
 * Cleans one log, if enough of it is dirty; undefined when nothing was to be done.
 *
 * @throws StreamsError `DISK_FAILED`; the log is then as before, or cleaned in part.
 */
export function compact(
  log: PartitionLog,
  settings: CompactionSettings,
  options: CompactionOptions,
): CompactionResult | undefined {
  const segments = cleanableSegments(log, settings, options)
  const dirty = segments.filter((segment) => segment.nextOffset > log.checkpoint.cleanedTo)
  if (dirty.length === 0) return undefined
  const isOverdue = dirty.some((segment) => ageMs(segment, options) > settings.maxCompactionLagMs)
  if (sizeOf(dirty) / sizeOf(segments) < settings.minCleanableDirtyRatio && !isOverdue)
    return undefined
  const aborted = new AbortedBatches(log.transactions)
  const lastOffsets = new LastOffsets(options.keysMax ?? keysMaxDefault, aborted)
  for (const segment of dirty) lastOffsets.collect(segment, log.checkpoint.cleanedTo)
  const endOffset = lastOffsets.endOffset
  if (endOffset <= log.checkpoint.cleanedTo) return undefined
  const isOutdated = (offset: number): boolean =>
    options.nowMs - log.checkpoint.cleanedAtMs(offset) >= settings.deleteRetentionMs
  const isObsolete = (reader: RecordBatchReader): boolean => {
    if (!reader.hasKey) return true
    if (lastOffsets.get(reader) > reader.offset) return true
    return !reader.hasValue && isOutdated(reader.offset)
  }
  let keptBytes = 0
  let removedBytes = 0
  const reached = segments.filter((segment) => segment.baseOffset < endOffset)
  const filter = new BatchFilter(log, { isObsolete, isOutdated, aborted, endOffset })
  for (const group of inGroups(reached, settings.segmentBytes)) {
    const before = sizeOf(group)
    const after = cleanGroup(log, group, { disk: options.disk, filter })
    keptBytes += after
    removedBytes += before - after
  }
  const range = { endOffset, cleanedAtMs: options.nowMs }
  log.checkpoint.setCleaned(range, options.nowMs - settings.deleteRetentionMs)
  log.transactions.forgetBefore(endOffset)
  return { keptBytes, removedBytes }
}

/**
 * The segments that may be cleaned: up to the first that is active, holds a record that is too
 * young, or one that is not stable.
 */
function cleanableSegments(
  log: PartitionLog,
  settings: CompactionSettings,
  options: CompactionOptions,
): LogSegment[] {
  const closed = log.segments.slice(0, -1)
  const stableOffset = log.lastStableOffset
  const first = closed.findIndex(
    (one) => ageMs(one, options) < settings.minCompactionLagMs || one.nextOffset > stableOffset,
  )
  return first < 0 ? closed : closed.slice(0, first)
}

/** The age of the youngest record. */
function ageMs(segment: LogSegment, { nowMs }: CompactionOptions): number {
  return nowMs - (segment.maxTimestamp < 0 ? segment.createdAtMs : segment.maxTimestamp)
}

function sizeOf(segments: readonly LogSegment[]): number {
  let size = 0
  for (const segment of segments) size += segment.size
  return size
}

/** Tells which batches belong to aborted transactions. */
class AbortedBatches {
  readonly #byProducer = new Map<number, AbortedTransaction[]>()

  constructor({ aborted }: LogTransactions) {
    for (const transaction of aborted) {
      const known = this.#byProducer.get(transaction.producerId)
      if (known === undefined) this.#byProducer.set(transaction.producerId, [transaction])
      else known.push(transaction)
    }
  }

  has({ isTransactional, producerId, baseOffset }: BatchScanner): boolean {
    if (!isTransactional) return false
    const ofProducer = this.#byProducer.get(producerId)
    return (
      ofProducer?.some(
        ({ firstOffset, lastOffset }) => firstOffset <= baseOffset && baseOffset < lastOffset,
      ) ?? false
    )
  }
}

/** The last offset of each key in the dirty part. */
class LastOffsets {
  readonly #keysMax: number
  readonly #aborted: AbortedBatches
  readonly #offsets = new Map<string, number>()
  readonly #reader = new RecordBatchReader()
  #isFull = false
  /** What lies at or after it was not looked at. */
  endOffset = 0

  constructor(keysMax: number, aborted: AbortedBatches) {
    this.#keysMax = keysMax
    this.#aborted = aborted
  }

  collect(segment: LogSegment, fromOffset: number): void {
    if (this.#isFull || segment.nextOffset <= fromOffset) return
    const scanner = segment.scan()
    while (scanner.next()) {
      if (scanner.lastOffset < fromOffset) continue
      // A batch is taken in whole or not at all.
      if (this.#offsets.size > 0 && this.#offsets.size + scanner.recordCount > this.#keysMax) {
        this.#isFull = true
        return
      }
      this.#collectBatch(scanner)
      this.endOffset = scanner.lastOffset + 1
    }
    this.endOffset = segment.nextOffset
  }

  /** -1 for a key that the dirty part does not have. */
  get(record: RecordBatchReader): number {
    return this.#offsets.get(keyOf(record)) ?? -1
  }

  #collectBatch(scanner: BatchScanner): void {
    if (scanner.isControl || this.#aborted.has(scanner)) return
    this.#reader.reset(scanner.batch())
    forEachRecord(this.#reader, () => {
      if (this.#reader.hasKey) this.#offsets.set(keyOf(this.#reader), this.#reader.offset)
    })
  }
}

/** Latin-1 maps every byte to one character: equal strings, equal keys. */
function keyOf(record: RecordBatchReader): string {
  return record.buffer.toString('latin1', record.keyStart, record.keyEnd)
}

/**
 * False when the batch cannot be read here: its codec is missing, or a producer compressed rubbish.
 */
function forEachRecord(reader: RecordBatchReader, work: () => void): boolean {
  try {
    if (!reader.nextBatch()) return false
    while (reader.next()) work()
    return true
  } catch (error) {
    if (!isStreamsError(error)) throw error
    return false
  }
}

/** Neighbours that fit into one segment together. */
function inGroups(segments: readonly LogSegment[], segmentBytes: number): LogSegment[][] {
  const groups: LogSegment[][] = []
  let bytes = 0
  for (const segment of segments) {
    const group = groups.at(-1)
    if (group !== undefined && bytes + segment.size <= segmentBytes) {
      group.push(segment)
      bytes += segment.size
    } else {
      groups.push([segment])
      bytes = segment.size
    }
  }
  return groups
}

interface FilterOptions {
  readonly isObsolete: (reader: RecordBatchReader) => boolean
  /** Whether what is at this offset was cleaned so long ago that everybody knows of it. */
  readonly isOutdated: (offset: number) => boolean
  readonly aborted: AbortedBatches
  /** Batches from here on are kept as they are. */
  readonly endOffset: number
}

/** Writes the group anew as one segment; returns its bytes. */
function cleanGroup(
  log: PartitionLog,
  group: readonly LogSegment[],
  { disk, filter }: { disk: Disk; filter: BatchFilter },
): number {
  const [first, last] = [group[0] as LogSegment, group.at(-1) as LogSegment]
  const cleaned = new LogSegment(disk, log.directory, {
    baseOffset: first.baseOffset,
    nowMs: last.createdAtMs,
    isCleaned: true,
  })
  try {
    cleaned.create()
    for (const segment of group) {
      const scanner = segment.scan()
      while (scanner.next()) {
        const batch = filter.apply(scanner)
        if (batch === undefined) continue
        const maxTimestamp = readInt64(batch, batchPosition.maxTimestamp)
        cleaned.append(batch, { lastOffset: scanner.lastOffset, maxTimestamp })
      }
    }
    if (group.length === 1 && cleaned.size === first.size) cleaned.remove()
    else log.replace(group, cleaned)
    return cleaned.size
  } catch (error) {
    cleaned.remove()
    throw error
  }
}

/** Goes over the batches of a log from its start on, and tells what is left of each. */
class BatchFilter {
  readonly #log: PartitionLog
  readonly #options: FilterOptions
  readonly #reader = new RecordBatchReader()
  readonly #builder = new RecordBatchBuilder()
  /** Producers of whose transaction a batch was met, and the marker not yet. */
  readonly #inTransaction = new Set<number>()

  constructor(log: PartitionLog, options: FilterOptions) {
    this.#log = log
    this.#options = options
  }

  /** What is left of a batch; undefined when that is nothing. */
  apply(scanner: BatchScanner): Buffer | undefined {
    const { isControl, isTransactional, producerId, baseOffset } = scanner
    if (isControl) return this.#applyToMarker(scanner)
    if (isTransactional) this.#inTransaction.add(producerId)
    if (baseOffset >= this.#options.endOffset) return scanner.batch()
    const reader = this.#reader
    const builder = this.#builder
    const batch = scanner.batch()
    builder.reset()
    reader.reset(batch)
    const isReadable = this.#options.aborted.has(scanner) ? reader.nextBatch() : this.#collect()
    if (!isReadable) return batch
    // The newest batch of a producer stays, empty if need be: it tells where the sequence goes on.
    const isNeeded = this.#log.producers.isNewestBatch(producerId, scanner.lastOffset)
    if (builder.isEmpty && !isNeeded) return undefined
    if (builder.recordCount === scanner.recordCount) return batch
    return builder.build({
      baseOffset: reader.baseOffset,
      lastOffsetDelta: reader.lastOffset - reader.baseOffset,
      partitionLeaderEpoch: reader.partitionLeaderEpoch,
      producerId: reader.producerId,
      producerEpoch: reader.producerEpoch,
      baseSequence: reader.baseSequence,
      isTransactional: reader.isTransactional,
      compression: builder.isEmpty ? 'none' : reader.compression,
      timestampType: reader.timestampType,
    })
  }

  /** Collects the records that stay; false when the batch cannot be read. */
  #collect(): boolean {
    const reader = this.#reader
    return forEachRecord(reader, () => {
      if (this.#options.isObsolete(reader)) return
      const offsetDelta = reader.offset - reader.baseOffset
      this.#builder.appendAt(
        offsetDelta,
        reader.key(),
        reader.value(),
        reader.timestamp,
        reader.headers(),
      )
    })
  }

  #applyToMarker(scanner: BatchScanner): Buffer | undefined {
    const { producerId, lastOffset } = scanner
    const endsBatches = this.#inTransaction.delete(producerId)
    const isNeeded =
      endsBatches ||
      lastOffset >= this.#options.endOffset ||
      !this.#options.isOutdated(lastOffset) ||
      this.#log.producers.isNewestBatch(producerId, lastOffset)
    return isNeeded ? scanner.batch() : undefined
  }
}
