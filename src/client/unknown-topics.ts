import { StreamsError, isStreamsError, messageOf } from '../errors.ts'
import { lifeController } from './deadline.ts'
import type { KafkaClient } from './kafka-client.ts'

/** A topic that was made a moment ago is not known to all brokers yet. */
const missingPatienceMs = 10_000

/** A record for a topic of which nothing is known yet. */
export interface WaitingRecord {
  /** Chooses the partition when it is known how many there are. */
  readonly partition: (partitionCount: number) => number
  readonly key: Uint8Array | null
  readonly value: Uint8Array | null
  /** Milliseconds. */
  readonly timestamp: number
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
}

/** What {@link UnknownTopics} needs of its producer. */
export interface UnknownTopicsOptions {
  readonly client: KafkaClient
  /** Takes a record whose topic is known by now. */
  readonly write: (topic: string, partition: number, record: WaitingRecord) => void
  /** Records are lost: their topic does not exist, or the cluster could not be asked. */
  readonly onFailed: (error: StreamsError) => void
}

/**
 * Keeps records whose topic was named only by themselves, while the cluster is asked about it: a
 * producer never waits when it is given a record. Once the topic is known they are written, in order.
 */
export class UnknownTopics {
  readonly #options: UnknownTopicsOptions
  readonly #waiting = new Map<string, WaitingRecord[]>()
  readonly #questions = new Set<Promise<void>>()
  readonly #life = lifeController()
  /** Bytes of keys and values that wait. */
  bytes = 0

  constructor(options: UnknownTopicsOptions) {
    this.#options = options
  }

  /** False: the topic is known, and no earlier record waits for it. */
  has(topic: string): boolean {
    return this.#waiting.has(topic) || this.#options.client.partitionCount(topic) === undefined
  }

  /** Copies the record and keeps it until its topic is known. */
  send(topic: string, record: WaitingRecord): void {
    const kept = { ...record, key: copyOf(record.key), value: copyOf(record.value) }
    this.bytes += sizeOf(kept)
    const waiting = this.#waiting.get(topic)
    if (waiting !== undefined) {
      waiting.push(kept)
      return
    }
    this.#waiting.set(topic, [kept])
    const question = this.#ask(topic).finally(() => this.#questions.delete(question))
    this.#questions.add(question)
  }

  /** True: nothing waits. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** Resolves when what waits by then is written or has failed. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#questions)
  }

  /** Drops what waits, and ends the questions. Idempotent. */
  async close(): Promise<void> {
    this.#life.abort()
    await this.settled()
  }

  async #ask(topic: string): Promise<void> {
    const { client, write, onFailed } = this.#options
    try {
      const partitionCount = await this.#partitionCount(topic)
      for (const record of this.#take(topic)) write(topic, record.partition(partitionCount), record)
    } catch (error) {
      this.#take(topic)
      if (this.#life.signal.aborted) return
      client.log.warn('records for a topic could not be written', {
        topic,
        error: messageOf(error),
      })
      onFailed(failureOf(topic, error))
    }
  }

  async #partitionCount(topic: string): Promise<number> {
    const { client } = this.#options
    const { signal } = this.#life
    const retry = client.retry('Metadata', { deadlineMs: missingPatienceMs, signal })
    for (;;) {
      const found = await client.topicMetadata([topic], { fresh: true, signal })
      const known = found.get(topic)
      if (known !== undefined) return known.partitions.length
      await retry.wait(new StreamsError('SINK_TOPIC_MISSING', { topic }))
    }
  }

  #take(topic: string): readonly WaitingRecord[] {
    const waiting = this.#waiting.get(topic) ?? []
    this.#waiting.delete(topic)
    for (const record of waiting) this.bytes -= sizeOf(record)
    return waiting
  }
}

function failureOf(topic: string, error: unknown): StreamsError {
  if (isStreamsError(error, 'SINK_TOPIC_MISSING')) return error
  const context = { topic, partition: '?', detail: messageOf(error) }
  return new StreamsError('DELIVERY_FAILED', context, { cause: error })
}

function sizeOf({ key, value }: WaitingRecord): number {
  return (key?.length ?? 0) + (value?.length ?? 0)
}

function copyOf(bytes: Uint8Array | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes)
}
