import type { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { ResponseInputOf } from '../protocol/schema.ts'
import type { StreamsGroupMember } from './streams-group-member.ts'
import type { StreamsGroupTopology } from './streams-group-topology.ts'
import { parseStreamsTaskId, type StreamsTaskId } from './streams-tasks.ts'

type Endpoints = NonNullable<
  ResponseInputOf<typeof streamsGroupHeartbeat>['partitionsByUserEndpoint']
>
type TopicPartitions = Endpoints[number]['activePartitions']

/**
 * Who can be asked about what, one entry for each member that has an endpoint: partitions of what its
 * tasks read (org.apache.kafka.coordinator.group.streams.topics.EndpointToPartitionsManager).
 */
export function partitionsByEndpoint(
  members: readonly StreamsGroupMember[],
  topology: StreamsGroupTopology,
): Endpoints {
  return members.flatMap(({ facts: { userEndpoint }, assigned }) =>
    userEndpoint === null
      ? []
      : {
          userEndpoint,
          activePartitions: partitionsOf([...assigned.active.keys()], topology),
          standbyPartitions: partitionsOf([...assigned.standby], topology),
        },
  )
}

function partitionsOf(
  ids: readonly StreamsTaskId[],
  topology: StreamsGroupTopology,
): TopicPartitions {
  const partitions = new Map<string, number[]>()
  for (const id of ids) {
    const { subtopologyId, partition } = parseStreamsTaskId(id)
    const subtopology = topology.wire?.subtopologies.find(
      (one) => one.subtopologyId === subtopologyId,
    )
    const { sourceTopics = [], repartitionSourceTopics = [] } = subtopology ?? {}
    for (const topic of [...sourceTopics, ...repartitionSourceTopics.map(({ name }) => name)]) {
      if (partition >= (topology.partitionCount(topic) ?? 0)) continue
      const list = partitions.get(topic)
      if (list === undefined) partitions.set(topic, [partition])
      else list.push(partition)
    }
  }
  return [...partitions].map(([topic, numbers]) => ({
    topic,
    partitions: numbers.sort((a, b) => a - b),
  }))
}
