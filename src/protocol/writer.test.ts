import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'

function hex(write: (writer: Writer) => void): string {
  const writer = new Writer()
  write(writer)
  return writer.finish().toString('hex')
}

function refused(write: (writer: Writer) => void): unknown {
  try {
    write(new Writer())
  } catch (error) {
    if (isStreamsError(error, 'PROTOCOL_VALUE_INVALID')) return error.context['detail']
    throw error
  }
  return 'no error'
}

describe('primitives', () => {
  test('integers are big-endian', () => {
    expect(
      hex((w) => {
        w.int8(-1)
        w.int16(-2)
        w.uint16(65_535)
        w.int32(-2_147_483_648)
        w.uint32(4_294_967_295)
        w.boolean(true)
        w.float64(1.5)
      }),
    ).toBe(['ff', 'fffe', 'ffff', '80000000', 'ffffffff', '01', '3ff8000000000000'].join(''))
  })

  test('a long is exact to 2^53, and the largest long is kept', () => {
    expect(hex((w) => w.int64(9_007_199_254_740_991))).toBe('001fffffffffffff')
    expect(hex((w) => w.int64(-9_007_199_254_740_991))).toBe('ffe0000000000001')
    expect(hex((w) => w.int64(-1))).toBe('ffffffffffffffff')
    expect(hex((w) => w.int64(4_294_967_301))).toBe('0000000100000005')
    expect(hex((w) => w.int64(2 ** 63))).toBe('7fffffffffffffff')
    expect(hex((w) => w.int64(-(2 ** 63)))).toBe('8000000000000000')
  })

  test('varints take as few bytes as they can', () => {
    expect(hex((w) => w.uvarint(127))).toBe('7f')
    expect(hex((w) => w.uvarint(300))).toBe('ac02')
    expect(hex((w) => w.uvarint(4_294_967_295))).toBe('ffffffff0f')
    expect(hex((w) => w.varint(-1))).toBe('01')
    expect(hex((w) => w.varint(-2_147_483_648))).toBe('ffffffff0f')
  })

  test('strings and bytes have their length before them', () => {
    expect(hex((w) => w.string('ü'))).toBe('0002c3bc')
    expect(hex((w) => w.compactString('ü'))).toBe('03c3bc')
    expect(hex((w) => w.nullableString(null))).toBe('ffff')
    expect(hex((w) => w.compactNullableString(null))).toBe('00')
    expect(hex((w) => w.bytes(Buffer.from([7])))).toBe('0000000107')
    expect(hex((w) => w.compactBytes(new Uint8Array([7])))).toBe('0207')
    expect(hex((w) => w.nullableBytes(null))).toBe('ffffffff')
    expect(hex((w) => w.compactNullableBytes(null))).toBe('00')
    expect(hex((w) => w.uuid('J8SkJGsAQqW0yMwwVRZMPA'))).toBe('27c4a4246b0042a5b4c8cc3055164c3c')
  })
})

describe('values that do not fit', () => {
  test('a number outside its range is refused, not cut', () => {
    expect(refused((w) => w.int8(128))).toBe('128 is not int8')
    expect(refused((w) => w.int16(-32_769))).toBe('-32769 is not int16')
    expect(refused((w) => w.uint16(-1))).toBe('-1 is not uint16')
    expect(refused((w) => w.int32(2_147_483_648))).toBe('2147483648 is not int32')
    expect(refused((w) => w.int32(1.5))).toBe('1.5 is not int32')
    expect(refused((w) => w.uint32(4_294_967_296))).toBe('4294967296 is not uint32')
    expect(refused((w) => w.int64(Number.NaN))).toBe('NaN is not int64')
    expect(refused((w) => w.int64(2 ** 64))).toBe('18446744073709552000 is not int64')
    expect(refused((w) => w.uvarint(-1))).toBe('-1 is not an unsigned varint')
  })

  test('a string of more than 32,767 bytes is refused', () => {
    expect(refused((w) => w.string('x'.repeat(32_767)))).toBe('no error')
    const detail = 'a string of 32768 bytes, at most 32767 fit'
    expect(refused((w) => w.string('ü'.repeat(16_384)))).toBe(detail)
    expect(refused((w) => w.compactString('ü'.repeat(16_384)))).toBe(detail)
  })

  test('what is not a uuid is refused', () => {
    expect(refused((w) => w.uuid('orders'))).toBe('"orders" is not a uuid')
    expect(refused((w) => w.uuid('J8SkJGsAQqW0yMwwVRZM!!'))).toBe(
      '"J8SkJGsAQqW0yMwwVRZM!!" is not a uuid',
    )
  })
})

test('the buffer grows with what is written', () => {
  const writer = new Writer(16)
  for (let index = 0; index < 1000; index += 1) writer.int32(index)
  expect(writer.position).toBe(4000)
  expect(writer.finish().readInt32BE(3996)).toBe(999)
})

test('after a reset the same buffer is filled anew', () => {
  const writer = new Writer(16)
  writer.int32(1)
  const first = writer.finish()
  writer.reset()
  writer.int16(2)
  expect(writer.finish().toString('hex')).toBe('0002')
  expect(writer.finish().buffer).toBe(first.buffer)
})

test('a size that is known at the end is put where it was left out', () => {
  const writer = new Writer(16)
  writer.int32(0)
  writer.string('abc')
  writer.patchInt32(0, writer.position - 4)
  expect(writer.finish().toString('hex')).toBe(['00000005', '0003616263'].join(''))
})

test('a prefix of one or more bytes moves what was written', () => {
  expect(
    hex((w) => {
      w.int8(1)
      const start = w.position
      w.int16(0x0203)
      w.prefixWithSize(start)
      w.int8(4)
    }),
  ).toBe(['01', '02', '0203', '04'].join(''))
  const long = hex((w) => {
    w.raw(new Uint8Array(200).fill(9))
    w.prefixWithSize(0)
    w.int8(4)
  })
  expect(long).toBe(`c801${'09'.repeat(200)}04`)
})

test('what is written is read back', () => {
  fc.assert(
    fc.property(
      fc.maxSafeInteger(),
      fc.integer(),
      fc.nat(),
      fc.string({ unit: 'grapheme', maxLength: 300 }),
      fc.option(fc.uint8Array({ maxLength: 300 })),
      (long, signed, unsigned, text, bytes) => {
        const writer = new Writer(16)
        writer.int64(long)
        writer.varint(signed)
        writer.uvarint(unsigned)
        writer.string(text)
        writer.compactString(text)
        writer.nullableBytes(bytes)
        writer.compactNullableBytes(bytes)
        const reader = new Reader(writer.finish())
        expect(reader.int64()).toBe(long)
        expect(reader.varint()).toBe(signed)
        expect(reader.uvarint()).toBe(unsigned)
        expect(reader.string()).toBe(text)
        expect(reader.compactString()).toBe(text)
        const expected = bytes === null ? null : Buffer.from(bytes)
        expect(reader.nullableBytes()).toEqual(expected)
        expect(reader.compactNullableBytes()).toEqual(expected)
        expect(reader.remaining).toBe(0)
      },
    ),
    { seed: 1 },
  )
})
