import type { RecordHeaders } from '../store/state-store.ts'

/**
 * Where a task's records go: the producer of its worker, or the test driver's memory. Appending is
 * synchronous; acknowledgement is what a commit waits for.
 */
export interface RecordSink {
  /** Partitions of a topic. Throws `SOURCE_TOPIC_MISSING` for a topic that is not known. */
  partitionCount(topic: string): number
  /** Copies the bytes into the batch of that partition. Throws `RECORD_TOO_LARGE`. */
  send(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders,
  ): void
  /** The offset after the last acknowledged record of this sink in that partition; undefined: none yet. */
  nextOffset(topic: string, partition: number): number | undefined
}
