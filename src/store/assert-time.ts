import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'

/** For the message: which time it is, and of which store. */
interface TimeUse {
  readonly what: string
  readonly store: string
}

/** What a row can be written at: milliseconds since the epoch that keep their exact value in a number. */
const isTime = (time: number): boolean =>
  time >= 0 && time <= Number.MAX_SAFE_INTEGER && Number.isInteger(time)

/** Refuses a time that no row can have, as code of the user may give one to a store. */
export function assertTime(time: number, what: string, store: string): void {
  if (!isTime(time)) throw notATime(time, { what, store })
}

/** Refuses what is no session: both its ends are times, and it does not end before it starts. */
export function assertSession(start: number, end: number, store: string): void {
  if (!isTime(start)) throw notATime(start, { what: 'start of a session', store })
  if (!isTime(end)) throw notATime(end, { what: 'end of a session', store })
  if (end < start) {
    const detail = `a session cannot end at ${end}, before its start ${start}`
    throw new StreamsError('STORE_TIME_INVALID', { store, detail })
  }
}

function notATime(time: unknown, { what, store }: TimeUse): StreamsError {
  const wanted = 'a whole number of milliseconds from 0 to 2^53 - 1'
  const detail = `the ${what} must be ${wanted}, it is ${shownValue(time)}`
  return new StreamsError('STORE_TIME_INVALID', { store, detail })
}
