import type { KafkaClient } from '../client/kafka-client.ts'
import { StreamsError } from '../errors.ts'
import {
  changelogTopic,
  internalTopicName,
  sourceTopics,
  topicOfSink,
  type Topology,
} from '../topology/topology.ts'

/** All topics of an application, by their full names. */
export class WorkerTopics {
  /** What the tasks read. */
  readonly sources: readonly string[]
  readonly #repartition: ReadonlySet<string>
  readonly #changelogs: readonly string[]
  /** What the application writes for others. */
  readonly #sinks: readonly string[]

  constructor(topology: Topology, applicationId: string) {
    const { subtopologies } = topology
    this.sources = [
      ...new Set(subtopologies.flatMap((subtopology) => sourceTopics(applicationId, subtopology))),
    ]
    this.#repartition = new Set(
      subtopologies.flatMap(({ repartitionSources }) =>
        repartitionSources.map(({ name }) => internalTopicName(applicationId, name)),
      ),
    )
    this.#changelogs = subtopologies
      .flatMap(({ stores }) => stores.map((store) => changelogTopic(applicationId, store)))
      .filter((topic) => topic !== undefined)
    this.#sinks = subtopologies.flatMap(({ sinks }) =>
      sinks
        .filter(({ internal }) => !internal)
        .flatMap((sink) => topicOfSink(applicationId, sink) ?? []),
    )
  }

  isRepartition(topic: string): boolean {
    return this.#repartition.has(topic)
  }

  /**
   * Makes the client know all of them. Throws `SOURCE_TOPIC_MISSING` or `SINK_TOPIC_MISSING` for a
   * topic of the user that is not there, and a `KAFKA_ERROR` that can pass for an internal one: the
   * leader has created it, and the news is still on its way.
   */
  async load(client: KafkaClient, signal: AbortSignal): Promise<void> {
    const topics = [...this.sources, ...this.#sinks, ...this.#changelogs]
    let known = await client.topicMetadata(topics, { signal })
    if (topics.some((topic) => !known.has(topic)))
      known = await client.topicMetadata(topics, { fresh: true, signal })
    for (const topic of topics) {
      if (known.has(topic)) continue
      if (this.#sinks.includes(topic)) throw new StreamsError('SINK_TOPIC_MISSING', { topic })
      const isInternal = this.#repartition.has(topic) || this.#changelogs.includes(topic)
      if (!isInternal) throw new StreamsError('SOURCE_TOPIC_MISSING', { topic })
      throw new StreamsError('KAFKA_ERROR', {
        api: 'Metadata',
        subject: topic,
        error: 'UNKNOWN_TOPIC_OR_PARTITION',
        kafkaRetriable: true,
      })
    }
  }
}
