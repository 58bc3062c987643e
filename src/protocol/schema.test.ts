import { describe, expect, expectTypeOf, test } from 'vitest'
import { array, int16, int32, int64, string, struct } from './field.ts'
import { metadata } from './messages/3-metadata.ts'
import { produce } from './messages/0-produce.ts'
import { Reader } from './reader.ts'
import {
  decodeRequest,
  decodeResponse,
  defineApi,
  defineMessage,
  encodeRequest,
  encodeResponse,
  type RequestInputOf,
  type RequestOf,
  type ResponseInputOf,
  type ResponseOf,
} from './schema.ts'
import { Writer } from './writer.ts'

const shop = defineApi({
  key: 999,
  name: 'Shop',
  versions: [1, 5],
  flexible: 4,
  request: {
    name: string(),
    note: string({ nullable: 3 }),
    count: int32({ since: 2, default: 7 }),
    hint: string({ since: 2, until: 3, ignorable: true }),
    items: array({ id: int16(), sizes: array(int32(), { since: 3 }) }, { nullable: 2 }),
    color: string({ since: 4, tag: 1, nullable: 4, default: null }),
    place: struct({ x: int32({ default: -1 }), y: int32({ default: -1 }) }, { since: 4, tag: 0 }),
    labels: array(string(), { since: 5, tag: 2, ignorable: true }),
  },
  response: { errorCode: int16(), at: int64({ since: 2, default: -1, ignorable: true }) },
})

function hexOf(version: number, body: RequestInputOf<typeof shop>): string {
  const writer = new Writer()
  encodeRequest(shop, version, body, writer)
  return writer.finish().toString('hex')
}

const read = (version: number, hex: string): RequestOf<typeof shop> =>
  decodeRequest(shop, version, new Reader(Buffer.from(hex, 'hex')))

const minimal = { name: 'a', note: 'b', items: [] }

describe('a version decides which fields there are', () => {
  test('fields outside it are not on the wire', () => {
    expect(hexOf(1, minimal)).toBe(['000161', '000162', '00000000'].join(''))
  })

  test('a field that was left out is written as its default', () => {
    expect(hexOf(2, minimal)).toBe(['000161', '000162', '00000007', '0000', '00000000'].join(''))
  })

  test('a flexible version has compact lengths and a section of tagged fields in each struct', () => {
    expect(hexOf(4, { ...minimal, items: [{ id: 3, sizes: [9] }] })).toBe(
      ['0261', '0262', '00000007', '02', '0003', '02', '00000009', '00', '00'].join(''),
    )
  })

  test('tagged fields are written in the order of their tags, unless they have their default', () => {
    expect(hexOf(5, { ...minimal, color: 'r', place: { x: 2 }, labels: [] })).toBe(
      [
        ['0261', '0262', '00000007', '01'].join(''),
        ['02', '00', '09', '00000002', 'ffffffff', '00', '01', '02', '0272'].join(''),
      ].join(''),
    )
  })

  test('fields that it lacks are read as their defaults', () => {
    expect(read(1, ['000161', '000162', '00000000'].join(''))).toEqual({
      name: 'a',
      note: 'b',
      count: 7,
      hint: '',
      items: [],
      color: null,
      place: { x: -1, y: -1 },
      labels: [],
    })
  })

  test('defaults of two messages do not share an array or struct', () => {
    const [one, two] = [read(1, '00016100016200000000'), read(1, '00016100016200000000')]
    expect(one.labels).not.toBe(two.labels)
    expect(one.place).not.toBe(two.place)
  })
})

describe('what a version cannot say', () => {
  const refuses = (version: number, body: RequestInputOf<typeof shop>): unknown => {
    try {
      return hexOf(version, body)
    } catch (error) {
      return error
    }
  }

  test('a value for a field that it lacks is refused', () => {
    expect(refuses(1, { ...minimal, count: 8 })).toMatchObject({
      code: 'PROTOCOL_UNSUPPORTED_VERSION',
      message: 'Version 1 of Shop request is not supported: it has no field count, which is set.',
      context: { api: 'Shop request', version: 1, field: 'count' },
    })
    expect(refuses(2, { ...minimal, items: [{ id: 1, sizes: [1] }] })).toMatchObject({
      code: 'PROTOCOL_UNSUPPORTED_VERSION',
      context: { field: 'items.sizes', version: 2 },
    })
    expect(refuses(3, { ...minimal, place: { y: 0 } })).toMatchObject({
      code: 'PROTOCOL_UNSUPPORTED_VERSION',
      context: { field: 'place', version: 3 },
    })
  })

  test('the default of such a field and an ignorable value are dropped', () => {
    expect(hexOf(1, { ...minimal, count: 7, hint: 'x', place: {}, labels: ['x'] })).toBe(
      hexOf(1, minimal),
    )
  })

  test('null before the version that allows it is refused', () => {
    expect(refuses(2, { ...minimal, note: null })).toMatchObject({
      code: 'PROTOCOL_UNSUPPORTED_VERSION',
      message: 'Version 2 of Shop request is not supported: its field note cannot be null.',
    })
    expect(hexOf(3, { ...minimal, note: null }).slice(6, 10)).toBe('ffff')
  })

  test('a version outside the table is refused for both directions', () => {
    const unsupported = expect.objectContaining({ code: 'PROTOCOL_UNSUPPORTED_VERSION' })
    const reader = new Reader(Buffer.alloc(100))
    expect(() => hexOf(0, minimal)).toThrow(unsupported)
    expect(() => hexOf(6, minimal)).toThrow(unsupported)
    expect(() => hexOf(1.5, minimal)).toThrow(unsupported)
    expect(() => decodeRequest(shop, 6, reader)).toThrow(unsupported)
    expect(() => decodeResponse(shop, -1, reader)).toThrow(unsupported)
    expect(() => encodeResponse(shop, 9, { errorCode: 0 }, new Writer())).toThrow(unsupported)
  })

  test('a value that its field cannot hold, and a missing one, are refused by name', () => {
    expect(refuses(2, { ...minimal, count: 2 ** 31 })).toMatchObject({
      code: 'PROTOCOL_VALUE_INVALID',
      message: 'The field count of Shop request v2 cannot be written: 2147483648 is not int32.',
    })
    const { name: _name, ...nameless } = minimal
    expect(refuses(2, nameless as unknown as RequestInputOf<typeof shop>)).toMatchObject({
      code: 'PROTOCOL_VALUE_INVALID',
      message: 'The field name of Shop request v2 cannot be written: it has no value.',
    })
  })
})

describe('null and empty', () => {
  test('stay different in both directions', () => {
    const none = hexOf(2, { ...minimal, items: null })
    const empty = hexOf(2, { ...minimal, items: [] })
    expect(none).not.toBe(empty)
    expect(read(2, none).items).toBe(null)
    expect(read(2, empty).items).toEqual([])
  })

  test('a tagged null is a value when it is not the default', () => {
    const message = defineMessage({
      name: 'Tagged',
      versions: [0, 0],
      flexible: 0,
      fields: { text: string({ tag: 0, nullable: 0, default: '' }) },
    })
    const writer = new Writer()
    message.encode(0, { text: null }, writer)
    expect(writer.finish().toString('hex')).toBe('01000100')
    expect(message.decode(0, new Reader(writer.finish())).text).toBe(null)
    writer.reset()
    message.encode(0, {}, writer)
    expect(writer.finish().toString('hex')).toBe('00')
  })
})

describe('tagged fields on the wire', () => {
  const body = ['0261', '0262', '00000007', '01'].join('')

  test('unknown ones are passed over', () => {
    const tags = ['02', '01', '02', '0272', '09', '03', 'aabbcc'].join('')
    expect(read(4, body + tags).color).toBe('r')
  })

  test('one that is longer or shorter than its content is malformed', () => {
    const malformed = expect.objectContaining({ code: 'PROTOCOL_MALFORMED' })
    expect(() => read(4, `${body}0101030272ff`)).toThrow(malformed)
    expect(() => read(4, `${body}0101010272`)).toThrow(malformed)
    expect(() => read(4, `${body}01017f0272`)).toThrow(malformed)
  })
})

test('a large array of a small message is refused before it is allocated', () => {
  expect(() => read(2, ['000161', '000162', '00000007', '0000', '7fffffff'].join(''))).toThrow(
    expect.objectContaining({
      code: 'PROTOCOL_MALFORMED',
      message:
        'The bytes of Shop request v2 are malformed at items: an array of 2147483647 elements in 0 bytes.',
      context: expect.objectContaining({ field: 'items', position: 16 }),
    }),
  )
})

describe('types', () => {
  test('a decoded message has every field, with null where a version allows it', () => {
    type Topic = ResponseOf<typeof metadata>['topics'][number]
    expectTypeOf<Topic['name']>().toEqualTypeOf<string | null>()
    expectTypeOf<Topic['partitions'][number]['offlineReplicas']>().toEqualTypeOf<number[]>()
    expectTypeOf<RequestOf<typeof metadata>['topics']>().toEqualTypeOf<
      { topicId: string; name: string | null }[] | null
    >()
    type Partition = RequestOf<typeof produce>['topicData'][number]['partitionData'][number]
    expectTypeOf<Partition>().toEqualTypeOf<{ index: number; records: Buffer | null }>()
  })

  test('encoding needs the fields that every version has and that have no default', () => {
    type Required<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T]
    expectTypeOf<Required<RequestInputOf<typeof metadata>>>().toEqualTypeOf<'topics'>()
    expectTypeOf<Required<RequestInputOf<typeof shop>>>().toEqualTypeOf<'name' | 'note' | 'items'>()
    expectTypeOf<ResponseInputOf<typeof shop>>().toEqualTypeOf<{
      readonly errorCode: number
      readonly at?: number | undefined
    }>()
    expectTypeOf<RequestOf<typeof metadata>>().toExtend<RequestInputOf<typeof metadata>>()
  })
})
