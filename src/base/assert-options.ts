import { StreamsError } from '../errors.ts'
import { shownValue } from './shown-value.ts'

/** Refuses anything but an object, or nothing, in the place of options. `of` is for the message. */
export function assertOptions(given: unknown, of: string): void {
  if (given === undefined || given === null) return
  if (typeof given === 'object' && !Array.isArray(given)) return
  const detail = `the options of ${of} must be an object, not ${shownValue(given)}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

/** As {@link assertOptions}, of the options of a method, with `CONFIG_INVALID`. */
export function assertMethodOptions(given: unknown, of: string): void {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return
  const detail = `those of ${of} must be an object, not ${shownValue(given)}`
  throw new StreamsError('CONFIG_INVALID', { option: 'options', detail })
}
