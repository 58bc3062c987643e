import { StreamsError } from '../errors.ts'

/** What a function that answers later is told of its call. */
export interface AsyncCall {
  /**
   * Aborts when the call's time is over, and when the instance gives up the record: give it to
   * `fetch` and the like.
   */
  readonly signal: AbortSignal
}

/** How many calls of an asynchronous step run, and how long. */
export interface AsyncOptions {
  /** Calls that run at the same time in each task, at most. Default 16. */
  readonly concurrency?: number
  /** Milliseconds that one call may take; then it fails as if it had thrown. Default 30,000. */
  readonly timeout?: number
}

/** A function that the user gave; its types were checked where the program was written. */
// oxlint-disable-next-line typescript/no-explicit-any -- variance: a function of any types fits
export type AsyncFunction = (value: any, key: any, call: AsyncCall) => unknown

const timeoutMsMax = 2 ** 31 - 1

/** Refuses numbers that no step can work with. */
export function assertAsyncOptions({ concurrency, timeout }: AsyncOptions, operator: string): void {
  assertCount(concurrency, `the concurrency of ${operator}`, Number.MAX_SAFE_INTEGER)
  assertCount(timeout, `the timeout of ${operator}`, timeoutMsMax)
}

function assertCount(given: number | undefined, what: string, max: number): void {
  if (given === undefined || (Number.isInteger(given) && given > 0 && given <= max)) return
  const detail = `${what} must be a whole number from 1 to ${max}, it is ${given}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
