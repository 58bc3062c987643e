/**
 * Counts rows in an engine that does not: by those whose keys have a certain hash, one of 32. Only for
 * them it must be known, at each write, whether the row was there before. The count of a million rows
 * is then right to half a percent (one standard deviation), of ten thousand to 6 %.
 */

/** One row of so many is in the sample. */
export const rowsPerSampled = 32

/** The end of a key tells it from its neighbours: a number, a time. */
const hashedBytesMax = 64

/** Whether the row of this key is one of those that are counted. FNV-1a, its high bits. */
export function isSampled(key: Buffer): boolean {
  let hash = 0x81_1c_9d_c5
  for (let at = Math.max(0, key.length - hashedBytesMax); at < key.length; at += 1) {
    hash = Math.imul(hash ^ (key[at] as number), 0x01_00_01_93)
  }
  // The last bytes have not reached the high bits yet.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d)
  hash ^= hash >>> 12
  return (hash & (rowsPerSampled - 1)) === 0
}
