import { assert } from '../base/assert.ts'
import type { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { StandbyTask } from './standby-task.ts'
import type { StateManager } from './state-manager.ts'
import type { StreamTask } from './stream-task.ts'
import { namingTask } from './task-failure.ts'

/** What {@link StandbyTasks} are made of. */
export interface StandbyTasksOptions {
  readonly metrics: StreamsMetrics
  /** Makes the state of a task, not open yet. */
  readonly makeState: (id: TaskId) => StateManager
}

/**
 * The standby tasks of one worker, and the way from one role to the other with the stores open (Java's
 * recycling of tasks):
 *
 *     standby ──recycle──► active        active ──park──► parked ──create──► standby
 *
 * An active task that is revoked is parked, since only the assignment that follows tells whether it
 * stays here as a standby.
 */
export class StandbyTasks {
  readonly #options: StandbyTasksOptions
  readonly #tasks = new Map<TaskId, StandbyTask>()
  readonly #parked = new Map<TaskId, StateManager>()

  constructor(options: StandbyTasksOptions) {
    this.#options = options
  }

  /** In the order of their making. */
  get all(): ReadonlyMap<TaskId, StandbyTask> {
    return this.#tasks
  }

  /** Tasks whose stores are open for whoever takes them over. */
  get parked(): Iterable<TaskId> {
    return this.#parked.keys()
  }

  /** Does a slice of what takes long in {@link create}; true while there is more. */
  prepare(id: TaskId): boolean {
    const state = this.#parked.get(id) ?? this.#options.makeState(id)
    this.#parked.set(id, state)
    return namingTask(id, () => state.prepare())
  }

  /** Makes and initializes a standby; from the stores of the active task, when that is parked. */
  create(id: TaskId): StandbyTask {
    assert(!this.#tasks.has(id), `there is no standby ${id} yet`)
    const { metrics, makeState } = this.#options
    const parked = this.#parked.get(id)
    this.#parked.delete(id)
    const task = new StandbyTask({ id, metrics, state: parked ?? makeState(id) })
    // Also one that cannot be opened is closed with the others.
    this.#tasks.set(id, task)
    namingTask(id, () => {
      parked?.disown()
      task.initialize()
    })
    return task
  }

  /** The open stores of a standby, which ends, or of a parked task; undefined: there are none. */
  recycle(id: TaskId): StateManager | undefined {
    const standby = this.#tasks.get(id)
    this.#tasks.delete(id)
    if (standby !== undefined) return standby.recycle()
    const parked = this.#parked.get(id)
    // Whoever cannot be taken over is closed with the others that are parked.
    namingTask(id, () => parked?.disown())
    this.#parked.delete(id)
    return parked
  }

  /** Keeps the stores of an active task, which is suspended and committed, and ends. */
  park(task: StreamTask): void {
    this.#parked.set(task.id, task.recycle())
  }

  /** Closes the stores that nobody has taken over, but for those of tasks that will. */
  closeParked(awaited: readonly TaskId[] = []): void {
    const parked = [...this.#parked].filter(([id]) => !awaited.includes(id))
    for (const [id] of parked) this.#parked.delete(id)
    closeAll(
      parked.map(
        ([id, state]) =>
          () =>
            namingTask(id, () => state.close()),
      ),
    )
  }

  /** Lets the engines take what these have read (default: all). */
  commit(ids: Iterable<TaskId> = this.#tasks.keys()): void {
    for (const id of ids) namingTask(id, () => this.#tasks.get(id)?.commit())
  }

  /**
   * Closes these (default: all, and what is parked). All are closed, also when one fails; the first
   * failure is thrown.
   */
  close(ids: Iterable<TaskId> | undefined, options: { clean: boolean }): void {
    const closed = [...(ids ?? this.#tasks.keys())].flatMap((id) => this.#tasks.get(id) ?? [])
    for (const { id } of closed) this.#tasks.delete(id)
    const closings = closed.map((task) => () => namingTask(task.id, () => task.close(options)))
    if (ids === undefined) closings.push(() => this.closeParked())
    closeAll(closings)
  }
}

function closeAll(closings: readonly (() => void)[]): void {
  const failures: unknown[] = []
  for (const close of closings) {
    try {
      close()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
