import type { Compression } from '../protocol/compression.ts'
import type { KafkaClient } from './kafka-client.ts'

/** Options of a {@link Producer}; all optional. */
export interface ProducerOptions {
  /** A batch waits this long for more records. Default 5 ms. */
  lingerMs?: number
  /** A batch of this size goes at once. Default 256 KiB. */
  batchBytes?: number
  /** Largest record that `send` takes. Default 1 MiB less what a batch adds. */
  recordBytesMax?: number
  /** Most bytes of record batches in one request. Default 1 MiB. */
  requestBytesMax?: number
  /** Default `none`. */
  compression?: Compression
  /** A record that is not acknowledged by then has failed. Default 120 s. */
  deliveryTimeoutMs?: number
  signal?: AbortSignal
}

/** Headers of a record in their order; names may repeat. */
export type ProducerHeaders = readonly (readonly [name: string, value: Buffer | null])[]

/**
 * Writes records, each once even when an answer is lost: batches carry sequence numbers, and the
 * broker knows those that it has (KIP-98). Appending never waits; `drained` is the back-pressure and
 * `flush` the acknowledgement.
 *
 * A record that could not be written is lost to this producer: `flush` rejects from then on, `send`
 * to that partition throws. Make a new producer and start again from what was committed.
 *
 * @example
 * await client.topicMetadata(['counts'])
 * const producer = new Producer(client)
 * producer.send('counts', producer.partitionFor(key, 'counts'), key, value, timestamp, [])
 * await producer.flush()
 */
export class Producer implements AsyncDisposable {
  constructor(client: KafkaClient, options: ProducerOptions = {}) {
    throw new Error('to come')
  }

  /**
   * Partitions of a topic, from the cache of the client (`client.topicMetadata` fills it). Throws
   * `SOURCE_TOPIC_MISSING` for a topic that is not there.
   */
  partitionCount(topic: string): number {
    throw new Error('to come')
  }

  /**
   * Kafka's choice: murmur2 of the key; without a key, one partition until its batch is full, then
   * another (KIP-480). Throws `SOURCE_TOPIC_MISSING`.
   */
  partitionFor(key: Uint8Array | null, topic: string): number {
    throw new Error('to come')
  }

  /**
   * Copies the record into the batch of its partition. Throws `RECORD_TOO_LARGE`, and
   * `DELIVERY_FAILED` when an earlier record of the partition has failed.
   */
  send(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: ProducerHeaders,
  ): void {
    throw new Error('to come')
  }

  /**
   * Sends what waits and resolves when everything sent before the call is acknowledged. Rejects with
   * the `DELIVERY_FAILED` of the first failure, also one from before this call.
   */
  flush(): Promise<void> {
    throw new Error('to come')
  }

  /** The offset after the last acknowledged record of that partition; undefined: none yet. */
  nextOffset(topic: string, partition: number): number | undefined {
    throw new Error('to come')
  }

  /** Bytes that are not acknowledged. */
  get queuedBytes(): number {
    throw new Error('to come')
  }

  /** Resolves when at most `maxBytes` are not acknowledged, on abort, failure or close. Never rejects. */
  drained(maxBytes: number, signal?: AbortSignal): Promise<void> {
    throw new Error('to come')
  }

  /** Drops what is not acknowledged (flush first), and waits for its requests to end. Idempotent. */
  close(): Promise<void> {
    throw new Error('to come')
  }

  [Symbol.asyncDispose](): Promise<void> {
    throw new Error('to come')
  }
}
