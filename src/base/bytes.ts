/** Operations on byte strings: the order of keys in stores, and the edges of key ranges. */

/** No bytes. One shared value: an empty Buffer has nothing to change. */
export const emptyBytes: Buffer = Buffer.alloc(0)

/** Up to this many bytes a loop is cheaper than the call into native code (measured on Node 20 and 24). */
const loopBytesMax = 32

/**
 * Compares as unsigned bytes, a prefix before what it is a prefix of: the order of keys in Kafka Streams'
 * stores. Negative, zero or positive, as `Array.sort` wants it.
 */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  // Most pairs differ within their first bytes, and are then decided without the call.
  const looped = Math.min(length, loopBytesMax)
  for (let i = 0; i < looped; i += 1) {
    const difference = (a[i] as number) - (b[i] as number)
    if (difference !== 0) return difference
  }
  return looped === length ? a.length - b.length : Buffer.compare(a, b)
}

/** The same bytes as a Buffer, not copied. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** True when both have the same length and the same bytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  const length = a.length
  if (length !== b.length) return false
  if (length > loopBytesMax) return Buffer.compare(a, b) === 0
  for (let i = 0; i < length; i += 1) if (a[i] !== b[i]) return false
  return true
}

/** All parts, one after the other, in a Buffer of its own. */
export function concatBytes(parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat(parts)
}

/**
 * The smallest key that is greater than every key with this prefix, so that `[prefix, prefixEnd)` is the
 * range of the prefix. `undefined` when there is no such key (the prefix is empty or all 0xFF): the range
 * then has no upper end.
 */
export function prefixEnd(prefix: Uint8Array): Buffer | undefined {
  let last = prefix.length - 1
  while (last >= 0 && prefix[last] === 0xff) last -= 1
  if (last < 0) return undefined
  const end = Buffer.from(prefix.subarray(0, last + 1))
  end[last] = (end[last] as number) + 1
  return end
}

/** Two lower-case hexadecimal digits a byte. */
export function toHex(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('hex')
}
