import type { KafkaClient } from '../../client/kafka-client.ts'
import { fetchCommittedOffsets, listOffsets, partitionKey } from '../../client/offsets.ts'
import type { TopicPartition } from '../../client/topic-metadata.ts'
import { taskId, type TaskId } from '../../processor/record-metadata.ts'
import {
  changelogTopic,
  taskCount,
  type Subtopology,
  type Topology,
} from '../../topology/topology.ts'
import type { PreparedTopics } from './topic-preparation.ts'

/** The other members wait meanwhile; so long this waits for brokers. */
const patienceMs = 10_000

/** A changelog of a task. */
interface Changelog extends TopicPartition {
  readonly task: TaskId
  /** It is an input of the task: what counts is what the group has committed. */
  readonly isSource: boolean
}

/**
 * How much there is to read for each task that has changelogs: the sum of their end offsets. Of a topic
 * that is an input as well it is the committed offset, as far as a restore goes. Throws what the client
 * throws, when brokers do not tell in time.
 */
export async function changelogEnds(
  client: KafkaClient,
  applicationId: string,
  topology: Topology,
  topics: PreparedTopics,
  signal: AbortSignal,
): Promise<Map<TaskId, number>> {
  const all = topology.subtopologies.flatMap((subtopology) =>
    changelogsOf(applicationId, subtopology, topics.partitionCounts),
  )
  // What was made a moment ago is empty, and its leaders may not be there yet.
  const own = all.filter(({ isSource, topic }) => !isSource && !topics.created.has(topic))
  const sources = all.filter(({ isSource }) => isSource)
  const options = { timeoutMs: patienceMs, signal }
  const [ends, committed] = await Promise.all([
    listOffsets(client, own, 'latest', options),
    fetchCommittedOffsets(client, applicationId, sources, options),
  ])
  const sums = new Map<TaskId, number>()
  for (const { task, topic, partition, isSource } of all) {
    const key = partitionKey(topic, partition)
    const end = isSource ? committed.get(key)?.offset : ends.get(key)
    sums.set(task, (sums.get(task) ?? 0) + (end ?? 0))
  }
  return sums
}

function changelogsOf(
  applicationId: string,
  subtopology: Subtopology,
  partitionCounts: ReadonlyMap<string, number>,
): Changelog[] {
  const count = taskCount(applicationId, subtopology, partitionCounts)
  return subtopology.stores.flatMap((store) => {
    const topic = changelogTopic(applicationId, store)
    if (topic === undefined) return []
    const isSource = store.sourceTopic !== undefined
    const partitions = isSource ? (partitionCounts.get(topic) ?? 0) : count
    return Array.from({ length: partitions }, (_, partition) => {
      return { task: taskId(subtopology.id, partition), topic, partition, isSource }
    })
  })
}
