/** A timer that was set; `cancel` is idempotent and also `[Symbol.dispose]`. */
export interface Timer extends Disposable {
  cancel(): void
  /** The process may end before it. Without: as this clock has it. */
  unref?(): void
}

/**
 * The port to time. Everything that waits or asks for the hour takes a Clock, so that a whole
 * cluster can run in one process on virtual time.
 */
export interface Clock {
  /** Milliseconds since the epoch: for timestamps of records. May jump. */
  now(): number
  /** Milliseconds from an arbitrary start: for measuring and deadlines. Never goes back. */
  monotonic(): number
  /** Calls back once, no sooner than `ms` from now, never before this call has returned. */
  setTimer(ms: number, callback: () => void): Timer
  /** Calls back in a later turn of the event loop, after pending I/O: how long work yields. */
  setImmediate(callback: () => void): void
}

class SystemTimer implements Timer {
  readonly #handle: NodeJS.Timeout

  constructor(handle: NodeJS.Timeout) {
    this.#handle = handle
  }

  cancel(): void {
    clearTimeout(this.#handle)
  }

  unref(): void {
    this.#handle.unref()
  }

  [Symbol.dispose](): void {
    this.cancel()
  }
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (ms, callback) => new SystemTimer(setTimeout(callback, ms)),
  setImmediate: (callback) => {
    setImmediate(callback)
  },
}

/** Resolves after `ms`; resolves early (never rejects) when the signal aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve()
      return
    }
    const done = (): void => {
      timer.cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.setTimer(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Resolves in a later turn of the event loop, after pending I/O. */
export function yieldTurn(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    clock.setImmediate(resolve)
  })
}
