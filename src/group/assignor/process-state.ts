import type { TaskId } from '../../processor/record-metadata.ts'
import type { TaskProgress, TaskSet } from '../membership.ts'

/** A task to be given to somebody. */
export interface AssignableTask {
  readonly id: TaskId
  /** It has a store: who gets it without its state has to restore that first. */
  readonly stateful: boolean
  /** It has changelogs, so that standbys can follow them. */
  readonly logged: boolean
  /** The sum of the end offsets of its changelogs; what it is does not matter where none is known. */
  readonly endSum: number
}

/** A member as the assignor sees it. */
export interface AssignorMember {
  readonly memberId: string
  /** Lasts over restarts, other than the member id: what makes the order of members the same again. */
  readonly processId: string
  /** Generation in which it got what it holds; of two claims on a task the newer one counts. */
  readonly generation: number
  readonly held: TaskSet
  /** How far the state in its process is. */
  readonly progress: TaskProgress
  readonly tags: ReadonlyMap<string, string>
}

/**
 * How near a process is to running a task: `caught-up` could take it over at once, `following` holds it
 * and catches up, `absent` would have to begin.
 */
export type Nearness = 'caught-up' | 'following' | 'absent'

/** The state of a task in a process. */
export interface TaskCopy {
  readonly process: ProcessState
  /** Changelog records that are missing. */
  readonly lag: number
  readonly nearness: Nearness
}

/** A task while it is being assigned. */
export class AssignorTask {
  readonly id: TaskId
  /** Place in the order of all tasks. */
  readonly index: number
  readonly stateful: boolean
  readonly isLogged: boolean
  /** What a process lacks that has nothing. */
  readonly lagOfNothing: number
  /** A small changelog is as good as read. */
  readonly nearnessOfNothing: Nearness
  /** Processes that have something of it, the nearest first. */
  readonly copies: TaskCopy[] = []
  /** Who runs it; of several who claim it the one with the newest generation. */
  owner: ProcessState | undefined

  constructor(
    task: AssignableTask,
    index: number,
    ofNothing: { readonly lag: number; readonly nearness: Nearness },
  ) {
    this.id = task.id
    this.index = index
    this.stateful = task.stateful
    this.isLogged = task.logged
    this.lagOfNothing = ofNothing.lag
    this.nearnessOfNothing = ofNothing.nearness
  }

  /** What a process has of it; undefined: nothing. */
  copyAt(process: ProcessState): TaskCopy | undefined {
    return this.copies.find((copy) => copy.process === process)
  }

  /** How near the process is. */
  nearnessAt(process: ProcessState): Nearness {
    return this.copyAt(process)?.nearness ?? this.nearnessOfNothing
  }

  lagAt(process: ProcessState): number {
    return this.copyAt(process)?.lag ?? this.lagOfNothing
  }

  /** An active or a standby member of the process holds it. */
  isHeldBy(process: ProcessState): boolean {
    return process.heldActive.has(this.id) || process.heldStandby.has(this.id)
  }
}

/**
 * A process and what it is to have: several members may be in it, which share its state. Java's
 * ClientState.
 */
export class ProcessState {
  readonly id: string
  /** Place in the order of all processes. */
  readonly index: number
  /** In the order of their ids. */
  readonly members: readonly AssignorMember[]
  readonly tags: ReadonlyMap<string, string>
  readonly heldActive: ReadonlySet<TaskId>
  readonly heldStandby: ReadonlySet<TaskId>
  /** What it is to run. */
  readonly active = new Set<AssignorTask>()
  /** What it is to follow, warm-ups included. */
  readonly standby = new Set<AssignorTask>()

  constructor(members: readonly AssignorMember[], index: number) {
    this.id = members[0]?.processId ?? ''
    this.index = index
    this.members = members
    this.tags = members[0]?.tags ?? new Map()
    this.heldActive = heldBy(members, 'active')
    this.heldStandby = heldBy(members, 'standby')
  }

  /** How much it can do, next to others. */
  get capacity(): number {
    return this.members.length
  }

  /** It is to have the task, in whichever role. */
  has(task: AssignorTask): boolean {
    return this.active.has(task) || this.standby.has(task)
  }

  /** Tasks in both roles for each member. */
  get load(): number {
    return (this.active.size + this.standby.size) / this.capacity
  }
}

function heldBy(
  members: readonly AssignorMember[],
  role: 'active' | 'standby',
): ReadonlySet<TaskId> {
  const [only] = members
  if (only !== undefined && members.length === 1) return only.held[role]
  return new Set(members.flatMap(({ held }) => [...held[role]]))
}

const nearnessOrder: Readonly<Record<Nearness, number>> = {
  'caught-up': 0,
  following: 1,
  absent: 2,
}

/** Negative: the first is nearer. */
export function compareNearness(a: Nearness, b: Nearness): number {
  return nearnessOrder[a] - nearnessOrder[b]
}

/** Orders copies: the nearer first, then the one that lacks less, then by process. */
export function compareCopies(a: TaskCopy, b: TaskCopy): number {
  return (
    compareNearness(a.nearness, b.nearness) || a.lag - b.lag || a.process.index - b.process.index
  )
}
