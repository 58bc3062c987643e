import type { Clock, Timer } from '../base/clock.ts'

/** Milliseconds between two beats. */
const beatIntervalMs = 500

/** A beat that comes so many milliseconds late: nothing else came through either. */
const stuckAfterMs = 5000

/**
 * Tells whether the event loop turns. A process whose loop is blocked for seconds answers nobody,
 * sends no heartbeat, and loses its tasks: the liveness probe is to say so when it gets a word in.
 */
export class EventLoopWatch implements Disposable {
  readonly #clock: Clock
  #beatAt: number
  #lastDelayMs = 0
  #timer: Timer

  constructor(clock: Clock) {
    this.#clock = clock
    this.#beatAt = clock.monotonic()
    this.#timer = this.#next()
  }

  /** How late the last beat was, or the one that is due. */
  get delayMs(): number {
    return Math.max(this.#lastDelayMs, this.#overdueMs())
  }

  get isStuck(): boolean {
    return this.delayMs > stuckAfterMs
  }

  close(): void {
    this.#timer.cancel()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #overdueMs(): number {
    return Math.max(0, this.#clock.monotonic() - this.#beatAt - beatIntervalMs)
  }

  #next(): Timer {
    return this.#clock.setTimer(beatIntervalMs, () => {
      this.#lastDelayMs = this.#overdueMs()
      this.#beatAt = this.#clock.monotonic()
      this.#timer = this.#next()
    })
  }
}
