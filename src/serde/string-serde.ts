/**
 * Text as UTF-8 (org.apache.kafka.common.serialization.StringSerializer and StringDeserializer).
 * JavaScript and Java treat what is not text differently, and the bytes must not depend on who
 * writes them: a surrogate without its partner becomes a question mark, and a surrogate that was
 * encoded as three bytes is read as one replacement character.
 */
import { asBuffer } from '../base/bytes.ts'
import { readText } from '../base/text.ts'
import { serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'

/** Up to this length a loop is cheaper than the call into native code (measured on Node 20). */
const loopCharactersMax = 32
/** A short string: its header in V8, before one byte a character. */
const headerBytes = 16

// Well-formed strings are in the ES2024 library; Node 20 has the methods.
interface WellFormedString {
  isWellFormed(): boolean
}

const isWellFormed = (value: string): boolean =>
  (value as unknown as WellFormedString).isWellFormed()

/** The string that the bytes of `value` are read back as: without lone surrogates, as Java has it. */
function representable(value: string): string {
  return isWellFormed(value) ? value : value.replace(/\p{Surrogate}/gu, '?')
}

function identity(value: string): string {
  if (typeof value !== 'string') throw notText(value)
  return representable(value)
}

const notText = (value: unknown): Error =>
  serializeError('string', `${shown(value)} is not a string`)

function serialize(value: string): Buffer {
  if (typeof value !== 'string') throw notText(value)
  const length = value.length
  if (length > loopCharactersMax) return Buffer.from(representable(value))
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at += 1) {
    const code = value.charCodeAt(at)
    if (code > 0x7f) return Buffer.from(representable(value))
    bytes[at] = code
  }
  return bytes
}

function deserialize(bytes: Uint8Array): string {
  const buffer = asBuffer(bytes)
  const text = buffer.toString()
  return text.includes('\ufffd') ? deserializeMalformed(buffer) : text
}

function deserializeSlice(bytes: Buffer, start: number, end: number): string {
  const text = readText(bytes, start, end)
  return text.includes('\ufffd') ? deserializeMalformed(bytes.subarray(start, end)) : text
}

/**
 * 0xED can only be a first byte. Followed by 0xA0 to 0xBF it begins a surrogate: the WHATWG decoder
 * replaces each of its bytes, Java all of them together.
 */
function deserializeMalformed(bytes: Buffer): string {
  let text = ''
  let from = 0
  for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
    const second = bytes[at + 1] ?? 0
    if (second < 0xa0 || second > 0xbf) continue
    const third = bytes[at + 2] ?? 0
    text += `${bytes.toString('utf8', from, at)}\ufffd`
    from = at + (third >= 0x80 && third <= 0xbf ? 3 : 2)
  }
  return text + bytes.toString('utf8', from)
}

/** Text, UTF-8 on the wire. */
export const stringSerde: Serde<string> = Object.freeze({
  name: 'string',
  serialize,
  deserialize,
  deserializeSlice,
  text: { format: (value: string) => value, parse: (text: string) => text },
  identity,
  sizeOf: (value: string) => headerBytes + value.length,
})
