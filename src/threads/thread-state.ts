import type { TaskId } from '../processor/record-metadata.ts'
import type { GlobalState } from '../runtime/global-worker.ts'
import type { InstanceState } from '../runtime/instance-state.ts'
import type { StoredOffsets } from '../runtime/task-stores.ts'
import type { TaskStates } from '../runtime/worker-tasks.ts'
import type { TaskDirectories } from '../store/task-directories.ts'
import type { FromWorker, WorkerStart } from './worker-messages.ts'

export interface ThreadStateOptions {
  readonly start: Pick<WorkerStart, 'number' | 'processId' | 'stored'>
  readonly directories: TaskDirectories
  readonly post: (message: FromWorker) => void
}

/**
 * The state of a worker in a thread of its own. The main thread has the lock of the directory, and says
 * which tasks the worker may open; the engines are opened here.
 */
export class ThreadState implements InstanceState {
  readonly #options: ThreadStateOptions
  readonly #claims = new Map<number, (ids: ReadonlySet<TaskId>) => void>()
  #claimCount = 0
  #stored: StoredOffsets
  #onFree: () => void = () => undefined
  readonly processId: string
  /** A copy for this thread alone: nobody else may write while it reads. */
  readonly global: GlobalState

  constructor(options: ThreadStateOptions) {
    this.#options = options
    const { directories, start } = options
    this.processId = start.processId
    this.#stored = start.stored
    const name = `global-${start.number}` as const
    this.global = {
      engines: () => directories.engines(name),
      wipe: () => directories.remove(name),
    }
  }

  of(): TaskStates {
    const { directories, post } = this.#options
    return {
      claim: (ids, onFree) => this.#claim(ids, onFree),
      release: (ids) => post({ kind: 'release', ids }),
      engines: (id) => directories.engines(id),
      storedOffsets: () => this.#stored,
      wipe: (id) => directories.remove(id),
    }
  }

  /** The main thread does. */
  forget(): void {}

  #claim(ids: readonly TaskId[], onFree: () => void): Promise<ReadonlySet<TaskId>> {
    this.#onFree = onFree
    this.#claimCount += 1
    const claim = this.#claimCount
    return new Promise((resolve) => {
      this.#claims.set(claim, resolve)
      this.#options.post({ kind: 'claim', claim, ids })
    })
  }

  /** The main thread has answered. */
  claimed(claim: number, ids: readonly TaskId[]): void {
    this.#claims.get(claim)?.(new Set(ids))
    this.#claims.delete(claim)
  }

  /** A directory that was refused is free. */
  freed(): void {
    this.#onFree()
  }

  setStored(stored: StoredOffsets): void {
    this.#stored = stored
  }
}
