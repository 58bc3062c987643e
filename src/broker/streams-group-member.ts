import type { Timer } from '../base/clock.ts'
import type { RequestOf } from '../protocol/schema.ts'
import type { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import { noRoleTasks, type RoleTasks, type StreamsTaskId } from './streams-tasks.ts'

type Request = RequestOf<typeof streamsGroupHeartbeat>

/** What a member tells of itself. Null in a heartbeat: as before. */
export interface StreamsMemberFacts {
  readonly clientId: string
  readonly clientHost: string
  readonly rackId: string | null
  readonly rebalanceTimeoutMs: number
  readonly topologyEpoch: number
  readonly processId: string
  readonly userEndpoint: Request['userEndpoint']
  readonly clientTags: NonNullable<Request['clientTags']>
}

/** What a member holds, with the epoch in which it got each active task. */
export interface HeldTasks {
  readonly active: ReadonlyMap<StreamsTaskId, number>
  readonly standby: ReadonlySet<StreamsTaskId>
}

const nothing: HeldTasks = { active: new Map(), standby: new Set() }

/**
 * Where a member stands on the way to its target:
 *
 *     stable → unrevoked (must give something up) → unreleased (waits for others to) → stable
 */
export type ReconcileState = 'stable' | 'unrevoked' | 'unreleased'

/** A member of a streams group (org.apache.kafka.coordinator.group.streams.StreamsGroupMember). */
export class StreamsGroupMember {
  id: string
  readonly instanceId: string | null
  facts: StreamsMemberFacts
  epoch = 0
  previousEpoch = 0
  state: ReconcileState = 'stable'
  /** What it was told to hold. */
  assigned: HeldTasks = nothing
  /** What it was told to give up, and has not said that it did. */
  revoking: HeldTasks = nothing
  target: RoleTasks = noRoleTasks
  offsets: ReadonlyMap<StreamsTaskId, number> = new Map()
  endOffsets: ReadonlyMap<StreamsTaskId, number> = new Map()
  /** True after a static member has said that it will be back. */
  isAway = false
  #sessionTimer: Timer | undefined
  #revocationTimer: Timer | undefined

  constructor(id: string, instanceId: string | null, facts: StreamsMemberFacts) {
    this.id = id
    this.instanceId = instanceId
    this.facts = facts
  }

  /** The timer that ends the member's session; the one before it is cancelled. */
  setSessionTimer(timer: Timer | undefined): void {
    this.#sessionTimer?.cancel()
    this.#sessionTimer = timer
  }

  /** The timer that ends its time to give tasks up; the one before it is cancelled. */
  setRevocationTimer(timer: Timer | undefined): void {
    this.#revocationTimer?.cancel()
    this.#revocationTimer = timer
  }

  cancelTimers(): void {
    this.setSessionTimer(undefined)
    this.setRevocationTimer(undefined)
  }

  /** True: it holds the task as active, or has not said yet that it does not. */
  ownsActive(id: StreamsTaskId): boolean {
    return this.assigned.active.has(id) || this.revoking.active.has(id)
  }

  ownsStandby(id: StreamsTaskId): boolean {
    return this.assigned.standby.has(id) || this.revoking.standby.has(id)
  }

  /** Gives up everything at once: it has joined anew, holding nothing. */
  release(): void {
    this.revoking = nothing
  }

  setEpoch(epoch: number): void {
    if (epoch === this.epoch) return
    this.previousEpoch = this.epoch
    this.epoch = epoch
  }

  /**
   * The static member went away, or is back: what it holds counts as held from the beginning, because
   * the one that comes back has another id and has not seen the epochs.
   */
  restartEpochs(): void {
    this.assigned = {
      ...this.assigned,
      active: new Map([...this.assigned.active.keys()].map((id) => [id, 0])),
    }
    this.revoking = nothing
    // There is nothing left to be given up: its session is all that ends it.
    this.setRevocationTimer(undefined)
    this.epoch = 0
    this.previousEpoch = 0
    this.state = 'stable'
  }
}
