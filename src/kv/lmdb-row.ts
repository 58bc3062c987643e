/**
 * Rows for the package `lmdb` where they lie, without a Buffer for key and value: who writes a key is
 * given the row in its place, and a value is a Buffer that says where in its ArrayBuffer it begins and ends.
 */
import { emptyBytes } from '../base/bytes.ts'
import type { PackedRow } from './kv.ts'

/** Up to this many bytes a loop is cheaper than the call into native code. */
const loopBytesMax = 32

/** What the package looks for in a Buffer that it writes. */
interface ValueBounds {
  start: number
  end: number
}

/** Writes a key, which is escaped already, or that of a row; returns where it ends. */
export function writeKey(key: Buffer | PackedRow, target: Buffer, start: number): number {
  if (!('keyStart' in key)) {
    target.set(key, start)
    return start + key.length
  }
  const { bytes, keyStart, valueStart } = key
  let at = start
  if (keyStart === valueStart || bytes[keyStart] === 0) {
    target[at] = 0
    at += 1
  }
  if (valueStart - keyStart > loopBytesMax) {
    return at + bytes.copy(target, at, keyStart, valueStart)
  }
  for (let from = keyStart; from < valueStart; from += 1, at += 1) {
    target[at] = bytes[from] as number
  }
  return at
}

const binaryData = '\u0010binary-data\u0002'

/** How the package is told that a value is bytes: faster than a Buffer, in which it looks for that. */
const binary: { [binaryData]: Buffer } = { [binaryData]: emptyBytes }

/** The value, until the next one is asked for. */
export function binaryOf(value: Buffer): Buffer {
  binary[binaryData] = value
  return binary as unknown as Buffer
}

/** The value of a row, until the next one is asked for. */
export function valueOf({ bytes, valueStart, valueEnd }: PackedRow): Buffer {
  const value = bytes as Buffer & ValueBounds
  value.start = valueStart
  value.end = valueEnd
  return binaryOf(value)
}
