import type { KafkaClient } from '../client/kafka-client.ts'
import { StreamsError } from '../errors.ts'
import { internalTopics } from '../topology/internal-topics.ts'
import { withTopics } from '../topology/matched-topics.ts'
import {
  internalTopicName,
  sourceTopics,
  topicOfSink,
  type Topology,
} from '../topology/topology.ts'

/** All topics of an application, by their full names. */
export class WorkerTopics {
  readonly #given: Topology
  readonly #applicationId: string
  /** Topics that match the patterns of the topology. */
  #matched: readonly string[] = []
  #topology: Topology
  readonly #repartition: ReadonlySet<string>
  /** What the application writes for others. */
  readonly #sinks: readonly string[]

  /** `sinks` are topics that no step of the topology names, such as one for dead letters. */
  constructor(topology: Topology, applicationId: string, sinks: readonly string[] = []) {
    this.#given = topology
    this.#applicationId = applicationId
    this.#topology = topology
    const { subtopologies } = topology
    this.#repartition = new Set(
      subtopologies.flatMap(({ repartitionSources }) =>
        repartitionSources.map(({ name }) => internalTopicName(applicationId, name)),
      ),
    )
    const named = subtopologies
      .flatMap((subtopology) => subtopology.sinks)
      .filter(({ internal }) => !internal)
      .flatMap((sink) => topicOfSink(applicationId, sink) ?? [])
    this.#sinks = [...named, ...sinks]
  }

  /** With the topics that its patterns match. */
  get topology(): Topology {
    return this.#topology
  }

  /** What the tasks read. */
  get sources(): readonly string[] {
    const { subtopologies } = this.#topology
    return [...new Set(subtopologies.flatMap((one) => sourceTopics(this.#applicationId, one)))]
  }

  /** Lets sources with a pattern read these topics. False: they do already. */
  match(topics: readonly string[]): boolean {
    if (topics.join() === this.#matched.join()) return false
    this.#matched = topics
    this.#topology = withTopics(this.#given, topics)
    return true
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
    const external = [...this.sources.filter((topic) => !this.isRepartition(topic)), ...this.#sinks]
    for (const topic of await missingTopics(client, external, signal)) {
      // One that matches a pattern may be gone by now: then there is nothing to read.
      if (this.#matched.includes(topic)) continue
      const code = this.#sinks.includes(topic) ? 'SINK_TOPIC_MISSING' : 'SOURCE_TOPIC_MISSING'
      throw new StreamsError(code, { topic })
    }
    const [missing] = await missingTopics(client, this.#internalTopics(client), signal)
    if (missing === undefined) return
    throw new StreamsError('KAFKA_ERROR', {
      api: 'Metadata',
      subject: missing,
      error: 'UNKNOWN_TOPIC_OR_PARTITION',
      kafkaRetriable: true,
    })
  }

  /** Those that the leader has made: a pattern without a topic needs none. */
  #internalTopics(client: KafkaClient): string[] {
    const existing = this.#matched.filter((topic) => client.partitionCount(topic) !== undefined)
    const counts = new Map<string, number>()
    for (const topic of this.sources) {
      const count = client.partitionCount(topic)
      if (count !== undefined) counts.set(topic, count)
    }
    const topology = withTopics(this.#given, existing)
    return internalTopics(topology, this.#applicationId, counts).map(({ name }) => name)
  }
}

/** Those of these topics that the cluster does not have; the client knows the others then. */
async function missingTopics(
  client: KafkaClient,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  let known = await client.topicMetadata(topics, { signal })
  if (topics.some((topic) => !known.has(topic)))
    known = await client.topicMetadata(topics, { fresh: true, signal })
  return topics.filter((topic) => !known.has(topic))
}
