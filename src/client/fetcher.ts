import { FetchBuffer } from './fetch-buffer.ts'
import { FetchDispatcher } from './fetch-dispatcher.ts'
import type { FetchPartition } from './fetch-partition.ts'
import type { FetchAssignment, FetchedRecords, FetchStart, OffsetReset } from './fetched-records.ts'
import type { Isolation } from './isolation.ts'
import type { KafkaClient } from './kafka-client.ts'
import type { TopicPartition } from './topic-metadata.ts'

export type { FetchAssignment, FetchedRecords, FetchStart, OffsetReset } from './fetched-records.ts'

/** Options of a {@link Fetcher}; all optional. */
export interface FetcherOptions {
  /** Default `read_uncommitted`. Java: isolation.level. */
  isolation?: Isolation
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
}

const defaults = {
  isolation: 'read_uncommitted' as Isolation,
  offsetReset: 'none' as OffsetReset,
  fetchMaxWaitMs: 500,
  fetchMinBytes: 1,
  fetchMaxBytes: 16 * 1024 * 1024,
  maxPartitionFetchBytes: 1024 * 1024,
  bufferBytesMax: 32 * 1024 * 1024,
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
  readonly #buffer: FetchBuffer
  readonly #dispatcher: FetchDispatcher

  /** Connects when something is assigned. */
  constructor(client: KafkaClient, options: FetcherOptions = {}) {
    const stated = Object.entries(options).filter(([, value]) => value !== undefined)
    const settings: typeof defaults = { ...defaults, ...Object.fromEntries(stated) }
    const { clock, random } = client
    const { offsetReset, isolation } = settings
    this.#buffer = new FetchBuffer({ clock, random, offsetReset, isolation })
    this.#dispatcher = new FetchDispatcher(client, this.#buffer, settings)
  }

  /** What is read. */
  get assignment(): readonly TopicPartition[] {
    return [...this.#buffer.partitions()].map(({ topic, partition }) => ({ topic, partition }))
  }

  /**
   * Adds partitions; one that is assigned already is moved to the offset (what was fetched of it is
   * dropped) and stays paused if it was. A new partition is not paused.
   */
  assign(partitions: readonly FetchAssignment[]): void {
    for (const assigned of partitions) this.#buffer.assign(assigned)
    this.#dispatcher.schedule()
  }

  /** Stops reading these and drops what was fetched of them. Unknown ones are ignored. */
  unassign(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) {
      this.#with(topic, partition, (found) => this.#buffer.remove(found))
    }
  }

  /** Moves an assigned partition: as `assign` of this one. Ignored when it is not assigned. */
  seek(topic: string, partition: number, offset: number | FetchStart): void {
    this.#with(topic, partition, (found) => this.#buffer.seek(found, offset))
  }

  /** Neither fetches nor returns records of it until resumed; what is buffered is kept. */
  pause(topic: string, partition: number): void {
    this.#with(topic, partition, (found) => this.#buffer.pause(found))
  }

  resume(topic: string, partition: number): void {
    this.#with(topic, partition, (found) => this.#buffer.resume(found))
  }

  isPaused(topic: string, partition: number): boolean {
    return this.#buffer.find(topic, partition)?.isPaused ?? false
  }

  /** Takes what is there, errors included; empty when there is nothing. Never waits. */
  poll(): FetchedRecords[] {
    const taken = this.#buffer.poll()
    if (taken.length > 0) this.#dispatcher.schedule()
    return taken
  }

  /** Resolves when `poll` would return something, after `maxMs`, on abort or on close. Never rejects. */
  wait(maxMs: number, signal?: AbortSignal): Promise<void> {
    return this.#buffer.wait(maxMs, [this.#dispatcher.life, signal])
  }

  /**
   * The offset after the last batch that `poll` returned. Undefined: not assigned, or still looking
   * for the end of the log that was asked for.
   */
  position(topic: string, partition: number): number | undefined {
    return this.#buffer.find(topic, partition)?.position
  }

  /** The end of the log as of the last response; undefined before the first. */
  highWatermark(topic: string, partition: number): number | undefined {
    return this.#buffer.find(topic, partition)?.highWatermark
  }

  /**
   * Where reading has to stop as of the last response: the high watermark, or under `read_committed` the
   * first open transaction. Undefined before the first.
   */
  readableEnd(topic: string, partition: number): number | undefined {
    return this.#buffer.find(topic, partition)?.readableEnd
  }

  /** Records between `position` and {@link Fetcher.readableEnd}. Undefined while either is. */
  lag(topic: string, partition: number): number | undefined {
    const found = this.#buffer.find(topic, partition)
    if (found?.readableEnd === undefined || found.position === undefined) return undefined
    return Math.max(0, found.readableEnd - found.position)
  }

  /** Bytes that wait for `poll`, paused partitions included. */
  get bufferedBytes(): number {
    return this.#buffer.bytes
  }

  /** Stops fetching and waits for what is under way. Idempotent. */
  close(): Promise<void> {
    return this.#dispatcher.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #with(topic: string, partition: number, change: (found: FetchPartition) => void): void {
    const found = this.#buffer.find(topic, partition)
    if (found === undefined) return
    change(found)
    this.#dispatcher.schedule()
  }
}
