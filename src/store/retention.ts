import { StreamsError } from '../errors.ts'
import type { SessionStoreDescriptor, WindowStoreDescriptor } from './descriptor.ts'

/** Milliseconds in one segment at least. */
const segmentIntervalMin = 60_000

/** Milliseconds in one segment of a store of windows or sessions. Java's Stores. */
export function segmentIntervalOf(retention: number): number {
  const exact = Math.min(retention, Number.MAX_SAFE_INTEGER)
  return Math.max(Math.trunc(exact / 2), segmentIntervalMin)
}

/** Up to each retention, so many segments hold it, each of so many milliseconds at least. Java's Stores. */
const historySegments = [
  { retentionMax: 60_000, count: 3, intervalMin: 2_000 },
  { retentionMax: 300_000, count: 5, intervalMin: 20_000 },
  { retentionMax: 3_600_000, count: 12, intervalMin: 60_000 },
  { retentionMax: Infinity, count: 24, intervalMin: 300_000 },
]

/** Milliseconds in one segment of a versioned store. */
export function historyIntervalOf(historyRetention: number): number {
  const exact = Math.min(historyRetention, Number.MAX_SAFE_INTEGER)
  for (const { retentionMax, count, intervalMin } of historySegments) {
    if (exact <= retentionMax) return Math.max(Math.trunc(exact / count), intervalMin)
  }
  throw new RangeError('every retention has its segments')
}

const invalid = (detail: string): StreamsError => new StreamsError('TOPOLOGY_INVALID', { detail })

/** What a windowed operator needs of its store. */
export interface WindowedNeeds {
  /** The operator, for messages. */
  readonly step: string
  /** Milliseconds for which its windows must be kept: they and their grace. */
  readonly retention: number
}

/**
 * The descriptor with what the operator states where the user did not: retention, window size, and
 * that it is cached.
 *
 * @throws StreamsError `TOPOLOGY_INVALID` when the store forgets windows that the operator still
 *   needs, or is for windows of another size.
 */
export function completeWindowStore<K, V>(
  descriptor: WindowStoreDescriptor<K, V>,
  needs: WindowedNeeds & { readonly windowSize: number },
): WindowStoreDescriptor<K, V> {
  const { windowSize } = needs
  if (descriptor.windowSize !== undefined && descriptor.windowSize !== windowSize) {
    throw invalid(
      `the store ${descriptor.name} is for windows of ${descriptor.windowSize} ms, those of ` +
        `${needs.step} have ${windowSize} ms`,
    )
  }
  const retention = sufficientRetention(descriptor, needs)
  const caching = descriptor.caching ?? true
  return Object.freeze({ ...descriptor, retention, windowSize, caching })
}

/** As `completeWindowStore`, of sessions. */
export function completeSessionStore<K, V>(
  descriptor: SessionStoreDescriptor<K, V>,
  needs: WindowedNeeds,
): SessionStoreDescriptor<K, V> {
  const retention = sufficientRetention(descriptor, needs)
  return Object.freeze({ ...descriptor, retention, caching: descriptor.caching ?? true })
}

function sufficientRetention(
  { name, retention }: { readonly name: string; readonly retention?: number },
  needs: WindowedNeeds,
): number {
  if (retention === undefined || retention >= needs.retention) return retention ?? needs.retention
  throw invalid(
    `the store ${name} keeps windows for ${retention} ms, ${needs.step} needs them for ` +
      `${needs.retention} ms (their size and their grace)`,
  )
}

/** A time that a store needs to be built, or the error that says that it is missing. */
export function requiredTime(
  descriptor: { readonly name: string; readonly retention?: number; readonly windowSize?: number },
  option: 'retention' | 'windowSize',
): number {
  const time = descriptor[option]
  if (time !== undefined) return time
  throw invalid(`the store ${descriptor.name} does not state its ${option}`)
}
