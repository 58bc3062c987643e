import type { Clock } from '../base/clock.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { canPass } from '../client/kafka-failure.ts'
import {
  StreamsGroupCoordinator,
  type StreamsHeartbeatRequest,
  type StreamsHeartbeatResponse,
} from '../client/streams-group-coordinator.ts'
import { StreamsError, isStreamsError } from '../errors.ts'
import { parseTaskId } from '../processor/record-metadata.ts'
import {
  progressRunning,
  type Endpoint,
  type GroupIdentity,
  type TaskProgress,
} from './membership.ts'
import type { MemberPartitions } from './streams-hosts.ts'
import {
  isSameTasks,
  noStreamsTasks,
  readWireTasks,
  wireTasks,
  type StreamsTasks,
} from './streams-tasks.ts'
import type { WireTopology } from './streams-topology.ts'

/** Epochs with a meaning of their own. */
const joinEpoch = 0
const leaveEpoch = -1
const pauseEpoch = -2

/** No map of hosts has been received. */
const noEndpointEpoch = -1

/** The first version of brokers that know static members and offsets of tasks (Kafka 4.4). */
const fullVersion = 1

/** How long a heartbeat waits for its answer. */
const heartbeatTimeoutMs = 15_000
const leaveTimeoutMs = 5000

/** So long a member that was killed may keep its instance id: the longest session of Kafka. */
const instancePatienceMs = 65_000

/** Words of the coordinator that distinguish this from other requests that are not valid. */
const topologyUpdate = 'Topology updates'

/**
 * A request that was not granted, and what follows: `later` (the cluster has a problem that can pass),
 * `lost` (this member is none any more).
 */
export interface StreamsRefusal {
  readonly refused: 'later' | 'lost'
  readonly error: StreamsError
}

/** Something that the coordinator tells about the group. */
export interface StreamsStatus {
  readonly statusCode: number
  readonly statusDetail: string
}

/** What a heartbeat was answered. */
export interface StreamsAnswer {
  readonly heartbeatIntervalMs: number
  /** What the member is to hold; undefined: as before. */
  readonly tasks: StreamsTasks | undefined
  readonly statuses: readonly StreamsStatus[]
  /** Who holds what; undefined: as before. */
  readonly members: readonly MemberPartitions[] | undefined
}

/** What a {@link StreamsSession} is made of. */
export interface StreamsSessionOptions {
  readonly client: KafkaClient
  readonly groupId: string
  /** Nobody else in the group has it; kept for the life of the member. */
  readonly memberId: string
  readonly instanceId: string | undefined
  readonly processId: string
  readonly endpoint: Endpoint | undefined
  /** For assignors that spread copies by them. */
  readonly clientTags?: Readonly<Record<string, string>>
  /** How long the group waits for this member to give up tasks. */
  readonly rebalanceTimeoutMs: number
  readonly topology: WireTopology
  /** Told when joining, and at the intervals that the coordinator wants. */
  readonly progress: () => TaskProgress
  readonly clock: Clock
}

/**
 * What the coordinator of a streams group and one member know of each other: the member's epoch, and
 * what was said last. Errors of the group come back as a {@link StreamsRefusal}; what ends the
 * membership is thrown. Java's StreamsGroupHeartbeatRequestManager.
 *
 * An answer that was lost is a hole: the coordinator tells other tasks once only. After a heartbeat
 * without an answer, or with an error in its place, the member therefore asks for its tasks when the
 * next one is answered.
 */
export class StreamsSession {
  readonly #options: StreamsSessionOptions
  readonly #coordinator: StreamsGroupCoordinator
  readonly #subtopologies: ReadonlySet<number>
  #epoch = joinEpoch
  #endpointEpoch = noEndpointEpoch
  /** True: a join was sent, so that the group may know this member. */
  #hasAsked = false
  /**
   * Why the group may hold the instance id of a static member for taken by this one: a join was sent that
   * may have been heard, or it was a member. To join again it must be released first: otherwise the group
   * would wait for the one that it knows, which is this one, until its session is over.
   */
  #holdsInstanceId: 'no' | 'maybe' | 'yes' = 'no'
  /** What the coordinator was told that the member holds; undefined: it may not have heard it. */
  #acknowledged: StreamsTasks | undefined
  /** The coordinator may have told tasks in an answer that did not arrive. */
  #isUnsure = false
  #offsetIntervalMs = 0
  #offsetsAt = 0
  #unreleasedSince: number | undefined
  /** Another one after {@link forget}: what is under way belongs to the one before. */
  #life = new AbortController()

  constructor(options: StreamsSessionOptions) {
    this.#options = options
    this.#coordinator = new StreamsGroupCoordinator(options.client, options.groupId)
    const ids = options.topology.subtopologies.map(({ subtopologyId }) => Number(subtopologyId))
    this.#subtopologies = new Set(ids)
  }

  /** Undefined before the member has joined, and after {@link forget}. */
  get identity(): GroupIdentity | undefined {
    if (this.#epoch <= joinEpoch) return undefined
    const { groupId, memberId, instanceId = null } = this.#options
    return { groupId, memberId, instanceId, generation: this.#epoch }
  }

  /** The member holds nothing any more, and has to join again. Ends what is under way. */
  forget(): void {
    this.#life.abort()
    this.#life = new AbortController()
    this.#epoch = joinEpoch
    this.#acknowledged = undefined
  }

  /** Joins, holding nothing. `stopAll`: has all members stopped. Undefined: forgotten meanwhile. */
  async join(options: { stopAll: boolean }): Promise<StreamsAnswer | StreamsRefusal | undefined> {
    const { rebalanceTimeoutMs, topology, processId, endpoint, clientTags = {} } = this.#options
    const { signal } = this.#life
    const refusal = await this.#releaseInstanceId(signal)
    if (signal.aborted) return undefined
    if (refusal !== undefined) return refusal
    this.#hasAsked = true
    if (this.#options.instanceId !== undefined) this.#holdsInstanceId = 'maybe'
    // A map that this member has got before may be of another coordinator.
    this.#endpointEpoch = noEndpointEpoch
    return this.#exchange(noStreamsTasks, (version) => ({
      ...this.#head(joinEpoch, version),
      rebalanceTimeoutMs,
      topology,
      ...wireTasks(noStreamsTasks),
      processId,
      userEndpoint: endpoint ?? null,
      clientTags: Object.entries(clientTags).map(([key, value]) => ({ key, value })),
      taskOffsets: version < fullVersion ? null : this.#offsets(),
      shutdownApplication: options.stopAll,
    }))
  }

  /**
   * A sign of life of a member that holds these tasks. `stopAll`: has all members stopped. Undefined:
   * forgotten meanwhile.
   */
  beat(
    held: StreamsTasks,
    options: { stopAll: boolean },
  ): Promise<StreamsAnswer | StreamsRefusal | undefined> {
    const isKnown = this.#acknowledged !== undefined && isSameTasks(this.#acknowledged, held)
    return this.#exchange(held, (version) => ({
      ...this.#head(this.#epoch, version),
      ...(!isKnown && wireTasks(held)),
      taskOffsets: version < fullVersion || !this.#areOffsetsDue() ? null : this.#offsets(),
      shutdownApplication: options.stopAll,
    }))
  }

  /** True: the coordinator has not heard yet that the member holds exactly these tasks. */
  mustAcknowledge(held: StreamsTasks): boolean {
    return this.#acknowledged === undefined || !isSameTasks(this.#acknowledged, held)
  }

  /**
   * Tells the group that this member is gone, for good or (`remain`, static members only) for a while.
   * A member that is not static remains by saying nothing.
   */
  async leave(mode: 'leave' | 'remain'): Promise<StreamsRefusal | undefined> {
    this.forget()
    const isStatic = this.#options.instanceId !== undefined
    if (!this.#hasAsked || (mode === 'remain' && !isStatic)) return undefined
    const epoch = mode === 'leave' ? leaveEpoch : pauseEpoch
    try {
      const response = await this.#coordinator.heartbeat((version) => this.#head(epoch, version), {
        timeoutMs: leaveTimeoutMs,
      })
      const isGone = response.error === 'NONE' || response.error === 'UNKNOWN_MEMBER_ID'
      return isGone ? undefined : this.#refusal(response)
    } catch (error) {
      if (error instanceof StreamsError) return { refused: 'later', error }
      throw error
    }
  }

  /** Says that this member will be back, if the group may take it for one that is there. */
  async #releaseInstanceId(signal: AbortSignal): Promise<StreamsRefusal | undefined> {
    if (this.#holdsInstanceId === 'no') return undefined
    try {
      const response = await this.#coordinator.heartbeat(
        (version) => this.#head(pauseEpoch, version),
        { timeoutMs: leaveTimeoutMs, signal },
      )
      const { error } = response
      const isReleased = error === 'NONE' || error === 'UNKNOWN_MEMBER_ID'
      // Of a group that is empty by now, there may be nothing left.
      const isGone = error === 'GROUP_ID_NOT_FOUND'
      // It is somebody else's; to one that never was a member that is no news, its turn may come.
      const isOfAnother = error === 'FENCED_INSTANCE_ID' && this.#holdsInstanceId === 'maybe'
      if (!isReleased && !isGone && !isOfAnother) return this.#refusal(response)
      this.#holdsInstanceId = 'no'
      return undefined
    } catch (error) {
      if (signal.aborted) return undefined
      return this.#failed(error)
    }
  }

  close(): Promise<void> {
    this.#life.abort()
    return this.#coordinator.close()
  }

  #head(memberEpoch: number, version: number): StreamsHeartbeatRequest {
    const { memberId, instanceId = null } = this.#options
    if (instanceId !== null && version < fullVersion) {
      throw new StreamsError('GROUP_PROTOCOL_UNSUPPORTED', {
        groupId: this.#options.groupId,
        detail:
          "static members (groupInstanceId) need Apache Kafka 4.4 or newer; leave the option away, or set groupProtocol: 'classic'",
      })
    }
    return { memberId, memberEpoch, endpointInformationEpoch: this.#endpointEpoch, instanceId }
  }

  async #exchange(
    held: StreamsTasks,
    request: (version: number) => StreamsHeartbeatRequest,
  ): Promise<StreamsAnswer | StreamsRefusal | undefined> {
    const life = this.#life
    const { signal } = life
    let response: StreamsHeartbeatResponse
    try {
      response = await this.#coordinator.heartbeat(request, {
        timeoutMs: heartbeatTimeoutMs,
        signal,
      })
    } catch (error) {
      if (signal.aborted) return undefined
      // Everything is said again: who knows what was heard.
      this.#acknowledged = undefined
      this.#isUnsure = true
      return this.#failed(error)
    }
    if (signal.aborted) return undefined
    if (response.error !== 'NONE') {
      this.#acknowledged = undefined
      // A coordinator whose replicas are slow, or that is replaced meanwhile, may have written down what
      // it then refuses to tell: the next one goes on from there.
      this.#isUnsure = true
      return this.#refusal(response)
    }
    this.#epoch = response.memberEpoch
    if (this.#options.instanceId !== undefined) this.#holdsInstanceId = 'yes'
    this.#acknowledged = held
    this.#unreleasedSince = undefined
    this.#endpointEpoch = response.endpointInformationEpoch
    this.#offsetIntervalMs = response.taskOffsetIntervalMs
    let tasks = readWireTasks(response, this.#subtopologies)
    if (tasks !== undefined) this.#isUnsure = false
    else if (this.#isUnsure) tasks = await this.#ownTasks(signal)
    if (signal.aborted) return undefined
    return {
      heartbeatIntervalMs: response.heartbeatIntervalMs,
      tasks,
      statuses: response.status ?? [],
      members: response.partitionsByUserEndpoint ?? undefined,
    }
  }

  /** What the coordinator has told this member to hold, whether it arrived or not. */
  async #ownTasks(signal: AbortSignal): Promise<StreamsTasks | undefined> {
    try {
      const group = await this.#coordinator.describe({ timeoutMs: heartbeatTimeoutMs, signal })
      const own = group.members.find(({ memberId }) => memberId === this.#options.memberId)
      // In between it was told something else again, which is in the next answer.
      if (own?.memberEpoch !== this.#epoch) return undefined
      const tasks = readWireTasks(own.assignment, this.#subtopologies)
      this.#isUnsure = false
      return tasks
    } catch (error) {
      // Asked again after the next heartbeat.
      if (signal.aborted || canPass(error)) return undefined
      throw error
    }
  }

  /** Running tasks have all there is: their offsets say nothing. */
  #offsets(): StreamsHeartbeatRequest['taskOffsets'] {
    this.#offsetsAt = this.#options.clock.monotonic()
    return [...this.#options.progress()].flatMap(([id, offset]) => {
      if (offset === progressRunning) return []
      const { subtopology, partition } = parseTaskId(id)
      return { subtopologyId: String(subtopology), partition, offset }
    })
  }

  #areOffsetsDue(): boolean {
    if (this.#offsetIntervalMs <= 0) return false
    return this.#options.clock.monotonic() >= this.#offsetsAt + this.#offsetIntervalMs
  }

  #failed(error: unknown): StreamsRefusal {
    if (error instanceof StreamsError && canPass(error)) return { refused: 'later', error }
    if (!isStreamsError(error, 'PROTOCOL_UNSUPPORTED_VERSION')) throw error
    throw this.#unsupported('the brokers do not know it', error)
  }

  #refusal(response: StreamsHeartbeatResponse): StreamsRefusal {
    const { groupId, instanceId } = this.#options
    const name = response.error
    const detail = response.errorMessage ?? undefined
    const error = this.#kafkaError(name, detail)
    switch (name) {
      case 'FENCED_MEMBER_EPOCH':
      case 'UNKNOWN_MEMBER_ID':
        return { refused: 'lost', error }
      case 'GROUP_ID_NOT_FOUND':
        if (this.#epoch > joinEpoch) return { refused: 'lost', error }
        throw this.#kafkaError(
          name,
          "the group has members that speak the classic protocol; stop all instances, then start them with groupProtocol: 'streams'",
        )
      case 'UNKNOWN_SERVER_ERROR':
      case 'REQUEST_TIMED_OUT':
      case 'COORDINATOR_LOAD_IN_PROGRESS':
      case 'COORDINATOR_NOT_AVAILABLE':
      case 'NOT_COORDINATOR':
        return { refused: 'later', error }
      case 'UNRELEASED_INSTANCE_ID':
        this.#holdsInstanceId = 'no'
        return this.#unreleased(error)
      case 'FENCED_INSTANCE_ID':
        // Leaving under this instance id would throw out the one that has it now.
        this.#hasAsked = false
        throw new StreamsError('GROUP_INSTANCE_FENCED', { groupId, instanceId }, { cause: error })
      case 'UNSUPPORTED_VERSION':
        throw this.#unsupported('it is switched off there', error)
      case 'STREAMS_INVALID_TOPOLOGY':
        throw new StreamsError('TOPOLOGY_INVALID', { detail }, { cause: error })
      case 'STREAMS_INVALID_TOPOLOGY_EPOCH':
      case 'STREAMS_TOPOLOGY_FENCED':
        throw new StreamsError('TOPOLOGY_CHANGED', { groupId }, { cause: error })
      case 'INVALID_REQUEST':
        if (detail?.includes(topologyUpdate) !== true) throw error
        throw new StreamsError('TOPOLOGY_CHANGED', { groupId }, { cause: error })
      default:
        throw error
    }
  }

  /** The one before was killed, and the group waits for it until its session is over. */
  #unreleased(error: StreamsError): StreamsRefusal {
    const { clock, groupId, instanceId } = this.#options
    this.#unreleasedSince ??= clock.monotonic()
    if (clock.monotonic() - this.#unreleasedSince < instancePatienceMs)
      return { refused: 'later', error }
    this.#hasAsked = false
    throw new StreamsError('GROUP_INSTANCE_UNRELEASED', { groupId, instanceId }, { cause: error })
  }

  #unsupported(why: string, cause: StreamsError): StreamsError {
    const { groupId } = this.#options
    const detail = `${why}. Apache Kafka has it from 4.2 on, where clusters that were upgraded switch it on with: kafka-features.sh upgrade --feature streams.version=1. Without it, set groupProtocol: 'classic'`
    return new StreamsError('GROUP_PROTOCOL_UNSUPPORTED', { groupId, detail }, { cause })
  }

  #kafkaError(error: string, detail: string | undefined): StreamsError {
    return new StreamsError('KAFKA_ERROR', {
      api: 'StreamsGroupHeartbeat',
      subject: `the group ${this.#options.groupId}`,
      error,
      detail,
    })
  }
}
