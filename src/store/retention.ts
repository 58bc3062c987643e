import { StreamsError } from '../errors.ts'

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

/** A time that a store needs to be built, or the error that says that it is missing. */
export function requiredTime(
  descriptor: { readonly name: string; readonly retention?: number; readonly windowSize?: number },
  option: 'retention' | 'windowSize',
): number {
  const time = descriptor[option]
  if (time !== undefined) return time
  const detail = `the store ${descriptor.name} does not state its ${option}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
