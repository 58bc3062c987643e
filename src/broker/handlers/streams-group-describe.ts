import { errorCode, type KafkaErrorName } from '../../protocol/error-codes.ts'
import type { streamsGroupDescribe } from '../../protocol/messages/89-streams-group-describe.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'
import type { StreamsGroupMember } from '../streams-group-member.ts'
import type { StreamsGroupTopology } from '../streams-group-topology.ts'
import type { StreamsGroup } from '../streams-group.ts'
import { parseStreamsTaskId, wireTasks, type StreamsTaskId } from '../streams-tasks.ts'

type Group = ResponseInputOf<typeof streamsGroupDescribe>['groups'][number]
type Member = Group['members'][number]

/** Neither is a description of the topology stored here. */
const notStored = 1

/** Describes streams groups; each is found, or not, for itself. */
export function handleStreamsGroupDescribe(
  { groupIds, includeTopologyDescription }: RequestOf<typeof streamsGroupDescribe>,
  { broker, apiVersion }: RequestContext,
): ResponseInputOf<typeof streamsGroupDescribe> {
  return {
    groups: groupIds.map((groupId) => {
      if (groupId === '') return failure(groupId, 'INVALID_GROUP_ID', "GroupId can't be empty.")
      const group = broker.groups.streams.get(groupId)
      if (group === undefined) {
        const isOther = broker.groups.group(groupId) !== undefined
        const problem = isOther ? 'is not a streams group' : 'not found'
        return failure(groupId, 'GROUP_ID_NOT_FOUND', `Group ${groupId} ${problem}.`)
      }
      return {
        ...describe(group),
        ...(apiVersion > 0 && {
          assignorName: 'sticky',
          ...(includeTopologyDescription && { topologyDescriptionStatus: notStored }),
        }),
      }
    }),
  }
}

function failure(groupId: string, error: KafkaErrorName, errorMessage: string): Group {
  return {
    errorCode: errorCode[error],
    errorMessage,
    groupId,
    groupState: '',
    groupEpoch: 0,
    assignmentEpoch: 0,
    members: [],
  }
}

function describe(group: StreamsGroup): Group {
  const { id, state, epoch, assignmentEpoch, members } = group
  return {
    errorCode: errorCode.NONE,
    groupId: id,
    groupState: state,
    groupEpoch: epoch,
    assignmentEpoch,
    topology: describeTopology(group.topology),
    members: members.map((member) => describeMember(member)),
  }
}

function describeTopology({ wire: topology, configured }: StreamsGroupTopology): Group['topology'] {
  if (topology === undefined) return null
  if (configured === undefined) return { epoch: topology.epoch, subtopologies: null }
  const resolved = <Info extends { name: string }>(topics: readonly Info[]) =>
    topics.map((topic) => ({
      ...topic,
      partitions: configured.internalTopics.get(topic.name)?.partitionCount ?? 0,
    }))
  const subtopologies = topology.subtopologies.map((one) => ({
    subtopologyId: one.subtopologyId,
    sourceTopics: one.sourceTopics,
    repartitionSinkTopics: one.repartitionSinkTopics,
    stateChangelogTopics: resolved(one.stateChangelogTopics),
    repartitionSourceTopics: resolved(one.repartitionSourceTopics),
  }))
  return { epoch: topology.epoch, subtopologies }
}

function describeMember(member: StreamsGroupMember): Member {
  const { facts, assigned, target } = member
  return {
    memberId: member.id,
    memberEpoch: member.isAway ? -2 : member.epoch,
    instanceId: member.instanceId,
    rackId: facts.rackId,
    clientId: facts.clientId,
    clientHost: facts.clientHost,
    topologyEpoch: facts.topologyEpoch,
    processId: facts.processId,
    userEndpoint: facts.userEndpoint,
    clientTags: facts.clientTags,
    taskOffsets: wireOffsets(member.offsets),
    taskEndOffsets: wireOffsets(member.endOffsets),
    assignment: {
      activeTasks: wireTasks(assigned.active.keys()),
      standbyTasks: wireTasks(assigned.standby),
      warmupTasks: [],
    },
    targetAssignment: {
      activeTasks: wireTasks(target.active),
      standbyTasks: wireTasks(target.standby),
      warmupTasks: [],
    },
    isClassic: false,
  }
}

function wireOffsets(offsets: ReadonlyMap<StreamsTaskId, number>): Member['taskOffsets'] {
  return [...offsets].map(([id, offset]) => ({ ...parseStreamsTaskId(id), offset }))
}
