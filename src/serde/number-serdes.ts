/**
 * Numbers as Java's serializers write them: two's complement or IEEE 754, the highest byte first
 * (ShortSerializer, IntegerSerializer, LongSerializer, FloatSerializer, DoubleSerializer).
 */
import { deserializeError, serializeError, shown } from './serde-error.ts'
import type { Serde, SerdeText } from './serde.ts'

/** Bytes of a number in V8, boxed. */
const numberBytes = 16
const twoTo32 = 0x1_0000_0000
const bigintLeast = -(2n ** 63n)
const bigintMost = 2n ** 63n - 1n
/** The one not-a-number that Java writes. */
const nanFloat = 0x7fc0_0000
const nanDoubleHigh = 0x7ff8_0000

function viewOf(name: string, bytes: Uint8Array, size: number): DataView {
  if (bytes.length !== size)
    throw deserializeError(name, `${bytes.length} bytes instead of ${size}`)
  return new DataView(bytes.buffer, bytes.byteOffset, size)
}

function integerText(check: (value: number) => boolean, what: string): SerdeText<number> {
  return {
    format: (value) => String(value),
    parse: (text) => {
      const value = Number(text)
      if (!/^-?\d+$/.test(text) || !check(value)) throw new Error(`${shown(text)} is not ${what}`)
      // "-0" is the number zero.
      return value === 0 ? 0 : value
    },
  }
}

function smallIntegerSerde(name: string, size: 2 | 4): Serde<number> {
  const limit = 2 ** (size * 8 - 1)
  const check = (value: number): boolean =>
    Number.isInteger(value) && value >= -limit && value < limit
  const what = `a whole number from ${-limit} to ${limit - 1}`
  return Object.freeze({
    name,
    serialize: (value: number): Buffer => {
      if (!check(value)) throw serializeError(name, `${shown(value)} is not ${what}`)
      const bytes = Buffer.allocUnsafe(size)
      if (size === 4) {
        bytes[0] = value >> 24
        bytes[1] = value >> 16
      }
      bytes[size - 2] = value >> 8
      bytes[size - 1] = value
      return bytes
    },
    deserialize: (bytes: Uint8Array): number => {
      const view = viewOf(name, bytes, size)
      return size === 4 ? view.getInt32(0) : view.getInt16(0)
    },
    text: integerText(check, what),
    identity: (value: number) => value,
    sizeOf: () => numberBytes,
  })
}

/** A whole number in two bytes. */
export const shortSerde: Serde<number> = smallIntegerSerde('short', 2)

/** A whole number in four bytes. */
export const intSerde: Serde<number> = smallIntegerSerde('int', 4)

/** Writes a whole number of at most 2^53 in size as eight bytes. */
function writeLong(target: Buffer, value: number): void {
  const high = Math.floor(value / twoTo32)
  const low = value - high * twoTo32
  target[0] = high >> 24
  target[1] = high >> 16
  target[2] = high >> 8
  target[3] = high
  target[4] = low >>> 24
  target[5] = low >>> 16
  target[6] = low >>> 8
  target[7] = low
}

/** A Java Long as a JavaScript number: eight bytes, whole numbers up to 2^53 - 1 in size. */
export const longSerde: Serde<number> = Object.freeze({
  name: 'long',
  serialize: (value: number): Buffer => {
    if (!Number.isSafeInteger(value)) {
      throw serializeError(
        'long',
        `${shown(value)} is not a whole number up to 2^53 - 1 in size; use serdes.bigint for larger ones`,
      )
    }
    const bytes = Buffer.allocUnsafe(8)
    writeLong(bytes, value)
    return bytes
  },
  deserialize: (bytes: Uint8Array): number => {
    const view = viewOf('long', bytes, 8)
    const value = view.getInt32(0) * twoTo32 + view.getUint32(4)
    if (!Number.isSafeInteger(value)) {
      throw deserializeError(
        'long',
        `${view.getBigInt64(0)} is larger than 2^53 - 1 in size; use serdes.bigint`,
      )
    }
    return value
  },
  text: integerText(Number.isSafeInteger, 'a whole number up to 2^53 - 1 in size'),
  identity: (value: number) => value,
  sizeOf: () => numberBytes,
})

const isLong = (value: bigint): boolean => value >= bigintLeast && value <= bigintMost

/** A Java Long in its full range: the bytes of {@link longSerde}. */
export const bigintSerde: Serde<bigint> = Object.freeze({
  name: 'bigint',
  serialize: (value: bigint): Buffer => {
    if (typeof value !== 'bigint' || !isLong(value)) {
      throw serializeError('bigint', `${shown(value)} is not a bigint from -2^63 to 2^63 - 1`)
    }
    const bytes = Buffer.allocUnsafe(8)
    bytes.writeBigInt64BE(value)
    return bytes
  },
  deserialize: (bytes: Uint8Array): bigint => viewOf('bigint', bytes, 8).getBigInt64(0),
  text: {
    format: (value: bigint) => String(value),
    parse: (text: string) => {
      const value = /^-?\d{1,19}$/.test(text) ? BigInt(text) : bigintMost + 1n
      if (!isLong(value)) throw new Error(`${shown(text)} is not a whole number of 64 bits`)
      return value
    },
  },
  identity: (value: bigint) => value,
  sizeOf: () => numberBytes * 2,
})

// Zero has two signs, with different bytes; a Map knows only one.
const floatIdentity = (value: number): number | string => (Object.is(value, -0) ? '-0' : value)

const floatText: SerdeText<number> = {
  format: (value) => (Object.is(value, -0) ? '-0' : String(value)),
  parse: (text) => {
    const value = Number(text)
    if (text.trim() === '' || (Number.isNaN(value) && text !== 'NaN')) {
      throw new Error(`${shown(text)} is not a number`)
    }
    return value
  },
}

/**
 * A number in four bytes: the nearest that has them. A number beyond the largest one, 3.4e38, is
 * refused.
 */
export const floatSerde: Serde<number> = Object.freeze({
  name: 'float',
  serialize: (value: number): Buffer => {
    if (typeof value !== 'number') throw serializeError('float', `${shown(value)} is not a number`)
    if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) {
      throw serializeError('float', `${value} does not fit into four bytes; use serdes.double`)
    }
    const bytes = Buffer.allocUnsafe(4)
    if (Number.isNaN(value)) bytes.writeUInt32BE(nanFloat)
    else bytes.writeFloatBE(value)
    return bytes
  },
  deserialize: (bytes: Uint8Array): number => viewOf('float', bytes, 4).getFloat32(0),
  text: floatText,
  identity: (value: number) => floatIdentity(Math.fround(value)),
  sizeOf: () => numberBytes,
})

/** A JavaScript number, as it is: eight bytes. */
export const doubleSerde: Serde<number> = Object.freeze({
  name: 'double',
  serialize: (value: number): Buffer => {
    if (typeof value !== 'number') throw serializeError('double', `${shown(value)} is not a number`)
    const bytes = Buffer.allocUnsafe(8)
    if (Number.isNaN(value)) {
      bytes.writeUInt32BE(nanDoubleHigh)
      bytes.writeUInt32BE(0, 4)
    } else bytes.writeDoubleBE(value)
    return bytes
  },
  deserialize: (bytes: Uint8Array): number => viewOf('double', bytes, 8).getFloat64(0),
  text: floatText,
  identity: floatIdentity,
  sizeOf: () => numberBytes,
})
