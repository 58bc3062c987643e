import {
  compareNearness,
  type AssignorTask,
  type ProcessState,
  type TaskCopy,
} from './process-state.ts'

/** A task on its way to a process that cannot take it over yet. */
interface Movement {
  readonly task: AssignorTask
  readonly to: ProcessState
}

/**
 * Lets tasks stay where their state is until their new process has caught up: that one gets a warm-up,
 * a standby on top of the others, as long as there are not too many of them. Java's TaskMovement.
 */
export class Movements {
  readonly #processes: readonly ProcessState[]
  #warmupsLeft: number
  #pendingCount = 0
  /** By task: who follows it only to take it over. */
  readonly #warmups = new Map<AssignorTask, ProcessState>()

  constructor(processes: readonly ProcessState[], maxWarmupReplicas: number) {
    this.#processes = processes
    this.#warmupsLeft = maxWarmupReplicas
  }

  /** Tasks that are not where they should be, and whose lags are worth another look. */
  get pendingCount(): number {
    return this.#pendingCount
  }

  /** Call this first, and `deferStandbys` afterwards. */
  deferActive(): void {
    for (const { task, to } of this.#late(({ active }) => active)) {
      const source = activeSource(task, to)
      if (source === undefined) continue
      this.#pendingCount += 1
      to.active.delete(task)
      source.active.add(task)
      // The two change roles: one copy more would be of no use.
      if (source.standby.delete(task)) to.standby.add(task)
      else this.#warmUp(task, to)
    }
  }

  /** A standby stays with who follows the task by now, while the new one catches up. */
  deferStandbys(): void {
    for (const { task, to } of this.#late(({ standby }) => standby)) {
      if (this.#warmups.get(task) === to) continue
      const source = standbySource(task, to)
      if (source === undefined) continue
      this.#pendingCount += 1
      to.standby.delete(task)
      source.standby.add(task)
      this.#warmUp(task, to)
    }
  }

  #warmUp(task: AssignorTask, process: ProcessState): void {
    if (this.#warmupsLeft === 0) return
    this.#warmupsLeft -= 1
    process.standby.add(task)
    this.#warmups.set(task, process)
  }

  /** What a process should have and has not caught up with: first what it follows already. */
  #late(tasksOf: (process: ProcessState) => ReadonlySet<AssignorTask>): Movement[] {
    const late: Movement[] = []
    for (const to of this.#processes) {
      for (const task of tasksOf(to)) {
        // Where nobody else has anything, there is nowhere to stay.
        const hasSource = task.copies.some(({ process }) => process !== to)
        if (hasSource && task.isLogged && task.nearnessAt(to) !== 'caught-up')
          late.push({ task, to })
      }
    }
    return late.sort(
      (a, b) =>
        compareNearness(a.task.nearnessAt(a.to), b.task.nearnessAt(b.to)) ||
        a.task.lagAt(a.to) - b.task.lagAt(b.to) ||
        a.task.index - b.task.index,
    )
  }
}

/**
 * Who runs the task meanwhile: of those that have caught up the one that runs it now, then one that is
 * to follow it anyway, then the least loaded. When nobody has caught up, the nearest.
 */
function activeSource(task: AssignorTask, to: ProcessState): ProcessState | undefined {
  const ready = task.copies.filter(({ nearness }) => nearness === 'caught-up')
  // Whoever restores it now goes on, unless somebody need not restore at all.
  if (ready.length === 0) return to === task.owner ? undefined : nearest(task, to)?.process
  const order = (process: ProcessState): number => {
    if (process === task.owner) return 0
    return process.standby.has(task) ? 1 : 2
  }
  return ready
    .map(({ process }) => process)
    .reduce((best, process) =>
      (order(process) - order(best) || process.load - best.load || process.index - best.index) < 0
        ? process
        : best,
    )
}

/** Who follows the task now and has nothing of it to do: the nearest, if nearer than the new one. */
function standbySource(task: AssignorTask, to: ProcessState): ProcessState | undefined {
  return task.copies.find(
    (copy) => task.isHeldBy(copy.process) && !copy.process.has(task) && isNearer(copy, task, to),
  )?.process
}

/** The one that lacks the least, if that is less than what the new one lacks. */
function nearest(task: AssignorTask, to: ProcessState): TaskCopy | undefined {
  return task.copies
    .filter((copy) => isNearer(copy, task, to))
    .reduce<TaskCopy | undefined>(
      (best, copy) => (best === undefined || copy.lag < best.lag ? copy : best),
      undefined,
    )
}

function isNearer({ nearness, lag }: TaskCopy, task: AssignorTask, to: ProcessState): boolean {
  return nearness === 'caught-up' || lag < task.lagAt(to)
}
