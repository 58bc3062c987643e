import { shownValue } from '../base/shown-value.ts'
import type { UncaughtErrorHandler, UncaughtErrorResponse } from '../error-handlers.ts'
import { StreamsError, isStreamsError, messageOf } from '../errors.ts'

const responses: ReadonlySet<unknown> = new Set<UncaughtErrorResponse>([
  'replace-worker',
  'stop-instance',
  'stop-application',
])

/** What is to follow, and the error that is told: that of the handler, when it failed itself. */
export interface UncaughtErrorDecision {
  readonly response: UncaughtErrorResponse
  readonly error: Error
}

/** Asks the program what is to follow when a worker cannot go on. Never throws. */
export function decideUncaught(handler: UncaughtErrorHandler, error: Error): UncaughtErrorDecision {
  // Who has stopped all is not to be contradicted.
  if (isStreamsError(error, 'APPLICATION_STOPPED')) return { response: 'stop-instance', error }
  if (typeof handler === 'string') return { response: handler, error }
  try {
    const response: unknown = handler(error)
    if (responses.has(response)) return { response: response as UncaughtErrorResponse, error }
    throw new TypeError(`it answered ${shownValue(response)}`)
  } catch (fault) {
    const detail = `${messageOf(fault)}; it was asked about: ${messageOf(error)}`
    const context = { handler: 'onUncaughtError', detail }
    return {
      response: 'stop-instance',
      error: new StreamsError('HANDLER_FAILED', context, { cause: fault }),
    }
  }
}
