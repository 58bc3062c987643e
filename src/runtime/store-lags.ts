import type { TaskId } from '../processor/record-metadata.ts'
import type { Task } from '../task/task.ts'
import type { ChangelogReader, RestoreLag } from './changelog-reader.ts'
import type { WorkerStandbys } from './worker-standbys.ts'

/**
 * How far the stores of a worker's tasks are behind their changelogs, whichever of the two readers has
 * them. Between the two, while a standby becomes active, the end counts that was heard last: so the store
 * can still say how old an answer of it is.
 */
export class StoreLags {
  readonly #reader: ChangelogReader
  readonly #standbys: WorkerStandbys
  /** Of standbys that become active: the ends of their changelogs by store. */
  readonly #heard = new Map<TaskId, ReadonlyMap<string, number | undefined>>()

  constructor(reader: ChangelogReader, standbys: WorkerStandbys) {
    this.#reader = reader
    this.#standbys = standbys
  }

  /** To be called before a standby is followed no longer, because it becomes active. */
  remember(id: TaskId): void {
    const ends = this.#standbys.lags(id).map(({ store, endOffset }) => [store, endOffset] as const)
    this.#heard.set(id, new Map(ends))
  }

  /** The task runs, or is gone. */
  forget(id: TaskId): void {
    this.#heard.delete(id)
  }

  /** Of the stores that have to go on: all of a standby, and of an active task those that restore. */
  restoring({ id, role }: Pick<Task, 'id' | 'role'>): RestoreLag[] {
    return role === 'standby' ? this.#standbys.lags(id) : this.#reader.lags(id)
  }

  /** True: the store of an active task has all that there is, and is its truth. */
  isComplete(task: Task, store: string): boolean {
    if (isRunning(task)) return true
    if (!this.#reader.restores(task.id)) return false
    const lag = this.#reader.lags(task.id).find((one) => one.store === store)
    // It has arrived before other stores of its task, or has no changelog.
    if (lag === undefined) return true
    return lag.endOffset !== undefined && lag.offset >= lag.endOffset
  }

  /** Changelog records that a store lacks; undefined: that is not known yet. */
  of(task: Task, store: string): number | undefined {
    if (task.role === 'active' && this.isComplete(task, store)) return 0
    const lag = this.all(task).find((one) => one.store === store)
    if (lag?.endOffset === undefined) return undefined
    return Math.max(0, lag.endOffset - lag.offset)
  }

  /** Of each store that has a changelog. */
  all(task: Task): RestoreLag[] {
    const lags = this.restoring(task)
    const heard = this.#heard.get(task.id)
    return task.changelogs.map(({ store, position: offset }) => {
      if (task.role === 'active' && this.isComplete(task, store))
        return { store, offset, endOffset: offset }
      const endOffset = lags.find((one) => one.store === store)?.endOffset ?? heard?.get(store)
      return { store, offset, endOffset }
    })
  }
}

function isRunning({ role, state }: Task): boolean {
  return role === 'active' && (state === 'running' || state === 'suspended')
}
