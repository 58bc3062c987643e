import type { Clock, Timer } from '../base/clock.ts'
import type { Random } from '../base/random.ts'

/** When a session is renewed: after 85 to 95 % of its time, as Java's clients do. */
const shareMin = 0.85
const shareRange = 0.1

/** The longest that a timer can wait; a session that is longer is renewed sooner than need be. */
const timerMsMax = 2 ** 31 - 1

/** What a {@link SessionRenewal} works with. */
export interface SessionRenewalOptions {
  readonly clock: Clock
  readonly random: Random
  /** Authenticates again; resolves with the milliseconds of the new session, 0: for ever. */
  readonly renew: () => Promise<number>
  readonly onFailure: (error: unknown) => void
}

/**
 * Authenticates a connection again before its session ends (KIP-368): brokers hang up on requests that
 * come later. The times of connections that were opened together are spread.
 */
export class SessionRenewal {
  readonly #options: SessionRenewalOptions
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: SessionRenewalOptions) {
    this.#options = options
  }

  /** A session of so many milliseconds has begun; 0: it does not end. */
  begin(lifetimeMs: number): void {
    if (lifetimeMs <= 0 || this.#isStopped) return
    const { clock, random } = this.#options
    const share = shareMin + random.next() * shareRange
    const waitMs = Math.min(timerMsMax, Math.floor(lifetimeMs * share))
    this.#timer = clock.setTimer(waitMs, () => void this.#renew())
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #renew(): Promise<void> {
    try {
      this.begin(await this.#options.renew())
    } catch (error) {
      if (!this.#isStopped) this.#options.onFailure(error)
    }
  }
}
