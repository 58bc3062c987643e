import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { Window } from '../serde/windowed.ts'

/** Windows of a fixed size, aligned to the epoch. Made by {@link timeWindows}. Java's TimeWindows. */
export interface TimeWindows {
  readonly kind: 'time'
  /** Milliseconds; the end does not belong to a window. */
  readonly size: number
  /** Milliseconds from one window to the next. */
  readonly advance: number
  readonly grace: number
}

/** A window for each combination of records that are close in time. Made by {@link slidingWindows}. */
export interface SlidingWindows {
  readonly kind: 'sliding'
  /** Milliseconds from the first to the last moment of a window, which both belong to it. */
  readonly timeDifference: number
  readonly grace: number
}

/** Windows as long as there is activity. Made by {@link sessionWindows}. Java's SessionWindows. */
export interface SessionWindows {
  readonly kind: 'session'
  /** Milliseconds without a record after which a session is over. */
  readonly gap: number
  readonly grace: number
}

/** One window without an end. Made by {@link unlimitedWindows}. Java's UnlimitedWindows. */
export interface UnlimitedWindows {
  readonly kind: 'unlimited'
  /** Milliseconds since the epoch; what comes before is in no window. */
  readonly start: number
}

/**
 * Windows of your own: an object of this shape, given to `windowedBy`. A window is known by its key and
 * start, so two windows must not begin at one moment. Java's Windows.
 *
 * @example
 * const fiscalYears: CustomWindows = {
 *   kind: 'custom',
 *   size: days(366),
 *   grace: days(1),
 *   windowsFor: (timestamp) => [fiscalYearOf(timestamp)],
 * }
 */
export interface CustomWindows {
  readonly kind: 'custom'
  /** The windows that hold that moment, by their start; its end does not belong to a window. */
  windowsFor(timestamp: number): readonly Window[]
  /** Milliseconds of the longest window: how long the store must keep them. */
  readonly size: number
  /** Milliseconds of stream time behind its end for which a window takes late records. */
  readonly grace: number
}

/** Windows that `windowedBy` takes for aggregations by time. */
export type TimeBasedWindows = TimeWindows | UnlimitedWindows | CustomWindows

/** What `windowedBy` takes. */
export type Windows = TimeBasedWindows | SlidingWindows | SessionWindows

/**
 * Windows of `size` milliseconds, one every `advance` (default: `size`, so that each moment is in one
 * window: tumbling windows; with less they overlap: hopping windows). Windows begin at multiples of
 * `advance` since the epoch.
 *
 * A window takes records until stream time has passed its end by `grace` milliseconds; later ones are
 * dropped, and counted.
 *
 * @example
 * clicks.groupByKey().windowedBy(timeWindows({ size: minutes(5), advance: minutes(1), grace: minutes(2) }))
 * @throws StreamsError `TOPOLOGY_INVALID` for numbers that make no windows.
 */
export function timeWindows(options: {
  size: number
  advance?: number
  grace: number
}): TimeWindows {
  const { size, advance = size, grace } = options
  assertMilliseconds('timeWindows', { size }, 1)
  assertMilliseconds('timeWindows', { advance }, 1)
  if (advance > size) {
    throw invalid('timeWindows', `advance (${advance}) must not be more than size (${size})`)
  }
  assertMilliseconds('timeWindows', { grace }, 0)
  return Object.freeze({ kind: 'time', size, advance, grace })
}

/**
 * Windows that end, or begin right behind, a record: each holds the records of a key that are at most
 * `timeDifference` milliseconds apart. Cheaper than hopping windows of a small advance, and exact.
 *
 * A window takes records until stream time has passed its end by `grace` milliseconds. Records before
 * `timeDifference` (in 1970) share a window that begins at 0.
 *
 * @example
 * logins.groupByKey().windowedBy(slidingWindows({ timeDifference: seconds(30), grace: seconds(5) }))
 * @throws StreamsError `TOPOLOGY_INVALID` for numbers that make no windows.
 */
export function slidingWindows(options: { timeDifference: number; grace: number }): SlidingWindows {
  const { timeDifference, grace } = options
  // Kafka Streams takes 0 as well, and fails on the first record.
  assertMilliseconds('slidingWindows', { timeDifference }, 1)
  assertMilliseconds('slidingWindows', { grace }, 0)
  return Object.freeze({ kind: 'sliding', timeDifference, grace })
}

/**
 * Sessions: records of a key with at most `gap` milliseconds between one and the next. A session
 * reaches from its first to its last record; one that comes in between two sessions makes them one.
 *
 * A session is over when stream time has passed its last record by `gap + grace` milliseconds; what comes
 * later for it is dropped, and counted.
 *
 * @example
 * clicks.groupByKey().windowedBy(sessionWindows({ gap: minutes(30), grace: minutes(1) }))
 * @throws StreamsError `TOPOLOGY_INVALID` for numbers that make no sessions.
 */
export function sessionWindows(options: { gap: number; grace: number }): SessionWindows {
  const { gap, grace } = options
  assertMilliseconds('sessionWindows', { gap }, 0)
  assertMilliseconds('sessionWindows', { grace }, 0)
  return Object.freeze({ kind: 'session', gap, grace })
}

/**
 * One window for all time from `start` on (default: the epoch). It never closes, and its store grows
 * with the keys, for ever. Its end is Infinity.
 *
 * @example
 * sales.groupByKey().windowedBy(unlimitedWindows({ start: Date.UTC(2026, 0, 1) }))
 * @throws StreamsError `TOPOLOGY_INVALID` for a start that is no time.
 */
export function unlimitedWindows(options: { start?: number } = {}): UnlimitedWindows {
  const { start = 0 } = options
  assertMilliseconds('unlimitedWindows', { start }, 0)
  return Object.freeze({ kind: 'unlimited', start })
}

/** From the start of a window to its end; of custom ones at most. */
export function windowSizeOf(windows: TimeBasedWindows | SlidingWindows): number {
  switch (windows.kind) {
    case 'time':
    case 'custom':
      return windows.size
    case 'sliding':
      return windows.timeDifference
    case 'unlimited':
      return Infinity
    default:
      throw new TypeError(windows satisfies never)
  }
}

/** Stream time behind its end after which a window has closed. */
export function closingTimeOf(windows: Windows): number {
  switch (windows.kind) {
    case 'time':
    case 'sliding':
    case 'custom':
      return windows.grace
    case 'session':
      return windows.gap + windows.grace
    case 'unlimited':
      return 0
    default:
      throw new TypeError(windows satisfies never)
  }
}

/** The least time for which the store of an aggregation must keep windows. */
export function retentionOf(windows: Windows): number {
  switch (windows.kind) {
    case 'time':
    case 'custom':
      return windows.size + windows.grace
    case 'sliding':
      // A record looks that far back for windows that it shares with others.
      return 2 * windows.timeDifference + windows.grace
    case 'session':
      return windows.gap + windows.grace
    case 'unlimited':
      return Infinity
    default:
      throw new TypeError(windows satisfies never)
  }
}

/** Refuses what is not windows, as a program without types may give. `step` is for the message. */
export function assertWindows(given: unknown, step: string): asserts given is Windows {
  const { kind, windowsFor, size, grace } = (given ?? {}) as Partial<Record<string, unknown>>
  if (kind === 'custom') {
    if (typeof windowsFor !== 'function') throw invalid(step, 'custom windows need windowsFor()')
    assertMilliseconds('custom windows', { size }, 1)
    assertMilliseconds('custom windows', { grace }, 0)
    return
  }
  const known = ['time', 'sliding', 'session', 'unlimited']
  if (typeof kind === 'string' && known.includes(kind)) return
  throw invalid(step, `it needs windows, such as timeWindows(), not ${shownValue(given)}`)
}

/** Refuses a duration that is not a whole number of milliseconds, of at least `least`. */
export function assertMilliseconds(
  of: string,
  option: Readonly<Record<string, unknown>>,
  least: number,
): void {
  const [[name, value] = ['', undefined]] = Object.entries(option)
  if (Number.isSafeInteger(value) && (value as number) >= least) return
  const wanted = `a whole number of milliseconds, at least ${least}`
  throw invalid(of, `${name} must be ${wanted}, it is ${shownValue(value)}`)
}

function invalid(of: string, detail: string): StreamsError {
  return new StreamsError('TOPOLOGY_INVALID', { detail: `${of}: ${detail}` })
}
