/**
 * CRC-32C (Castagnoli), the checksum of record batches.
 *
 * Native code makes 4 GB a second of it and a table in JavaScript 0.3; but the call and the view that it
 * needs cost as much as some hundred bytes in JavaScript, which is what a batch of one record has. So both
 * are in use, and the table alone where no binary exists for the platform.
 */
import { createRequire } from 'node:module'
import { assert } from '../base/assert.ts'

type NativeCrc32c = (bytes: Uint8Array) => number

/** Up to this many bytes the table is faster (measured on Node 20 and 24). */
const tableBytesMax = 128

/** The Castagnoli polynomial, bits reversed. */
const polynomial = 0x82f6_3b78

/** Loaded at the first use; null when it does not load. */
let native: NativeCrc32c | null | undefined

let table: Int32Array | undefined

/** The checksum of the bytes from `start` to before `end`, as an unsigned 32-bit integer. */
export function crc32c(bytes: Uint8Array, start = 0, end: number = bytes.length): number {
  assert(start >= 0 && end <= bytes.length, 'a checksum is of bytes that exist')
  if (end - start <= tableBytesMax) return tableCrc32c(bytes, start, end)
  if (native === undefined) native = loadNative()
  if (native === null) return tableCrc32c(bytes, start, end)
  return native(end - start === bytes.length ? bytes : bytes.subarray(start, end))
}

function loadNative(): NativeCrc32c | null {
  try {
    const loaded = createRequire(import.meta.url)('@node-rs/crc32') as { crc32c: NativeCrc32c }
    return loaded.crc32c
  } catch {
    return null
  }
}

/** {@link crc32c} without native code. */
export function tableCrc32c(bytes: Uint8Array, start: number, end: number): number {
  table ??= makeTable()
  let crc = -1
  for (let at = start; at < end; at += 1) {
    crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] as number)) & 0xff] as number)
  }
  return ~crc >>> 0
}

function makeTable(): Int32Array {
  const made = new Int32Array(256)
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte
    for (let bit = 0; bit < 8; bit += 1)
      crc = (crc & 1) === 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
    made[byte] = crc
  }
  return made
}
