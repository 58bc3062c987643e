import type { KafkaClient } from '../client/kafka-client.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { parseTaskId } from '../processor/record-metadata.ts'
import type { StreamTask } from '../task/stream-task.ts'
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
    const { partition } = parseTaskId(id)
    return this.#topicsOf(id).some((topic) => this.#count(topic) <= partition)
  }

  #count(topic: string): number {
    return this.#options.client.partitionCount(topic) ?? 0
  }

  /** What tasks of its sub-topology read where there is their partition. */
  #topicsOf(id: TaskId): string[] {
    const { applicationId, topics } = this.#options
    const { subtopology } = parseTaskId(id)
    const found = topics.topology.subtopologies.find((one) => one.id === subtopology)
    return found === undefined ? [] : sourceTopics(applicationId, found)
  }

  /**
   * True, once in a while: one of these tasks does not read a topic that has its partition by now. `now` is of the
   * monotonic clock. While a task reads nothing, the cluster is asked again.
   */
  hasGrown(now: number, tasks: Iterable<StreamTask>): boolean {
    if (now - this.#lookedAt < lookMs) return false
    this.#lookedAt = now
    let isIdle = false
    for (const { id, inputs } of tasks) {
      const { partition } = parseTaskId(id)
      isIdle ||= inputs.length === 0
      const isUnread = (topic: string): boolean => !inputs.some((input) => input.topic === topic)
      const more = this.#topicsOf(id).filter(isUnread)
      if (more.some((topic) => this.#count(topic) > partition)) return true
    }
    if (isIdle) this.#options.client.refreshMetadata().catch(() => undefined)
    return false
  }
}
