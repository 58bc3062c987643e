import type { Log } from '../../base/log.ts'
import { Admin } from '../../client/admin.ts'
import type { KafkaClient } from '../../client/kafka-client.ts'
import { StreamsError } from '../../errors.ts'
import {
  allPartitionCounts,
  internalTopics,
  type InternalTopic,
} from '../../topology/internal-topics.ts'
import type { Topology } from '../../topology/topology.ts'

/** What a {@link TopicPreparation} is made of. */
export interface TopicPreparationOptions {
  readonly client: KafkaClient
  readonly applicationId: string
  /** Of internal topics that are created; -1: the brokers' default. */
  readonly replicationFactor: number
  /** Configs for internal topics, over the defaults. */
  readonly topicConfigs: Readonly<Record<string, string>>
  /** Milliseconds that windows stay in changelogs after stores forgot them. Default a day. */
  readonly windowStoreChangelogAdditionalRetention?: number
  readonly log: Log
}

/** The topics of an application, ready to be read and written. */
export interface PreparedTopics {
  /** Partitions of all topics that are read, by name. */
  readonly partitionCounts: ReadonlyMap<string, number>
  /** Of those that others write. */
  readonly external: ReadonlyMap<string, number>
  /** Topics that were made just now: they are empty. */
  readonly created: ReadonlySet<string>
}

/**
 * Sees to the topics of an application before its tasks are given out. Java's InternalTopicManager and
 * RepartitionTopics.
 */
export class TopicPreparation {
  readonly #options: TopicPreparationOptions

  constructor(options: TopicPreparationOptions) {
    this.#options = options
  }

  /**
   * Creates the internal topics that are missing, and checks those that exist. Throws
   * `SOURCE_TOPIC_MISSING`, `INTERNAL_TOPIC_INVALID`, `TOPOLOGY_INVALID`, and what the client throws.
   *
   * @param matchedTopics those of the topology that it reads because a pattern matches them
   */
  async prepare(
    topology: Topology,
    matchedTopics: readonly string[],
    signal: AbortSignal,
  ): Promise<PreparedTopics> {
    const { client, applicationId, topicConfigs } = this.#options
    const { windowStoreChangelogAdditionalRetention: additionalRetention } = this.#options
    const external = await this.#externalCounts(topology, matchedTopics, signal)
    const internal = internalTopics(
      topology,
      applicationId,
      external,
      topicConfigs,
      additionalRetention,
    )
    const existing = await client.topicMetadata(
      internal.map(({ name }) => name),
      { fresh: true, signal },
    )
    const missing = internal.filter(({ name }) => !existing.has(name))
    const created = missing.length > 0 ? await this.#create(missing, signal) : new Set<string>()
    for (const { name, partitionCount } of internal) {
      const actual = existing.get(name)?.partitions.length ?? client.partitionCount(name)
      if (actual !== undefined && actual !== partitionCount) {
        throw new StreamsError('INTERNAL_TOPIC_INVALID', {
          topic: name,
          actual,
          expected: partitionCount,
        })
      }
    }
    const partitionCounts = allPartitionCounts(topology, applicationId, external)
    return { partitionCounts, external, created }
  }

  async #create(missing: readonly InternalTopic[], signal: AbortSignal): Promise<Set<string>> {
    const { client, replicationFactor, log } = this.#options
    const outcomes = await new Admin(client).createTopics(
      missing.map(({ name, partitionCount, configs }) => ({
        topic: name,
        partitions: partitionCount,
        replicationFactor,
        configs,
      })),
      { signal },
    )
    const created = new Set<string>()
    for (const [topic, outcome] of outcomes) {
      if (outcome !== 'created') continue
      created.add(topic)
      log.info('created an internal topic', { topic })
    }
    return created
  }

  async #externalCounts(
    topology: Topology,
    matchedTopics: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, number>> {
    const { client } = this.#options
    const topics = externalTopics(topology)
    const metadata = await client.topicMetadata(topics, { fresh: true, signal })
    return new Map(
      topics.map((topic) => {
        const found = metadata.get(topic)
        if (found === undefined) throw missing(topic, matchedTopics)
        return [topic, found.partitions.length]
      }),
    )
  }
}

/** Topics that the topology reads and others write, each once. */
export function externalTopics(topology: Topology): string[] {
  const topics = topology.subtopologies.flatMap(({ sources }) =>
    sources.filter(({ internal }) => !internal).flatMap((source) => source.topics),
  )
  return [...new Set(topics)]
}

/** One that was listed a moment ago was deleted since: the next list will not have it. */
function missing(topic: string, matchedTopics: readonly string[]): StreamsError {
  if (!matchedTopics.includes(topic)) return new StreamsError('SOURCE_TOPIC_MISSING', { topic })
  return new StreamsError('KAFKA_ERROR', {
    api: 'Metadata',
    subject: topic,
    error: 'UNKNOWN_TOPIC_OR_PARTITION',
    kafkaRetriable: true,
  })
}
