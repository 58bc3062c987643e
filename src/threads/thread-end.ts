import type { Worker } from 'node:worker_threads'
import { sleep, type Clock } from '../base/clock.ts'
import type { WriteGate } from '../kv/write-gate.ts'
import { watchThread, type WatchedThread } from './live-threads.ts'

/** So long a thread has to come out of what it writes, or to get on with it, and then to end. */
const patienceMs = 10_000
/** Between two looks whether it has come out. */
const lookMs = 20

/**
 * The end of a thread, which is waited for with a bound: one that is ended while it has a transaction of
 * LMDB open, for want of memory, say, never ends (`kv/write-gate`).
 */
export class ThreadEnd {
  readonly #worker: Worker
  readonly #gate: WriteGate
  readonly #clock: Clock
  readonly #watched: WatchedThread
  /** Aborted: the thread has ended. */
  readonly #gone = new AbortController()
  #forced: Promise<'gone' | 'lost'> | undefined

  constructor(worker: Worker, options: { gate: WriteGate; clock: Clock }) {
    this.#worker = worker
    this.#gate = options.gate
    this.#clock = options.clock
    this.#watched = watchThread(options.gate)
    worker.on('exit', () => {
      this.#watched[Symbol.dispose]()
      this.#gone.abort()
    })
  }

  /** Ends the thread. `lost`: it is still there, and always will be. */
  force(): Promise<'gone' | 'lost'> {
    return (this.#forced ??= this.#force())
  }

  async #force(): Promise<'gone' | 'lost'> {
    const { signal } = this.#gone
    this.#gate.close()
    let { steps } = this.#gate
    let deadline = this.#clock.monotonic() + patienceMs
    while (this.#gate.isInside && !signal.aborted && this.#clock.monotonic() < deadline) {
      await sleep(this.#clock, lookMs, signal)
      if (this.#gate.steps === steps) continue
      // It writes much. Nothing begins after it, so that this has an end.
      steps = this.#gate.steps
      deadline = this.#clock.monotonic() + patienceMs
    }
    // One that is inside even now would only come to stand still for good.
    if (!this.#gate.isInside) {
      void this.#worker.terminate()
      await sleep(this.#clock, patienceMs, signal)
    }
    if (signal.aborted) return 'gone'
    this.#watched.giveUp()
    this.#worker.unref()
    return 'lost'
  }
}
