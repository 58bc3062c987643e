/**
 * UTF-8 text from and to bytes. Keys and values are mostly short ASCII, for which the call into native code
 * costs more than the work: those are done here (16 characters are read in half the time of
 * `Buffer.toString`, written in two thirds of that of `Buffer.from`; Node 20 and 24).
 */
import { asBuffer } from './bytes.ts'

/** The longest text that is read without native code; the switch below has as many cases. */
const readCharactersMax = 16

/** The longest text that is written without native code into a Buffer of its own. */
const encodeCharactersMax = 24

const fromCodes = String.fromCharCode as (...codes: (number | undefined)[]) => string

/** The text of the bytes from `start` to before `end`, which must exist. Malformed UTF-8 becomes U+FFFD. */
export function readText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > readCharactersMax) return readLongText(bytes, start, end)
  let bits = 0
  for (let at = start; at < end; at += 1) bits |= bytes[at] as number
  return bits < 0x80 ? readShortAscii(bytes, start, end) : readLongText(bytes, start, end)
}

function readLongText(bytes: Uint8Array, start: number, end: number): string {
  const buffer = asBuffer(bytes)
  return buffer.toString('utf8', start, end)
}

/** One call with all characters makes the text in one piece, without strings in between. */
function readShortAscii(b: Uint8Array, s: number, end: number): string {
  // oxfmt-ignore
  switch (end - s) {
    case 1: return fromCodes(b[s])
    case 2: return fromCodes(b[s], b[s + 1])
    case 3: return fromCodes(b[s], b[s + 1], b[s + 2])
    case 4: return fromCodes(b[s], b[s + 1], b[s + 2], b[s + 3])
    case 5: return fromCodes(b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4])
    case 6: return fromCodes(b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5])
    case 7: return fromCodes(b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6])
    case 8: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7]
    )
    case 9: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8]
    )
    case 10: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8], b[s + 9]
    )
    case 11: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8],
      b[s + 9], b[s + 10]
    )
    case 12: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8],
      b[s + 9], b[s + 10], b[s + 11]
    )
    case 13: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8],
      b[s + 9], b[s + 10], b[s + 11], b[s + 12]
    )
    case 14: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8],
      b[s + 9], b[s + 10], b[s + 11], b[s + 12], b[s + 13]
    )
    case 15: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8],
      b[s + 9], b[s + 10], b[s + 11], b[s + 12], b[s + 13], b[s + 14]
    )
    case 16: return fromCodes(
      b[s], b[s + 1], b[s + 2], b[s + 3], b[s + 4], b[s + 5], b[s + 6], b[s + 7], b[s + 8],
      b[s + 9], b[s + 10], b[s + 11], b[s + 12], b[s + 13], b[s + 14], b[s + 15]
    )
    default: return ''
  }
}

/** The text as UTF-8 in a Buffer of its own. */
export function encodeText(text: string): Buffer {
  if (text.length > encodeCharactersMax) return Buffer.from(text)
  const bytes = Buffer.allocUnsafe(text.length)
  return writeAscii(bytes, 0, text) ? bytes : Buffer.from(text)
}

/**
 * Writes text of which each character is ASCII, one byte each. False when one is not: what was written
 * until then is of no use. There must be room.
 */
export function writeAscii(bytes: Uint8Array, start: number, text: string): boolean {
  const length = text.length
  for (let i = 0; i < length; i += 1) {
    const code = text.charCodeAt(i)
    if (code > 0x7f) return false
    bytes[start + i] = code
  }
  return true
}
