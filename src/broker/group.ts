/**
 * A consumer group of the classic protocol (org.apache.kafka.coordinator.group.classic.ClassicGroup).
 *
 *               first member joins              all have joined, or the time is over
 *     Empty ─────────────────────────> PreparingRebalance ──────────────────> CompletingRebalance
 *       ^                                 │    ^     ^                               │
 *       └──── the last member has left ───┘    │     └── one joins or leaves ────────┤ the leader
 *                                              │                                     v brings the
 *                                              └───────── one joins or leaves ──── Stable  assignment
 *
 * Answers to JoinGroup and SyncGroup are held back in the members until the group is so far.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { KafkaErrorName } from '../protocol/error-codes.ts'
import {
  GroupMember,
  joinFailure,
  syncFailure,
  type GroupProtocol,
  type JoinRequest,
  type JoinResult,
  type MemberFacts,
  type SyncRequest,
  type SyncResult,
} from './group-member.ts'
import { selectProtocol, shareProtocol } from './group-protocol.ts'
import { nextGroupState, type GroupEvent, type GroupState } from './group-state.ts'

/**
 * A member that never was in a generation and does not speak again is forgotten after this time.
 */
const newMemberJoinTimeoutMs = 5 * 60_000

const membersMax = 1000

export interface GroupOptions {
  readonly clock: Clock
  /** A member id that nobody had before, that starts with this. */
  readonly newMemberId: (prefix: string) => string
  /** How long a group that was empty waits for more members. */
  readonly initialRebalanceDelayMs: number
  /** Told when there is nothing in the group any more: no members, and none that are expected. */
  readonly onDeserted: () => void
}

/** One group; time and requests drive it, it has no loop of its own. */
export class Group {
  readonly id: string
  readonly #options: GroupOptions
  #state: GroupState = 'Empty'
  #generation = 0
  #protocolType: string | null = null
  #protocolName: string | null = null
  #leader: string | null = null
  readonly #members = new Map<string, GroupMember>()
  /** Member ids by instance id. */
  readonly #staticMembers = new Map<string, string>()
  /** Ids that were given to members which have not come back with them yet. */
  readonly #expected = new Map<string, Timer>()
  /** Members of this generation that have not asked for their assignment. */
  readonly #unsynced = new Set<string>()
  #rebalanceTimer: Timer | undefined
  #syncTimer: Timer | undefined
  /** True while a group that was empty waits for more members. */
  #isGathering = false

  constructor(id: string, options: GroupOptions) {
    this.id = id
    this.#options = options
  }

  get state(): GroupState {
    return this.#state
  }

  get generation(): number {
    return this.#generation
  }

  get protocolType(): string | null {
    return this.#protocolType
  }

  get protocolName(): string | null {
    return this.#protocolName
  }

  get members(): readonly GroupMember[] {
    return [...this.#members.values()]
  }

  /** True when no member is there, and none is expected. */
  get isDeserted(): boolean {
    return this.#members.size === 0 && this.#expected.size === 0
  }

  join(request: JoinRequest): Promise<JoinResult> {
    const { memberId, instanceId } = request
    const fail = (error: KafkaErrorName): Promise<JoinResult> =>
      Promise.resolve(joinFailure(error, memberId))
    if (this.#state === 'Dead') return fail('COORDINATOR_NOT_AVAILABLE')
    if (!this.#supportsProtocols(request)) return fail('INCONSISTENT_GROUP_PROTOCOL')
    if (memberId === '') return this.#joinNew(request)
    if (this.#expected.has(memberId)) return this.#joinExpected(request)
    const problem = this.#memberProblem(memberId, instanceId)
    if (problem !== undefined) return fail(problem)
    return this.#rejoin(this.#members.get(memberId) as GroupMember, request)
  }

  sync(request: SyncRequest): Promise<SyncResult> {
    const fail = (error: KafkaErrorName): Promise<SyncResult> => Promise.resolve(syncFailure(error))
    const problem = this.#memberProblem(request.memberId, request.instanceId)
    if (problem !== undefined) return fail(problem)
    if (request.generation !== this.#generation) return fail('ILLEGAL_GENERATION')
    const isOtherType = request.protocolType !== null && request.protocolType !== this.#protocolType
    const isOtherName = request.protocolName !== null && request.protocolName !== this.#protocolName
    if (isOtherType || isOtherName) return fail('INCONSISTENT_GROUP_PROTOCOL')
    const member = this.#members.get(request.memberId) as GroupMember
    switch (this.#state) {
      case 'Empty':
      case 'Dead':
        return fail('UNKNOWN_MEMBER_ID')
      case 'PreparingRebalance':
        return fail('REBALANCE_IN_PROGRESS')
      case 'CompletingRebalance':
        return new Promise((resolve) => {
          member.awaitSync(resolve)
          this.#noteSync(member)
          if (member.id === this.#leader) this.#assign(request.assignments)
        })
      case 'Stable':
        this.#noteSync(member)
        this.#startSession(member)
        return Promise.resolve(this.#syncResult(member))
      default:
        return this.#state satisfies never
    }
  }

  heartbeat(memberId: string, instanceId: string | null, generation: number): KafkaErrorName {
    const problem = this.memberProblem(memberId, instanceId, generation)
    if (problem !== undefined) return problem
    this.#startSession(this.#members.get(memberId) as GroupMember)
    return this.#state === 'PreparingRebalance' ? 'REBALANCE_IN_PROGRESS' : 'NONE'
  }

  /**
   * Takes a member out. An instance id alone names a static member: an administrator removes it.
   */
  leave(memberId: string, instanceId: string | null): KafkaErrorName {
    const expected = this.#expected.get(memberId)
    if (expected !== undefined && instanceId === null) {
      this.#forget(memberId)
      this.#completeJoinIfReady()
      this.#tellIfDeserted()
      return 'NONE'
    }
    const known = instanceId === null ? undefined : this.#staticMembers.get(instanceId)
    const id = memberId === '' && known !== undefined ? known : memberId
    const problem = this.#memberProblem(id, instanceId)
    if (problem !== undefined) return problem
    this.#removeMember(this.#members.get(id) as GroupMember)
    this.#rebalance()
    return 'NONE'
  }

  /** Why this is no member of the present generation; undefined when it is. */
  memberProblem(
    memberId: string,
    instanceId: string | null,
    generation: number,
  ): KafkaErrorName | undefined {
    const problem = this.#memberProblem(memberId, instanceId)
    if (problem !== undefined) return problem
    return generation === this.#generation ? undefined : 'ILLEGAL_GENERATION'
  }

  /** A member gave a sign of life. */
  touch(memberId: string): void {
    const member = this.#members.get(memberId)
    if (member !== undefined && !member.awaitsJoin) this.#startSession(member)
  }

  /** Ends an empty group. */
  delete(): void {
    this.#move('deleted')
    this.#cancelTimers()
  }

  /** Ends all waiting with an error that lets clients look for a coordinator again. */
  close(): void {
    this.#cancelTimers()
    for (const member of this.#members.values()) {
      member.setSessionTimer(undefined)
      member.answerJoin(joinFailure('NOT_COORDINATOR', member.id))
      member.answerSync(syncFailure('NOT_COORDINATOR'))
    }
  }

  #move(event: GroupEvent): void {
    this.#state = nextGroupState(this.#state, event)
  }

  #memberProblem(memberId: string, instanceId: string | null): KafkaErrorName | undefined {
    if (instanceId !== null) {
      const known = this.#staticMembers.get(instanceId)
      if (known === undefined) return 'UNKNOWN_MEMBER_ID'
      if (known !== memberId) return 'FENCED_INSTANCE_ID'
    }
    return this.#members.has(memberId) ? undefined : 'UNKNOWN_MEMBER_ID'
  }

  #supportsProtocols({ protocolType, protocols }: JoinRequest): boolean {
    if (protocolType === '' || protocols.length === 0) return false
    if (this.#members.size === 0) return true
    return protocolType === this.#protocolType && shareProtocol(this.members, protocols)
  }

  #joinNew(request: JoinRequest): Promise<JoinResult> {
    const { instanceId, clientId } = request
    const memberId = this.#options.newMemberId(instanceId ?? clientId)
    const holder = instanceId === null ? undefined : this.#staticMembers.get(instanceId)
    if (holder !== undefined)
      return this.#replaceStatic(this.#members.get(holder) as GroupMember, memberId, request)
    if (this.#members.size + this.#expected.size >= membersMax)
      return Promise.resolve(joinFailure('GROUP_MAX_SIZE_REACHED', ''))
    if (!request.requiresKnownId || instanceId !== null) return this.#addMember(memberId, request)
    const expire = (): void => {
      this.#forget(memberId)
      this.#completeJoinIfReady()
      this.#tellIfDeserted()
    }
    const timer = this.#options.clock.setTimer(request.sessionTimeoutMs, expire)
    this.#expected.set(memberId, timer)
    return Promise.resolve(joinFailure('MEMBER_ID_REQUIRED', memberId))
  }

  #joinExpected(request: JoinRequest): Promise<JoinResult> {
    if (request.instanceId !== null)
      return Promise.resolve(joinFailure('UNKNOWN_MEMBER_ID', request.memberId))
    this.#forget(request.memberId)
    return this.#addMember(request.memberId, request)
  }

  #addMember(memberId: string, request: JoinRequest): Promise<JoinResult> {
    const member = new GroupMember(memberId, request.instanceId, factsOf(request))
    if (this.#members.size === 0) this.#protocolType = request.protocolType
    this.#members.set(memberId, member)
    this.#leader ??= memberId
    if (member.instanceId !== null) this.#staticMembers.set(member.instanceId, memberId)
    return this.#awaitJoin(member)
  }

  /** Holds the answer back and sees to it that the group rebalances. */
  #awaitJoin(member: GroupMember): Promise<JoinResult> {
    return new Promise((resolve) => {
      member.awaitJoin(resolve)
      // The time of the rebalance limits how long a known member waits; a new one may have hung up.
      member.setSessionTimer(
        member.isNew
          ? this.#options.clock.setTimer(newMemberJoinTimeoutMs, () => this.#expire(member))
          : undefined,
      )
      this.#rebalance()
    })
  }

  #rejoin(member: GroupMember, request: JoinRequest): Promise<JoinResult> {
    const facts = factsOf(request)
    const isSame = member.offersSame(facts.protocols)
    // The answer of the last join was lost, or a follower asks without a reason: nothing changes.
    const isSettled =
      this.#state === 'CompletingRebalance'
        ? isSame
        : this.#state === 'Stable' && isSame && member.id !== this.#leader
    member.facts = facts
    if (!isSettled) return this.#awaitJoin(member)
    this.#startSession(member)
    return Promise.resolve(this.#joinResult(member))
  }

  /** A static member came back under a new member id; whoever still uses the old one is fenced. */
  #replaceStatic(member: GroupMember, memberId: string, request: JoinRequest): Promise<JoinResult> {
    const oldId = member.id
    const oldLeader = this.#leader
    member.answerJoin(joinFailure('FENCED_INSTANCE_ID', oldId))
    member.answerSync(syncFailure('FENCED_INSTANCE_ID'))
    this.#members.delete(oldId)
    member.id = memberId
    member.facts = factsOf(request)
    this.#members.set(memberId, member)
    this.#staticMembers.set(member.instanceId as string, memberId)
    if (this.#unsynced.delete(oldId)) this.#unsynced.add(memberId)
    const isLeader = oldLeader === oldId
    if (isLeader) this.#leader = memberId
    if (this.#state !== 'Stable' || selectProtocol(this.members) !== this.#protocolName)
      return this.#awaitJoin(member)
    this.#startSession(member)
    const result = this.#joinResult(member)
    if (!isLeader) return Promise.resolve(result)
    if (request.supportsSkip) return Promise.resolve({ ...result, skipAssignment: true })
    // An older leader would compute an assignment that nobody waits for: it is told the old
    // leader's id, in which it does not recognize itself.
    return Promise.resolve({ ...result, leader: oldLeader, members: [] })
  }

  /** Lets all members join again, unless they are about to. */
  #rebalance(): void {
    if (this.#state !== 'PreparingRebalance') {
      const wasEmpty = this.#state === 'Empty'
      if (this.#state === 'CompletingRebalance') {
        for (const member of this.#members.values())
          member.answerSync(syncFailure('REBALANCE_IN_PROGRESS'))
      }
      this.#syncTimer?.cancel()
      this.#unsynced.clear()
      this.#move('rebalance')
      this.#isGathering = wasEmpty && this.#options.initialRebalanceDelayMs > 0
      this.#startRebalanceTimer()
    }
    this.#completeJoinIfReady()
  }

  #startRebalanceTimer(): void {
    const { clock, initialRebalanceDelayMs } = this.#options
    const timeoutMs = Math.max(0, ...this.members.map(({ facts }) => facts.rebalanceTimeoutMs))
    this.#rebalanceTimer?.cancel()
    if (this.#isGathering) {
      this.#rebalanceTimer = clock.setTimer(Math.min(initialRebalanceDelayMs, timeoutMs), () => {
        this.#isGathering = false
        this.#startRebalanceTimer()
        this.#completeJoinIfReady()
      })
    } else this.#rebalanceTimer = clock.setTimer(timeoutMs, () => this.#completeJoin())
  }

  #completeJoinIfReady(): void {
    if (this.#state !== 'PreparingRebalance' || this.#isGathering) return
    if (this.#expected.size > 0 && this.#members.size > 0) return
    if (this.members.every((member) => member.awaitsJoin)) this.#completeJoin()
  }

  /** Begins the next generation with those who have joined. */
  #completeJoin(): void {
    for (const member of this.members) {
      // A static member that is not back yet keeps its place until its session ends.
      if (!member.awaitsJoin && member.instanceId === null) this.#removeMember(member)
    }
    const joined = this.members.filter((member) => member.awaitsJoin)
    if (this.#members.size > 0 && joined.length === 0) {
      this.#startRebalanceTimer()
      return
    }
    this.#rebalanceTimer?.cancel()
    this.#generation += 1
    if (this.#members.size === 0) {
      this.#protocolName = null
      this.#leader = null
      this.#move('emptied')
      this.#tellIfDeserted()
      return
    }
    if (!joined.some(({ id }) => id === this.#leader)) this.#leader = joined[0]?.id ?? null
    this.#protocolName = selectProtocol(this.members)
    this.#move('joined')
    for (const member of joined) {
      this.#unsynced.add(member.id)
      member.isNew = false
      this.#startSession(member)
    }
    this.#startSyncTimer()
    for (const member of joined) member.answerJoin(this.#joinResult(member))
  }

  #startSyncTimer(): void {
    const timeoutMs = Math.max(...this.members.map(({ facts }) => facts.rebalanceTimeoutMs))
    this.#syncTimer?.cancel()
    this.#syncTimer = this.#options.clock.setTimer(timeoutMs, () => {
      const late = this.members.filter(({ id }) => this.#unsynced.has(id))
      for (const member of late) this.#removeMember(member)
      if (late.length > 0) this.#rebalance()
    })
  }

  #noteSync(member: GroupMember): void {
    this.#unsynced.delete(member.id)
    if (this.#unsynced.size === 0) this.#syncTimer?.cancel()
  }

  /** The leader has decided. Who is not mentioned gets nothing. */
  #assign(assignments: SyncRequest['assignments']): void {
    const byMember = new Map(assignments.map(({ memberId, assignment }) => [memberId, assignment]))
    this.#move('assigned')
    for (const member of this.members) {
      member.assignment = Buffer.from(byMember.get(member.id) ?? [])
      if (!member.awaitsSync) continue
      this.#startSession(member)
      member.answerSync(this.#syncResult(member))
    }
  }

  #joinResult(member: GroupMember): JoinResult {
    const protocolName = this.#protocolName as string
    const members = this.members.map((one) => ({
      memberId: one.id,
      instanceId: one.instanceId,
      metadata: one.metadataOf(protocolName),
    }))
    return {
      error: 'NONE',
      memberId: member.id,
      generation: this.#generation,
      protocolType: this.#protocolType,
      protocolName,
      leader: this.#leader ?? '',
      skipAssignment: false,
      members: member.id === this.#leader ? members : [],
    }
  }

  #syncResult(member: GroupMember): SyncResult {
    const { assignment } = member
    const [protocolType, protocolName] = [this.#protocolType, this.#protocolName]
    return { error: 'NONE', protocolType, protocolName, assignment }
  }

  #startSession(member: GroupMember): void {
    const { sessionTimeoutMs } = member.facts
    member.setSessionTimer(
      this.#options.clock.setTimer(sessionTimeoutMs, () => this.#expire(member)),
    )
  }

  #expire(member: GroupMember): void {
    // Who waits for an answer of ours cannot send heartbeats, and is not to blame; the timers of
    // the rebalance limit the waiting. Only a member that never was in a generation may be a ghost.
    if (member.awaitsSync || (member.awaitsJoin && !member.isNew)) return
    this.#removeMember(member)
    this.#rebalance()
  }

  #removeMember(member: GroupMember): void {
    member.setSessionTimer(undefined)
    member.answerJoin(joinFailure('UNKNOWN_MEMBER_ID', member.id))
    member.answerSync(syncFailure('UNKNOWN_MEMBER_ID'))
    this.#members.delete(member.id)
    this.#unsynced.delete(member.id)
    if (member.instanceId !== null) this.#staticMembers.delete(member.instanceId)
    if (this.#leader !== member.id) return
    const heir = this.members.find((other) => other.awaitsJoin) ?? this.members[0]
    this.#leader = heir?.id ?? null
  }

  #forget(expectedId: string): void {
    this.#expected.get(expectedId)?.cancel()
    this.#expected.delete(expectedId)
  }

  #tellIfDeserted(): void {
    if (this.isDeserted) this.#options.onDeserted()
  }

  #cancelTimers(): void {
    this.#rebalanceTimer?.cancel()
    this.#syncTimer?.cancel()
    for (const timer of this.#expected.values()) timer.cancel()
    this.#expected.clear()
  }
}

/** Copies what is borrowed from the request. */
function factsOf(request: JoinRequest): MemberFacts {
  const protocols: GroupProtocol[] = request.protocols.map(({ name, metadata }) => ({
    name,
    metadata: Buffer.from(metadata),
  }))
  const { clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs } = request
  return { clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs, protocols }
}
