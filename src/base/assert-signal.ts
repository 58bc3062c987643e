import { StreamsError } from '../errors.ts'
import { shownValue } from './shown-value.ts'

/** Refuses anything but an AbortSignal, with `CONFIG_INVALID`. */
export function assertSignal(given: unknown): asserts given is AbortSignal {
  // By its shape, not its class: that of another realm is as good.
  const { aborted, addEventListener } = (given ?? {}) as Partial<Record<keyof AbortSignal, unknown>>
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return
  const detail = `it must be an AbortSignal, such as shutdownSignal() gives, not ${shownValue(given)}`
  throw new StreamsError('CONFIG_INVALID', { option: 'signal', detail })
}
