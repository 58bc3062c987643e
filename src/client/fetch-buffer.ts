import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { StreamsError } from '../errors.ts'
import { Backoff } from './backoff.ts'
import type { FetchAssignment, FetchedRecords, OffsetReset } from './fetched-records.ts'
import { FetchPartition, type FetchedPartition } from './fetch-partition.ts'
import type { Isolation } from './isolation.ts'

/** First and longest wait before a partition that failed is asked for again. */
const retryBackoffMs = 100
const retryBackoffMaxMs = 1000

/** What a {@link FetchBuffer} needs. */
export interface FetchBufferOptions {
  readonly clock: Clock
  readonly random: Random
  /** For partitions that do not state their own. */
  readonly offsetReset: OffsetReset
  readonly isolation: Isolation
}

/** The assigned partitions of a fetcher and what was fetched of them, until it is polled. */
export class FetchBuffer {
  readonly #options: FetchBufferOptions
  readonly #partitions = new Map<string, Map<number, FetchPartition>>()
  /** Partitions with something to poll, paused ones included. */
  readonly #ready = new Set<FetchPartition>()
  readonly #waiters = new Set<() => void>()
  #turn = 0
  #bytes = 0
  #pausedBytes = 0

  constructor(options: FetchBufferOptions) {
    this.#options = options
  }

  get topics(): Iterable<string> {
    return this.#partitions.keys()
  }

  /** Bytes that wait, paused partitions included. */
  get bytes(): number {
    return this.#bytes
  }

  /** Grows with each answer that brought something. */
  get additions(): number {
    return this.#turn
  }

  /** Bytes that wait and can be polled: those that count against the budget. */
  get pollableBytes(): number {
    return this.#bytes - this.#pausedBytes
  }

  *partitions(): Generator<FetchPartition> {
    for (const ofTopic of this.#partitions.values()) yield* ofTopic.values()
  }

  find(topic: string, partition: number): FetchPartition | undefined {
    return this.#partitions.get(topic)?.get(partition)
  }

  /** Adds a partition, or moves the one that is there. */
  assign(assigned: FetchAssignment): void {
    const { topic, partition, offset, leaderEpoch } = assigned
    this.seek(this.find(topic, partition) ?? this.#add(assigned), offset, leaderEpoch)
  }

  remove(partition: FetchPartition): void {
    this.#drop(partition)
    partition.generation += 1
    const ofTopic = this.#partitions.get(partition.topic)
    ofTopic?.delete(partition.partition)
    if (ofTopic?.size === 0) this.#partitions.delete(partition.topic)
  }

  seek(partition: FetchPartition, offset: FetchAssignment['offset'], leaderEpoch = -1): void {
    this.#drop(partition)
    partition.seek(offset, leaderEpoch)
  }

  pause(partition: FetchPartition): void {
    if (partition.isPaused) return
    partition.isPaused = true
    this.#pausedBytes += partition.bufferedBytes
  }

  resume(partition: FetchPartition): void {
    if (!partition.isPaused) return
    partition.isPaused = false
    this.#pausedBytes -= partition.bufferedBytes
    this.wakeIfReady()
  }

  /** Takes over an answer; true when it brought batches. Throws as `FetchPartition.add`. */
  add(partition: FetchPartition, fetched: FetchedPartition, leaderEpoch: number): boolean {
    const bytesBefore = partition.bufferedBytes
    if (!partition.add(fetched, leaderEpoch)) return false
    const bytes = partition.bufferedBytes - bytesBefore
    this.#bytes += bytes
    if (partition.isPaused) this.#pausedBytes += bytes
    this.#turn += 1
    partition.turn = this.#turn
    this.#ready.add(partition)
    return true
  }

  /** Stops a partition; `poll` returns the error. */
  stop(partition: FetchPartition, error: StreamsError): void {
    partition.stop(error)
    this.#ready.add(partition)
  }

  poll(): FetchedRecords[] {
    const taken: FetchedRecords[] = []
    for (const partition of this.#ready) {
      if (partition.isPaused) continue
      this.#bytes -= partition.bufferedBytes
      partition.take(taken)
      this.#ready.delete(partition)
    }
    return taken
  }

  /** Resolves when `poll` would return something, after `maxMs`, or when a signal aborts. */
  wait(maxMs: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isReady() || signals.some((signal) => signal?.aborted)) {
        resolve()
        return
      }
      const done = (): void => {
        timer.cancel()
        for (const signal of signals) signal?.removeEventListener('abort', done)
        this.#waiters.delete(done)
        resolve()
      }
      const timer = this.#options.clock.setTimer(maxMs, done)
      for (const signal of signals) signal?.addEventListener('abort', done, { once: true })
      this.#waiters.add(done)
    })
  }

  /** Ends the waits when there is something to poll. */
  wakeIfReady(): void {
    if (this.#waiters.size > 0 && this.#isReady()) for (const done of this.#waiters) done()
  }

  #isReady(): boolean {
    for (const partition of this.#ready) if (!partition.isPaused) return true
    return false
  }

  #add({ topic, partition, offsetReset = this.#options.offsetReset }: FetchAssignment) {
    const { random, isolation } = this.#options
    const added = new FetchPartition({
      topic,
      partition,
      offsetReset,
      isolation,
      backoff: new Backoff({ baseMs: retryBackoffMs, maxMs: retryBackoffMaxMs, random }),
    })
    const ofTopic = this.#partitions.get(topic) ?? new Map<number, FetchPartition>()
    ofTopic.set(partition, added)
    this.#partitions.set(topic, ofTopic)
    return added
  }

  #drop(partition: FetchPartition): void {
    this.#bytes -= partition.bufferedBytes
    if (partition.isPaused) this.#pausedBytes -= partition.bufferedBytes
    this.#ready.delete(partition)
  }
}
