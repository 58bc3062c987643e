import type { Timer } from '../base/clock.ts'
import { randomInteger } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import type { Compression } from '../protocol/compression.ts'
import { partitionForKey } from '../protocol/murmur2.ts'
import { recordSizeMax } from '../protocol/record-builder.ts'
import { Backoff } from './backoff.ts'
import type { KafkaClient } from './kafka-client.ts'
import type { FlushWaiter, ProducerBatch } from './producer-batch.ts'
import { ProducerPartition } from './producer-partition.ts'
import { ProducerSender } from './producer-sender.ts'
import { IdempotentSession, type ProducerSession } from './producer-session.ts'
import type { RecordOrigin, RefusalHandler } from './refusal.ts'
import { UnknownTopics } from './unknown-topics.ts'

/** First and longest wait before a batch that failed is sent again. */
const retryBackoffMs = 100
const retryBackoffMaxMs = 1000

const defaults = {
  lingerMs: 5,
  batchBytes: 256 * 1024,
  recordBytesMax: 1024 * 1024 - 512,
  requestBytesMax: 1024 * 1024,
  compression: 'none' as Compression,
  deliveryTimeoutMs: 120_000,
}

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
  /** Decides about records that are refused, one by one, or not taken in time. Default: they fail. */
  onRefused?: RefusalHandler
  /** A TransactionManager, for a producer whose records are in transactions. Default: they are in none. */
  session?: ProducerSession
}

/** Of a record that states no time. */
const noTimestamp = -1

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
  /** For records whose topic is not in the cache of the client: they are written once it is. */
  readonly unknownTopics: UnknownTopics
  /** Somebody asks where refused records came from. */
  readonly keepsOrigins: boolean
  readonly #client: KafkaClient
  readonly #options: typeof defaults
  readonly #isTransactional: boolean
  readonly #sender: ProducerSender
  readonly #topics = new Map<string, ProducerPartition[]>()
  /** Partitions whose batch is being filled. */
  readonly #open = new Set<ProducerPartition>()
  readonly #unacknowledged = new Set<ProducerBatch>()
  /** Where records without a key go, by topic, until a batch is full. */
  readonly #sticky = new Map<string, number>()
  readonly #flushes = new Set<FlushWaiter>()
  readonly #drains = new Set<{ readonly maxBytes: number; readonly done: () => void }>()
  #queuedBytes = 0
  #lingerTimer: Timer | undefined
  #failure: StreamsError | undefined
  #isClosed = false

  /** Asks for its producer id when the first batch is sent. */
  constructor(client: KafkaClient, options: ProducerOptions = {}) {
    this.#client = client
    const { onRefused, session = new IdempotentSession(client), ...bounds } = options
    this.#isTransactional = session.transactionalId !== null
    this.keepsOrigins = onRefused !== undefined
    const stated = Object.entries(bounds).filter(([, value]) => value !== undefined)
    this.#options = { ...defaults, ...Object.fromEntries(stated) }
    const { requestBytesMax, deliveryTimeoutMs, compression } = this.#options
    this.#sender = new ProducerSender(client, {
      session,
      requestBytesMax,
      deliveryTimeoutMs,
      compression,
      onAcknowledged: (batch) => this.#acknowledged(batch),
      onDropped: (batch) => this.#acknowledged(batch),
      onRefused,
      onReplaced: (batch, parts) => this.#replaced(batch, parts),
      onFailed: (partition, error) => this.#failed(partition, error),
    })
    this.unknownTopics = new UnknownTopics({ client, onFailed: (error) => this.#lost(error) })
  }

  /**
   * Partitions of a topic, from the cache of the client (`client.topicMetadata` fills it). Throws
   * `SOURCE_TOPIC_MISSING` for a topic that is not there.
   */
  partitionCount(topic: string): number {
    const count = this.#client.partitionCount(topic)
    if (count === undefined) throw new StreamsError('SOURCE_TOPIC_MISSING', { topic })
    return count
  }

  /**
   * Kafka's choice: murmur2 of the key; without a key, one partition until its batch is full, then
   * another (KIP-480). Throws `SOURCE_TOPIC_MISSING`.
   */
  partitionFor(key: Uint8Array | null, topic: string): number {
    const count = this.partitionCount(topic)
    if (key !== null) return partitionForKey(key, count)
    const known = this.#sticky.get(topic)
    if (known !== undefined && known < count) return known
    const chosen = randomInteger(this.#client.random, count)
    this.#sticky.set(topic, chosen)
    return chosen
  }

  /**
   * Copies the record into the batch of its partition. The timestamp -1 stands for the time of this
   * call. The origin is for `onRefused`. Throws `RECORD_TOO_LARGE`, `CLIENT_CLOSED`,
   * `COMPRESSION_UNAVAILABLE`, and `DELIVERY_FAILED` when an earlier record of the partition has failed.
   */
  send(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: ProducerHeaders,
    origin?: RecordOrigin,
  ): void {
    const target = this.#topics.get(topic)?.[partition] ?? this.#add(topic, partition)
    if (target.failure !== undefined) throw target.failure
    if (this.#isClosed) throw new StreamsError('CLIENT_CLOSED', { what: 'producer' })
    const written = headers.length === 0 ? undefined : headers
    const bytes = recordSizeMax(key, value, written)
    if (bytes > this.#options.recordBytesMax) this.#refuse(topic, bytes)
    const { builder } = target
    const { batchBytes } = this.#options
    if (!builder.isEmpty && builder.sizeInBytes + bytes > batchBytes) this.#seal(target)
    const bytesBefore = target.openBytes
    if (bytesBefore === 0) this.#opened(target)
    const time = timestamp === noTimestamp ? this.#client.clock.now() : timestamp
    builder.append(key, value, time, written)
    if (target.origins !== undefined) target.origins.push(origin)
    this.#queuedBytes += builder.sizeInBytes - bytesBefore
    if (builder.sizeInBytes >= batchBytes) this.#seal(target)
  }

  /**
   * Sends what waits and resolves when everything sent before the call is acknowledged. Rejects with
   * the first failure, also one from before this call: `DELIVERY_FAILED`, or `SINK_TOPIC_MISSING` for
   * a topic that was not known when it was sent to.
   */
  flush(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#isClosed)
      return Promise.reject(new StreamsError('CLIENT_CLOSED', { what: 'producer' }))
    if (!this.unknownTopics.isEmpty) return this.unknownTopics.settled().then(() => this.flush())
    for (const target of this.#open) this.#seal(target)
    const remaining = this.#unacknowledged.size
    if (remaining === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const waiter = { remaining, resolve, reject }
      this.#flushes.add(waiter)
      for (const batch of this.#unacknowledged) batch.waiters.push(waiter)
    })
  }

  /** The offset after the last acknowledged record of that partition; undefined: none yet. */
  nextOffset(topic: string, partition: number): number | undefined {
    return this.#topics.get(topic)?.[partition]?.nextOffset
  }

  /** Bytes that are not acknowledged. */
  get queuedBytes(): number {
    return this.#queuedBytes + this.unknownTopics.bytes
  }

  /** Resolves when at most `maxBytes` are not acknowledged, on abort, failure or close. Never rejects. */
  drained(maxBytes: number, signal?: AbortSignal): Promise<void> {
    const isOver = this.#isClosed || this.#failure !== undefined || signal?.aborted === true
    if (isOver || this.#queuedBytes <= maxBytes) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener('abort', done)
        this.#drains.delete(waiter)
        resolve()
      }
      const waiter = { maxBytes, done }
      signal?.addEventListener('abort', done, { once: true })
      this.#drains.add(waiter)
    })
  }

  /** Drops what is not acknowledged (flush first), and waits for its requests to end. Idempotent. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true
      this.#lingerTimer?.cancel()
      this.#rejectFlushes(new StreamsError('CLIENT_CLOSED', { what: 'producer' }))
      for (const waiter of this.#drains) waiter.done()
    }
    await Promise.all([this.unknownTopics.close(), this.#sender.close()])
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #add(topic: string, partition: number): ProducerPartition {
    const ofTopic = this.#topics.get(topic) ?? []
    this.#topics.set(topic, ofTopic)
    const backoff = new Backoff({
      baseMs: retryBackoffMs,
      maxMs: retryBackoffMaxMs,
      random: this.#client.random,
    })
    const isTransactional = this.#isTransactional
    const added = new ProducerPartition(topic, partition, { isTransactional, backoff })
    if (this.keepsOrigins) added.origins = []
    ofTopic[partition] = added
    return added
  }

  #refuse(topic: string, bytes: number): never {
    throw new StreamsError('RECORD_TOO_LARGE', {
      topic,
      bytes,
      limit: this.#options.recordBytesMax,
    })
  }

  #opened(target: ProducerPartition): void {
    target.openedAt = this.#client.clock.monotonic()
    this.#open.add(target)
    this.#lingerTimer ??= this.#client.clock.setTimer(this.#options.lingerMs, () => this.#linger())
  }

  /** Finishes the batches that have waited long enough. */
  #linger(): void {
    this.#lingerTimer = undefined
    const now = this.#client.clock.monotonic()
    let restMs = Infinity
    for (const target of this.#open) {
      const targetRestMs = target.openedAt + this.#options.lingerMs - now
      // Timers of the machine may fire a fraction of a millisecond early.
      if (targetRestMs < 1) this.#seal(target)
      else restMs = Math.min(restMs, targetRestMs)
    }
    if (restMs !== Infinity) {
      this.#lingerTimer = this.#client.clock.setTimer(restMs, () => this.#linger())
    }
  }

  #seal(target: ProducerPartition): void {
    const { topic, openBytes } = target
    const batch = target.seal(this.#options.compression, this.#sender.producer)
    this.#open.delete(target)
    this.#queuedBytes += batch.bytes.length - openBytes
    this.#unacknowledged.add(batch)
    this.#sender.add(target)
    if (this.#sticky.get(topic) === target.partition) this.#moveSticky(topic, target.partition)
  }

  #moveSticky(topic: string, from: number): void {
    const count = this.#client.partitionCount(topic) ?? 1
    if (count === 1) return
    const other = randomInteger(this.#client.random, count - 1)
    this.#sticky.set(topic, other >= from ? other + 1 : other)
  }

  #acknowledged(batch: ProducerBatch): void {
    this.#dropped(batch)
    for (const waiter of batch.waiters) {
      waiter.remaining -= 1
      if (waiter.remaining > 0 || !this.#flushes.delete(waiter)) continue
      waiter.resolve()
    }
    this.#notifyDrained()
  }

  #replaced(batch: ProducerBatch, parts: readonly ProducerBatch[]): void {
    this.#dropped(batch)
    for (const part of parts) {
      this.#unacknowledged.add(part)
      this.#queuedBytes += part.bytes.length
    }
  }

  #failed(target: ProducerPartition, error: StreamsError): void {
    target.failure = error
    this.#queuedBytes -= target.openBytes
    target.builder.reset()
    target.origins = undefined
    this.#open.delete(target)
    for (const batch of target.batches.splice(0)) this.#dropped(batch)
    this.#lost(error)
  }

  #lost(error: StreamsError): void {
    this.#failure ??= error
    this.#rejectFlushes(this.#failure)
    for (const waiter of this.#drains) waiter.done()
  }

  #dropped(batch: ProducerBatch): void {
    this.#unacknowledged.delete(batch)
    this.#queuedBytes -= batch.bytes.length
  }

  #rejectFlushes(error: StreamsError): void {
    for (const waiter of this.#flushes) waiter.reject(error)
    this.#flushes.clear()
  }

  #notifyDrained(): void {
    for (const waiter of this.#drains) if (this.#queuedBytes <= waiter.maxBytes) waiter.done()
  }
}
