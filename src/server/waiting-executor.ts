import { sleep, type Clock } from '../base/clock.ts'
import { StreamsError } from '../errors.ts'
import type {
  CountAnswer,
  CountRequest,
  GetAnswer,
  GetRequest,
  PageAnswer,
  PageRequest,
  QueryExecutor,
  QueryRequest,
} from '../query/request.ts'

/** Milliseconds that a question waits for an owner, when it does not say. */
const timeoutMsDefault = 10_000

/** Milliseconds between two tries: a rebalance takes some hundred. */
const retryMs = 50

/**
 * Asks again while the answer is "not yet": the owner of a key starts, moves or restores. A program
 * that has just started would otherwise have to write this loop itself. HTTP does not wait: its
 * clients have `Retry-After`.
 */
export class WaitingExecutor implements QueryExecutor {
  readonly #executor: QueryExecutor
  readonly #clock: Clock

  constructor(executor: QueryExecutor, clock: Clock) {
    this.#executor = executor
    this.#clock = clock
  }

  get(request: GetRequest): Promise<GetAnswer> {
    return this.#patiently(request, () => this.#executor.get(request))
  }

  page(request: PageRequest): Promise<PageAnswer> {
    return this.#patiently(request, () => this.#executor.page(request))
  }

  count(request: CountRequest): Promise<CountAnswer> {
    return this.#patiently(request, () => this.#executor.count(request))
  }

  async #patiently<A>(
    { timeoutMs = timeoutMsDefault, signal }: QueryRequest,
    ask: () => Promise<A>,
  ): Promise<A> {
    const deadline = this.#clock.monotonic() + timeoutMs
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        const leftMs = deadline - this.#clock.monotonic()
        if (!(error instanceof StreamsError && error.retriable) || leftMs <= 0) throw error
        await sleep(this.#clock, Math.min(retryMs, leftMs), signal)
      }
    }
  }
}
