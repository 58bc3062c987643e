import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { systemDisk } from '../base/disk.ts'
import { nullable } from './nullable.ts'
import type { Serde } from './serde.ts'
import { serdes } from './serdes.ts'
import type { StandardSchema } from './standard-schema.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

interface Vectors {
  serialized: { serde: string; value: unknown; hex: string }[]
  decoded: { hex: string; value: string }[]
}

const vectorsPath = fileURLToPath(new URL('serdes.vectors.json', import.meta.url))
const vectors = JSON.parse(String(systemDisk.readFile(vectorsPath))) as Vectors

const byName = new Map<string, unknown>(Object.entries(serdes))

function serdeNamed(name: string): Serde<unknown> {
  if (!name.startsWith('list:')) return byName.get(name) as Serde<unknown>
  return serdes.list(nullable(serdeNamed(name.slice('list:'.length)))) as Serde<unknown>
}

function valueOf(serde: string, value: unknown): unknown {
  if (serde === 'bigint') return BigInt(value as string)
  if ((serde === 'double' || serde === 'float') && typeof value === 'string') return Number(value)
  return value
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')

describe("Java's bytes", () => {
  test.each(vectors.serialized)(
    '$serde $value is written as Java does',
    ({ serde, value, hex }) => {
      expect(hexOf(serdeNamed(serde).serialize(valueOf(serde, value)))).toBe(hex)
    },
  )

  /** What comes back of values that have no bytes of their own. */
  const lossy = new Map<string, unknown>([
    ['string 3f', '?'],
    ['string 613f62', 'a?b'],
    ['string 3f78', '?x'],
    ['string 3ff0908080', '?\u{10000}'],
    ['float 3dcccccd', 0.10000000149011612],
  ])

  test.each(vectors.serialized)('$serde $hex is read as Java wrote it', ({ serde, value, hex }) => {
    const expected = lossy.get(`${serde} ${hex}`) ?? valueOf(serde, value)
    const read = serdeNamed(serde).deserialize(bytesOf(hex))
    expect(read).toEqual(expected)
  })

  test.each(vectors.decoded)('the bytes $hex are read as the text that Java reads', (row) => {
    expect(serdes.string.deserialize(bytesOf(row.hex))).toBe(row.value)
  })

  test('strings longer than the short path keep their surrogates as Java does', () => {
    const long = 'x'.repeat(100)
    expect(hexOf(serdes.string.serialize(`${long}\ud800`))).toBe(`${'78'.repeat(100)}3f`)
  })
})

describe('text form', () => {
  test.each([
    ['string', 'a/b c', 'a/b c'],
    ['int', -7, '-7'],
    ['short', 300, '300'],
    ['long', 1700000000123, '1700000000123'],
    ['bigint', 9223372036854775807n, '9223372036854775807'],
    ['double', -0.5, '-0.5'],
    ['double', -0, '-0'],
    ['float', 0.5, '0.5'],
    ['boolean', true, 'true'],
    ['uuid', '6f1e9c1a-3b5d-4e2f-8a7b-0c1d2e3f4a5b', '6f1e9c1a-3b5d-4e2f-8a7b-0c1d2e3f4a5b'],
  ])('of %s goes both ways', (name, value, text) => {
    const form = serdeNamed(name).text
    expect(form?.format(value)).toBe(text)
    expect(form?.parse(text)).toBe(value)
  })

  test('of json is JSON', () => {
    expect(serdes.json().text?.format({ a: [1, null] })).toBe('{"a":[1,null]}')
    expect(serdes.json().text?.parse('{"a":1}')).toEqual({ a: 1 })
  })

  test('bytes have none', () => {
    expect(serdes.bytes.text).toBeUndefined()
  })

  test.each([
    ['int', '1.5'],
    ['int', ''],
    ['int', '0x10'],
    ['int', '2147483648'],
    ['short', '32768'],
    ['long', '9007199254740993'],
    ['bigint', '9223372036854775808'],
    ['bigint', '1e3'],
    ['double', ''],
    ['double', 'five'],
    ['boolean', 'yes'],
    ['uuid', '6f1e9c1a'],
  ])('of %s refuses %j with a sentence', (name, text) => {
    expect(() => serdeNamed(name).text?.parse(text)).toThrow(/ is not /)
  })
})

describe('the estimated size', () => {
  test('of a list passes over the nulls that others have written into it', () => {
    const list = serdes.list(serdes.string)
    const read = list.deserialize(Buffer.from('0100000002ffffffff0000000161', 'hex'))

    expect(read).toEqual([null, 'a'])
    expect(list.sizeOf?.(read)).toBe(32 + 16 + 1)
  })
})

describe('what has no bytes', () => {
  test.each<[string, unknown, string]>([
    ['string', 5, '5 is not a string'],
    ['int', 1.5, '1.5 is not a whole number from -2147483648 to 2147483647'],
    ['int', 2147483648, '2147483648 is not a whole number from -2147483648 to 2147483647'],
    ['short', -32769, '-32769 is not a whole number from -32768 to 32767'],
    ['long', 2 ** 53, 'use serdes.bigint for larger ones'],
    ['long', Number.NaN, 'NaN is not a whole number'],
    ['long', '5', '"5" is not a whole number'],
    ['bigint', 2n ** 63n, '9223372036854775808n is not a bigint from -2^63 to 2^63 - 1'],
    ['bigint', 1, '1 is not a bigint'],
    ['float', 1e300, '1e+300 does not fit into four bytes; use serdes.double'],
    ['double', '1', '"1" is not a number'],
    ['boolean', 1, '1 is not true or false'],
    ['uuid', 'abc', '"abc" is not a UUID'],
    ['bytes', 'abc', '"abc" is not a Uint8Array'],
    ['list:int', 5, '5 is not an array'],
  ])('%s refuses %o', (name, value, sentence) => {
    const error = thrownBy(() => serdeNamed(name).serialize(value))
    expect(error.code).toBe('SERDE_FAILED')
    expect(error.message).toContain('could not serialize a value: ')
    expect(error.message).toContain(sentence)
  })

  test('json refuses cycles, bigints and functions', () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    expect(thrownBy(() => serdes.json().serialize(cycle)).code).toBe('SERDE_FAILED')
    expect(thrownBy(() => serdes.json().serialize(1n)).code).toBe('SERDE_FAILED')
    expect(thrownBy(() => serdes.json().serialize(undefined)).message).toContain(
      'undefined has no JSON form',
    )
  })
})

describe('bytes that are not of the serde', () => {
  test.each([
    ['short', '00', '1 bytes instead of 2'],
    ['int', '0000000000', '5 bytes instead of 4'],
    ['long', '00000000', '4 bytes instead of 8'],
    ['long', '7fffffffffffffff', '9223372036854775807 is larger than 2^53 - 1'],
    ['bigint', '', '0 bytes instead of 8'],
    ['float', '00', '1 bytes instead of 4'],
    ['double', '00', '1 bytes instead of 8'],
    ['boolean', '02', 'the byte is 2, not 0 or 1'],
    ['boolean', '', '0 bytes instead of 1'],
    ['uuid', '6162', '"ab" is not a UUID'],
    ['list:string', '', 'the bytes end too early'],
    ['list:string', '02', 'the first byte is 2'],
    ['list:string', '00000000000000000000', 'string has no fixed size'],
    ['list:string', '017fffffff', 'the size is 2147483647: too many'],
    ['list:string', '01ffffffff', 'the size is -1'],
    ['list:string', '0100000001fffffffe', 'the length of element 0 is -2'],
    ['list:string', '01000000010000000561', 'the bytes end too early'],
    ['list:string', '010000000000', '1 bytes follow the last element'],
    ['list:int', '007fffffff', 'the number of nulls is 2147483647: too many'],
    ['list:int', '00000000007fffffff', 'the size is 2147483647: too many'],
  ])('%s refuses %s', (name, hex, sentence) => {
    const error = thrownBy(() => serdeNamed(name).deserialize(bytesOf(hex)))
    expect(error.code).toBe('SERDE_FAILED')
    expect(error.message).toContain('could not deserialize a value: ')
    expect(error.message).toContain(sentence)
  })

  test('json says where the text is broken', () => {
    const error = thrownBy(() => serdes.json().deserialize(Buffer.from('{"a":')))
    expect(error.message).toContain('JSON')
  })
})

describe('json with a schema', () => {
  interface Order {
    id: number
  }
  const orderSchema: StandardSchema<Order> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const { id } = value as Order
        if (typeof id === 'number') return { value: { id } }
        return { issues: [{ message: 'must be a number', path: ['order', { key: 'id' }] }] }
      },
    },
  }

  test('reads what the schema returns', () => {
    const order = serdes.json(orderSchema).deserialize(Buffer.from('{"id":1,"extra":2}'))
    expect(order).toEqual({ id: 1 })
  })

  test('says where a value is wrong', () => {
    const error = thrownBy(() => serdes.json(orderSchema).deserialize(Buffer.from('{"id":"1"}')))
    expect(error.code).toBe('SERDE_FAILED')
    expect(error.message).toContain('at order.id: must be a number')
  })

  test('refuses a schema that is asynchronous', () => {
    const schema: StandardSchema<Order> = {
      '~standard': { version: 1, vendor: 'test', validate: async () => ({ value: { id: 1 } }) },
    }
    const error = thrownBy(() => serdes.json(schema).deserialize(Buffer.from('{"id":1}')))
    expect(error.message).toContain('only synchronous schemas')
  })
})

describe('identity', () => {
  test('tells apart what has different bytes, and nothing else', () => {
    expect(serdes.double.identity?.(-0)).not.toBe(serdes.double.identity?.(0))
    expect(serdes.float.identity?.(0.1)).toBe(serdes.float.identity?.(Math.fround(0.1)))
    expect(serdes.string.identity?.('\ud800')).toBe('?')
    expect(serdes.uuid.identity?.('6F1E9C1A-3B5D-4E2F-8A7B-0C1D2E3F4A5B')).toBe(
      '6f1e9c1a-3b5d-4e2f-8a7b-0c1d2e3f4a5b',
    )
  })
})

test('bytes that were read are a copy', () => {
  const borrowed = Buffer.from([1, 2, 3])
  const read = serdes.bytes.deserialize(borrowed)
  borrowed[0] = 9
  expect([...read]).toEqual([1, 2, 3])
})

test('a serde reads a plain Uint8Array that is a part of a larger buffer', () => {
  const part = new Uint8Array(Buffer.from('..abc..')).subarray(2, 5)
  expect(serdes.string.deserialize(part)).toBe('abc')
  expect(serdes.json().deserialize(new Uint8Array(Buffer.from('.[1].')).subarray(1, 4))).toEqual([
    1,
  ])
})

test('json takes no promise, which would be {}', () => {
  const error = thrownBy(() => serdes.json().serialize(Promise.resolve(1)))
  expect(error.code).toBe('SERDE_FAILED')
  expect(error.message).toContain('a promise has no JSON form')
})
