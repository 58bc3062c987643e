import type { Random } from '../base/random.ts'

/** Share of a wait by which it is made longer or shorter, so that clients do not return in step. */
const jitter = 0.2

/** Doubling after this many waits changes nothing that a cap would not have cut. */
const doublingsMax = 30

/** Waits that double from `baseMs` to `maxMs`, each with jitter (Java: ExponentialBackoff). */
export class Backoff {
  readonly #baseMs: number
  readonly #maxMs: number
  readonly #random: Random
  #waits = 0

  constructor(options: { baseMs: number; maxMs: number; random: Random }) {
    this.#baseMs = options.baseMs
    this.#maxMs = options.maxMs
    this.#random = options.random
  }

  /** The next wait in whole milliseconds, between 80 % and 120 % of its nominal length. */
  next(): number {
    const nominal = Math.min(this.#maxMs, this.#baseMs * 2 ** this.#waits)
    if (this.#waits < doublingsMax) this.#waits += 1
    return Math.round(nominal * (1 - jitter + 2 * jitter * this.#random.next()))
  }

  /** The next wait is the first again. */
  reset(): void {
    this.#waits = 0
  }
}
