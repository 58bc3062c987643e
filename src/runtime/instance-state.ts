import type { StateDirectory } from '../store/state-directory.ts'
import { DirectoryClaims, type ClaimsListener } from './directory-claims.ts'
import type { GlobalState } from './global-worker.ts'
import type { TaskStates } from './worker-tasks.ts'

/** Where the workers of an instance keep their state. */
export interface InstanceState {
  /** Identity of the process for the group. */
  readonly processId: string
  readonly global: GlobalState
  /** What the worker of this number may open. */
  of(workerNumber: number): TaskStates
  /** The worker has ended, however: what it had is for others. */
  forget(workerNumber: number): void
}

/** The state of an instance as the thread sees it that has the lock of the directory. */
export class DirectoryState implements InstanceState {
  readonly #directory: StateDirectory
  readonly #claims: DirectoryClaims
  readonly global: GlobalState

  constructor(directory: StateDirectory, listener?: ClaimsListener) {
    this.#directory = directory
    this.#claims = new DirectoryClaims(listener)
    this.global = {
      engines: () => directory.engines('global'),
      wipe: () => directory.removeTask('global'),
    }
  }

  get processId(): string {
    return this.#directory.processId
  }

  of(workerNumber: number): TaskStates {
    const claims = this.#claims
    const directory = this.#directory
    return {
      claim: (ids, onFree) => Promise.resolve(claims.claim(workerNumber, ids, onFree)),
      release: (ids) => claims.release(workerNumber, ids),
      engines: (id) => directory.engines(id),
      storedOffsets: () => directory.storedOffsets(),
      wipe: (id) => directory.removeTask(id),
    }
  }

  forget(workerNumber: number): void {
    this.#claims.forget(workerNumber)
  }
}
