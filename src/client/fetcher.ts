import type { StreamsError } from '../errors.ts'
import type { KafkaClient } from './kafka-client.ts'
import type { TopicPartition } from './topic-metadata.ts'

/** Where to start when an offset is not in the log; `none`: that is an error of the partition. */
export type OffsetReset = 'earliest' | 'latest' | 'none'

/** Options of a {@link Fetcher}; all optional. */
export interface FetcherOptions {
  /** `read-committed` is refused with `CONFIG_INVALID` until transactions are supported. */
  isolationLevel?: 'read-uncommitted' | 'read-committed'
  /** For partitions that do not state their own. Default `none`. */
  offsetReset?: OffsetReset
  /** How long a broker may hold a request when it has nothing new. Default 500 ms. */
  fetchMaxWaitMs?: number
  /** A broker answers once it has this much. Default 1 byte. */
  fetchMinBytes?: number
  /** Most bytes of one response (its first batch may exceed it). Default 16 MiB. */
  fetchMaxBytes?: number
  /** Most bytes of one partition in one response (its first batch may exceed it). Default 1 MiB. */
  maxPartitionFetchBytes?: number
  /**
   * Nothing more is fetched while this much waits for `poll`, not counting paused partitions: each
   * of those holds at most one response's share. Default 32 MiB.
   */
  bufferBytesMax?: number
  signal?: AbortSignal
}

/** A partition to be read, and from where. */
export interface FetchAssignment extends TopicPartition {
  /** The first offset wanted, or an end of the log. */
  readonly offset: number | 'earliest' | 'latest'
  /** Default: that of the fetcher. */
  readonly offsetReset?: OffsetReset
}

/** What one fetch brought of one partition. */
export interface FetchedRecords extends TopicPartition {
  /**
   * Whole record batches, for a RecordBatchReader (which verifies them). A view of the response:
   * it keeps the whole response in memory for as long as it is held. Empty when `error` is set.
   */
  readonly records: Buffer
  /** Skip records below it: the first batch may begin before. */
  readonly startOffset: number
  /** The offset after the last batch in `records`. */
  readonly nextOffset: number
  readonly highWatermark: number
  readonly logStartOffset: number
  readonly lastStableOffset: number
  /** Aborted transactions in this range; empty under `read-uncommitted`. */
  readonly aborted: readonly { readonly producerId: number; readonly firstOffset: number }[]
  /**
   * Set: this partition is stopped (`OFFSET_OUT_OF_RANGE` under reset `none`, a Kafka error that
   * does not pass). It goes on after {@link Fetcher.seek}; others are not affected.
   */
  readonly error: StreamsError | undefined
}

/**
 * Reads partitions in the background, ahead of its user, within a budget of bytes.
 *
 * @example
 * const fetcher = new Fetcher(client, { offsetReset: 'earliest' })
 * fetcher.assign([{ topic: 'orders', partition: 0, offset: 42 }])
 * while (!signal.aborted) {
 *   await fetcher.wait(100, signal)
 *   for (const fetched of fetcher.poll()) take(fetched)
 * }
 */
export class Fetcher implements AsyncDisposable {
  constructor(client: KafkaClient, options: FetcherOptions = {}) {
    throw new Error('to come')
  }

  /** What is read. */
  get assignment(): readonly TopicPartition[] {
    throw new Error('to come')
  }

  /**
   * Adds partitions; one that is assigned already is moved to the offset (what was fetched of it is
   * dropped). A new partition is not paused.
   */
  assign(partitions: readonly FetchAssignment[]): void {
    throw new Error('to come')
  }

  /** Stops reading these and drops what was fetched of them. Unknown ones are ignored. */
  unassign(partitions: readonly TopicPartition[]): void {
    throw new Error('to come')
  }

  /** Moves an assigned partition: as `assign` of this one, keeping its pause. */
  seek(topic: string, partition: number, offset: number | 'earliest' | 'latest'): void {
    throw new Error('to come')
  }

  /** Neither fetches nor returns records of it until resumed; what is buffered is kept. */
  pause(topic: string, partition: number): void {
    throw new Error('to come')
  }

  resume(topic: string, partition: number): void {
    throw new Error('to come')
  }

  isPaused(topic: string, partition: number): boolean {
    throw new Error('to come')
  }

  /** Takes what is there, errors included; empty when there is nothing. Never waits. */
  poll(): FetchedRecords[] {
    throw new Error('to come')
  }

  /** Resolves when `poll` would return something, after `maxMs`, on abort or on close. Never rejects. */
  wait(maxMs: number, signal?: AbortSignal): Promise<void> {
    throw new Error('to come')
  }

  /**
   * The offset after the last batch that `poll` returned. Undefined: not assigned, or still looking
   * for the end of the log that was asked for.
   */
  position(topic: string, partition: number): number | undefined {
    throw new Error('to come')
  }

  /** The end of the log as of the last response; undefined before the first. */
  highWatermark(topic: string, partition: number): number | undefined {
    throw new Error('to come')
  }

  /** Records between `position` and the high watermark; undefined while either is. */
  lag(topic: string, partition: number): number | undefined {
    throw new Error('to come')
  }

  /** Bytes that wait for `poll`, paused partitions included. */
  get bufferedBytes(): number {
    throw new Error('to come')
  }

  /** Stops the loops and waits for them. Idempotent. */
  close(): Promise<void> {
    throw new Error('to come')
  }

  [Symbol.asyncDispose](): Promise<void> {
    throw new Error('to come')
  }
}
