/** What was asked of a worker, and waits for its turn in the loop. */
interface Job {
  readonly run: () => Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What is asked of a worker from outside its loop: the loop does one after the other, between its turns. */
export class WorkerJobs {
  readonly #queue: Job[] = []
  readonly #wake: () => void
  #isOver = false

  /** `wake`: there is something to do. */
  constructor(wake: () => void) {
    this.#wake = wake
  }

  /** Resolves when it was done, rejects with what ended it. */
  add(run: () => Promise<void>): Promise<void> {
    // A dead worker has closed everything: whatever is asked of it has been done.
    if (this.#isOver) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#queue.push({ run, resolve, reject })
      this.#wake()
    })
  }

  /** Does the next one, and after it `then`; there may be none. Throws what ended it. */
  async runNext(then: () => void): Promise<void> {
    const job = this.#queue.shift()
    if (job === undefined) return
    try {
      await job.run()
      then()
      job.resolve()
    } catch (error) {
      job.reject(error)
      throw error
    }
  }

  /** Those that wait, and all that will be asked, count as done. */
  end(): void {
    this.#isOver = true
    for (const job of this.#queue.splice(0)) job.resolve()
  }
}
