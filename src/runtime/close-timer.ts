import type { Clock, Timer } from '../base/clock.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'

/** Long enough for a broker to be started again, shorter than what most platforms wait at last. */
const closeTimeoutMsDefault = 60_000
/** What a timer can wait at most; nobody waits 24 days. */
const timerMsMax = 2 ** 31 - 1

/**
 * Calls back when closing takes longer than that, by default a minute; undefined: it may take any time.
 *
 * @throws StreamsError `CONFIG_INVALID` for what is no number from 0 on.
 */
export function closeTimer(
  clock: Clock,
  timeout: number | undefined,
  callback: () => void,
): Timer | undefined {
  const ms: unknown = timeout ?? closeTimeoutMsDefault
  if (timeout === null || typeof ms !== 'number' || !(ms >= 0)) {
    const detail = `the timeout of close is a number of milliseconds from 0 on, not ${shownValue(timeout)}`
    throw new StreamsError('CONFIG_INVALID', { option: 'timeout', detail })
  }
  return ms > timerMsMax ? undefined : clock.setTimer(ms, callback)
}
