import { StreamsError } from '../errors.ts'

/**
 * Refuses a promise from code of the user that is to be done when it returns: its record counts as
 * processed then, and is committed. `node` is the name of the step.
 *
 * @throws StreamsError `PROCESSOR_ASYNC`.
 */
export function assertDone(returned: unknown, node: string): void {
  if (typeof returned !== 'object' || returned === null) return
  // Data may have a field of that name.
  if (typeof (returned as { then?: unknown }).then !== 'function') return
  // What comes of it is nobody's any more.
  Promise.resolve(returned as Promise<unknown>).catch(() => undefined)
  throw new StreamsError('PROCESSOR_ASYNC', { node })
}

/**
 * What code of the user gave, unless it is a promise, which is no value and is true as a condition: that is
 * refused. For booleans, numbers and strings this costs one comparison.
 *
 * @throws StreamsError `PROCESSOR_ASYNC`.
 */
export function settled<T>(given: T, node: string): T {
  if (typeof given === 'object') assertDone(given, node)
  return given
}
