import { assert } from '../base/assert.ts'
import { sleep, type Clock, type Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { eitherSignal } from '../client/deadline.ts'
import type { JoinGroupResult } from '../client/group-coordinator.ts'
import { StreamsError, isStreamsError, messageOf } from '../errors.ts'
import { decodeConsumerAssignment } from '../protocol/consumer-protocol.ts'
import { ClassicProtocols, type ClassicProtocolsOptions } from './classic-protocols.ts'
import { ClassicSession, type ClassicSessionOptions, type Refusal } from './classic-session.ts'
import { leadRound } from './led-round.ts'
import { LedTopics, type LedTopicsOptions } from './led-topics.ts'
import { nextMemberState, type MemberEvent, type MemberState } from './member-state.ts'
import type { GroupIdentity, GroupMembership, MembershipHandlers, TaskSet } from './membership.ts'
import { SessionLease } from './session-lease.ts'
import { decodeAssignment, hostKey, type AssignmentData } from './user-data.ts'

/** Wait after a try that failed, with jitter of half. */
const retryBackoffMs = 200

/** How long `stop` waits for a rebalance, so that it can commit in the new generation. */
const stopPatienceMs = 10_000

/** What a {@link ClassicMember} is made of. */
export interface ClassicMemberOptions
  extends ClassicSessionOptions, LedTopicsOptions, ClassicProtocolsOptions {
  readonly heartbeatIntervalMs: number
  readonly random: Random
}

const noTasks: TaskSet = { active: new Set(), standby: new Set() }

/**
 * A member of the group by the classic protocol, cooperative: tasks that stay never stop, and one that
 * moves is first revoked by its old owner, which then joins again; only that second round gives it to
 * the new one. Java's StreamsPartitionAssignor and ConsumerCoordinator.
 *
 * One loop does everything in turn, so that handlers are never called concurrently. Heartbeats go on
 * beside it; what they hear (a rebalance, a lost generation) is noted and wakes the loop.
 */
export class ClassicMember implements GroupMembership {
  readonly #options: ClassicMemberOptions
  readonly #session: ClassicSession
  readonly #protocols: ClassicProtocols
  readonly #lease: SessionLease
  readonly #clock: Clock
  readonly #log: Log
  #handlers: MembershipHandlers | undefined
  #state: MemberState = 'idle'
  /** What the handlers were last told to hold. */
  #held: TaskSet = noTasks
  #joined: JoinGroupResult | undefined
  #assignment: AssignmentData | undefined
  readonly #led: LedTopics
  /** Topics that match a pattern, as of the last assignment. */
  #matchedTopics: readonly string[] = []
  /** Noted from outside the loop; the loop acts on them. */
  #rejoinReason: string | undefined
  /** Joins again when the leader has asked for it, if nothing else leads to a round before. */
  #rejoinTimer: Timer | undefined
  #lostReason: Error | undefined
  #fatalError: Error | undefined
  #stopMode: 'leave' | 'remain' | undefined
  #wake: () => void = () => undefined
  /** Aborted when the member is lost: what was to come of the round does not count any more. */
  #round = new AbortController()
  /** Aborted when `stop` has lost its patience: ends requests and waits. */
  readonly #hurry = new AbortController()
  readonly #ended = new AbortController()
  #done: Promise<unknown> = Promise.resolve()

  constructor(options: ClassicMemberOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#log = options.log
    this.#session = new ClassicSession(options)
    this.#protocols = new ClassicProtocols(options)
    this.#lease = new SessionLease({ ...options, onChange: (isOver) => this.#noteLease(isOver) })
    this.#led = new LedTopics(options, (reason) => this.#rejoinSoon(reason))
  }

  start(handlers: MembershipHandlers): void {
    assert(this.#handlers === undefined, 'a membership is started once')
    this.#handlers = handlers
    this.#rejoin('the instance starts')
    this.#done = Promise.all([
      this.#run(handlers),
      this.#beat(),
      this.#led.watch(this.#ended.signal),
    ])
  }

  identity(): GroupIdentity | undefined {
    // Before the round has ended, nobody knows whether the old generation or the new one counts.
    const isAgreed = this.#state !== 'joining' && this.#state !== 'syncing'
    const isOurs = isAgreed && this.#lostReason === undefined && !this.#lease.isOver
    return isOurs ? this.#session.identity : undefined
  }

  taskMigrated(error: Error): void {
    this.#lose(error)
  }

  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#stopMode ??= mode
    if (this.#handlers === undefined) this.#enter('stop')
    this.#wake()
    // A rebalance that is under way may come to its end, if there is something to commit after it.
    const patienceMs = this.#held.active.size === 0 ? 0 : stopPatienceMs
    using _patience = this.#clock.setTimer(patienceMs, () => this.#hurry.abort())
    await this.#done
    this.#rejoinTimer?.cancel()
    this.#lease.suspend()
    await this.#session.close()
  }

  async #run(handlers: MembershipHandlers): Promise<void> {
    while (this.#state !== 'stopped') {
      try {
        await this.#step(handlers)
      } catch (error) {
        if (this.#hurry.signal.aborted && this.#state !== 'leaving') this.#enter('stop')
        else if (this.#round.signal.aborted && this.#state === 'syncing') this.#enter('lose')
        else this.#fail(handlers, error)
      }
    }
    this.#ended.abort()
  }

  async #step(handlers: MembershipHandlers): Promise<void> {
    switch (this.#state) {
      case 'joining':
        return this.#join()
      case 'syncing':
        return this.#sync()
      case 'reconciling':
        return this.#reconcile(handlers)
      case 'stable':
      case 'failed':
        return this.#rest()
      case 'lost':
        return this.#giveUp(handlers)
      case 'leaving':
        return this.#leave(handlers)
      case 'idle':
      case 'stopped':
        return
      default:
        this.#state satisfies never
    }
  }

  // A round: join, sync, reconcile.

  async #join(): Promise<void> {
    const reason = this.#rejoinReason ?? 'the last try came to nothing'
    this.#rejoinReason = undefined
    this.#rejoinTimer?.cancel()
    const { signal } = this.#hurry
    const offers = this.#protocols.offers({
      held: this.#held,
      matchedTopics: this.#matchedTopics,
      generation: this.#session.generation,
    })
    this.#lease.suspend()
    const result = await this.#session.join(offers, { reason, signal })
    if ('refused' in result) {
      this.#rejoinReason ??= reason
      return this.#refused(result)
    }
    const { generation, leader, memberId } = result
    this.#log.debug('joined the group', { generation, leads: leader === memberId, reason })
    this.#joined = result
    this.#enter('joined')
  }

  async #sync(): Promise<void> {
    const joined = this.#joined
    assert(joined !== undefined, 'a member joins before it syncs')
    this.#joined = undefined
    const isLeader = joined.leader === joined.memberId
    const leads = isLeader && !joined.skipAssignment
    this.#round = new AbortController()
    using either = eitherSignal(this.#hurry.signal, this.#round.signal)
    const { signal } = either
    const round = leads ? await leadRound(joined, this.#options.leader, signal) : undefined
    if (round !== undefined && 'refused' in round) return this.#refused(round)
    if (round === undefined) this.#led.forget()
    else this.#led.note(round)
    const assignments = round?.assignments ?? new Map<string, Uint8Array>()
    const sentAt = this.#clock.monotonic()
    const result = await this.#session.sync(assignments, signal)
    if ('refused' in result) return this.#refused(result)
    this.#lease.renew(sentAt)
    if (result.length === 0) {
      const detail = 'the leader left this member out'
      return this.#refused({
        refused: 'later',
        error: new StreamsError('ASSIGNMENT_FAILED', { detail }),
      })
    }
    const { userData } = decodeConsumerAssignment(result)
    const assignment = decodeAssignment(userData ?? Buffer.alloc(0))
    if (isLeader && !leads) this.#led.resume(assignment.matchedTopics, assignment.topicsFingerprint)
    this.#assignment = assignment
    this.#enter('synced')
  }

  /** Target → revoke → apply → acknowledge. */
  async #reconcile(handlers: MembershipHandlers): Promise<void> {
    const assignment = this.#assignment
    assert(assignment !== undefined, 'an assignment comes before it is applied')
    this.#assignment = undefined
    if (this.#lostReason !== undefined) return this.#enter('lose')
    if (assignment.error !== undefined) throw assignment.error
    handlers.onHosts(assignment.hosts)
    const target = assignment.tasks
    const revoked = new Set([...this.#held.active].filter((id) => !target.active.has(id)))
    if (revoked.size > 0) {
      await handlers.onRevoke(revoked)
      if (this.#lostReason !== undefined) return this.#enter('lose')
      const kept = [...this.#held.active].filter((id) => !revoked.has(id))
      this.#held = { ...this.#held, active: new Set(kept) }
    }
    if (this.#stopMode !== undefined) return this.#enter('stop')
    // Noted before the call: when it fails half way, what was begun must be closed as well.
    this.#held = target
    this.#matchedTopics = assignment.matchedTopics
    await handlers.onAssign(target, assignment.matchedTopics)
    if (this.#lostReason !== undefined) return this.#enter('lose')
    const { endpoint } = this.#options
    if (revoked.size > 0) this.#rejoinReason ??= 'gave up tasks that another member waits for'
    else if (endpoint !== undefined && !assignment.hosts.has(hostKey(endpoint)))
      this.#rejoinReason ??= 'the endpoint of this member has changed'
    this.#rejoinIn(assignment.rejoinInMs)
    this.#enter('applied')
  }

  async #refused({ refused, error }: Refusal): Promise<void> {
    if (refused === 'lost') {
      this.#lostReason ??= error
      return this.#enter('lose')
    }
    if (refused === 'later') {
      this.#log.warn('the rebalance failed, it is tried again', { error: error.message })
      const jitter = 0.5 + this.#options.random.next()
      await sleep(this.#clock, retryBackoffMs * jitter, this.#hurry.signal)
    }
    if (this.#stopMode !== undefined && this.#held.active.size === 0) return this.#enter('stop')
    this.#rejoin(error.message)
  }

  // Between rounds, and after the last.

  async #rest(): Promise<void> {
    if (this.#stopMode !== undefined) return this.#enter('stop')
    if (this.#state === 'stable') {
      if (this.#lostReason !== undefined) return this.#enter('lose')
      if (this.#rejoinReason !== undefined) return this.#enter('join')
    }
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  /** As the leader has asked. */
  #rejoinIn(ms: number | undefined): void {
    this.#rejoinTimer?.cancel()
    if (ms === 0) this.#rejoinReason ??= 'gave up standbys that another member waits for'
    else if (ms !== undefined) {
      const reason = 'it is time to look again at who could take over what'
      this.#rejoinTimer = this.#clock.setTimer(ms, () => this.#rejoinSoon(reason))
    }
  }

  #rejoinSoon(reason: string): void {
    this.#rejoinReason ??= reason
    this.#wake()
  }

  #noteLease(isOver: boolean): void {
    if (isOver) this.#log.warn('the group was not heard of for a session, nothing is processed')
    else this.#log.info('the group was heard of again')
    this.#handlers?.onCutOff?.(isOver)
  }

  async #giveUp(handlers: MembershipHandlers): Promise<void> {
    const reason = this.#lostReason ?? new Error('the generation was lost')
    this.#log.warn('lost the membership, joining again', { reason: messageOf(reason) })
    this.#session.forget()
    const { active, standby } = this.#held
    this.#held = { active: new Set(), standby }
    if (active.size + standby.size > 0) await handlers.onLost(reason)
    if (this.#fatalError !== undefined) throw this.#fatalError
    this.#lostReason = undefined
    if (this.#stopMode !== undefined) return this.#enter('stop')
    this.#rejoin('lost the membership')
  }

  async #leave(handlers: MembershipHandlers): Promise<void> {
    const { active } = this.#held
    this.#held = noTasks
    if (active.size > 0) {
      if (this.identity() !== undefined) await handlers.onRevoke(active)
      else await handlers.onLost(this.#lostReason ?? new Error('the generation was lost'))
    }
    if (this.#stopMode === 'leave') {
      const refusal = await this.#session.leave()
      if (refusal !== undefined) {
        const error = refusal.error.message
        this.#log.warn('could not leave the group, it notices by the session timeout', { error })
      }
    }
    this.#enter('left')
  }

  #fail(handlers: MembershipHandlers, cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(messageOf(cause))
    if (this.#state === 'leaving') {
      // Cut on purpose, because closing took too long: that was told.
      const isCut = isStreamsError(cause, 'CLIENT_CLOSED')
      this.#log[isCut ? 'debug' : 'error']('leaving the group failed', { error: error.message })
      return this.#enter('left')
    }
    this.#enter('fail')
    handlers.onFatal(error)
  }

  get #isJoining(): boolean {
    return this.#state === 'joining'
  }

  async #beat(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      await sleep(this.#clock, this.#options.heartbeatIntervalMs, signal)
      // The broker holds our JoinGroup: it knows that we are there, and would answer that one first.
      if (signal.aborted || this.#isJoining) continue
      try {
        const sentAt = this.#clock.monotonic()
        const isMember = this.#session.identity !== undefined
        const refusal = await this.#session.heartbeat(signal)
        const isKnown = refusal === undefined || refusal.refused === 'again'
        // One that was sent before the join says nothing of how long the join may take.
        if (isMember && isKnown && !this.#isJoining) this.#lease.renew(sentAt)
        if (refusal !== undefined) this.#heard(refusal)
        this.#led.checkPartitions()
      } catch (error) {
        if (signal.aborted) return
        this.#fatalError = error instanceof Error ? error : new Error(messageOf(error))
        this.#lose(this.#fatalError)
      }
    }
  }

  #heard({ refused, error }: Refusal): void {
    switch (refused) {
      case 'again':
        // Sent before the join that is under way, which is all that the group waits for: noted, it would
        // lead to one more round after this one.
        if (this.#isJoining) return
        return this.#rejoinSoon('the group rebalances')
      case 'later':
        return this.#log.warn('no heartbeat', { error: error.message })
      case 'lost':
        return this.#lose(error)
      default:
        refused satisfies never
    }
  }

  #lose(reason: Error): void {
    this.#lostReason ??= reason
    this.#round.abort()
    this.#wake()
  }

  #rejoin(reason: string): void {
    this.#rejoinReason ??= reason
    this.#enter('join')
  }

  #enter(event: MemberEvent): void {
    this.#state = nextMemberState(this.#state, event)
  }
}
