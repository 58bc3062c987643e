import { assert } from '../base/assert.ts'
import { sleep, type Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { GroupCoordinator, type JoinGroupResult } from '../client/group-coordinator.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import {
  decodeConsumerAssignment,
  decodeConsumerSubscription,
  encodeConsumerSubscription,
} from '../protocol/consumer-protocol.ts'
import type { Leader, MemberSubscription } from './assignor/leader.ts'
import { nextMemberState, type MemberEvent, type MemberState } from './member-state.ts'
import type {
  Endpoint,
  GroupIdentity,
  GroupMembership,
  MembershipHandlers,
  TaskSet,
} from './membership.ts'
import {
  decodeAssignment,
  decodeSubscription,
  encodeSubscription,
  hostKey,
  type AssignmentData,
} from './user-data.ts'

/** `consumer`, so that Kafka's own tools can show the group. */
const protocolType = 'consumer'

/** Ours alone: a Java member that joins by mistake is refused instead of reading garbage. */
const protocolName = 'millpond'

/** Wait after a try that failed, with jitter of half. */
const retryBackoffMs = 200

/** How long `stop` waits for a rebalance, so that it can commit in the new generation. */
const stopPatienceMs = 10_000

/** What a {@link ClassicMember} is made of. */
export interface ClassicMemberOptions {
  readonly client: KafkaClient
  readonly groupId: string
  readonly instanceId: string | undefined
  readonly processId: string
  readonly endpoint: Endpoint | undefined
  /** The topics that the application reads. */
  readonly topics: readonly string[]
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  readonly rebalanceTimeoutMs: number
  readonly leader: Leader
  /** Tasks of which there is state on disk. */
  readonly stored: () => Iterable<TaskId>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
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
  readonly #coordinator: GroupCoordinator
  readonly #clock: Clock
  readonly #log: Log
  #handlers: MembershipHandlers | undefined
  #state: MemberState = 'idle'
  #memberId = ''
  #generation = -1
  /** What the handlers were last told to hold, and hold. */
  #held: TaskSet = noTasks
  #nonce: number
  #joinResult: JoinGroupResult | undefined
  #assignment: AssignmentData | undefined
  /** Noted from outside the loop; the loop acts on them. */
  #rejoinReason: string | undefined = 'first join'
  #lostReason: Error | undefined
  #stopMode: 'leave' | 'remain' | undefined
  #wake: () => void = () => undefined
  /** Aborted to end the present request or wait early. */
  #interrupt = new AbortController()
  readonly #ended = new AbortController()
  #done: Promise<unknown> = Promise.resolve()

  constructor(options: ClassicMemberOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#log = options.log
    this.#coordinator = new GroupCoordinator(options.client, options.groupId)
    this.#nonce = options.random.bytes(4).readUInt32BE(0)
  }

  start(handlers: MembershipHandlers): void {
    assert(this.#handlers === undefined, 'a membership is started once')
    this.#handlers = handlers
    this.#enter('join')
    this.#done = Promise.all([this.#run(handlers), this.#beat()])
  }

  identity(): GroupIdentity | undefined {
    const isAgreed = this.#state !== 'joining' && this.#state !== 'syncing'
    if (this.#generation < 0 || this.#lostReason !== undefined || !isAgreed) return undefined
    return {
      groupId: this.#options.groupId,
      memberId: this.#memberId,
      instanceId: this.#options.instanceId ?? null,
      generation: this.#generation,
    }
  }

  taskMigrated(error: Error): void {
    this.#lose(error)
  }

  async stop(mode: 'leave' | 'remain'): Promise<void> {
    if (this.#stopMode === undefined) {
      this.#stopMode = mode
      if (this.#handlers === undefined) {
        this.#enter('stop')
        this.#enter('left')
      }
      this.#wake()
    }
    // A rebalance that is under way may come to its end, if there is something to commit after it.
    const patienceMs = isEmpty(this.#held) ? 0 : stopPatienceMs
    using _patience = this.#clock.setTimer(patienceMs, () => this.#interrupt.abort())
    await this.#done
    await this.#coordinator.close()
  }

  async #run(handlers: MembershipHandlers): Promise<void> {
    while (this.#state !== 'stopped') {
      try {
        await this.#step(handlers)
      } catch (error) {
        this.#fail(handlers, error)
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
        return this.#idle()
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

  // ------------------------------------------------------------------ the round: join, sync, reconcile

  async #join(): Promise<void> {
    if (this.#stopMode !== undefined && this.#generation < 0) return this.#enter('stop')
    const reason = this.#rejoinReason ?? 'the last try failed'
    this.#rejoinReason = undefined
    const { instanceId, sessionTimeoutMs, rebalanceTimeoutMs } = this.#options
    const result = await this.#attempt('JoinGroup', (signal) =>
      this.#coordinator.joinGroup(
        {
          memberId: this.#memberId,
          instanceId: instanceId ?? null,
          sessionTimeoutMs,
          rebalanceTimeoutMs,
          protocolType,
          protocols: [{ name: protocolName, metadata: this.#subscription() }],
          reason,
        },
        { signal },
      ),
    )
    if (result === undefined) return
    const isFirstAnswer = this.#memberId === ''
    switch (result.error) {
      case 'NONE':
        this.#memberId = result.memberId
        this.#generation = result.generation
        this.#joinResult = result
        this.#log.debug('joined the group', {
          generation: result.generation,
          leader: result.leader === result.memberId,
          reason,
        })
        return this.#enter('joined')
      case 'MEMBER_ID_REQUIRED':
        this.#memberId = result.memberId
        if (!isFirstAnswer) await this.#pause()
        return
      default:
        return this.#refused('JoinGroup', result.error)
    }
  }

  async #sync(): Promise<void> {
    const joined = this.#joinResult
    assert(joined !== undefined, 'a member joins before it syncs')
    this.#joinResult = undefined
    let assignments: Map<string, Uint8Array> = new Map()
    if (joined.leader === this.#memberId && !joined.skipAssignment) {
      const computed = await this.#lead(joined)
      if (computed === undefined) return
      assignments = computed
    }
    const { instanceId } = this.#options
    const result = await this.#attempt('SyncGroup', (signal) =>
      this.#coordinator.syncGroup(
        {
          memberId: this.#memberId,
          instanceId: instanceId ?? null,
          generation: this.#generation,
          protocolType,
          protocolName,
          assignments: [...assignments].map(([memberId, assignment]) => ({ memberId, assignment })),
        },
        { signal },
      ),
    )
    if (result === undefined) return
    if (result.error !== 'NONE') return this.#refused('SyncGroup', result.error)
    if (result.assignment.length === 0) {
      // The leader did not know of us: it will, when everybody joins again.
      this.#rejoinReason = 'the leader left this member out'
      await this.#pause()
      return this.#enter('join')
    }
    const { userData } = decodeConsumerAssignment(result.assignment)
    this.#assignment = decodeAssignment(userData ?? Buffer.alloc(0))
    this.#enter('synced')
  }

  /** Undefined: nothing can be said in this round; the next state is set already. */
  async #lead(joined: JoinGroupResult): Promise<Map<string, Uint8Array> | undefined> {
    const { leader } = this.#options
    try {
      const members = joined.members.map(({ memberId, metadata }): MemberSubscription => {
        const { userData, generationId } = decodeConsumerSubscription(metadata)
        const data = decodeSubscription(userData ?? Buffer.alloc(0))
        return { memberId, generation: generationId, data }
      })
      return await leader.assign(members, this.#interrupt.signal)
    } catch (error) {
      if (this.#mustHurry()) return undefined
      if (!(error instanceof StreamsError)) throw error
      if (!canPass(error)) return leader.refuse(joined.members, error)
      this.#log.warn('the assignment could not be made, it is tried again', {
        error: messageOf(error),
      })
      // Joining again also calls the others back from their wait for this assignment.
      this.#rejoinReason = 'the assignment could not be made'
      await this.#pause()
      this.#enter('join')
      return undefined
    }
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
    await handlers.onAssign(target)
    if (this.#lostReason !== undefined) return this.#enter('lose')
    const { endpoint } = this.#options
    if (revoked.size > 0) this.#rejoinReason ??= 'gave up tasks that another member waits for'
    else if (endpoint !== undefined && !assignment.hosts.has(hostKey(endpoint)))
      this.#rejoinReason ??= 'the endpoint of this member has changed'
    this.#enter('applied')
  }

  // ------------------------------------------------------------------ between and after rounds

  async #idle(): Promise<void> {
    if (this.#stopMode !== undefined) return this.#enter('stop')
    if (this.#state === 'stable') {
      if (this.#lostReason !== undefined) return this.#enter('lose')
      if (this.#rejoinReason !== undefined) return this.#enter('join')
    }
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  async #giveUp(handlers: MembershipHandlers): Promise<void> {
    const reason = this.#lostReason ?? new Error('the generation was lost')
    this.#log.warn('lost the membership, joining again', { reason: messageOf(reason) })
    this.#generation = -1
    const held = this.#held
    this.#held = noTasks
    if (!isEmpty(held)) await handlers.onLost(reason)
    this.#lostReason = undefined
    if (this.#stopMode !== undefined) return this.#enter('stop')
    this.#rejoinReason = 'lost the membership'
    this.#enter('join')
  }

  async #leave(handlers: MembershipHandlers): Promise<void> {
    const held = this.#held
    this.#held = noTasks
    const reason = this.#lostReason
    if (!isEmpty(held)) {
      if (reason === undefined) await handlers.onRevoke(held.active)
      else await handlers.onLost(reason)
    }
    if (this.#stopMode === 'leave' && this.#memberId !== '') await this.#sayGoodbye()
    this.#enter('left')
  }

  async #sayGoodbye(): Promise<void> {
    const { client, groupId, instanceId } = this.#options
    // On the connection of a request that was cut short the broker would answer that one first.
    await using coordinator = new GroupCoordinator(client, groupId)
    try {
      const error = await coordinator.leaveGroup({
        memberId: this.#memberId,
        instanceId: instanceId ?? null,
        reason: 'the instance closes',
      })
      if (error !== 'NONE') this.#log.warn('leaving the group was refused', { error })
    } catch (error) {
      this.#log.warn('could not leave the group, it notices by the session timeout', {
        error: messageOf(error),
      })
    }
  }

  #fail(handlers: MembershipHandlers, cause: unknown): void {
    const error = cause instanceof Error ? cause : new Error(messageOf(cause))
    if (this.#state === 'leaving') {
      this.#log.error('giving up tasks failed', { error: error.message })
      this.#enter('left')
      return
    }
    this.#enter('fail')
    handlers.onFatal(error)
  }

  // ------------------------------------------------------------------ heartbeats

  async #beat(): Promise<void> {
    const { heartbeatIntervalMs, sessionTimeoutMs, instanceId } = this.#options
    const { signal } = this.#ended
    while (!signal.aborted) {
      await sleep(this.#clock, heartbeatIntervalMs, signal)
      // A member that waits in JoinGroup is alive to the broker without heartbeats.
      if (signal.aborted || this.#generation < 0 || this.#state === 'joining') continue
      const generation = this.#generation
      const memberId = this.#memberId
      let error: string
      try {
        error = await this.#coordinator.heartbeat(
          { memberId, instanceId: instanceId ?? null, generation },
          { signal, timeoutMs: sessionTimeoutMs },
        )
      } catch (failure) {
        if (!signal.aborted) this.#log.warn('no heartbeat', { error: messageOf(failure) })
        continue
      }
      const isStale = generation !== this.#generation || memberId !== this.#memberId
      if (!isStale) this.#heard(error)
    }
  }

  #heard(error: string): void {
    switch (error) {
      case 'NONE':
        return
      case 'REBALANCE_IN_PROGRESS':
        this.#rejoinReason ??= 'the group rebalances'
        this.#wake()
        return
      case 'UNKNOWN_MEMBER_ID':
        this.#memberId = ''
        return this.#lose(this.#kafkaError('Heartbeat', error))
      case 'ILLEGAL_GENERATION':
      case 'FENCED_INSTANCE_ID':
        // The next JoinGroup tells a fenced instance id apart, and fails.
        return this.#lose(this.#kafkaError('Heartbeat', error))
      default:
        this.#log.warn('a heartbeat was refused', { error })
    }
  }

  #lose(reason: Error): void {
    if (this.#generation < 0) return
    this.#lostReason ??= reason
    this.#wake()
  }

  // ------------------------------------------------------------------ requests

  /** Undefined: it failed in a way that passes (the state is set), or the member stops. */
  async #attempt<T>(
    api: string,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await request(this.#interrupt.signal)
    } catch (error) {
      if (this.#mustHurry()) return undefined
      if (!(error instanceof StreamsError) || !canPass(error)) throw error
      this.#log.warn(`${api} failed, it is tried again`, { error: error.message })
      this.#rejoinReason ??= `${api} failed`
      await this.#pause()
      this.#enter('join')
      return undefined
    }
  }

  /** True when `stop` has lost its patience: the state is `leaving` then. */
  #mustHurry(): boolean {
    if (!this.#interrupt.signal.aborted) return false
    this.#enter('stop')
    return true
  }

  async #refused(api: string, error: string): Promise<void> {
    const { groupId, instanceId } = this.#options
    switch (error) {
      case 'UNKNOWN_MEMBER_ID':
        this.#memberId = ''
        this.#lostReason ??= this.#kafkaError(api, error)
        return this.#enter('lose')
      case 'ILLEGAL_GENERATION':
        this.#lostReason ??= this.#kafkaError(api, error)
        return this.#enter('lose')
      case 'FENCED_INSTANCE_ID':
        // Leaving under this instance id would throw out the one that has it now.
        this.#memberId = ''
        this.#lostReason = new StreamsError('GROUP_INSTANCE_FENCED', { groupId, instanceId })
        throw this.#lostReason
      case 'INCONSISTENT_GROUP_PROTOCOL':
        this.#memberId = ''
        throw new StreamsError('KAFKA_ERROR', {
          api,
          subject: `the group ${groupId}`,
          error,
          detail:
            'the group has members that are not Millpond; each application needs an applicationId of its own',
        })
      case 'REBALANCE_IN_PROGRESS':
      case 'UNKNOWN_SERVER_ERROR':
      case 'REQUEST_TIMED_OUT':
        this.#rejoinReason ??= `${api} was refused: ${error}`
        if (error !== 'REBALANCE_IN_PROGRESS') await this.#pause()
        return this.#enter('join')
      default:
        throw this.#kafkaError(api, error)
    }
  }

  #kafkaError(api: string, error: string): StreamsError {
    return new StreamsError('KAFKA_ERROR', {
      api,
      subject: `the group ${this.#options.groupId}`,
      error,
    })
  }

  #pause(): Promise<void> {
    const jitter = 0.5 + this.#options.random.next()
    return sleep(this.#clock, retryBackoffMs * jitter, this.#interrupt.signal)
  }

  #subscription(): Buffer {
    this.#nonce = (this.#nonce + 1) >>> 0
    const { topics, processId, endpoint, stored } = this.#options
    const userData = encodeSubscription({
      processId,
      nonce: this.#nonce,
      endpoint,
      held: this.#held,
      stored: [...stored()],
    })
    return encodeConsumerSubscription({
      topics: [...topics],
      userData,
      // What a member holds is told as task ids in the user data; nobody else looks at this.
      ownedPartitions: [],
      generationId: this.#generation,
    })
  }

  #enter(event: MemberEvent): void {
    this.#state = nextMemberState(this.#state, event)
  }
}

/** True for failures of a request after which the next try can succeed. */
function canPass(error: StreamsError): boolean {
  return error.retriable || error.context['kafkaRetriable'] === true
}

function isEmpty(tasks: TaskSet): boolean {
  return tasks.active.size + tasks.standby.size === 0
}
