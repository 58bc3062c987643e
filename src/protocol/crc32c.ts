/**
 * CRC-32C (Castagnoli), the checksum of record batches. The native function is twenty times as fast as the
 * table, and is loaded at the first use; the table takes over where no binary exists for the platform.
 */
import { createRequire } from 'node:module'

type Crc32c = (bytes: Uint8Array) => number

interface NativeModule {
  readonly crc32c: Crc32c
}

/** The Castagnoli polynomial, bits reversed. */
const polynomial = 0x82f6_3b78

let implementation: Crc32c | undefined

/** The checksum as an unsigned 32-bit integer. */
export function crc32c(bytes: Uint8Array): number {
  implementation ??= loadNative() ?? tableCrc32c
  return implementation(bytes)
}

function loadNative(): Crc32c | undefined {
  try {
    const native = createRequire(import.meta.url)('@node-rs/crc32') as NativeModule
    return native.crc32c
  } catch {
    return undefined
  }
}

let table: Int32Array | undefined

/** The same in JavaScript, for platforms without the native function. */
export function tableCrc32c(bytes: Uint8Array): number {
  table ??= makeTable()
  let crc = -1
  for (let i = 0; i < bytes.length; i += 1) {
    crc = (crc >>> 8) ^ (table[(crc ^ (bytes[i] as number)) & 0xff] as number)
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
