import { shownValue } from '../base/shown-value.ts'

/**
 * Where to begin in a topic when the group has no offset for it: at an end; at the first record of
 * the last so many milliseconds (KIP-1106); `none`: the instance stops with `OFFSET_MISSING`. Java's
 * AutoOffsetReset.
 */
export type OffsetReset = 'earliest' | 'latest' | 'none' | { readonly byDuration: number }

/** A sentence about what is wrong with an offset reset; undefined when it is right. */
export function offsetResetProblem(value: unknown): string | undefined {
  if (value === 'earliest' || value === 'latest' || value === 'none') return undefined
  const { byDuration } = (value ?? {}) as { byDuration?: unknown }
  return Number.isSafeInteger(byDuration) && (byDuration as number) >= 0
    ? undefined
    : `it must be 'earliest', 'latest', 'none' or { byDuration: milliseconds }, not ${shownValue(value)}`
}
