import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { Reader, zeroUuid } from './reader.ts'

const over = (...bytes: readonly number[]): Reader => new Reader(Buffer.from(bytes))

/** The detail of the PROTOCOL_MALFORMED that the action ends in. */
function malformed(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    if (isStreamsError(error, 'PROTOCOL_MALFORMED')) return error.context['detail']
    throw error
  }
  return 'no error'
}

describe('numbers', () => {
  test('integers are big-endian and signed', () => {
    const reader = over(0xff, 0xff, 0xfe, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)
    expect(reader.int8()).toBe(-1)
    expect(reader.int16()).toBe(-2)
    expect(reader.int32()).toBe(-2_147_483_648)
    expect(reader.uint16()).toBe(65_535)
    expect(reader.uint32()).toBe(4_294_967_295)
    expect(reader.boolean()).toBe(true)
    expect(reader.remaining).toBe(0)
  })

  test('a long is exact from -2^53 to 2^53', () => {
    expect(over(0, 0x20, 0, 0, 0, 0, 0, 0).int64()).toBe(9_007_199_254_740_992)
    expect(over(0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff).int64()).toBe(9_007_199_254_740_991)
    expect(over(0xff, 0xe0, 0, 0, 0, 0, 0, 1).int64()).toBe(-9_007_199_254_740_991)
    expect(over(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff).int64()).toBe(-1)
    expect(over(0, 0, 0, 1, 0, 0, 0, 5).int64()).toBe(4_294_967_301)
  })

  test('a double is an IEEE 754 number', () => {
    expect(over(0x3f, 0xf8, 0, 0, 0, 0, 0, 0).float64()).toBe(1.5)
  })

  test('varints have seven bits a byte, the lowest first', () => {
    expect(over(0x00).uvarint()).toBe(0)
    expect(over(0x7f).uvarint()).toBe(127)
    expect(over(0xac, 0x02).uvarint()).toBe(300)
    expect(over(0xff, 0xff, 0xff, 0xff, 0x0f).uvarint()).toBe(4_294_967_295)
    expect(over(0x01).varint()).toBe(-1)
    expect(over(0x02).varint()).toBe(1)
    expect(over(0xff, 0xff, 0xff, 0xff, 0x0f).varint()).toBe(-2_147_483_648)
    expect(over(0xfe, 0xff, 0xff, 0xff, 0x0f).varint()).toBe(2_147_483_647)
  })

  test('a varint of more than 32 bits is malformed', () => {
    const tooLong = 'a varint is longer than 32 bits'
    expect(malformed(() => over(0xff, 0xff, 0xff, 0xff, 0x1f).uvarint())).toBe(tooLong)
    expect(malformed(() => over(0x80, 0x80, 0x80, 0x80, 0x80, 0x00).uvarint())).toBe(tooLong)
  })
})

describe('strings, bytes and uuids', () => {
  test('null and empty are different things', () => {
    expect(over(0xff, 0xff).nullableString()).toBe(null)
    expect(over(0, 0).nullableString()).toBe('')
    expect(over(0).compactNullableString()).toBe(null)
    expect(over(1).compactNullableString()).toBe('')
    expect(over(0xff, 0xff, 0xff, 0xff).nullableBytes()).toBe(null)
    expect(over(0, 0, 0, 0).nullableBytes()).toEqual(Buffer.alloc(0))
    expect(over(0).compactNullableBytes()).toBe(null)
    expect(over(1).compactNullableBytes()).toEqual(Buffer.alloc(0))
    expect(over(0xff, 0xff, 0xff, 0xff).arrayLength()).toBe(-1)
    expect(over(0, 0, 0, 0).arrayLength()).toBe(0)
    expect(over(0).compactArrayLength()).toBe(-1)
    expect(over(1).compactArrayLength()).toBe(0)
  })

  test('null where a value must be is malformed', () => {
    expect(malformed(() => over(0xff, 0xff).string())).toBe('null where a string must be')
    expect(malformed(() => over(0).compactString())).toBe('null where a string must be')
    expect(malformed(() => over(0xff, 0xff, 0xff, 0xff).bytes())).toBe('null where bytes must be')
    expect(malformed(() => over(0).compactBytes())).toBe('null where bytes must be')
  })

  test('a string is UTF-8', () => {
    expect(over(0, 4, 0xf0, 0x9f, 0x8c, 0xbe).string()).toBe('🌾')
    expect(over(3, 0xc3, 0xbc).compactString()).toBe('ü')
  })

  test('bytes are a view of the buffer, not a copy', () => {
    const buffer = Buffer.from([0, 0, 0, 2, 7, 8, 9])
    const reader = new Reader(buffer)
    const bytes = reader.bytes()
    expect(bytes).toEqual(Buffer.from([7, 8]))
    expect(bytes.buffer).toBe(buffer.buffer)
    expect(reader.remaining).toBe(1)
  })

  test("a uuid has Kafka's text form", () => {
    const hex = '27c4a4246b0042a5b4c8cc3055164c3c'
    expect(new Reader(Buffer.from(hex, 'hex')).uuid()).toBe('J8SkJGsAQqW0yMwwVRZMPA')
    expect(new Reader(Buffer.alloc(16)).uuid()).toBe(zeroUuid)
  })
})

describe('lies about lengths', () => {
  test('a length beyond the end is malformed', () => {
    expect(malformed(() => over(0, 3, 65, 66).string())).toBe(
      '3 bytes are needed at position 2, 2 are left',
    )
    expect(malformed(() => over(0x7f, 0xff, 0xff, 0xff, 1).bytes())).toBe(
      '2147483647 bytes are needed at position 4, 1 are left',
    )
    expect(malformed(() => over(0xff, 0xff, 0xff, 0xff, 0x0f).compactBytes())).toBe(
      '4294967294 bytes are needed at position 5, 0 are left',
    )
  })

  test('a negative length is malformed', () => {
    expect(malformed(() => over(0xff, 0xfe).nullableString())).toBe('the length -2 is negative')
    expect(malformed(() => over(0xff, 0xff, 0xff, 0xfe).arrayLength())).toBe(
      'the array length -2 is negative',
    )
  })

  test('an array cannot have more elements than there are bytes', () => {
    expect(malformed(() => over(0x7f, 0xff, 0xff, 0xff, 1, 2).arrayLength())).toBe(
      'an array of 2147483647 elements in 2 bytes',
    )
    expect(malformed(() => over(0xff, 0xff, 0xff, 0xff, 0x0f, 1).compactArrayLength())).toBe(
      'an array of 4294967294 elements in 1 bytes',
    )
  })

  test('tagged fields that are not known are passed over', () => {
    const reader = over(2, 0, 1, 0xaa, 5, 2, 0xbb, 0xcc, 0x2a)
    reader.skipTaggedFields()
    expect(reader.int8()).toBe(42)
    expect(malformed(() => over(9, 0).skipTaggedFields())).toBe('9 tagged fields in 1 bytes')
    expect(malformed(() => over(1, 0, 4, 1).skipTaggedFields())).toBe(
      '4 bytes are needed at position 3, 1 are left',
    )
  })
})

test('the end of a part is the end of reading', () => {
  const reader = new Reader(Buffer.from([1, 2, 3, 4]), { start: 1, end: 3 })
  expect(reader.int16()).toBe(0x0203)
  expect(malformed(() => reader.int8())).toBe('1 bytes are needed at position 3, 0 are left')
})

test('an error says what was read, which field, and where', () => {
  const reader = new Reader(Buffer.from([0, 1]), { api: 'Metadata response v4' })
  reader.field = 'brokers.host'
  reader.int16()
  expect(() => reader.int32()).toThrow(
    expect.objectContaining({
      code: 'PROTOCOL_MALFORMED',
      context: {
        api: 'Metadata response v4',
        field: 'brokers.host',
        position: 2,
        detail: '4 bytes are needed at position 2, 0 are left',
      },
    }),
  )
})

test('no sequence of reads over random bytes ends in another error or leaves the buffer', () => {
  const reads: readonly ((reader: Reader) => unknown)[] = [
    (r) => r.int8(),
    (r) => r.int64(),
    (r) => r.uvarint(),
    (r) => r.varint(),
    (r) => r.uuid(),
    (r) => r.string(),
    (r) => r.compactNullableString(),
    (r) => r.nullableBytes(),
    (r) => r.compactBytes(),
    (r) => r.arrayLength(),
    (r) => r.compactArrayLength(),
    (r) => r.skipTaggedFields(),
  ]
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.array(fc.nat({ max: reads.length - 1 }), { maxLength: 20 }),
      (bytes, order) => {
        const reader = new Reader(Buffer.from(bytes))
        for (const index of order) malformed(() => reads[index]?.(reader))
        expect(reader.remaining).toBeGreaterThanOrEqual(0)
      },
    ),
    { seed: 1, numRuns: 1000 },
  )
})
