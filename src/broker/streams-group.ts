/**
 * A group of the streams protocol (KIP-1071; org.apache.kafka.coordinator.group.streams.StreamsGroup
 * and its part of GroupMetadataManager). Heartbeats and time drive it, it has no loop of its own.
 *
 * Three epochs: that of the group is raised when something changes that tasks depend on; the target's
 * follows when tasks were given out for it; a member's follows when it holds what the target says.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Timer } from '../base/clock.ts'
import {
  streamsStatus,
  type streamsGroupHeartbeat,
} from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf, ResponseInputOf } from '../protocol/schema.ts'
import { assignStreamsTasks } from './streams-assignor.ts'
import { partitionsByEndpoint } from './streams-endpoints.ts'
import { StreamsGroupMember, type StreamsMemberFacts } from './streams-group-member.ts'
import { StreamsGroupTopology, type StreamsGroupTopologyOptions } from './streams-group-topology.ts'
import { StreamsMembers } from './streams-members.ts'
import { reconcile } from './streams-reconciliation.ts'
import {
  noRoleTasks,
  readWireTasks,
  streamsTaskId,
  wireTasks,
  type RoleTasks,
} from './streams-tasks.ts'

type Request = RequestOf<typeof streamsGroupHeartbeat>
type Response = ResponseInputOf<typeof streamsGroupHeartbeat>
type Status = NonNullable<Response['status']>[number]

/** What the brokers keep for a group, or decide for all. */
export interface StreamsGroupSettings {
  readonly sessionTimeoutMs: number
  readonly heartbeatIntervalMs: number
  readonly standbyReplicas: number
  readonly initialRebalanceDelayMs: number
  readonly taskOffsetIntervalMs: number
  readonly acceptableRecoveryLag: number
}

export interface StreamsGroupOptions extends StreamsGroupTopologyOptions {
  readonly clock: Clock
  /** Higher than those of a group of this name before: members may still have them. */
  readonly firstEpoch: number
  /** Looked up each time: they change while the group lives. */
  readonly settings: () => StreamsGroupSettings
}

/** Where a group is; the names are what StreamsGroupDescribe tells. */
export type StreamsGroupState = 'Empty' | 'NotReady' | 'Assigning' | 'Reconciling' | 'Stable'

/** Who sends a heartbeat. */
export interface StreamsCaller {
  readonly clientId: string
  readonly clientHost: string
  readonly apiVersion: number
}

export class StreamsGroup {
  readonly id: string
  readonly #options: StreamsGroupOptions
  readonly #members = new StreamsMembers()
  #epoch: number
  /** Of the target. */
  #assignmentEpoch: number
  #endpointEpoch = -1
  readonly topology: StreamsGroupTopology
  #standbyReplicas = -1
  /** Running: the first members of a group wait for more. */
  #gathering: Timer | undefined
  /** The member that wants all others to stop. */
  #stopRequestedBy: string | undefined

  constructor(id: string, options: StreamsGroupOptions) {
    this.id = id
    this.#options = options
    this.#epoch = options.firstEpoch
    this.#assignmentEpoch = options.firstEpoch
    this.topology = new StreamsGroupTopology(options)
  }

  get epoch(): number {
    return this.#epoch
  }

  get assignmentEpoch(): number {
    return this.#assignmentEpoch
  }

  get members(): readonly StreamsGroupMember[] {
    return this.#members.all()
  }

  get isEmpty(): boolean {
    return this.#members.size === 0
  }

  get state(): StreamsGroupState {
    if (this.isEmpty) return 'Empty'
    if (this.topology.configured === undefined) return 'NotReady'
    if (this.#epoch > this.#assignmentEpoch) return 'Assigning'
    const isSettled = this.members.every(
      ({ state, epoch }) => state === 'stable' && epoch === this.#assignmentEpoch,
    )
    return isSettled ? 'Stable' : 'Reconciling'
  }

  /** @throws Refusal */
  heartbeat(request: Request, caller: StreamsCaller): Response {
    const owned = ownedTasks(request)
    const isJoining = request.memberEpoch === 0
    this.topology.take(request.topology)
    const member = this.#members.find(request, owned, (id, instanceId) =>
      this.#newMember(id, instanceId, request, caller),
    )
    const before = { assigned: member.assigned, endpoint: member.facts.userEndpoint }
    if (this.#updateFacts(member, request, caller)) this.#epoch += 1
    this.#lookAround()
    if (owned !== undefined) this.topology.assertHas(owned)
    this.#noteOffsets(member, request)
    const isDelayed = this.#assignIfDue()
    this.#reconcile(member, isJoining ? noRoleTasks : owned)
    this.#startSession(member)
    if (request.shutdownApplication) this.#stopRequestedBy ??= member.id
    const hasChanged = !isSameHeld(before.assigned, member.assigned)
    const hasMoved = !isDeepStrictEqual(before.endpoint, member.facts.userEndpoint)
    const isReachable = member.facts.userEndpoint !== null
    if (isReachable && (hasChanged || hasMoved || isJoining)) this.#endpointEpoch += 1
    return this.#response(member, request, {
      tellsTasks: isJoining || hasChanged,
      statuses: this.#statuses(isDelayed),
      apiVersion: caller.apiVersion,
    })
  }

  /** A member goes, for good (-1), or for a while (-2). @throws Refusal */
  leave({ memberId, instanceId, memberEpoch, shutdownApplication }: Request): Response {
    const member = this.#members.get(memberId, instanceId)
    if (shutdownApplication) this.#stopRequestedBy ??= memberId
    if (instanceId !== null && memberEpoch === -2) {
      member.restartEpochs()
      member.isAway = true
    } else this.#remove(member)
    return {
      errorCode: 0,
      memberId,
      memberEpoch,
      heartbeatIntervalMs: 0,
      taskOffsetIntervalMs: 0,
      status: [],
      endpointInformationEpoch: 0,
    }
  }

  /** Why offsets of this member are not taken; undefined when they are. */
  commitProblem(
    { memberId, generation }: { readonly memberId: string; readonly generation: number },
    { topic, partition }: { readonly topic: string; readonly partition: number },
  ): 'UNKNOWN_MEMBER_ID' | 'STALE_MEMBER_EPOCH' | undefined {
    const member = this.members.find(({ id }) => id === memberId)
    if (member === undefined) return 'UNKNOWN_MEMBER_ID'
    if (generation === member.epoch) return undefined
    if (generation > member.epoch) return 'STALE_MEMBER_EPOCH'
    // An older epoch will do for a task that the member has held since.
    const reader = this.topology.readerOf(topic)
    if (reader === undefined) return 'STALE_MEMBER_EPOCH'
    const id = streamsTaskId(reader.subtopologyId, partition)
    const since = member.assigned.active.get(id) ?? member.revoking.active.get(id)
    return since === undefined || generation < since ? 'STALE_MEMBER_EPOCH' : undefined
  }

  /** Ends all timers. */
  close(): void {
    this.#gathering?.cancel()
    for (const member of this.members) member.cancelTimers()
  }

  #newMember(
    id: string,
    instanceId: string | null,
    request: Request,
    caller: StreamsCaller,
  ): StreamsGroupMember {
    const { clock, settings } = this.#options
    const { initialRebalanceDelayMs } = settings()
    if (this.isEmpty && initialRebalanceDelayMs > 0) {
      this.#gathering ??= clock.setTimer(initialRebalanceDelayMs, () => {
        this.#gathering = undefined
      })
    }
    // While more are waited for, members have the epoch in between, which is none of a target.
    this.#epoch += this.isEmpty && this.#gathering !== undefined ? 2 : 1
    return new StreamsGroupMember(id, instanceId, factsOf(request, caller))
  }

  /** True when tasks depend on what has changed. */
  #updateFacts(member: StreamsGroupMember, request: Request, caller: StreamsCaller): boolean {
    const before = member.facts
    const isJoining = request.memberEpoch === 0
    const rebalanceTimeoutMs =
      request.rebalanceTimeoutMs === -1 ? before.rebalanceTimeoutMs : request.rebalanceTimeoutMs
    const facts: StreamsMemberFacts = {
      clientId: caller.clientId,
      clientHost: caller.clientHost,
      rackId: request.rackId ?? before.rackId,
      rebalanceTimeoutMs,
      topologyEpoch: request.topology?.epoch ?? before.topologyEpoch,
      processId: request.processId ?? before.processId,
      userEndpoint: isJoining
        ? request.userEndpoint
        : (request.userEndpoint ?? before.userEndpoint),
      clientTags: request.clientTags ?? before.clientTags,
    }
    member.facts = facts
    return (
      facts.rackId !== before.rackId ||
      facts.topologyEpoch !== before.topologyEpoch ||
      facts.processId !== before.processId ||
      !isDeepStrictEqual(facts.clientTags, before.clientTags)
    )
  }

  /** Raises the epoch when topics or settings have changed on which tasks depend. */
  #lookAround(): void {
    const { standbyReplicas } = this.#options.settings()
    const haveTopicsChanged = this.topology.configure()
    if (!haveTopicsChanged && standbyReplicas === this.#standbyReplicas) return
    this.#standbyReplicas = standbyReplicas
    this.#epoch += 1
  }

  #noteOffsets(member: StreamsGroupMember, { taskOffsets, taskEndOffsets }: Request): void {
    const read = (rows: NonNullable<Request['taskOffsets']>): Map<string, number> =>
      new Map(
        rows.map(({ subtopologyId, partition, offset }) => [
          streamsTaskId(subtopologyId, partition),
          offset,
        ]),
      )
    if (taskOffsets !== null) member.offsets = read(taskOffsets)
    if (taskEndOffsets !== null) member.endOffsets = read(taskEndOffsets)
  }

  /** True: it is time for that, but more members are waited for. */
  #assignIfDue(): boolean {
    if (this.#epoch === this.#assignmentEpoch) return false
    if (this.#gathering !== undefined) return true
    const targets = assignStreamsTasks(
      this.topology.tasks(),
      this.members.map(({ id, facts, target, offsets }) => ({
        memberId: id,
        processId: facts.processId,
        before: target,
        offsets,
      })),
      this.#options.settings().standbyReplicas,
    )
    for (const member of this.members) member.target = targets.get(member.id) ?? noRoleTasks
    this.#assignmentEpoch = this.#epoch
    return false
  }

  #reconcile(member: StreamsGroupMember, owned: RoleTasks | undefined): void {
    const before = { state: member.state, epoch: member.epoch }
    // A member never has the epoch 0: who says that wants to join.
    const targetEpoch = Math.max(1, this.#assignmentEpoch)
    reconcile(member, { members: this.members, targetEpoch, owned })
    if (member.state !== 'unrevoked') return member.setRevocationTimer(undefined)
    if (before.state === 'unrevoked' && before.epoch === member.epoch) return
    const { clock } = this.#options
    const expire = (): void => this.#remove(member)
    member.setRevocationTimer(clock.setTimer(member.facts.rebalanceTimeoutMs, expire))
  }

  #startSession(member: StreamsGroupMember): void {
    const { clock, settings } = this.#options
    const expire = (): void => this.#remove(member)
    member.setSessionTimer(clock.setTimer(settings().sessionTimeoutMs, expire))
  }

  #remove(member: StreamsGroupMember): void {
    member.cancelTimers()
    this.#members.delete(member)
    this.#epoch += 1
    if (member.facts.userEndpoint !== null) this.#endpointEpoch += 1
    if (!this.isEmpty) return
    this.#stopRequestedBy = undefined
    this.#gathering?.cancel()
    this.#gathering = undefined
  }

  #statuses(isDelayed: boolean): Status[] {
    const statuses: Status[] = []
    if (this.topology.problem !== undefined) statuses.push(this.topology.problem)
    if (this.#stopRequestedBy !== undefined) {
      statuses.push({
        statusCode: streamsStatus.shutdownApplication,
        statusDetail: `Streams group member ${this.#stopRequestedBy} encountered a fatal error and requested a shutdown for the entire application.`,
      })
    }
    if (isDelayed) {
      const statusDetail = 'Assignment delayed due to the configured initial rebalance delay.'
      statuses.push({ statusCode: streamsStatus.assignmentDelayed, statusDetail })
    }
    return statuses
  }

  #response(
    member: StreamsGroupMember,
    request: Request,
    told: {
      readonly tellsTasks: boolean
      readonly statuses: Status[]
      readonly apiVersion: number
    },
  ): Response {
    const settings = this.#options.settings()
    const { active, standby } = member.assigned
    const tellsHosts = this.#endpointEpoch !== request.endpointInformationEpoch
    return {
      errorCode: 0,
      memberId: member.id,
      memberEpoch: member.epoch,
      heartbeatIntervalMs: settings.heartbeatIntervalMs,
      taskOffsetIntervalMs: settings.taskOffsetIntervalMs,
      ...(told.apiVersion > 0 && { acceptableRecoveryLag: settings.acceptableRecoveryLag }),
      status: told.statuses,
      ...(told.tellsTasks && {
        activeTasks: wireTasks(active.keys()),
        standbyTasks: wireTasks(standby),
        warmupTasks: [],
      }),
      endpointInformationEpoch: this.#endpointEpoch,
      partitionsByUserEndpoint: tellsHosts
        ? partitionsByEndpoint(this.members, this.topology)
        : null,
    }
  }
}

/** What a member says that it holds; undefined: as before. */
function ownedTasks({ activeTasks, standbyTasks }: Request): RoleTasks | undefined {
  if (activeTasks === null || standbyTasks === null) return undefined
  return { active: readWireTasks(activeTasks), standby: readWireTasks(standbyTasks) }
}

function factsOf(request: Request, { clientId, clientHost }: StreamsCaller): StreamsMemberFacts {
  return {
    clientId,
    clientHost,
    rackId: request.rackId,
    rebalanceTimeoutMs: request.rebalanceTimeoutMs,
    topologyEpoch: request.topology?.epoch ?? 0,
    processId: request.processId ?? '',
    userEndpoint: request.userEndpoint,
    clientTags: request.clientTags ?? [],
  }
}

function isSameHeld(a: StreamsGroupMember['assigned'], b: StreamsGroupMember['assigned']): boolean {
  return isDeepStrictEqual(
    [[...a.active.keys()].sort(), [...a.standby].sort()],
    [[...b.active.keys()].sort(), [...b.standby].sort()],
  )
}
