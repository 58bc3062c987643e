import type { TaskId } from '../../processor/record-metadata.ts'
import { progressRunning, type TaskSet } from '../membership.ts'
import { sortedByTaskId } from '../task-ids.ts'
import { placeActive } from './active-target.ts'
import { splitOverMembers } from './member-split.ts'
import { Movements } from './movements.ts'
import {
  AssignorTask,
  ProcessState,
  compareCopies,
  type AssignableTask,
  type AssignorMember,
  type Nearness,
} from './process-state.ts'
import { placeStandbys } from './standby-target.ts'
import { placeStateless } from './stateless-target.ts'

/** How tasks are given out. Names and defaults are those of the options of the configuration. */
export interface AssignorOptions {
  readonly standbyReplicas: number
  readonly acceptableRecoveryLag: number
  readonly maxWarmupReplicas: number
  readonly rackAwareAssignmentTags: readonly string[]
  /**
   * When an active task may leave who runs it: when its new process has `caught-up`; `at-once`, because
   * nobody tells how far it is; `never`, because that cannot be computed at present.
   */
  readonly moves: 'caught-up' | 'at-once' | 'never'
}

/** Who is to have what. */
export interface TaskAssignment {
  /** By member id. */
  readonly targets: ReadonlyMap<string, TaskSet>
  /** Tasks that would lie elsewhere if their new process had caught up: the lags are worth another look. */
  readonly pendingCount: number
}

/**
 * Gives every task to exactly one member, and copies of it to others. In what it promises Java's
 * HighAvailabilityTaskAssignor, but for the first: Java computes who should have what from nothing, and
 * comes there by as many moves as it takes.
 *
 * - Sticky: nothing moves while the present assignment is balanced and everybody has caught up;
 *   otherwise as few stateful tasks as possible.
 * - Balanced: when all have caught up, the numbers of tasks of two members differ by at most one, and so
 *   do the numbers of stateful tasks; copies are spread evenly as far as their places allow.
 * - Available: a task runs where its state is. Whoever should have it and lacks more than
 *   `acceptableRecoveryLag` records follows it first, as a warm-up.
 * - Deterministic: a function of its arguments alone, whatever their order.
 */
export function assignTasks(
  tasks: readonly AssignableTask[],
  members: readonly AssignorMember[],
  options: AssignorOptions,
): TaskAssignment {
  const processes = processesOf(members)
  const all = sortedByTaskId(tasks, ({ id }) => id).map(
    (task, index) => new AssignorTask(task, index, distanceOfNothing(task, options)),
  )
  noteCopies(all, processes, options)
  const stateful = all.filter((task) => task.stateful)
  placeActive(stateful, processes, options.moves === 'never' ? 'never' : 'for-balance')
  placeStandbys(stateful, processes, {
    standbyReplicas: options.standbyReplicas,
    rackTags: options.rackAwareAssignmentTags,
    isBalancing: options.moves !== 'never',
  })
  const movements = new Movements(processes, options.maxWarmupReplicas)
  if (options.moves === 'caught-up') {
    movements.deferActive()
    movements.deferStandbys()
  }
  placeStateless(
    all.filter((task) => !task.stateful),
    processes,
  )
  const targets = new Map(processes.flatMap((process) => [...splitOverMembers(process)]))
  return { targets, pendingCount: movements.pendingCount }
}

function processesOf(members: readonly AssignorMember[]): ProcessState[] {
  const byProcess = new Map<string, AssignorMember[]>()
  for (const member of members) {
    const others = byProcess.get(member.processId)
    if (others === undefined) byProcess.set(member.processId, [member])
    else others.push(member)
  }
  return [...byProcess]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, own], index) => {
      return new ProcessState(
        own.sort((a, b) => compareText(a.memberId, b.memberId)),
        index,
      )
    })
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Notes at each task who runs it, and what the processes have of it. */
function noteCopies(
  tasks: readonly AssignorTask[],
  processes: readonly ProcessState[],
  options: AssignorOptions,
): void {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const generations = new Map<AssignorTask, number>()
  for (const process of processes) {
    for (const { held, generation } of process.members) {
      for (const id of held.active) {
        const task = byId.get(id)
        if (task === undefined || generation <= (generations.get(task) ?? -Infinity)) continue
        task.owner = process
        generations.set(task, generation)
      }
    }
    for (const [id, progress] of progressOf(process)) {
      const task = byId.get(id)
      if (task?.stateful !== true) continue
      const { lag, nearness } = distanceOf(task, progress, options)
      const isFollowing = nearness === 'absent' && task.isHeldBy(process)
      task.copies.push({ process, lag, nearness: isFollowing ? 'following' : nearness })
    }
  }
  for (const task of tasks) if (task.copies.length > 1) task.copies.sort(compareCopies)
}

/** The best of what the members of the process tell; what they hold and say nothing of is at its begin. */
function progressOf(process: ProcessState): Map<TaskId, number> {
  const best = new Map<TaskId, number>(process.members[0]?.progress)
  for (const { progress } of process.members.slice(1)) {
    for (const [id, sum] of progress) {
      const other = best.get(id)
      const isBetter = other !== progressRunning && (sum === progressRunning || sum > (other ?? -1))
      if (isBetter) best.set(id, sum)
    }
  }
  for (const held of [process.heldActive, process.heldStandby])
    for (const id of held) if (!best.has(id)) best.set(id, 0)
  return best
}

/** How far away something is. */
interface Distance {
  readonly lag: number
  readonly nearness: Nearness
}

/** Without known ends only these three can be told apart: it runs, there is something, there is nothing. */
const unknownLags = { ofSomething: 1, ofNothing: 2 }

function distanceOfNothing(task: AssignableTask, options: AssignorOptions): Distance {
  if (options.moves !== 'caught-up') return { lag: unknownLags.ofNothing, nearness: 'absent' }
  const isCaughtUp = task.endSum <= options.acceptableRecoveryLag
  return { lag: task.endSum, nearness: isCaughtUp ? 'caught-up' : 'absent' }
}

function distanceOf(task: AssignorTask, progress: number, options: AssignorOptions): Distance {
  if (progress === progressRunning) return { lag: 0, nearness: 'caught-up' }
  if (options.moves !== 'caught-up') return { lag: unknownLags.ofSomething, nearness: 'absent' }
  const { lagOfNothing: endSum } = task
  // More than there is: the topic was made anew, and what is here is of no use.
  const lag = progress > endSum ? endSum : endSum - progress
  return { lag, nearness: lag <= options.acceptableRecoveryLag ? 'caught-up' : 'absent' }
}
