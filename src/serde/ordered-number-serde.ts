/**
 * Numbers whose bytes have the order of the numbers. Kafka's serializers write two's complement,
 * whose bytes sort negative numbers behind positive ones, so that a range of a store from -1 to 1 is
 * empty.
 *
 * The bytes are those of an IEEE 754 double with the sign turned around: the first bit of a positive
 * number becomes 1, all bits of a negative number are inverted.
 */
import { deserializeError, serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'

const numberBytes = 16
const size = 8
const signBit = 0x80

function turn(bytes: Buffer): void {
  const first = bytes[0] ?? 0
  if (first < signBit) bytes[0] = first | signBit
  else for (let at = 0; at < size; at += 1) bytes[at] = ~(bytes[at] ?? 0)
}

function turnBack(bytes: Buffer): void {
  const first = bytes[0] ?? 0
  if (first >= signBit) bytes[0] = first & ~signBit
  else for (let at = 0; at < size; at += 1) bytes[at] = ~(bytes[at] ?? 0)
}

/** Any number but NaN, in eight bytes that sort as the numbers do. Zero has one form: -0 becomes 0. */
export const orderedNumberSerde: Serde<number> = Object.freeze({
  name: 'orderedNumber',
  serialize: (value: number): Buffer => {
    if (typeof value !== 'number' || Number.isNaN(value)) {
      throw serializeError('orderedNumber', `${shown(value)} is not a number that has an order`)
    }
    const bytes = Buffer.allocUnsafe(size)
    // Zero plus negative zero is zero.
    bytes.writeDoubleBE(value + 0)
    turn(bytes)
    return bytes
  },
  deserialize: (bytes: Uint8Array): number => {
    if (bytes.length !== size) {
      throw deserializeError('orderedNumber', `${bytes.length} bytes instead of ${size}`)
    }
    const copy = Buffer.from(bytes)
    turnBack(copy)
    const value = copy.readDoubleBE()
    if (Number.isNaN(value)) throw deserializeError('orderedNumber', 'the bytes are no number')
    return value
  },
  text: {
    format: (value: number) => String(value + 0),
    parse: (text: string) => {
      const value = Number(text)
      if (text.trim() === '' || Number.isNaN(value)) {
        throw new Error(`${shown(text)} is not a number`)
      }
      return value + 0
    },
  },
  identity: (value: number) => value + 0,
  sizeOf: () => numberBytes,
})
