import type { Clock, Timer } from '../base/clock.ts'
import { lockLeaseMs, lockRefreshMs } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { isStreamsError, messageOf } from '../errors.ts'

/** Between two attempts. */
const pauseMs = 1_000

/** So long a holder that is dead keeps the directory, and a little more. */
const patienceMs = lockLeaseMs + lockRefreshMs

/**
 * Waits for a state directory whose holder cannot be looked up: a container that is started again
 * finds the lock of its former life, which is given up ten seconds after that has ended.
 */
export class DirectoryWait {
  readonly #clock: Clock
  readonly #log: Log
  /** On the monotonic clock; undefined before the first attempt has failed. */
  #deadlineMs: number | undefined
  #timer: Timer | undefined

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** True when `again` will be called; false when the error is another one, or all patience is gone. */
  retry(error: unknown, again: () => void): boolean {
    if (!isStreamsError(error, 'STATE_DIRECTORY_LOCKED')) return false
    if (error.context['holder'] !== 'elsewhere') return false
    const now = this.#clock.monotonic()
    if (this.#deadlineMs === undefined)
      this.#log.warn('waits until the state directory is free', { reason: messageOf(error) })
    this.#deadlineMs ??= now + patienceMs
    if (now >= this.#deadlineMs) return false
    this.#timer = this.#clock.setTimer(pauseMs, again)
    return true
  }

  /** `again` is not called any more. Idempotent. */
  cancel(): void {
    this.#timer?.cancel()
  }
}
