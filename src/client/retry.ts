import { sleep, type Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import { Backoff } from './backoff.ts'
import { eitherSignal, within } from './deadline.ts'

/** How long and how often something is tried. */
export interface RetryOptions {
  readonly clock: Clock
  readonly random: Random
  /** What is tried, for errors: for example `Metadata`. */
  readonly what: string
  readonly backoffMs: number
  readonly backoffMaxMs: number
  /** From now. */
  readonly deadlineMs: number
  /** Of the caller. */
  readonly signal: AbortSignal | undefined
  /** Of the client: aborts when it is closed. */
  readonly life: AbortSignal
}

/**
 * The waits between the tries of one operation, up to its deadline.
 *
 * @example
 * for (;;) {
 *   try { return await attempt(retry.remainingMs) } catch (error) {
 *     if (!canPass(error)) throw error
 *     await retry.wait(error)
 *   }
 * }
 */
export class Retry {
  readonly #options: RetryOptions
  readonly #backoff: Backoff
  readonly #deadline: number
  /** What the last try ended in that had its time. */
  #failure: unknown

  constructor(options: RetryOptions) {
    this.#options = options
    this.#backoff = new Backoff({
      baseMs: options.backoffMs,
      maxMs: options.backoffMaxMs,
      random: options.random,
    })
    this.#deadline = options.clock.monotonic() + options.deadlineMs
  }

  /** Milliseconds until the deadline, at least 0. */
  get remainingMs(): number {
    return Math.max(0, this.#deadline - this.#options.clock.monotonic())
  }

  /** Throws `ABORTED` or `CLIENT_CLOSED` when nobody wants the result any more. */
  throwIfEnded(): void {
    const { signal, life } = this.#options
    if (life.aborted) throw this.#ended(life)
    if (signal?.aborted) throw this.#ended(signal)
  }

  /**
   * Waits before the next try. Throws the failure when the deadline comes first. A try that only the
   * deadline cut short failed for no reason of its own: then the failure before it is thrown.
   */
  async wait(failure: unknown, ending: 'of-its-own' | 'cut-short' = 'of-its-own'): Promise<void> {
    if (ending === 'of-its-own') this.#failure = failure
    const { clock, signal, life } = this.#options
    const ms = this.#backoff.next()
    if (ms >= this.remainingMs) throw this.#failure ?? failure
    this.throwIfEnded()
    using either = eitherSignal(life, signal)
    await sleep(clock, ms, either.signal)
    this.throwIfEnded()
  }

  /** Settles as the promise does, at the latest at the deadline, on abort or on close. */
  within<T>(promise: Promise<T>): Promise<T> {
    const { clock, signal, life, what, deadlineMs } = this.#options
    return within(clock, promise, {
      ms: this.remainingMs,
      signals: [life, signal],
      onAbort: (aborted) => this.#ended(aborted),
      onTimeout: () =>
        this.#failure instanceof Error
          ? this.#failure
          : new StreamsError('REQUEST_TIMEOUT', {
              api: what,
              broker: 'the cluster',
              timeoutMs: deadlineMs,
            }),
    })
  }

  #ended(signal: AbortSignal): StreamsError {
    return signal === this.#options.life
      ? new StreamsError('CLIENT_CLOSED', { what: 'Kafka client' })
      : new StreamsError('ABORTED', { what: this.#options.what })
  }
}
