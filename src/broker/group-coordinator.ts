/** All groups of the broker, and what they have committed. */
import type { Clock } from '../base/clock.ts'
import { randomUuid, type Random } from '../base/random.ts'
import { isStreamsError } from '../errors.ts'
import { decodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import type { KafkaErrorName } from '../protocol/error-codes.ts'
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

const groupsMax = 10_000

/** Kafka's `group.max.session.timeout.ms`. */
const sessionTimeoutMaxMs = 30 * 60_000

export interface GroupCoordinatorOptions {
  readonly clock: Clock
  readonly random: Random
  readonly offsets: OffsetStore
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
  readonly protocolType: string
  readonly state: GroupState
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

  /** A group that has, or had, members. */
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

  /** Commits all entries, or none. @throws StreamsError `DISK_FAILED` */
  commit(groupId: string, by: Committer, entries: readonly OffsetEntry[]): KafkaErrorName {
    const problem = this.#commitProblem(groupId, by)
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
    const problem = this.#transactionalCommitProblem(groupId, by)
    if (problem !== undefined) return problem
    this.offsets.commitInTransaction(groupId, entries, by)
    return 'NONE'
  }

  /** All groups: those with members, and those that have only committed. */
  list(): GroupSummary[] {
    const ids = new Set([...this.#groups.keys(), ...this.offsets.groupIds()])
    return [...ids].map((groupId) => {
      const group = this.#groups.get(groupId)
      const protocolType = group?.protocolType ?? ''
      return { groupId, protocolType, state: group?.state ?? 'Empty' }
    })
  }

  /** Deletes a group without members, and its offsets. @throws StreamsError `DISK_FAILED` */
  delete(groupId: string): KafkaErrorName {
    const group = this.#groups.get(groupId)
    if (group === undefined && !this.offsets.has(groupId)) return 'GROUP_ID_NOT_FOUND'
    if (group !== undefined && group.state !== 'Empty') return 'NON_EMPTY_GROUP'
    this.offsets.delete(groupId)
    group?.delete()
    this.#groups.delete(groupId)
    return 'NONE'
  }

  /** Why offsets of this group cannot be deleted at all; undefined when they can. */
  offsetDeletionProblem(groupId: string): KafkaErrorName | undefined {
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

  #commitProblem(groupId: string, by: Committer): KafkaErrorName | undefined {
    const group = this.#groups.get(groupId)
    const isOutsider = by.generation < 0 && by.memberId === '' && by.instanceId === null
    if (group === undefined || group.state === 'Empty') {
      if (by.generation < 0) return undefined
      return group === undefined ? 'ILLEGAL_GENERATION' : 'UNKNOWN_MEMBER_ID'
    }
    if (isOutsider) return 'UNKNOWN_MEMBER_ID'
    const problem = group.memberProblem(by.memberId, by.instanceId, by.generation)
    if (problem !== undefined) return problem
    group.touch(by.memberId)
    return group.state === 'CompletingRebalance' ? 'REBALANCE_IN_PROGRESS' : undefined
  }

  /** Who gives no member id is not checked at all: older producers do not know theirs. */
  #transactionalCommitProblem(
    groupId: string,
    by: Committer & TransactionProducer,
  ): KafkaErrorName | undefined {
    if (groupId === '') return 'INVALID_GROUP_ID'
    const knownEpoch = this.offsets.log.producers.epochOf(by.producerId) ?? -1
    if (by.producerEpoch < knownEpoch) return 'INVALID_PRODUCER_EPOCH'
    const group = this.#groups.get(groupId)
    if (group === undefined) return by.generation < 0 ? undefined : 'ILLEGAL_GENERATION'
    const isNobody = by.generation < 0 && by.memberId === '' && by.instanceId === null
    if (isNobody || (by.generation < 0 && group.state === 'Empty')) return undefined
    return group.memberProblem(by.memberId, by.instanceId, by.generation)
  }

  #subscribedTopics(groupId: string): ReadonlySet<string> {
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
