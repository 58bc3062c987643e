/** All groups of the streams protocol. As those of the classic one they live in memory. */
import type { Clock } from '../base/clock.ts'
import type { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf, ResponseInputOf } from '../protocol/schema.ts'
import type { InternalTopic } from './configured-topology.ts'
import type { GroupConfigs } from './group-configs.ts'
import { Refusal } from './refusal.ts'
import { StreamsGroup, type StreamsCaller } from './streams-group.ts'
import type { Topics } from './topics.ts'

type Request = RequestOf<typeof streamsGroupHeartbeat>
type Response = ResponseInputOf<typeof streamsGroupHeartbeat>

const groupsMax = 10_000

/** A group does not get so many epochs while the broker runs, and the broker not so many lives. */
const epochsOfOneLife = 100_000

export interface StreamsGroupsOptions {
  readonly clock: Clock
  readonly topics: Topics
  readonly configs: GroupConfigs
  /** Which life of the broker this is. */
  readonly leaderEpoch: number
}

export class StreamsGroups {
  readonly #options: StreamsGroupsOptions
  readonly #groups = new Map<string, StreamsGroup>()
  /** No group that was forgotten had a higher epoch. */
  #epochBase: number

  constructor(options: StreamsGroupsOptions) {
    this.#options = options
    this.#epochBase = options.leaderEpoch * epochsOfOneLife
  }

  get configs(): GroupConfigs {
    return this.#options.configs
  }

  get(groupId: string): StreamsGroup | undefined {
    return this.#groups.get(groupId)
  }

  all(): StreamsGroup[] {
    return [...this.#groups.values()]
  }

  /** A group whose first member is refused never was there. @throws Refusal */
  heartbeat(request: Request, caller: StreamsCaller): Response {
    assertValid(request)
    const { groupId, memberId, memberEpoch } = request
    const known = this.#groups.get(groupId)
    if (memberEpoch === 0) {
      const group = known ?? this.#newGroup(groupId)
      try {
        return group.heartbeat(request, caller)
      } catch (error) {
        if (known === undefined && group.isEmpty) this.delete(groupId)
        throw error
      }
    }
    // Groups do not survive the broker: to the members of one, it is they who are unknown.
    if (known === undefined)
      throw new Refusal('UNKNOWN_MEMBER_ID', `Member ${memberId} is not a member of the group.`)
    return memberEpoch < 0 ? known.leave(request) : known.heartbeat(request, caller)
  }

  /** Forgets a group that is empty. */
  delete(groupId: string): void {
    const group = this.#groups.get(groupId)
    if (group === undefined) return
    group.close()
    this.#groups.delete(groupId)
    this.#epochBase = Math.max(this.#epochBase, group.epoch)
  }

  /** Ends all timers. */
  close(): void {
    for (const group of this.#groups.values()) group.close()
    this.#groups.clear()
  }

  #newGroup(groupId: string): StreamsGroup {
    if (!this.#makeRoom())
      throw new Refusal(
        'COORDINATOR_NOT_AVAILABLE',
        `The broker has ${groupsMax} groups, its limit.`,
      )
    const { clock, topics, configs } = this.#options
    const group = new StreamsGroup(groupId, {
      clock,
      firstEpoch: this.#epochBase,
      settings: () => configs.streams(groupId),
      partitionCount: (topic) => topics.get(topic)?.partitions.length,
      createTopics: (missing) => createTopics(topics, missing),
    })
    this.#groups.set(groupId, group)
    return group
  }

  /** With too many groups, one that is empty makes room. */
  #makeRoom(): boolean {
    if (this.#groups.size < groupsMax) return true
    const empty = this.all().find(({ isEmpty }) => isEmpty)
    if (empty !== undefined) this.delete(empty.id)
    return empty !== undefined
  }
}

function createTopics(topics: Topics, missing: readonly InternalTopic[]): string | undefined {
  const outcomes = topics.create(
    missing.map(({ name, partitionCount, configs }) => ({ name, partitionCount, configs })),
  )
  const refusals = outcomes.flatMap((outcome, index) =>
    outcome instanceof Refusal ? `${missing[index]?.name ?? ''} (${outcome.message})` : [],
  )
  return refusals.length === 0 ? undefined : refusals.join(', ')
}

/** What makes no sense whatever the group is; with Kafka's words. @throws Refusal */
function assertValid(request: Request): void {
  const { groupId, memberId, instanceId, rackId, memberEpoch, topology } = request
  const { activeTasks, standbyTasks, warmupTasks } = request
  const lists = [activeTasks, standbyTasks, warmupTasks]
  const subtopologies = topology?.subtopologies ?? []
  const isJoining = memberEpoch === 0
  const problem = [
    memberId.trim() === '' && "MemberId can't be empty.",
    groupId.trim() === '' && "GroupId can't be empty.",
    instanceId?.trim() === '' && "InstanceId can't be empty.",
    rackId?.trim() === '' && "RackId can't be empty.",
    subtopologies.some(({ sourceTopicRegex }) => sourceTopicRegex.length > 0) &&
      'Regular expressions for source topics are not supported yet.',
    isJoining &&
      request.rebalanceTimeoutMs === -1 &&
      'RebalanceTimeoutMs must be provided in first request.',
    isJoining &&
      lists.some((list) => list === null || list.length > 0) &&
      'Tasks must be empty when (re-)joining.',
    isJoining && topology === null && 'Topology must be non-null when (re-)joining.',
    memberEpoch === -2 && instanceId === null && "InstanceId can't be null.",
    memberEpoch < -2 && `MemberEpoch is ${memberEpoch}, but must be greater than or equal to -2.`,
    new Set(lists.map((list) => list === null)).size > 1 &&
      'If one task-type is non-null, all must be non-null.',
    !isJoining && topology !== null && 'Topology can only be provided when (re-)joining.',
  ].find((one) => one !== false)
  if (problem !== undefined) throw new Refusal('INVALID_REQUEST', problem)
}
