/**
 * The 128-bit Murmur3 hash for x64, by which Kafka Streams tells versions of a row apart in foreign-key
 * joins (org.apache.kafka.streams.state.internals.Murmur3#hash128).
 *
 * A number of 64 bits is two halves of 32 bits here: JavaScript's own would be an object each time. An
 * operation leaves its result in `high` and `low`.
 */

/** Kafka Streams' default. */
const seed = 104_729
const blockBytes = 16

const c1High = 0x87c3_7b91
const c1Low = 0x1142_53d5
const c2High = 0x4cf5_ad43
const c2Low = 0x2745_937f

let high = 0
let low = 0

function multiply(aHigh: number, aLow: number, bHigh: number, bLow: number): void {
  // The upper half of aLow * bLow, from products of 16 bits, which are exact.
  const a0 = aLow & 0xffff
  const a1 = aLow >>> 16
  const b0 = bLow & 0xffff
  const b1 = bLow >>> 16
  const first = a1 * b0 + ((a0 * b0) >>> 16)
  const second = a0 * b1 + (first & 0xffff)
  const upper = a1 * b1 + (first >>> 16) + (second >>> 16)
  high = (upper + Math.imul(aLow, bHigh) + Math.imul(aHigh, bLow)) | 0
  low = Math.imul(aLow, bLow)
}

function add(aHigh: number, aLow: number, bHigh: number, bLow: number): void {
  const sum = (aLow >>> 0) + (bLow >>> 0)
  low = sum | 0
  high = (aHigh + bHigh + (sum > 0xffff_ffff ? 1 : 0)) | 0
}

/** To the left, by 1 to 31 bits. */
function rotate(aHigh: number, aLow: number, bits: number): void {
  high = (aHigh << bits) | (aLow >>> (32 - bits))
  low = (aLow << bits) | (aHigh >>> (32 - bits))
}

/** What a block's first half becomes before it goes into the hash. */
function mixFirst(kHigh: number, kLow: number): void {
  multiply(kHigh, kLow, c1High, c1Low)
  rotate(high, low, 31)
  multiply(high, low, c2High, c2Low)
}

/** The same for its second half. */
function mixSecond(kHigh: number, kLow: number): void {
  multiply(kHigh, kLow, c2High, c2Low)
  // By 33 bits: the halves change places.
  rotate(low, high, 1)
  multiply(high, low, c1High, c1Low)
}

function finish(hHigh: number, hLow: number): void {
  // h ^= h >>> 33, three times, with a multiplication after the first two.
  multiply(hHigh, hLow ^ (hHigh >>> 1), 0xff51_afd7, 0xed55_8ccd)
  multiply(high, low ^ (high >>> 1), 0xc4ce_b9fe, 0x1a85_ec53)
  low ^= high >>> 1
}

/** Up to four bytes from `start` on, the lowest first. */
function word(bytes: Uint8Array, start: number): number {
  if (start + 4 <= bytes.length) {
    return (
      (bytes[start] as number) |
      ((bytes[start + 1] as number) << 8) |
      ((bytes[start + 2] as number) << 16) |
      ((bytes[start + 3] as number) << 24)
    )
  }
  let value = 0
  for (let at = bytes.length - 1; at >= start; at -= 1) value = (value << 8) | (bytes[at] as number)
  return value
}

/** The hash as Kafka Streams writes it: two numbers of 64 bits, the highest byte first. */
export function murmur3Hash128(bytes: Uint8Array): Buffer {
  const { length } = bytes
  const tail = length - (length % blockBytes)
  let h1High = 0
  let h1Low = seed
  let h2High = 0
  let h2Low = seed
  for (let at = 0; at < tail; at += blockBytes) {
    mixFirst(word(bytes, at + 4), word(bytes, at))
    rotate(h1High ^ high, h1Low ^ low, 27)
    add(high, low, h2High, h2Low)
    multiply(high, low, 0, 5)
    add(high, low, 0, 0x52dc_e729)
    h1High = high
    h1Low = low
    mixSecond(word(bytes, at + 12), word(bytes, at + 8))
    rotate(h2High ^ high, h2Low ^ low, 31)
    add(high, low, h1High, h1Low)
    multiply(high, low, 0, 5)
    add(high, low, 0, 0x3849_5ab5)
    h2High = high
    h2Low = low
  }
  if (length > tail + 8) {
    mixSecond(word(bytes, tail + 12), word(bytes, tail + 8))
    h2High ^= high
    h2Low ^= low
  }
  if (length > tail) {
    mixFirst(word(bytes, tail + 4), word(bytes, tail))
    h1High ^= high
    h1Low ^= low
  }
  add(h1High, h1Low ^ length, h2High, h2Low ^ length)
  h1High = high
  h1Low = low
  add(h2High, h2Low ^ length, h1High, h1Low)
  h2High = high
  h2Low = low
  finish(h1High, h1Low)
  h1High = high
  h1Low = low
  finish(h2High, h2Low)
  h2High = high
  h2Low = low
  add(h1High, h1Low, h2High, h2Low)
  h1High = high
  h1Low = low
  add(h2High, h2Low, h1High, h1Low)
  const hash = Buffer.allocUnsafe(blockBytes)
  hash.writeInt32BE(h1High, 0)
  hash.writeInt32BE(h1Low, 4)
  hash.writeInt32BE(high, 8)
  hash.writeInt32BE(low, 12)
  return hash
}
