/** All groups of the broker, and what they have committed. */
import type { Clock } from '../base/clock.ts'
import { randomUuid, type Random } from '../base/random.ts'
import { isStreamsError } from '../errors.ts'
import { decodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import type { KafkaErrorName } from '../protocol/error-codes.ts'
import type { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf, ResponseInputOf } from '../protocol/schema.ts'
import {
  joinFailure,
  syncFailure,
  type JoinRequest,
  type JoinResult,
  type SyncRequest,
  type SyncResult,
} from './group-member.ts'
import type { GroupState } from './group-state.ts'
import { Group } from './group.ts'
import type { OffsetEntry, OffsetStore, TransactionProducer } from './offset-store.ts'
import type { OffsetKey } from './offset-table.ts'
import { Refusal } from './refusal.ts'
import type { StreamsCaller, StreamsGroup, StreamsGroupState } from './streams-group.ts'
import type { StreamsGroups } from './streams-groups.ts'

const groupsMax = 10_000

/** Kafka's `group.max.session.timeout.ms`. */
const sessionTimeoutMaxMs = 30 * 60_000

export interface GroupCoordinatorOptions {
  readonly clock: Clock
  readonly random: Random
  readonly offsets: OffsetStore
  readonly streams: StreamsGroups
  /** Shorter session timeouts are refused. */
  readonly sessionTimeoutMinMs: number
  readonly initialRebalanceDelayMs: number
}

/** Who commits. Without a member id and with generation -1: somebody outside of the group. */
export interface Committer {
  readonly memberId: string
  readonly instanceId: string | null
  readonly generation: number
}

/** One line of a list of groups. */
export interface GroupSummary {
  readonly groupId: string
  readonly groupType: 'classic' | 'streams'
  readonly protocolType: string
  readonly state: GroupState | StreamsGroupState
}

export class GroupCoordinator {
  readonly #options: GroupCoordinatorOptions
  readonly #groups = new Map<string, Group>()
  #isClosed = false

  constructor(options: GroupCoordinatorOptions) {
    this.#options = options
  }

  get offsets(): OffsetStore {
    return this.#options.offsets
  }

  /** The groups of the streams protocol; the others here are of the classic one. */
  get streams(): StreamsGroups {
    return this.#options.streams
  }

  /** A group of the classic protocol that has, or had, members. */
  group(groupId: string): Group | undefined {
    return this.#groups.get(groupId)
  }

  async join(groupId: string, request: JoinRequest): Promise<JoinResult> {
    const { memberId, sessionTimeoutMs } = request
    if (this.#isClosed) return joinFailure('NOT_COORDINATOR', memberId)
    if (groupId === '') return joinFailure('INVALID_GROUP_ID', memberId)
    const { sessionTimeoutMinMs } = this.#options
    if (sessionTimeoutMs < sessionTimeoutMinMs || sessionTimeoutMs > sessionTimeoutMaxMs)
      return joinFailure('INVALID_SESSION_TIMEOUT', memberId)
    if (!this.#isFreeOfStreams(groupId)) return joinFailure('INCONSISTENT_GROUP_PROTOCOL', memberId)
    const known = this.#groups.get(groupId)
    if (known !== undefined) return known.join(request)
    if (memberId !== '') return joinFailure('UNKNOWN_MEMBER_ID', memberId)
    if (!this.#makeRoom()) return joinFailure('COORDINATOR_NOT_AVAILABLE', memberId)
    const group = this.#newGroup(groupId)
    this.#groups.set(groupId, group)
    const result = await group.join(request)
    if (group.isDeserted && group.generation === 0) this.#groups.delete(groupId)
    return result
  }

  async sync(groupId: string, request: SyncRequest): Promise<SyncResult> {
    if (groupId === '') return syncFailure('INVALID_GROUP_ID')
    return this.#groups.get(groupId)?.sync(request) ?? syncFailure('UNKNOWN_MEMBER_ID')
  }

  heartbeat(groupId: string, { memberId, instanceId, generation }: Committer): KafkaErrorName {
    if (groupId === '') return 'INVALID_GROUP_ID'
    const group = this.#groups.get(groupId)
    return group?.heartbeat(memberId, instanceId, generation) ?? 'UNKNOWN_MEMBER_ID'
  }

  leave(groupId: string, memberId: string, instanceId: string | null): KafkaErrorName {
    if (groupId === '') return 'INVALID_GROUP_ID'
    return this.#groups.get(groupId)?.leave(memberId, instanceId) ?? 'UNKNOWN_MEMBER_ID'
  }

  /**
   * A heartbeat of the streams protocol. With the first member that it takes, an empty group of the classic
   * one becomes one of this, and keeps what was committed. @throws Refusal
   */
  streamsHeartbeat(
    request: RequestOf<typeof streamsGroupHeartbeat>,
    caller: StreamsCaller,
  ): ResponseInputOf<typeof streamsGroupHeartbeat> {
    const { groupId } = request
    if (this.#isClosed) throw new Refusal('COORDINATOR_NOT_AVAILABLE', 'The coordinator is closed.')
    const classic = this.#groups.get(groupId)
    const isStreams =
      classic === undefined || (classic.state === 'Empty' && request.memberEpoch === 0)
    if (!isStreams)
      throw new Refusal('GROUP_ID_NOT_FOUND', `Group ${groupId} is not a streams group.`)
    const response = this.streams.heartbeat(request, caller)
    classic?.delete()
    this.#groups.delete(groupId)
    return response
  }

  /**
   * Why a member is not told what the group has committed: it was replaced. Who gives no name is told, and
   * members of the classic protocol are not looked at.
   */
  fetchProblem(
    groupId: string,
    { memberId, memberEpoch }: { readonly memberId: string | null; readonly memberEpoch: number },
  ): 'UNKNOWN_MEMBER_ID' | 'STALE_MEMBER_EPOCH' | undefined {
    const streams = this.streams.get(groupId)
    if (streams === undefined || (memberId === null && memberEpoch < 0)) return undefined
    const member = streams.members.find(({ id }) => id === memberId)
    if (member === undefined) return 'UNKNOWN_MEMBER_ID'
    return member.epoch === memberEpoch ? undefined : 'STALE_MEMBER_EPOCH'
  }

  /** Commits all entries, or none. @throws StreamsError `DISK_FAILED` */
  commit(groupId: string, by: Committer, entries: readonly OffsetEntry[]): KafkaErrorName {
    const problem = this.#commitProblem(groupId, by, entries)
    if (problem !== undefined) return problem
    this.offsets.commit(groupId, entries)
    return 'NONE'
  }

  /**
   * As {@link commit}, as part of a transaction. Members of a group that rebalances may do this:
   * what they have read is theirs until they give it up. @throws StreamsError `DISK_FAILED`
   */
  commitInTransaction(
    groupId: string,
    by: Committer & TransactionProducer,
    entries: readonly OffsetEntry[],
  ): KafkaErrorName {
    const problem = this.#transactionalCommitProblem(groupId, by, entries)
    if (problem !== undefined) return problem
    this.offsets.commitInTransaction(groupId, entries, by)
    return 'NONE'
  }

  /** All groups: those with members, and those that have only committed. */
  list(): GroupSummary[] {
    const streams = this.streams.all()
    const ids = new Set([...this.#groups.keys(), ...this.offsets.groupIds()])
    for (const { id } of streams) ids.delete(id)
    const classic = [...ids].map((groupId): GroupSummary => {
      const group = this.#groups.get(groupId)
      const protocolType = group?.protocolType ?? ''
      return { groupId, groupType: 'classic', protocolType, state: group?.state ?? 'Empty' }
    })
    const others = streams.map(({ id, state }): GroupSummary => {
      return { groupId: id, groupType: 'streams', protocolType: 'streams', state }
    })
    return [...classic, ...others]
  }

  /** Deletes a group without members, and its offsets. @throws StreamsError `DISK_FAILED` */
  delete(groupId: string): KafkaErrorName {
    const group = this.#groups.get(groupId)
    const streams = this.streams.get(groupId)
    if (group === undefined && streams === undefined && !this.offsets.has(groupId))
      return 'GROUP_ID_NOT_FOUND'
    if (group !== undefined && group.state !== 'Empty') return 'NON_EMPTY_GROUP'
    if (streams !== undefined && !streams.isEmpty) return 'NON_EMPTY_GROUP'
    this.offsets.delete(groupId)
    this.streams.delete(groupId)
    group?.delete()
    this.#groups.delete(groupId)
    return 'NONE'
  }

  /** Why offsets of this group cannot be deleted at all; undefined when they can. */
  offsetDeletionProblem(groupId: string): KafkaErrorName | undefined {
    if (this.streams.get(groupId) !== undefined) return undefined
    const group = this.#groups.get(groupId)
    if (group === undefined) return this.offsets.has(groupId) ? undefined : 'GROUP_ID_NOT_FOUND'
    if (group.state === 'Empty') return undefined
    return group.protocolType === 'consumer' ? undefined : 'NON_EMPTY_GROUP'
  }

  /** Deletes what no member reads. The error of each key. @throws StreamsError `DISK_FAILED` */
  deleteOffsets(groupId: string, keys: readonly OffsetKey[]): KafkaErrorName[] {
    const subscribed = this.#subscribedTopics(groupId)
    const isFree = ({ topic }: OffsetKey): boolean => !subscribed.has(topic)
    this.offsets.delete(groupId, keys.filter(isFree))
    return keys.map((key) => (isFree(key) ? 'NONE' : 'GROUP_SUBSCRIBED_TO_TOPIC'))
  }

  /** Answers all who wait; nobody can join any more. */
  close(): void {
    this.#isClosed = true
    for (const group of this.#groups.values()) group.close()
    this.#groups.clear()
    this.streams.close()
  }

  /** False: it has members that speak the streams protocol. An empty group forgets that it did. */
  #isFreeOfStreams(groupId: string): boolean {
    const streams = this.streams.get(groupId)
    if (streams === undefined) return true
    if (streams.isEmpty) this.streams.delete(groupId)
    return streams.isEmpty
  }

  #newGroup(groupId: string): Group {
    const { clock, random, initialRebalanceDelayMs } = this.#options
    const group: Group = new Group(groupId, {
      clock,
      initialRebalanceDelayMs,
      newMemberId: (prefix) => `${prefix}-${randomUuid(random)}`,
      onDeserted: () => {
        if (group.generation === 0) this.#groups.delete(groupId)
      },
    })
    return group
  }

  /** With too many groups, one that is deserted makes room: it has nothing but its generation. */
  #makeRoom(): boolean {
    if (this.#groups.size < groupsMax) return true
    for (const [groupId, group] of this.#groups) {
      if (!group.isDeserted || group.state !== 'Empty') continue
      this.#groups.delete(groupId)
      return true
    }
    return false
  }

  #commitProblem(
    groupId: string,
    by: Committer,
    entries: readonly OffsetKey[],
  ): KafkaErrorName | undefined {
    const streams = this.streams.get(groupId)
    if (streams !== undefined) {
      if (streams.isEmpty && by.generation < 0) return undefined
      const problems = entries.map((entry) => streams.commitProblem(by, entry))
      return problems.find((problem) => problem !== undefined)
    }
    const group = this.#groups.get(groupId)
    const isOutsider = by.generation < 0 && by.memberId === '' && by.instanceId === null
    if (group === undefined || group.state === 'Empty') {
      if (by.generation < 0) return undefined
      return group === undefined ? this.#strangerProblem(groupId) : 'UNKNOWN_MEMBER_ID'
    }
    if (isOutsider) return 'UNKNOWN_MEMBER_ID'
    const problem = group.memberProblem(by.memberId, by.instanceId, by.generation)
    if (problem !== undefined) return problem
    group.touch(by.memberId)
    return group.state === 'CompletingRebalance' ? 'REBALANCE_IN_PROGRESS' : undefined
  }

  /** Of a member of a group that has none, and may have committed. */
  #strangerProblem(groupId: string): KafkaErrorName {
    return this.offsets.has(groupId) ? 'UNKNOWN_MEMBER_ID' : 'ILLEGAL_GENERATION'
  }

  /** Who gives no member id is not checked at all: older producers do not know theirs. */
  #transactionalCommitProblem(
    groupId: string,
    by: Committer & TransactionProducer,
    entries: readonly OffsetKey[],
  ): KafkaErrorName | undefined {
    if (groupId === '') return 'INVALID_GROUP_ID'
    const knownEpoch = this.offsets.log.producers.epochOf(by.producerId) ?? -1
    if (by.producerEpoch < knownEpoch) return 'INVALID_PRODUCER_EPOCH'
    const streams = this.streams.get(groupId)
    if (streams !== undefined) return streamsCommitProblem(streams, by, entries)
    const group = this.#groups.get(groupId)
    if (group === undefined) return by.generation < 0 ? undefined : this.#strangerProblem(groupId)
    const isNobody = by.generation < 0 && by.memberId === '' && by.instanceId === null
    if (isNobody || (by.generation < 0 && group.state === 'Empty')) return undefined
    return group.memberProblem(by.memberId, by.instanceId, by.generation)
  }

  #subscribedTopics(groupId: string): ReadonlySet<string> {
    const streams = this.streams.get(groupId)
    if (streams?.isEmpty === false) return streams.topology.sourceTopics
    const topics = new Set<string>()
    const group = this.#groups.get(groupId)
    if (group === undefined || group.protocolName === null) return topics
    for (const member of group.members) {
      try {
        const subscription = decodeConsumerSubscription(member.metadataOf(group.protocolName))
        for (const topic of subscription.topics) topics.add(topic)
      } catch (error) {
        // What members tell each other need not make sense to the broker.
        if (!isStreamsError(error)) throw error
      }
    }
    return topics
  }
}

/** Versions of TxnOffsetCommit up to 5 do not know epochs of members. */
function streamsCommitProblem(
  group: StreamsGroup,
  by: Committer,
  entries: readonly OffsetKey[],
): KafkaErrorName | undefined {
  if (by.generation < 0 && (group.isEmpty || (by.memberId === '' && by.instanceId === null)))
    return undefined
  const problems = entries.map((entry) => group.commitProblem(by, entry))
  const problem = problems.find((one) => one !== undefined)
  return problem === 'STALE_MEMBER_EPOCH' ? 'ILLEGAL_GENERATION' : problem
}
