import type { TaskId } from '../processor/record-metadata.ts'
import type { TaskStates } from './worker-tasks.ts'

export interface WorkerClaimsOptions {
  readonly states: TaskStates
  /** True: the task has something on disk. */
  readonly hasDirectory: (id: TaskId) => boolean
  /** One that was refused can be claimed again. */
  readonly onFree: () => void
}

/** The directories that one worker has for its tasks, in whichever role; see {@link DirectoryClaims}. */
export class WorkerClaims {
  readonly #options: WorkerClaimsOptions
  readonly #held = new Set<TaskId>()

  constructor(options: WorkerClaimsOptions) {
    this.#options = options
  }

  /** Of these tasks the ones that can be opened now; when it is the turn of another one, `onFree` says so. */
  async take(ids: readonly TaskId[]): Promise<TaskId[]> {
    const { states, hasDirectory, onFree } = this.#options
    const wanted = ids.filter((id) => hasDirectory(id) && !this.#held.has(id))
    const granted = wanted.length === 0 ? new Set() : await states.claim(wanted, onFree)
    for (const id of wanted) if (granted.has(id)) this.#held.add(id)
    return ids.filter((id) => !hasDirectory(id) || this.#held.has(id))
  }

  /** Gives back all but those of these tasks, which are still open. */
  keep(open: ReadonlySet<TaskId>): void {
    const over = [...this.#held].filter((id) => !open.has(id))
    if (over.length === 0) return
    for (const id of over) this.#held.delete(id)
    this.#options.states.release(over)
  }
}
