/**
 * How a payload says which schema it was written with:
 *
 *     00 | schema id, 4 bytes | payload
 *
 * and in Protobuf, between the two, which message of the file it is: the number of steps and the steps,
 * zigzag varints; 0 steps stand for the first message of the file.
 */
import { readVarint, varintEnd, varintSize, writeVarint } from '../base/varint.ts'

/** Bytes before the payload. */
export const prefixBytes = 5

/** Messages lie in messages: as deep as anyone nests them, and less than garbled bytes can say. */
const stepsMax = 64

/** The id that the bytes begin with. Throws an Error that says what they begin with instead. */
export function readSchemaId(bytes: Uint8Array): number {
  if (bytes[0] !== 0) throw new Error(strangeStart(bytes))
  if (bytes.length < prefixBytes) {
    throw new Error(`${bytes.length} bytes are too few for a schema id`)
  }
  const [, a, b, c, d] = bytes as unknown as [number, number, number, number, number]
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
}

function strangeStart(bytes: Uint8Array): string {
  const [magic] = bytes
  if (magic === undefined) return 'there are no bytes, and so no schema id'
  if (magic === 1) {
    return 'it begins with byte 1, which announces a schema GUID; only schema ids (byte 0) are supported'
  }
  return (
    `it begins with byte ${magic} and not with 0, a schema id; either it was written without a ` +
    'schema registry, or its writer puts the schema GUID into a header, which is not supported'
  )
}

/** Writes the five bytes before the payload. */
export function writePrefix(bytes: Uint8Array, id: number): void {
  bytes[0] = 0
  bytes[1] = id >>> 24
  bytes[2] = id >>> 16
  bytes[3] = id >>> 8
  bytes[4] = id
}

/** Where a payload begins and which message it is. */
export interface MessageStart {
  readonly steps: readonly number[]
  readonly start: number
}

/** Reads the steps to a message. Throws an Error when they are no such thing. */
export function readMessageSteps(bytes: Uint8Array): MessageStart {
  const count = readVarint(bytes, prefixBytes, bytes.length)
  if (varintEnd < 0 || count < 0 || count > stepsMax) {
    throw new Error('what follows the schema id is not the place of a message')
  }
  if (count === 0) return { steps: [0], start: varintEnd }
  const steps: number[] = []
  for (let at = varintEnd; steps.length < count; at = varintEnd) {
    const step = readVarint(bytes, at, bytes.length)
    if (varintEnd < 0 || step < 0) throw new Error('the place of the message is cut off')
    steps.push(step)
  }
  return { steps, start: varintEnd }
}

/** The bytes that tell the place of a message; the first of a file has a short form. */
export function messageStepsBytes(steps: readonly number[]): Buffer {
  if (steps.length === 1 && steps[0] === 0) return Buffer.from([0])
  const numbers = [steps.length, ...steps]
  const bytes = Buffer.alloc(numbers.reduce((size, number) => size + varintSize(number), 0))
  let at = 0
  for (const number of numbers) at = writeVarint(bytes, at, number)
  return bytes
}
