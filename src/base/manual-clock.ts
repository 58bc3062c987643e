import { assert } from './assert.ts'
import type { Clock, Timer } from './clock.ts'

/** Turns of the event loop that `settle` waits through before it says that something is endless. */
const settleTurnsMax = 100_000

/** Timers that one `advance` fires before it says that something sets timers without end. */
const timersPerAdvanceMax = 1_000_000

interface ManualTimer extends Timer {
  readonly due: number
  readonly callback: () => void
}

/**
 * A clock for tests: time moves only when the test says so.
 *
 * - `advance(ms)` fires the timers that fall due, in order of time and then of setting, each at
 *   exactly its time. It is synchronous: promises do not run between two timers.
 * - `run(ms)` is the same, and after each timer lets promises, immediates and pending I/O of this
 *   process come to rest. Use it when what a timer starts must have happened before the next one.
 * - `setImmediate` is the real one, so work goes on by itself; `settle()` waits until none is left.
 *
 * @example
 * const clock = new ManualClock(1_000)
 * clock.setTimer(50, () => expire())
 * clock.advance(49)                  // nothing
 * clock.advance(1)                   // expire() at clock.now() === 1050
 */
export class ManualClock implements Clock {
  readonly #start: number
  #now: number
  /** In the order in which they fire. */
  #timers: ManualTimer[] = []
  #immediates = 0

  /** @param start milliseconds since the epoch; `monotonic()` starts at 0. Default 0. */
  constructor(start = 0) {
    this.#start = start
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now - this.#start
  }

  /** How many timers wait. */
  get timerCount(): number {
    return this.#timers.length
  }

  setTimer(ms: number, callback: () => void): Timer {
    const cancel = (): void => {
      const index = this.#timers.indexOf(timer)
      if (index >= 0) this.#timers.splice(index, 1)
    }
    const due = this.#now + Math.max(0, ms)
    const timer: ManualTimer = { due, callback, cancel, [Symbol.dispose]: cancel }
    const later = this.#timers.findIndex((other) => other.due > due)
    this.#timers.splice(later < 0 ? this.#timers.length : later, 0, timer)
    return timer
  }

  setImmediate(callback: () => void): void {
    this.#immediates += 1
    setImmediate(() => {
      this.#immediates -= 1
      callback()
    })
  }

  /** Moves time on and fires what falls due, synchronously. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (let fired = 0; this.#fireNext(end); fired += 1) {
      assert(fired < timersPerAdvanceMax, 'timers come to an end')
    }
    this.#now = end
  }

  /** Moves time on; after each timer, all that it started comes to rest. */
  async run(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.settle()
    for (let fired = 0; this.#fireNext(end); fired += 1) {
      assert(fired < timersPerAdvanceMax, 'timers come to an end')
      await this.settle()
    }
    this.#now = end
  }

  /** Resolves when promises have run and no immediate is pending; time stands still. */
  async settle(): Promise<void> {
    for (let turns = 0; ; turns += 1) {
      assert(turns < settleTurnsMax, 'immediates come to an end')
      await new Promise<void>((resolve) => {
        setImmediate(resolve)
      })
      if (this.#immediates === 0) return
    }
  }

  #fireNext(end: number): boolean {
    const timer = this.#timers[0]
    if (timer === undefined || timer.due > end) return false
    this.#timers.shift()
    this.#now = timer.due
    timer.callback()
    return true
  }
}
