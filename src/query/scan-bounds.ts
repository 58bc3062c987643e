import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import { compareBytes, prefixEnd } from '../base/bytes.ts'
import type { KvRange } from '../kv/kv.ts'

/** Bounds of a scan in key bytes, both inclusive; with a prefix, both it and the bounds hold. */
export interface ScanBounds {
  readonly from?: Buffer
  readonly to?: Buffer
  readonly prefix?: Buffer
  readonly reverse?: boolean
}

/**
 * What is left of a scan, as an engine reads it. `after` is the last key that was read; it is still
 * within the range, at its beginning. Undefined: nothing can be in it.
 */
export function rangeOf(bounds: ScanBounds, after: Buffer | undefined): KvRange | undefined {
  const { prefix, reverse = false } = bounds
  const from = latest([bounds.from, prefix, reverse ? undefined : after])
  const to = earliest([bounds.to, reverse ? after : undefined])
  if (from !== undefined && to !== undefined && compareBytes(from, to) > 0) return undefined
  const end = prefix === undefined ? undefined : prefixEnd(prefix)
  if (end !== undefined && (to === undefined || compareBytes(end, to) <= 0)) {
    return { from, to: end, toExclusive: true, reverse }
  }
  return { from, to, reverse }
}

/** Refuses as the rows of a scan at most what no number of rows is: NaN would be none, or all of them. */
export function assertLimit(limit: number | undefined): void {
  if (limit === undefined || limit === Infinity) return
  if (Number.isSafeInteger(limit) && limit >= 0) return
  const detail = `limit is a whole number of rows, not ${shownValue(limit)}`
  throw new StreamsError('QUERY_INVALID', { detail })
}

function latest(keys: readonly (Buffer | undefined)[]): Buffer | undefined {
  const given = keys.filter((key) => key !== undefined)
  return given.sort(compareBytes).at(-1)
}

function earliest(keys: readonly (Buffer | undefined)[]): Buffer | undefined {
  const given = keys.filter((key) => key !== undefined)
  return given.sort(compareBytes)[0]
}
