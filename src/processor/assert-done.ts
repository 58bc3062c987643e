import { StreamsError } from '../errors.ts'

/**
 * Refuses a promise from code of the user that is to be done when it returns: its record counts as
 * processed then, and is committed. `node` is the name of the step.
 *
 * @throws StreamsError `PROCESSOR_ASYNC`.
 */
export function assertDone(returned: unknown, node: string): void {
  if (typeof returned !== 'object' || returned === null || !('then' in returned)) return
  // What comes of it is nobody's any more.
  Promise.resolve(returned as Promise<unknown>).catch(() => undefined)
  throw new StreamsError('PROCESSOR_ASYNC', { node })
}
