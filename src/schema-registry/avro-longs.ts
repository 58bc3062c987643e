/**
 * Longs of Avro in two forms. The library has one of its own, which is wrong below -2^52: there it writes
 * and reads other numbers, with another sign.
 */
import type * as avsc from 'avsc'
import { readVarlong, varintEnd, varlongSize, writeVarlong } from '../base/varint.ts'

/** What the library reads from and writes to. */
interface Tap {
  readonly buf: Buffer
  pos: number
  readLong(): number
  writeLong(value: number): void
  writeFixed(bytes: Buffer): void
}

type LongClass = new () => { readonly typeName: string }

/** Up to this size the library is right. */
const plainMax = 2 ** 52 - 1

const isPlain = (value: number): boolean => value <= plainMax && value >= -plainMax

/** Longs as numbers; those beyond 2^53 are an error. */
export function numberType(library: typeof avsc): avsc.Type {
  const LongType = library.types.LongType as unknown as LongClass
  class NumberType extends LongType {
    _check(
      value: unknown,
      _flags: unknown,
      hook?: (value: unknown, type: unknown) => void,
    ): boolean {
      const isValid = Number.isSafeInteger(value)
      if (!isValid) hook?.(value, this)
      return isValid
    }

    _read(tap: Tap): number {
      const start = tap.pos
      const value = tap.readLong()
      return isPlain(value) ? value : exactly(tap, start)
    }

    _write(tap: Tap, value: unknown): void {
      if (!Number.isSafeInteger(value)) throw new Error('it is not a whole number up to 2^53')
      if (isPlain(value as number)) tap.writeLong(value as number)
      else tap.writeFixed(varlongOf(value as number))
    }
  }
  return new NumberType() as unknown as avsc.Type
}

function exactly(tap: Tap, start: number): number {
  const value = readVarlong(tap.buf, start, Math.min(tap.pos, tap.buf.length))
  // Cut off: whoever asked finds that out by the position.
  if (tap.pos > tap.buf.length) return 0
  if (varintEnd < 0) throw new Error('a long has too many bytes')
  if (!Number.isSafeInteger(value)) {
    throw new Error("a long is beyond 2^53; use longs: 'bigint'")
  }
  return value
}

function varlongOf(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(varlongSize(value))
  writeVarlong(bytes, 0, value)
  return bytes
}

/** Longs as bigints; safe numbers are written as well, since keys in URLs are JSON. */
export function bigintType(library: typeof avsc): avsc.Type {
  return library.types.LongType.__with({
    fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
    toBuffer: (value: bigint | number) => {
      const buffer = Buffer.alloc(8)
      buffer.writeBigInt64LE(BigInt(value))
      return buffer
    },
    fromJSON: BigInt,
    toJSON: Number,
    isValid: (value: unknown) =>
      typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value),
    compare: (one: bigint, other: bigint) => {
      if (one === other) return 0
      return one < other ? -1 : 1
    },
  })
}
