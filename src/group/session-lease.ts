import type { Clock, Timer } from '../base/clock.ts'

/** What a {@link SessionLease} is made of. */
export interface SessionLeaseOptions {
  readonly clock: Clock
  readonly sessionTimeoutMs: number
  /** True: the group may have given the tasks to others. False: it has not. */
  readonly onChange: (isOver: boolean) => void
}

/**
 * How long a member may believe that it is one: the session timeout, from the sending of the last
 * request that the coordinator has answered. The coordinator counts from when it got that request, which
 * was later: so a member that is cut off knows it before the group gives its tasks to others. Java's
 * members only hear of it when they reach the coordinator again.
 */
export class SessionLease {
  readonly #options: SessionLeaseOptions
  #timer: Timer | undefined
  #sentAt = -Infinity
  #isOver = false

  constructor(options: SessionLeaseOptions) {
    this.#options = options
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** @param sentAt when the request that was answered was sent, on the monotonic clock */
  renew(sentAt: number): void {
    const { clock, sessionTimeoutMs, onChange } = this.#options
    // An answer that came late says nothing new.
    if (sentAt < this.#sentAt) return
    this.#sentAt = sentAt
    this.#timer?.cancel()
    const remainingMs = sentAt + sessionTimeoutMs - clock.monotonic()
    if (remainingMs <= 0) return this.#end()
    this.#timer = clock.setTimer(remainingMs, () => this.#end())
    if (!this.#isOver) return
    this.#isOver = false
    onChange(false)
  }

  /** The coordinator holds a request back: it knows why it hears nothing else. */
  suspend(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #end(): void {
    this.suspend()
    if (this.#isOver) return
    this.#isOver = true
    this.#options.onChange(true)
  }
}
