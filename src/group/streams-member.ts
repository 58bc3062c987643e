import { assert } from '../base/assert.ts'
import { sleep, type Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { Backoff } from '../client/backoff.ts'
import { isStreamsError, messageOf } from '../errors.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { Topology } from '../topology/topology.ts'
import type { GroupIdentity, GroupMembership, MembershipHandlers, TaskSet } from './membership.ts'
import { GroupReadiness } from './group-readiness.ts'
import { SessionLease } from './session-lease.ts'
import { StreamsHosts } from './streams-hosts.ts'
import {
  nextStreamsMemberState,
  type StreamsMemberEvent,
  type StreamsMemberState,
} from './streams-member-state.ts'
import {
  StreamsSession,
  type StreamsAnswer,
  type StreamsRefusal,
  type StreamsSessionOptions,
} from './streams-session.ts'
import { noStreamsTasks, runnableTasks, type StreamsTasks } from './streams-tasks.ts'

/** Until the coordinator has said how often it wants to hear of a member. */
const heartbeatIntervalMsFirst = 5000

/** First and longest wait after a heartbeat that was not granted. */
const retryBackoffMs = 200
const retryBackoffMsMax = 2000

/** What a {@link StreamsMember} is made of. */
export interface StreamsMemberOptions extends Omit<StreamsSessionOptions, 'topology'> {
  readonly wireTopology: StreamsSessionOptions['topology']
  readonly topology: Topology
  /**
   * Awaited before the first join: what the group has to know before. Never rejects. Gives the session
   * timeout of the group, as far as it can be known.
   */
  readonly prepare?: (signal: AbortSignal) => Promise<number | undefined>
  /** Of the group, unless `prepare` tells another one. */
  readonly sessionTimeoutMs: number
  readonly random: Random
  readonly log: Log
}

const unableToLeave = 'could not leave the group, it notices by the session timeout'

const noTasks: TaskSet = { active: new Set(), standby: new Set() }

/**
 * A member of the group by KIP-1071: the coordinator assigns, makes the internal topics, and tells in
 * the answers to heartbeats what this member is to hold. Java's StreamsMembershipManager.
 *
 * Two loops: one says heartbeats and notes what it hears, the other takes what was noted to the
 * handlers, one call at a time. Only when a target has been applied do heartbeats say so: by then
 * nobody here works on what was given up, and the coordinator may give it to others.
 */
export class StreamsMember implements GroupMembership {
  readonly #options: StreamsMemberOptions
  readonly #session: StreamsSession
  readonly #hosts: StreamsHosts
  readonly #readiness: GroupReadiness
  readonly #backoff: Backoff
  #lease: SessionLease
  readonly #clock: Clock
  readonly #log: Log
  #handlers: MembershipHandlers | undefined
  #state: StreamsMemberState = 'idle'
  /** What the handlers were last told to hold, and the same in the words of the coordinator. */
  #held: TaskSet = noTasks
  #acknowledgeable: StreamsTasks = noStreamsTasks
  /** The newest target that was not applied yet. */
  #target: StreamsTasks | undefined
  #areHostsTold = false
  #heartbeatIntervalMs = heartbeatIntervalMsFirst
  /** Noted from outside the loop; the loop acts on them. */
  #lostReason: Error | undefined
  #fatalError: Error | undefined
  #stopMode: 'leave' | 'remain' | undefined
  #stopsAll = false
  #isStopAnnounced = false
  #wake: () => void = () => undefined
  /** Aborted to have a heartbeat said at once. */
  #pulse = new AbortController()
  readonly #ended = new AbortController()
  #done: Promise<unknown> = Promise.resolve()

  constructor(options: StreamsMemberOptions) {
    const { topology, wireTopology, groupId, clock, random, log } = options
    this.#options = options
    this.#clock = clock
    this.#log = log
    this.#session = new StreamsSession({ ...options, topology: wireTopology })
    this.#hosts = new StreamsHosts(topology, groupId)
    this.#readiness = new GroupReadiness({ wireTopology, clock, log })
    this.#backoff = new Backoff({ baseMs: retryBackoffMs, maxMs: retryBackoffMsMax, random })
    this.#lease = this.#newLease(options.sessionTimeoutMs)
  }

  start(handlers: MembershipHandlers): void {
    assert(this.#handlers === undefined, 'a membership is started once')
    this.#handlers = handlers
    this.#enter('join')
    this.#done = Promise.all([this.#run(handlers), this.#beat(handlers)])
  }

  identity(): GroupIdentity | undefined {
    const isOurs = this.#lostReason === undefined && !this.#lease.isOver
    return isOurs ? this.#session.identity : undefined
  }

  taskMigrated(error: Error): void {
    this.#lose(error)
  }

  announceStop(): void {
    this.#stopsAll = true
  }

  /** True: the coordinator knows that all members are to stop. */
  get isStopAnnounced(): boolean {
    return this.#isStopAnnounced
  }

  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#stopMode ??= mode
    if (this.#handlers === undefined) this.#state = 'stopped'
    this.#wake()
    await this.#done
    await this.#session.close()
  }

  // The loop of the handlers.

  async #run(handlers: MembershipHandlers): Promise<void> {
    while (this.#state !== 'stopped') {
      try {
        await this.#step(handlers)
      } catch (error) {
        this.#fail(handlers, error)
      }
    }
    this.#ended.abort()
    this.#hurry()
  }

  async #step(handlers: MembershipHandlers): Promise<void> {
    switch (this.#state) {
      case 'joining':
      case 'stable':
        return this.#rest()
      case 'reconciling':
        return this.#reconcile(handlers)
      case 'lost':
        return this.#giveUp(handlers)
      case 'failed':
        return this.#stopMode === undefined ? this.#sleep() : this.#enter('stop')
      case 'leaving':
        return this.#leave(handlers)
      case 'idle':
      case 'stopped':
        return
      default:
        this.#state satisfies never
    }
  }

  async #rest(): Promise<void> {
    if (this.#stopMode !== undefined) return this.#enter('stop')
    if (this.#fatalError !== undefined) throw this.#fatalError
    if (this.#lostReason !== undefined) return this.#enter('lose')
    if (this.#state === 'stable' && this.#isTargetDue()) return this.#enter('target')
    await this.#sleep()
  }

  /**
   * A group that gets ready gives out nothing. To apply that as well would tell everybody that this
   * member has all that it is to have.
   */
  #isTargetDue(): boolean {
    if (this.#target === undefined) return false
    const isIdle = isEmpty(runnableTasks(this.#target)) && this.#held.active.size === 0
    return this.#readiness.isReady || !isIdle
  }

  /** Target → revoke → apply → acknowledge. */
  async #reconcile(handlers: MembershipHandlers): Promise<void> {
    const target = this.#target
    assert(target !== undefined, 'a target comes before it is applied')
    // Another one that comes meanwhile has its turn after this one.
    this.#target = undefined
    if (!this.#areHostsTold) this.#tellHosts(handlers, [])
    const tasks = runnableTasks(target)
    const revoked = new Set([...this.#held.active].filter((id) => !tasks.active.has(id)))
    if (revoked.size > 0) {
      await handlers.onRevoke(revoked)
      if (this.#lostReason !== undefined) return this.#enter('lose')
      this.#held = { ...this.#held, active: without(this.#held.active, revoked) }
    }
    if (this.#stopMode !== undefined) return this.#enter('stop')
    // Noted before the call: when it fails half way, what was begun must be closed as well.
    this.#held = tasks
    await handlers.onAssign(tasks, [])
    if (this.#lostReason !== undefined) return this.#enter('lose')
    this.#acknowledgeable = target
    this.#enter('applied')
    if (this.#session.mustAcknowledge(target)) this.#hurry()
  }

  async #giveUp(handlers: MembershipHandlers): Promise<void> {
    const reason = this.#lostReason ?? new Error('the membership was lost')
    this.#log.warn('lost the membership, joining again', { reason: messageOf(reason) })
    this.#session.forget()
    this.#lease.suspend()
    const held = this.#held
    // The copies go on, as long as no target says something else.
    this.#held = { active: new Set(), standby: held.standby }
    this.#acknowledgeable = noStreamsTasks
    this.#target = undefined
    if (!isEmpty(held)) await handlers.onLost(reason)
    this.#lostReason = undefined
    if (this.#stopMode !== undefined) return this.#enter('stop')
    this.#enter('join')
    this.#hurry()
  }

  async #leave(handlers: MembershipHandlers): Promise<void> {
    const { active } = this.#held
    this.#held = noTasks
    if (active.size > 0) {
      if (this.identity() !== undefined) await handlers.onRevoke(active)
      else await handlers.onLost(this.#lostReason ?? new Error('the membership was lost'))
    }
    this.#lease.suspend()
    if (this.#stopsAll && this.identity() !== undefined) {
      // Once it has left, the others take its tasks, and may meet what has ended this one.
      const answer = await this.#session.beat(this.#acknowledgeable, { stopAll: true })
      this.#isStopAnnounced = answer !== undefined && !('refused' in answer)
    }
    const refusal = await this.#session.leave(this.#stopMode ?? 'leave')
    if (refusal !== undefined) {
      // Cut on purpose, because closing took too long: that was told.
      const isCut = isStreamsError(refusal.error, 'CLIENT_CLOSED')
      const error = refusal.error.message
      this.#log[isCut ? 'debug' : 'warn'](unableToLeave, { error })
    }
    this.#enter('left')
  }

  #fail(handlers: MembershipHandlers, cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(messageOf(cause))
    if (this.#state === 'leaving') {
      this.#log.error('leaving the group failed', { error: error.message })
      return this.#enter('left')
    }
    this.#enter('fail')
    handlers.onFatal(error)
  }

  // The loop of the heartbeats.

  async #beat(handlers: MembershipHandlers): Promise<void> {
    const sessionTimeoutMs = await this.#options.prepare?.(this.#ended.signal)
    if (sessionTimeoutMs !== undefined) this.#lease = this.#newLease(sessionTimeoutMs)
    while (!this.#ended.signal.aborted) {
      // Who is in a hurry while a heartbeat is under way wants another one after it.
      this.#pulse = new AbortController()
      const waitMs = await this.#beatOnce(handlers)
      await sleep(this.#clock, waitMs, this.#pulse.signal)
    }
  }

  /** Says one heartbeat, if one is due in this state; how long to wait with the next. */
  async #beatOnce(handlers: MembershipHandlers): Promise<number> {
    const isJoining = this.#state === 'joining'
    // Also one that is cut off tries to be heard of; one that was lost has to join first.
    const isMember = this.#lostReason === undefined && this.#session.identity !== undefined
    if (!isJoining && !isMember) return this.#heartbeatIntervalMs
    const sentAt = this.#clock.monotonic()
    try {
      const answer = isJoining
        ? await this.#session.join({ stopAll: false })
        : await this.#session.beat(this.#acknowledgeable, { stopAll: false })
      // The member was lost meanwhile: what was asked for it does not count.
      if (answer === undefined) return this.#heartbeatIntervalMs
      if ('refused' in answer) return this.#refused(answer)
      this.#backoff.reset()
      if (this.#state !== 'leaving') this.#lease.renew(sentAt)
      this.#heard(answer, handlers)
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#noteFatal(error)
    }
    return this.#heartbeatIntervalMs
  }

  #heard(answer: StreamsAnswer, handlers: MembershipHandlers): void {
    this.#heartbeatIntervalMs = Math.max(1, answer.heartbeatIntervalMs)
    if (answer.members !== undefined) this.#tellHosts(handlers, answer.members)
    const { tasks } = answer
    if (tasks !== undefined) this.#target = tasks
    const problem = this.#readiness.note(answer.statuses, answer.heartbeatIntervalMs)
    if (problem !== undefined) this.#noteFatal(problem)
    const epoch = this.#session.identity?.generation
    // Brokers that wait for more members may give a member no epoch yet: then it joins again, as before.
    if (this.#state === 'joining' && epoch !== undefined) {
      this.#log.debug('joined the group', { epoch })
      this.#enter('joined')
    }
    this.#wake()
  }

  #refused({ refused, error }: StreamsRefusal): number {
    switch (refused) {
      case 'lost':
        this.#lose(error)
        return this.#heartbeatIntervalMs
      case 'later':
        this.#log.warn('no heartbeat', { error: error.message })
        return this.#backoff.next()
      default:
        return refused satisfies never
    }
  }

  #tellHosts(handlers: MembershipHandlers, members: StreamsAnswer['members']): void {
    this.#areHostsTold = true
    handlers.onHosts(this.#hosts.read(members ?? []))
  }

  #newLease(sessionTimeoutMs: number): SessionLease {
    const onChange = (isOver: boolean): void => {
      if (isOver) this.#log.warn('the group was not heard of for a session, nothing is processed')
      else this.#log.info('the group was heard of again')
      this.#handlers?.onCutOff?.(isOver)
    }
    return new SessionLease({ clock: this.#clock, sessionTimeoutMs, onChange })
  }

  // What both loops, and others, note for the loop of the handlers.

  #lose(reason: Error): void {
    this.#lostReason ??= reason
    this.#wake()
  }

  #noteFatal(cause: unknown): void {
    this.#fatalError ??= cause instanceof Error ? cause : new Error(messageOf(cause))
    this.#wake()
  }

  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #hurry(): void {
    this.#pulse.abort()
  }

  #enter(event: StreamsMemberEvent): void {
    this.#state = nextStreamsMemberState(this.#state, event)
  }
}

function isEmpty(tasks: TaskSet): boolean {
  return tasks.active.size + tasks.standby.size === 0
}

function without(tasks: ReadonlySet<TaskId>, removed: ReadonlySet<TaskId>): Set<TaskId> {
  return new Set([...tasks].filter((id) => !removed.has(id)))
}
