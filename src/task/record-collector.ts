/**
 * Takes what a task writes: records of its sinks and changes of its stores
 * (org.apache.kafka.streams.processor.internals.RecordCollectorImpl).
 */
import { assert } from '../base/assert.ts'
import type { RecordOrigin } from '../client/refusal.ts'
import type { DeadLetterRecord } from '../error-handlers.ts'
import { isStreamsError } from '../errors.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { NodeProcessor } from '../processor/processor.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { partitionForKey } from '../protocol/murmur2.ts'
import {
  noHeaders,
  type ChangelogWriter,
  type RecordContext,
  type RecordHeaders,
} from '../store/state-store.ts'
import type { SinkNode } from '../topology/node.ts'
import type { ErrorHandlers } from './error-handlers.ts'
import type { RecordSink, UnknownTopicSink } from './record-sink.ts'

export interface RecordCollectorOptions {
  readonly task: TaskId
  readonly sink: RecordSink
  readonly metrics: StreamsMetrics
  readonly record: RecordContext
  /** Decide what happens to a record that cannot be written. */
  readonly handlers: ErrorHandlers
  /** Of the task: changelog records go to the partition of the same number. */
  readonly partition: number
  /** Topic of the changelog, by store. */
  readonly changelogTopics: ReadonlyMap<string, string>
}

/** Records without a key stay on one partition this long, so that batches fill up. */
const recordsPerStickyPartition = 1000

/** Everything that one task produces passes here. */
export class RecordCollector implements ChangelogWriter {
  readonly #task: TaskId
  readonly #sink: RecordSink
  readonly #metrics: StreamsMetrics
  readonly #record: RecordContext
  readonly #handlers: ErrorHandlers
  readonly #partition: number
  readonly #changelogTopics: ReadonlyMap<string, string>
  #keylessRecords = 0

  constructor(options: RecordCollectorOptions) {
    this.#task = options.task
    this.#sink = options.sink
    this.#metrics = options.metrics
    this.#record = options.record
    this.#handlers = options.handlers
    this.#partition = options.partition
    this.#changelogTopics = options.changelogTopics
  }

  /**
   * The code of a sink node that writes to that topic; undefined: each record names its own. Java's
   * SinkNode.
   */
  sink(node: SinkNode, topic: string | undefined): NodeProcessor {
    if (topic !== undefined) {
      return { process: (key, value) => this.#send(node, topic, key, value) }
    }
    const extractor = node.topic
    assert(typeof extractor === 'function', 'a sink has a topic, or a function that names it')
    const { unknownTopics } = this.#sink
    return {
      process: (key, value) => {
        const named = checkedTopic(extractor(value, key, this.#record))
        if (unknownTopics?.has(named) === true) this.#defer(unknownTopics, node, named, key, value)
        else this.#send(node, named, key, value)
      },
    }
  }

  #send(node: SinkNode, topic: string, key: unknown, value: unknown): void {
    const keyBytes = this.#serialized(node, topic, 'key', key, value)
    if (keyBytes === undefined) return
    const valueBytes = this.#serialized(node, topic, 'value', key, value)
    if (valueBytes === undefined) return
    const partitionCount = this.#sink.partitionCount(topic)
    const partition = this.#partitionOf(node, topic, { key, value, keyBytes, partitionCount })
    const { timestamp, headers } = this.#record
    this.#write(node.name, topic, partition, keyBytes, valueBytes, timestamp, headers)
  }

  #partitionOf(
    { partitioner }: SinkNode,
    topic: string,
    record: { key: unknown; value: unknown; keyBytes: Uint8Array | null; partitionCount: number },
  ): number {
    const { key, value, keyBytes, partitionCount } = record
    return partitioner === undefined
      ? this.#defaultPartition(keyBytes, partitionCount)
      : checkedPartition(partitioner(topic, key, value, partitionCount), partitionCount)
  }

  /**
   * Keeps a record until it is known how many partitions its topic has, and writes it then: in its
   * context, so that the handlers are asked as if it were now.
   */
  #defer(
    unknownTopics: UnknownTopicSink,
    node: SinkNode,
    topic: string,
    key: unknown,
    value: unknown,
  ): void {
    const keyBytes = copyOf(this.#serialized(node, topic, 'key', key, value))
    if (keyBytes === undefined) return
    const valueBytes = copyOf(this.#serialized(node, topic, 'value', key, value))
    if (valueBytes === undefined) return
    const context = { ...this.#record }
    const { timestamp, headers } = context
    unknownTopics.defer(topic, {
      bytes: sizeOf(keyBytes, valueBytes),
      write: (partitionCount) => {
        this.#during(context, () => {
          const record = { key, value, keyBytes, partitionCount }
          const partition = this.#laterPartition(node, topic, record)
          if (partition === undefined) return
          this.#write(node.name, topic, partition, keyBytes, valueBytes, timestamp, headers)
        })
      },
    })
  }

  /** Undefined: the partitioner threw, and the record is to be passed over. */
  #laterPartition(
    node: SinkNode,
    topic: string,
    record: { key: unknown; value: unknown; keyBytes: Uint8Array | null; partitionCount: number },
  ): number | undefined {
    try {
      return this.#partitionOf(node, topic, record)
    } catch (error) {
      const { key, value } = record
      this.#handlers.failed(node.name, this.#handlers.sinkFailure(node.name, error), { key, value })
      return undefined
    }
  }

  /** The record of the context is the current one for so long. */
  #during(context: RecordContext, work: () => void): void {
    const current = { ...this.#record }
    Object.assign(this.#record, context)
    try {
      work()
    } finally {
      Object.assign(this.#record, current)
    }
  }

  #originOf(node: string | undefined): RecordOrigin {
    const { topic, partition, offset, source } = this.#record
    return { taskId: this.#task, node, topic, partition, offset, source }
  }

  #write(
    node: string | undefined,
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders,
  ): void {
    try {
      const origin = this.#sink.keepsOrigins === true ? this.#originOf(node) : undefined
      this.#sink.send(topic, partition, key, value, timestamp, headers, origin)
    } catch (error) {
      if (!isStreamsError(error, 'RECORD_TOO_LARGE')) throw error
      const record = { topic, partition, key, value, timestamp, headers }
      this.#handlers.unwritable(node, { origin: 'delivery', record }, error)
      return
    }
    this.#metrics.recordsProduced.value += 1
  }

  /** What a function of the user left undefined is null on the wire. Undefined: it is passed over. */
  #serialized(
    node: SinkNode,
    topic: string,
    origin: 'key' | 'value',
    key: unknown,
    value: unknown,
  ): Uint8Array | null | undefined {
    const given = origin === 'key' ? key : value
    if (given === null || given === undefined) return null
    try {
      return node[origin].serialize(given)
    } catch (error) {
      const { timestamp, headers } = this.#record
      const record = { topic, key, value, timestamp, headers }
      this.#handlers.unwritable(node.name, { origin, record }, error)
      return undefined
    }
  }

  /** Writes a record that a handler gave. */
  deadLetter({ topic, key, value, timestamp, headers }: DeadLetterRecord): void {
    const { unknownTopics } = this.#sink
    const write = (partitionCount: number): void => {
      const partition = this.#defaultPartition(key, partitionCount)
      this.#sink.send(topic, partition, key, value, timestamp, headers)
    }
    const isKnown = unknownTopics?.has(topic) !== true
    if (isKnown) write(this.#sink.partitionCount(topic))
    else unknownTopics.defer(topic, { bytes: sizeOf(key, value), write })
    this.#metrics.recordsProduced.value += 1
  }

  #defaultPartition(key: Uint8Array | null, partitionCount: number): number {
    if (key !== null) return partitionForKey(key, partitionCount)
    const turn = Math.floor(this.#keylessRecords / recordsPerStickyPartition)
    this.#keylessRecords += 1
    return (this.#partition + turn) % partitionCount
  }

  write(
    store: string,
    key: Buffer,
    value: Buffer | null,
    timestamp: number,
    headers: RecordHeaders = noHeaders,
  ): void {
    const topic = this.#changelogTopics.get(store) as string
    this.#write(undefined, topic, this.#partition, key, value, timestamp, headers)
  }
}

function sizeOf(key: Uint8Array | null, value: Uint8Array | null): number {
  return (key?.length ?? 0) + (value?.length ?? 0)
}

/** What a serde gave may be the serde's. */
function copyOf(bytes: Uint8Array | null | undefined): Buffer | null | undefined {
  return bytes && Buffer.from(bytes)
}

function checkedTopic(topic: unknown): string {
  if (typeof topic === 'string' && topic !== '') return topic
  throw new Error(`the function that names the topic returned ${JSON.stringify(topic)}`)
}

function checkedPartition(partition: number, partitionCount: number): number {
  if (Number.isInteger(partition) && partition >= 0 && partition < partitionCount) return partition
  throw new Error(
    `the partitioner returned ${partition}, the topic has ${partitionCount} partitions`,
  )
}
