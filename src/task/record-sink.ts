import type { RecordOrigin } from '../client/refusal.ts'
import type { RecordHeaders } from '../store/state-store.ts'

/** A record for a topic of which nothing is known yet. */
export interface LaterRecord {
  /** What it holds in memory. */
  readonly bytes: number
  /** Writes it when it is known how many partitions there are. What it throws fails the delivery. */
  readonly write: (partitionCount: number) => void
}

/** Where records go whose topic the cluster must be asked about first. */
export interface UnknownTopicSink {
  /** False: the topic is known, and nothing waits for it; use {@link RecordSink.send}. */
  has(topic: string): boolean
  /**
   * Keeps the record until the cluster has told of the topic, and has it written then, in the order of
   * the calls. A topic that does not exist is a failed delivery.
   */
  defer(topic: string, record: LaterRecord): void
}

/**
 * Where a task's records go: the producer of its worker, or the test driver's memory. Appending is
 * synchronous; acknowledgement is what a commit waits for.
 */
export interface RecordSink {
  /** Partitions of a topic. Throws `SOURCE_TOPIC_MISSING` for a topic that is not known. */
  partitionCount(topic: string): number
  /**
   * Copies the bytes into the batch of that partition. The timestamp -1 stands for the time of this
   * call. The origin is for those who ask about what is refused. Throws `RECORD_TOO_LARGE`.
   */
  send(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders,
    origin?: RecordOrigin,
  ): void
  /** Somebody asks where refused records came from. Default: nobody does. */
  readonly keepsOrigins?: boolean
  /** For topics that only records name; a sink without it knows all topics. */
  readonly unknownTopics?: UnknownTopicSink
  /** The offset after the last acknowledged record of this sink in that partition; undefined: none yet. */
  nextOffset(topic: string, partition: number): number | undefined
}
