/** Sets an application back, so that it reads its input again (org.apache.kafka.tools.StreamsResetter). */
import { Admin } from '../client/admin.ts'
import { GroupCoordinator } from '../client/group-coordinator.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { kafkaFailure } from '../client/kafka-failure.ts'
import { commitOffsets } from '../client/offsets.ts'
import { StreamsGroupCoordinator } from '../client/streams-group-coordinator.ts'
import type { TopicMetadata, TopicPartition } from '../client/topic-metadata.ts'
import { StreamsError } from '../errors.ts'
import { isInternalTopicOf } from '../topology/internal-topic-name.ts'
import { resetOffsets, type ResetOffset, type ResetPosition } from './reset-position.ts'

export interface ResetOptions {
  readonly applicationId: string
  /** Topics that are read again from `position` on. */
  readonly inputTopics: readonly string[]
  readonly position: ResetPosition
  /** Topics that the application writes and reads itself: passed over to their end. */
  readonly intermediateTopics: readonly string[]
  /** Which internal topics are deleted; empty: all. */
  readonly internalTopics: readonly string[]
  /** Takes members out of the group that have not left it. */
  readonly force: boolean
}

/** What a reset changes. */
export interface ResetPlan {
  readonly applicationId: string
  /** There is a group of that name, or a topic of its own. */
  readonly isKnown: boolean
  readonly offsets: readonly ResetOffset[]
  readonly deletedTopics: readonly string[]
  /** Topics that were asked for and do not exist. */
  readonly missingTopics: readonly string[]
  /** Members that are taken out. */
  readonly removedMembers: readonly MemberName[]
  /** The protocol that these speak. */
  readonly groupProtocol: 'classic' | 'streams'
}

/** States of groups without members, as brokers tell them; older ones tell nothing. */
const idleStates: readonly string[] = ['', 'Empty', 'Dead']

interface MemberName {
  readonly memberId: string
  readonly instanceId: string | null
}

/** How brokers name groups that speak the streams protocol (KIP-1071). */
const streamsProtocol = 'streams'

/** The epoch of a member that is gone for good. */
const leaveEpoch = -1

/** No map of hosts has been received. */
const noEndpointEpoch = -1

const requestTimeoutMs = 15_000

/**
 * What a reset would change; nothing is changed by this.
 *
 * Rejects with `APPLICATION_RUNNING` when the group has members and these are not to be taken out,
 * with `CONFIG_INVALID` when a topic that is to be deleted is no internal topic of the application.
 */
export async function planReset(client: KafkaClient, options: ResetOptions): Promise<ResetPlan> {
  const { applicationId, inputTopics, intermediateTopics, position } = options
  const admin = new Admin(client)
  const groups = await admin.listGroups()
  const listed = groups.find(({ groupId }) => groupId === applicationId)
  const groupProtocol = listed?.protocolType === streamsProtocol ? 'streams' : 'classic'
  const members =
    groupProtocol === 'streams'
      ? await streamsMembers(client, applicationId)
      : ((await admin.describeGroups([applicationId]))[0]?.members ?? [])
  const removedMembers = removableMembers(members, listed?.state ?? '', options)
  const topics = await admin.listTopics()
  const offsetsOf = (names: readonly string[], where: ResetPosition): Promise<ResetOffset[]> =>
    resetOffsets(client, applicationId, partitionsOf(names, topics), where)
  const offsets = await offsetsOf(inputTopics, position)
  const passedOver = await offsetsOf(intermediateTopics, { kind: 'latest' })
  const others = groups.map(({ groupId }) => groupId)
  const deletedTopics = topicsToDelete([...topics.keys()].sort(), others, options)
  return {
    applicationId,
    isKnown: listed !== undefined || deletedTopics.length > 0,
    offsets: [...offsets, ...passedOver],
    deletedTopics,
    missingTopics: [...inputTopics, ...intermediateTopics].filter((topic) => !topics.has(topic)),
    removedMembers,
    groupProtocol,
  }
}

/**
 * Changes what the plan says. The offsets come first: the broker refuses them when a member has
 * joined meanwhile, and the topics of a running application stay.
 *
 * Rejects with `APPLICATION_RUNNING` then.
 */
export async function executeReset(client: KafkaClient, plan: ResetPlan): Promise<void> {
  const { applicationId: groupId, offsets, deletedTopics } = plan
  await removeMembers(client, plan)
  const outsider = { groupId, memberId: '', instanceId: null, generation: -1 }
  try {
    await commitOffsets(
      client,
      outsider,
      offsets.map(({ topic, partition, to }) => ({ topic, partition, offset: to })),
    )
  } catch (error) {
    if (!(error instanceof StreamsError) || error.code !== 'TASK_MIGRATED') throw error
    throw new StreamsError(
      'APPLICATION_RUNNING',
      { applicationId: groupId, detail: 'a member has joined the group' },
      { cause: error },
    )
  }
  if (deletedTopics.length > 0) await new Admin(client).deleteTopics(deletedTopics)
}

async function removeMembers(client: KafkaClient, plan: ResetPlan): Promise<void> {
  const { applicationId: groupId, removedMembers, groupProtocol } = plan
  if (groupProtocol === 'classic') {
    await using coordinator = new GroupCoordinator(client, groupId)
    for (const member of removedMembers) await coordinator.leaveGroup(member)
    return
  }
  await using coordinator = new StreamsGroupCoordinator(client, groupId)
  for (const member of removedMembers) {
    const { error, errorCode, errorMessage } = await coordinator.heartbeat(
      () => ({ ...member, memberEpoch: leaveEpoch, endpointInformationEpoch: noEndpointEpoch }),
      { timeoutMs: requestTimeoutMs },
    )
    if (error === 'NONE' || error === 'UNKNOWN_MEMBER_ID') continue
    throw kafkaFailure('StreamsGroupHeartbeat', errorCode, {
      subject: `group ${groupId}`,
      detail: errorMessage,
    })
  }
}

interface Member extends MemberName {
  readonly clientId: string
  readonly clientHost: string
}

async function streamsMembers(client: KafkaClient, groupId: string): Promise<readonly Member[]> {
  await using coordinator = new StreamsGroupCoordinator(client, groupId)
  return (await coordinator.describe({ timeoutMs: requestTimeoutMs })).members
}

/** `state`: of the groups of other protocols no members are told, but that there are any. */
function removableMembers(
  members: readonly Member[],
  state: string,
  { applicationId, force }: ResetOptions,
): MemberName[] {
  if (members.length === 0 && idleStates.includes(state)) return []
  if (force && members.length > 0)
    return members.map(({ memberId, instanceId }) => ({ memberId, instanceId }))
  const detail = members
    .map(({ clientId, clientHost }) => `${clientId} on ${clientHost}`)
    .join(', ')
  throw new StreamsError('APPLICATION_RUNNING', {
    applicationId,
    detail: detail === '' ? `the group is ${state}` : detail,
  })
}

function partitionsOf(
  names: readonly string[],
  topics: ReadonlyMap<string, TopicMetadata>,
): TopicPartition[] {
  return names.flatMap((topic) =>
    (topics.get(topic)?.partitions ?? []).map((_, partition) => ({ topic, partition })),
  )
}

function topicsToDelete(
  topics: readonly string[],
  groupIds: readonly string[],
  options: ResetOptions,
): string[] {
  const { applicationId, inputTopics, intermediateTopics, internalTopics } = options
  const kept = new Set([...inputTopics, ...intermediateTopics])
  const internal = topics.filter(
    (topic) => !kept.has(topic) && isInternalTopicOf(applicationId, topic, groupIds),
  )
  const stranger = internalTopics.find((topic) => !internal.includes(topic))
  if (stranger !== undefined)
    throw new StreamsError('CONFIG_INVALID', {
      option: 'internalTopics',
      detail: `${stranger} is not among the internal topics of ${applicationId}: ${internal.join(', ')}`,
    })
  return internalTopics.length === 0 ? internal : [...internalTopics]
}
