import { taskId, type TaskId } from '../processor/record-metadata.ts'
import { sourceTopics, type Topology } from '../topology/topology.ts'
import type { Endpoint, HostMap } from './membership.ts'
import { hostKey } from './user-data.ts'

/** What one member holds, as the coordinator tells it: by the topics that its tasks read. */
export interface MemberPartitions {
  readonly userEndpoint: Endpoint
  readonly activePartitions: readonly TopicPartitions[]
  readonly standbyPartitions: readonly TopicPartitions[]
}

interface TopicPartitions {
  readonly topic: string
  readonly partitions: readonly number[]
}

/**
 * Which instance holds which tasks, from which member reads which partitions: the coordinator does not
 * tell tasks. Several members may have one endpoint; an instance holds what they hold together.
 */
export class StreamsHosts {
  /** Sub-topologies by the topics that they read. */
  readonly #readers: ReadonlyMap<string, number>

  constructor(topology: Topology, applicationId: string) {
    this.#readers = new Map(
      topology.subtopologies.flatMap((subtopology) =>
        sourceTopics(applicationId, subtopology).map((topic) => [topic, subtopology.id] as const),
      ),
    )
  }

  /** Topics that nobody here reads are passed over. */
  read(members: readonly MemberPartitions[]): HostMap {
    const hosts = new Map<
      string,
      { endpoint: Endpoint; tasks: { active: Set<TaskId>; standby: Set<TaskId> } }
    >()
    for (const { userEndpoint, activePartitions, standbyPartitions } of members) {
      const endpoint = { host: userEndpoint.host, port: userEndpoint.port }
      const key = hostKey(endpoint)
      const host = hosts.get(key) ?? {
        endpoint,
        tasks: { active: new Set<TaskId>(), standby: new Set<TaskId>() },
      }
      hosts.set(key, host)
      this.#addTasks(activePartitions, host.tasks.active)
      this.#addTasks(standbyPartitions, host.tasks.standby)
    }
    return hosts
  }

  #addTasks(topics: readonly TopicPartitions[], tasks: Set<TaskId>): void {
    for (const { topic, partitions } of topics) {
      const subtopology = this.#readers.get(topic)
      if (subtopology === undefined) continue
      for (const partition of partitions) tasks.add(taskId(subtopology, partition))
    }
  }
}
