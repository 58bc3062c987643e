import type { KafkaClient } from '../client/kafka-client.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { parseTaskId } from '../processor/record-metadata.ts'
import { sourceTopics } from '../topology/topology.ts'
import type { WorkerTopics } from './worker-topics.ts'

/** Between two looks at how many partitions there are. */
const lookMs = 1000

/** What {@link TopicGrowth} is made of. */
export interface TopicGrowthOptions {
  readonly client: KafkaClient
  readonly applicationId: string
  readonly topics: WorkerTopics
}

/**
 * Knows which topics have got partitions. What tasks read depends on it, and is known by each client at another time:
 *
 * - The group may give a task of a partition that this client has not heard of. Made then, the task would read nothing.
 * - Of several topics that a task reads one may get that partition later: then no task comes that would tell of it.
 */
export class TopicGrowth {
  readonly #options: TopicGrowthOptions
  readonly #counts = new Map<string, number>()
  #lookedAt = -Infinity

  constructor(options: TopicGrowthOptions) {
    this.#options = options
  }

  /** Asks the cluster, once, if one of these tasks is of a partition that a topic of it does not seem to have. */
  async learn(ids: readonly TaskId[], signal: AbortSignal): Promise<void> {
    const { client, topics } = this.#options
    if (!ids.some((id) => this.#isAhead(id))) return
    await client.topicMetadata(topics.sources, { fresh: true, signal })
  }

  #isAhead(id: TaskId): boolean {
    const { client, applicationId, topics } = this.#options
    const { subtopology, partition } = parseTaskId(id)
    const found = topics.topology.subtopologies.find((one) => one.id === subtopology)
    return (
      found !== undefined &&
      sourceTopics(applicationId, found).some(
        (topic) => (client.partitionCount(topic) ?? 0) <= partition,
      )
    )
  }

  /**
   * True: a topic has got partitions since this was true last, so that tasks may read more. `now` is of the monotonic
   * clock. `areAllRead`: false when a task reads nothing, so that the cluster is asked again.
   */
  hasGrown(now: number, { areAllRead }: { readonly areAllRead: () => boolean }): boolean {
    if (now - this.#lookedAt < lookMs) return false
    this.#lookedAt = now
    const { client, topics } = this.#options
    if (!areAllRead()) client.refreshMetadata().catch(() => undefined)
    const counts = topics.sources.map((topic) => [topic, client.partitionCount(topic)] as const)
    // While one is not known, tasks would seem to read it no longer.
    if (counts.some(([, count]) => count === undefined)) return false
    let hasGrown = false
    for (const [topic, count = 0] of counts) {
      if (count > (this.#counts.get(topic) ?? 0)) hasGrown = true
      this.#counts.set(topic, count)
    }
    return hasGrown
  }
}
