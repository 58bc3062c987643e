import { StreamsError } from '../errors.ts'
import { shownValue } from '../base/shown-value.ts'
import { assertMilliseconds } from './windows.ts'

/** Which records of two streams are joined. Made by {@link joinWindows}. Java's JoinWindows. */
export interface JoinWindows {
  readonly kind: 'join'
  /** How many milliseconds earlier the record of the other stream may be. */
  readonly before: number
  /** How many milliseconds later the record of the other stream may be. */
  readonly after: number
  readonly grace: number
}

/**
 * Joins records of one key whose times are at most `difference` milliseconds apart; or, seen from the
 * stream on which `join` is called, those of the other stream from `before` milliseconds earlier to
 * `after` milliseconds later. One of the two may be negative.
 *
 * Both streams are kept for `before + after + grace` milliseconds of stream time. A record that comes
 * later than that finds no others any more; a left or outer join gives a record that has found none
 * when stream time has passed the end of its window by `grace`.
 *
 * @example
 * clicks.join(views, merge, { windows: joinWindows({ before: minutes(10), after: 0, grace: seconds(30) }) })
 * @throws StreamsError `TOPOLOGY_INVALID` for numbers that make no windows.
 */
export function joinWindows(
  options: ({ difference: number } | { before: number; after: number }) & { grace: number },
): JoinWindows {
  const { grace } = options
  assertMilliseconds('joinWindows', { grace }, 0)
  if ('difference' in options) {
    const { difference } = options
    assertMilliseconds('joinWindows', { difference }, 0)
    return Object.freeze({ kind: 'join', before: difference, after: difference, grace })
  }
  const { before, after } = options
  for (const [name, value] of Object.entries({ before, after })) {
    if (Number.isSafeInteger(value)) continue
    throw invalid(`${name} must be a whole number of milliseconds, not ${shownValue(value)}`)
  }
  if (before + after < 0) throw invalid(`the window ends before it begins (${before} + ${after})`)
  return Object.freeze({ kind: 'join', before, after, grace })
}

/** Refuses what was not made by {@link joinWindows}. */
export function assertJoinWindows(given: unknown, step: string): asserts given is JoinWindows {
  const isOne =
    typeof given === 'object' && given !== null && 'kind' in given && given.kind === 'join'
  if (isOne) return
  const detail = `${step} of two streams needs windows made by joinWindows, not ${shownValue(given)}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

const invalid = (what: string): StreamsError =>
  new StreamsError('TOPOLOGY_INVALID', { detail: `joinWindows: ${what}` })
