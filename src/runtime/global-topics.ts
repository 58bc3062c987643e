import { sleep, type Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Isolation } from '../client/isolation.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass } from '../client/kafka-failure.ts'
import { listOffsets, partitionKey, type PartitionKey } from '../client/offsets.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { GlobalInput } from '../task/global-inputs.ts'
import type { GlobalSubtopology } from '../topology/topology.ts'

/** Wait before something is asked of the cluster again. */
const retryMs = 500

/** The offsets that the log of a partition has: from the first one to before the end. */
export interface LogRange {
  readonly start: number
  readonly end: number
}

/** A partition, and what its log has. */
export interface FoundInput {
  readonly input: GlobalInput
  readonly range: LogRange
}

export interface GlobalTopicsOptions {
  readonly client: KafkaClient
  /** Under `read_committed` a log ends where the first open transaction begins: nobody waits for others. */
  readonly isolation: Isolation
  readonly clock: Clock
  readonly log: Log
  /** Nothing is asked any more once it aborts; what was asked fails with `ABORTED`. */
  readonly signal: AbortSignal
}

/** What the cluster says about global topics; asked again while it has a problem that can pass. */
export class GlobalTopics {
  readonly #options: GlobalTopicsOptions

  constructor(options: GlobalTopicsOptions) {
    this.#options = options
  }

  /** Finds the topics of these stores. Throws `SOURCE_TOPIC_MISSING`, `ABORTED`. */
  async learn(globalStores: readonly GlobalSubtopology[]): Promise<void> {
    const { client, signal } = this.#options
    const topics = globalStores.flatMap(({ source }) => source.topics)
    const known = await this.#patiently('topics', () =>
      client.topicMetadata(topics, { fresh: true, signal }),
    )
    for (const { source, store } of globalStores) {
      const missing = source.topics.find((topic) => !known.has(topic))
      if (missing === undefined) continue
      throw new StreamsError('SOURCE_TOPIC_MISSING', {
        topic: missing,
        store: store.descriptor.name,
      })
    }
  }

  /** Finds what the logs of these partitions have; as many as are given. Throws `ABORTED`. */
  async find(inputs: readonly GlobalInput[]): Promise<readonly FoundInput[]> {
    const ends = await this.#listOffsets(inputs, 'latest')
    const starts = await this.#listOffsets(inputs, 'earliest')
    return inputs.map((input) => {
      const key = partitionKey(input.topic, input.partition)
      const [start = 0, end = 0] = [starts.get(key), ends.get(key)]
      return { input, range: { start, end } }
    })
  }

  #listOffsets(
    inputs: readonly GlobalInput[],
    at: 'earliest' | 'latest',
  ): Promise<ReadonlyMap<PartitionKey, number>> {
    const { client, isolation, signal } = this.#options
    const partitions = inputs.map(({ topic, partition }) => ({ topic, partition }))
    return this.#patiently('offsets of global topics', () =>
      listOffsets(client, partitions, at, { isolation, signal }),
    )
  }

  async #patiently<T>(what: string, request: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#options
    for (;;) {
      try {
        const answer = await request()
        this.#throwIfStopped()
        return answer
      } catch (error) {
        this.#throwIfStopped()
        if (!canPass(error)) throw error
        log.warn(`the ${what} could not be read, trying again`, { error: messageOf(error) })
        await sleep(clock, retryMs, this.#options.signal)
      }
    }
  }

  #throwIfStopped(): void {
    if (this.#options.signal.aborted) {
      throw new StreamsError('ABORTED', { what: 'a question about global topics' })
    }
  }
}
