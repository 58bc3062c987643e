/**
 * The records of one input partition that wait for their task
 * (org.apache.kafka.streams.processor.internals.RecordQueue). They stay the bytes that were fetched;
 * only the head is decoded, once, when it is asked for:
 *
 *     fetched batches ── [ batch │ batch │ batch ]      bytes
 *                           ▲
 *                        cursor → head: key, value, timestamp, offset, headers
 */
import { silentLog, type Log } from '../base/log.ts'
import { batchPosition, lengthEnd } from '../protocol/record-batch-layout.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { Serde } from '../serde/serde.ts'
import { noHeaders, type RecordHeaders, type SourceBytes } from '../store/state-store.ts'
import type { SourceNode, TimestampContext } from '../topology/node.ts'
import type { ErrorHandlers } from './error-handlers.ts'
import type { TaskNode } from './task-node.ts'
import { StreamsError, isStreamsError, messageOf } from '../errors.ts'

export interface RecordQueueOptions {
  readonly task: TaskId
  readonly topic: string
  readonly partition: number
  readonly source: SourceNode
  /** Where its records go. */
  readonly node: TaskNode
  readonly metrics: StreamsMetrics
  /** Decide what happens to a record that cannot be deserialized. */
  readonly handlers: ErrorHandlers
  /** Milliseconds since the epoch, for timestamp extractors. */
  readonly wallClockTime: () => number
  /** Hears of records that are dropped for their timestamp. Default: nobody does. */
  readonly log?: Log
}

interface Chunk {
  readonly records: Buffer
  readonly startOffset: number
  readonly recordCount: number
}

/** The queue of one partition. */
export class RecordQueue {
  readonly topic: string
  readonly partition: number
  readonly source: SourceNode
  readonly node: TaskNode

  /** False: nothing is known about the head fields. */
  hasHead = false
  headKey: unknown = null
  headValue: unknown = null
  /** As the extractor gave it; milliseconds. */
  headTimestamp = -1
  headOffset = -1
  headHeaders: RecordHeaders = noHeaders
  /** Undefined also when no handler needs it. */
  headSource: SourceBytes | undefined

  /** The largest timestamp taken from here, -1 before the first. */
  partitionTime = -1
  /**
   * Leader epoch of the batch at the position, or of the last one when it is used up; -1: not known.
   * Committed, so that whoever reads on can ask whether the log was cut.
   */
  leaderEpoch = -1
  /** The offset of the last commit; undefined: none yet. */
  committedPosition: number | undefined

  readonly #task: TaskId
  readonly #metrics: StreamsMetrics
  readonly #handlers: ErrorHandlers
  readonly #keepsSource: boolean
  readonly #log: Log
  readonly #timestampContext: TimestampContext
  readonly #reader = new RecordBatchReader()
  readonly #chunks: Chunk[] = []
  /** Records before it, in the chunk that is being read, are not ours. */
  #startOffset = 0
  #position: number | undefined
  /** After the batch that is being read. */
  #batchNextOffset = -1
  #waitingRecords = 0
  #waitingBytes = 0
  #chunkBytes = 0
  #recordsLeftInChunk = 0

  constructor(options: RecordQueueOptions) {
    this.topic = options.topic
    this.partition = options.partition
    this.source = options.source
    this.node = options.node
    this.#task = options.task
    this.#metrics = options.metrics
    this.#handlers = options.handlers
    this.#keepsSource = options.handlers.needsSource
    this.#log = options.log ?? silentLog
    this.#timestampContext = contextOf(this, this.#reader, options.wallClockTime)
  }

  /** Appends fetched batches; the first may begin before `startOffset`, where our records begin. */
  add(records: Buffer, startOffset: number): void {
    const recordCount = countRecords(records)
    this.#chunks.push({ records, startOffset, recordCount })
    this.#waitingRecords += recordCount
    this.#waitingBytes += records.length
  }

  /** Records that wait, the head included; about, while a batch that begins earlier is being read. */
  get bufferedRecords(): number {
    return this.#waitingRecords + Math.max(0, this.#recordsLeftInChunk) + (this.hasHead ? 1 : 0)
  }

  /** Bytes of the fetched batches that are not used up. */
  get bufferedBytes(): number {
    return this.#waitingBytes + this.#chunkBytes
  }

  /** False: there is no head, and no bytes that could yield one. */
  get mayHaveHead(): boolean {
    return this.hasHead || this.#chunkBytes > 0 || this.#chunks.length > 0
  }

  /** The next offset to process; undefined before anything was read. */
  get position(): number | undefined {
    return this.hasHead ? this.headOffset : this.#position
  }

  /**
   * Makes sure that there is a head; false when nothing is left. Records that are skipped have left
   * the queue when this returns, and also when a later record throws.
   *
   * @throws StreamsError `RECORD_UNREADABLE`, `TIMESTAMP_INVALID`, `PROCESSING_FAILED` (the timestamp
   *   extractor), `RECORD_BATCH_CORRUPT`. The position is then the record's.
   */
  advance(): boolean {
    if (this.hasHead) return true
    const reader = this.#reader
    try {
      for (;;) {
        while (reader.next()) {
          this.#recordsLeftInChunk -= 1
          const offset = reader.offset
          if (offset < this.#startOffset) continue
          this.#position = offset
          if (this.#decode(offset)) return true
          this.#position = offset + 1
        }
        if (!this.#nextBatch()) return false
      }
    } catch (error) {
      throw this.#located(error)
    }
  }

  /** The head has been processed: the position moves past it. */
  take(): void {
    this.hasHead = false
    this.headKey = null
    this.headValue = null
    this.#position = this.headOffset + 1
    if (this.headTimestamp > this.partitionTime) this.partitionTime = this.headTimestamp
  }

  /** Forgets everything that waits. */
  clear(): void {
    this.hasHead = false
    this.#chunks.length = 0
    this.#waitingRecords = 0
    this.#waitingBytes = 0
    this.#endChunk()
  }

  /** Moves to the next batch with records of the user, over as many chunks as that takes. */
  #nextBatch(): boolean {
    const reader = this.#reader
    for (;;) {
      if (this.#chunkBytes > 0) {
        while (reader.nextBatch()) {
          if (reader.lastOffset < this.#startOffset) {
            this.#recordsLeftInChunk -= reader.recordCount
            reader.skipBatch()
            continue
          }
          // Compaction leaves gaps, and markers of transactions have offsets too: the position moves
          // to the batch's end when its last record is done, which is when this loop runs again.
          this.#batchEnds(reader.baseOffset)
          this.#batchNextOffset = reader.nextOffset
          this.leaderEpoch = reader.partitionLeaderEpoch
          if (!reader.isControl) return true
          this.#recordsLeftInChunk -= reader.recordCount
          reader.skipBatch()
        }
        this.#batchEnds(this.#startOffset)
        this.#endChunk()
      }
      const chunk = this.#chunks.shift()
      if (chunk === undefined) return false
      this.#waitingRecords -= chunk.recordCount
      this.#waitingBytes -= chunk.records.length
      this.#chunkBytes = chunk.records.length
      this.#recordsLeftInChunk = chunk.recordCount
      this.#startOffset = chunk.startOffset
      this.#position = chunk.startOffset
      this.#batchNextOffset = -1
      reader.reset(chunk.records)
    }
  }

  #batchEnds(position: number): void {
    const next = Math.max(position, this.#batchNextOffset)
    if (this.#position === undefined || next > this.#position) this.#position = next
  }

  #endChunk(): void {
    this.#chunkBytes = 0
    this.#recordsLeftInChunk = 0
    this.#reader.reset(noBytes)
  }

  /** Decodes the record at the cursor into the head; false when it is skipped. */
  #decode(offset: number): boolean {
    const reader = this.#reader
    const source = this.source
    let key: unknown = null
    let value: unknown = null
    try {
      if (reader.hasKey) {
        key = deserialize(source.key, reader.buffer, reader.keyStart, reader.keyEnd)
      }
      if (reader.hasValue) {
        value = deserialize(source.value, reader.buffer, reader.valueStart, reader.valueEnd)
      }
    } catch (error) {
      this.#unreadable(error, offset)
      return false
    }
    let timestamp = reader.timestamp
    if (source.timestamp !== undefined) {
      timestamp = this.#extract(source.timestamp, key, value, offset)
      if (timestamp < 0) {
        this.#metrics.dropped('invalid-timestamp')
        const { topic, partition } = this
        const where = { topic, partition, offset, timestamp }
        this.#log.warn('a record was dropped for its invalid timestamp', where)
        return false
      }
    } else if (timestamp < 0 || timestamp > Number.MAX_SAFE_INTEGER) {
      throw new StreamsError('TIMESTAMP_INVALID', { ...this.#where(offset), timestamp })
    }
    this.headKey = key
    this.headValue = value
    this.headTimestamp = timestamp
    this.headOffset = offset
    this.headHeaders = reader.headerCount === 0 ? noHeaders : ownedHeaders(reader.headers())
    if (this.#keepsSource) this.headSource = this.#source()
    this.hasHead = true
    return true
  }

  /** The bytes at the cursor; not views of what was fetched, which would keep a megabyte alive. */
  #source(): SourceBytes {
    const [key, value] = [this.#reader.key(), this.#reader.value()]
    return { key: key && Buffer.from(key), value: value && Buffer.from(value) }
  }

  #extract(
    extractor: NonNullable<SourceNode['timestamp']>,
    key: unknown,
    value: unknown,
    offset: number,
  ): number {
    const failed = (detail: string, cause?: unknown): StreamsError =>
      new StreamsError(
        'PROCESSING_FAILED',
        { node: this.source.name, ...this.#where(offset), detail },
        { cause },
      )
    let timestamp: number
    try {
      timestamp = extractor(value, key, this.#reader.timestamp, this.#timestampContext)
    } catch (error) {
      if (isStreamsError(error, 'TIMESTAMP_INVALID')) {
        throw new StreamsError(error.code, { ...this.#where(offset), ...error.context })
      }
      throw failed(`the timestamp extractor threw: ${messageOf(error)}`, error)
    }
    if (!Number.isSafeInteger(timestamp)) {
      throw failed(
        `the timestamp extractor returned ${String(timestamp)}, not a whole number of milliseconds`,
      )
    }
    return timestamp
  }

  #unreadable(error: unknown, offset: number): void {
    const { topic, partition } = this
    const reader = this.#reader
    const record = {
      node: this.source.name,
      topic,
      partition,
      offset,
      timestamp: reader.timestamp,
      headers: reader.headerCount === 0 ? noHeaders : ownedHeaders(reader.headers()),
      ...this.#source(),
    }
    this.#handlers.unreadable(record, error)
  }

  #where(offset: number): Record<string, unknown> {
    return { task: this.#task, topic: this.topic, partition: this.partition, offset }
  }

  /** Damage in a batch is found without knowledge of the partition: add it. */
  #located(error: unknown): unknown {
    if (!isStreamsError(error) || error.context['topic'] !== undefined) return error
    const { topic, partition } = this
    const context = { ...error.context, task: this.#task, topic, partition }
    return new StreamsError(error.code, context, { cause: error })
  }
}

function deserialize(serde: Serde<unknown>, bytes: Buffer, start: number, end: number): unknown {
  return serde.deserializeSlice === undefined
    ? serde.deserialize(bytes.subarray(start, end))
    : serde.deserializeSlice(bytes, start, end)
}

const noBytes = Buffer.alloc(0)

/** What an extractor sees of the record at the cursor: one object, whose properties look there. */
function contextOf(
  queue: RecordQueue,
  reader: RecordBatchReader,
  wallClockTime: () => number,
): TimestampContext {
  return {
    topic: queue.topic,
    partition: queue.partition,
    get offset() {
      return reader.offset
    },
    get headers() {
      return reader.headerCount === 0 ? noHeaders : ownedHeaders(reader.headers())
    },
    get partitionTime() {
      return queue.partitionTime
    },
    wallClockTime,
  }
}

/** The values are views of the fetched bytes: a store that keeps them would keep a megabyte alive. */
function ownedHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.map(([name, value]) => [name, value === null ? null : Buffer.from(value)])
}

/** Adds up the record counts in the headers of all whole batches, without verifying them. */
function countRecords(records: Buffer): number {
  let count = 0
  let start = 0
  while (start + batchPosition.records <= records.length) {
    const end = start + lengthEnd + records.readInt32BE(start + batchPosition.length)
    if (end < start + batchPosition.records || end > records.length) break
    count += Math.max(0, records.readInt32BE(start + batchPosition.recordCount))
    start = end
  }
  return count
}
