import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'

/**
 * When a windowed aggregation says what it has: with each change (default), or once, when the window
 * has closed. Java's EmitStrategy.
 */
export type EmitStrategy = 'on-window-update' | 'on-window-close'

/** Refuses what is not an emit strategy, as a program without types may give. */
export function assertEmitStrategy(given: unknown): asserts given is EmitStrategy {
  if (given === 'on-window-update' || given === 'on-window-close') return
  const wanted = "'on-window-update' or 'on-window-close'"
  const detail = `the emit strategy must be ${wanted}, it is ${shownValue(given)}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
