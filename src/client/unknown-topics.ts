import { StreamsError, isStreamsError, messageOf } from '../errors.ts'
import { lifeController } from './deadline.ts'
import type { KafkaClient } from './kafka-client.ts'

/** A topic that was made a moment ago is not known to all brokers yet. */
const missingPatienceMs = 10_000

/** A record for a topic of which nothing is known yet. */
export interface WaitingRecord {
  /** What it holds in memory. */
  readonly bytes: number
  /** Writes it when it is known how many partitions there are. What it throws fails the delivery. */
  readonly write: (partitionCount: number) => void
}

/** What {@link UnknownTopics} needs of its producer. */
export interface UnknownTopicsOptions {
  readonly client: KafkaClient
  /**
   * Records are lost: their topic does not exist, or the cluster could not be asked, or it is what the
   * writing of one threw.
   */
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
  /** Of the records that wait. */
  bytes = 0

  constructor(options: UnknownTopicsOptions) {
    this.#options = options
  }

  /** False: the topic is known, and no earlier record waits for it. */
  has(topic: string): boolean {
    return this.#waiting.has(topic) || this.#options.client.partitionCount(topic) === undefined
  }

  /** Keeps the record until its topic is known. */
  defer(topic: string, record: WaitingRecord): void {
    this.bytes += record.bytes
    const waiting = this.#waiting.get(topic)
    if (waiting !== undefined) {
      waiting.push(record)
      return
    }
    this.#waiting.set(topic, [record])
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
    let partitionCount
    try {
      partitionCount = await this.#partitionCount(topic)
    } catch (error) {
      this.#lose(topic, failureOf(topic, error))
      return
    }
    try {
      for (const { write } of this.#take(topic)) write(partitionCount)
    } catch (error) {
      this.#lose(topic, error instanceof StreamsError ? error : failureOf(topic, error))
    }
  }

  #lose(topic: string, error: StreamsError): void {
    const { client, onFailed } = this.#options
    this.#take(topic)
    if (this.#life.signal.aborted) return
    client.log.warn('records for a topic could not be written', { topic, error: error.message })
    onFailed(error)
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
    for (const { bytes } of waiting) this.bytes -= bytes
    return waiting
  }
}

function failureOf(topic: string, error: unknown): StreamsError {
  if (isStreamsError(error, 'SINK_TOPIC_MISSING')) return error
  const context = { topic, partition: '?', detail: messageOf(error) }
  return new StreamsError('DELIVERY_FAILED', context, { cause: error })
}
