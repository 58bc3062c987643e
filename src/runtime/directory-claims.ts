import type { TaskId } from '../processor/record-metadata.ts'

/** Hears which directories come into use and go out of it. */
export interface ClaimsListener {
  onClaim(id: TaskId): void
  /** Before those who wait for it are told. */
  onRelease(id: TaskId): void
}

/**
 * Which worker of a process may open the directory of a task. The group gives a task to one member of a
 * process at a time, but one that it has thrown out has its tasks until it hears of that: whoever is given
 * one of them has to wait. Java locks the directories of tasks by thread.
 *
 *     claim → refused … release of the other → onFree → claim → granted
 */
export class DirectoryClaims {
  /** Numbers of workers. */
  readonly #holders = new Map<TaskId, number>()
  readonly #waiting = new Map<TaskId, Map<number, () => void>>()
  readonly #listener: ClaimsListener | undefined

  constructor(listener?: ClaimsListener) {
    this.#listener = listener
  }

  /** Of these directories, the ones that the worker has now. `onFree` is called once for each other one. */
  claim(worker: number, ids: Iterable<TaskId>, onFree: () => void): Set<TaskId> {
    const granted = new Set<TaskId>()
    for (const id of ids) {
      const holder = this.#holders.get(id)
      if (holder === undefined || holder === worker) {
        if (holder === undefined) this.#listener?.onClaim(id)
        this.#holders.set(id, worker)
        this.#waiting.get(id)?.delete(worker)
        granted.add(id)
        continue
      }
      const waiting = this.#waiting.get(id) ?? new Map<number, () => void>()
      this.#waiting.set(id, waiting.set(worker, onFree))
    }
    return granted
  }

  /** The worker has closed what it had open there (default: of all that it had). */
  release(worker: number, ids: Iterable<TaskId> = [...this.#holders.keys()]): void {
    for (const id of ids) {
      if (this.#holders.get(id) !== worker) continue
      this.#holders.delete(id)
      this.#listener?.onRelease(id)
      const waiting = [...(this.#waiting.get(id)?.values() ?? [])]
      this.#waiting.delete(id)
      for (const onFree of waiting) onFree()
    }
  }

  /** The worker waits for nothing, and has nothing. */
  forget(worker: number): void {
    for (const waiting of this.#waiting.values()) waiting.delete(worker)
    this.release(worker)
  }
}
