import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { AvroFormat, type AvroOptions } from './avro-format.ts'
import type { AvroLogicalType } from './avro-values.ts'

const record = (...fields: readonly object[]): object => ({ type: 'record', name: 'R', fields })

/** Writes and reads by one schema. */
function formatOf(
  schema: unknown,
  options: Partial<AvroOptions> = {},
): { write: (value: unknown) => Buffer; read: (bytes: Buffer) => unknown } {
  const format = new AvroFormat<unknown>({ subject: 's', ...options })
  const complete = { text: JSON.stringify(schema), parts: [] }
  const write = format.writer(complete)
  const read = format.reader({ written: complete, own: undefined })
  return { write: (value) => write(1, value), read: (bytes) => read(bytes) }
}

/** Reads what one schema wrote by another. */
function readAs(
  written: { schema: object; value: unknown },
  own: object,
  options: Partial<AvroOptions> = {},
): unknown {
  const format = new AvroFormat<unknown>({ subject: 's', ...options })
  const schemas = {
    written: { text: JSON.stringify(written.schema), parts: [] },
    own: { text: JSON.stringify(own), parts: [] },
  }
  return format.reader(schemas)(formatOf(written.schema).write(written.value))
}

const bytesOf = (...payload: readonly number[]): Buffer => Buffer.from([0, 0, 0, 0, 1, ...payload])

/** Zigzag varint, by another way than the one under test. */
function varint(value: bigint): number[] {
  const bytes: number[] = []
  for (let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)); ; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)]
    bytes.push(Number(rest & 127n) + 128)
  }
}

test('longs are exact up to 2^53, of either sign', () => {
  const { write, read } = formatOf('long')
  const edges = [0, 1, -1, 63, 64, -64, -65, 2 ** 30, -(2 ** 30), 2 ** 52, -(2 ** 52) - 1]
  const numbers = fc.oneof(fc.constantFrom(...edges), fc.maxSafeInteger())
  fc.assert(
    fc.property(numbers, (value) => {
      const bytes = write(value)
      expect([...bytes.subarray(5)]).toEqual(varint(BigInt(value)))
      expect(read(bytes)).toBe(value)
    }),
  )
  for (const value of [2 ** 53, -(2 ** 53), 1.5, NaN, Infinity, '5', 5n]) {
    expect(() => write(value)).toThrow(/the value: .+ is not of the type long/)
  }
})

test('longs beyond 2^53 are an error, or bigints', () => {
  const { write, read } = formatOf('long', { longs: 'bigint' })
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      const bytes = write(value)
      expect([...bytes.subarray(5)]).toEqual(varint(value))
      expect(read(bytes)).toBe(value)
    }),
  )
  const numbers = formatOf('long')
  for (const value of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n)]) {
    expect(() => numbers.read(write(value))).toThrow("beyond 2^53; use longs: 'bigint'")
  }
  for (const value of [2n ** 63n, -(2n ** 63n) - 1n, 2 ** 53, 'x']) {
    expect(() => write(value)).toThrow('is not of the type long')
  }
  // As the JSON of a key in a URL has it.
  expect(write(5)).toEqual(write(5n))
})

test('a long that is cut off, or has no end, is told', () => {
  const { read } = formatOf('long')
  for (const payload of [[], [0x80], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]]) {
    expect(() => read(bytesOf(...payload))).toThrow('truncated buffer')
  }
  expect(() => read(bytesOf(...Array<number>(11).fill(0x80), 1))).toThrow('too many bytes')
})

test('a value that does not fit is named with its place', () => {
  const { write } = formatOf(
    record(
      { name: 'id', type: 'string' },
      {
        name: 'lines',
        type: {
          type: 'array',
          items: { type: 'record', name: 'L', fields: [{ name: 'n', type: 'int' }] },
        },
      },
      { name: 'kind', type: ['null', { type: 'enum', name: 'K', symbols: ['A'] }] },
    ),
  )
  expect(() => write({ id: 'a', lines: [{ n: 1 }, { n: 1.5 }], kind: null })).toThrow(
    'lines.1.n: 1.5 is not of the type int',
  )
  expect(() => write({ lines: [], kind: null })).toThrow('id: undefined is not of the type string')
  expect(() => write({ id: 'a', lines: [], kind: 'B' })).toThrow('kind: "B" is not of the type')
  expect(() => write(null)).toThrow('the value: null is not of the type R')
})

test('values that are longer than the room for them are written whole, again and again', () => {
  const { write, read } = formatOf(record({ name: 'text', type: 'string' }))
  for (const length of [2000, 10, 100_000, 1_000_000, 300_000, 5]) {
    const value = { text: 'x'.repeat(length) }
    expect(read(write(value))).toEqual(value)
  }
})

test('what was written stays as it is when the next value is written', () => {
  const { write } = formatOf('string')
  const first = write('first')
  const copy = Buffer.from(first)
  write('other')
  expect(first).toEqual(copy)
})

const date: AvroLogicalType<Date, number> = {
  fromAvro: (millis) => new Date(millis),
  toAvro: (value) => value.getTime(),
}
const decimal: AvroLogicalType<string, Buffer> = {
  fromAvro: (bytes, { scale }) =>
    `${BigInt.asIntN(64, BigInt(`0x${bytes.toString('hex')}`))}e-${String(scale)}`,
  toAvro: (text) =>
    Buffer.from(
      BigInt(text.split('e')[0] ?? '')
        .toString(16)
        .padStart(4, '0'),
      'hex',
    ),
}

test('logical types stand in the program as their hooks say', () => {
  const schema = record(
    { name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } },
    { name: 'other', type: { type: 'long', logicalType: 'timestamp-micros' } },
    { name: 'amount', type: { type: 'bytes', logicalType: 'decimal', precision: 4, scale: 2 } },
    { name: 'maybe', type: ['null', { type: 'long', logicalType: 'timestamp-millis' }] },
    {
      name: 'all',
      type: { type: 'array', items: { type: 'long', logicalType: 'timestamp-millis' } },
    },
  )
  const { write, read } = formatOf(schema, { logicalTypes: { 'timestamp-millis': date, decimal } })
  const at = new Date(1_700_000_000_123)
  const value = { at, other: 5, amount: '1234e-2', maybe: at, all: [at] }
  const plain = {
    at: at.getTime(),
    other: 5,
    amount: Buffer.from('04d2', 'hex'),
    maybe: at.getTime(),
    all: [at.getTime()],
  }
  const bytes = write(value)
  expect(bytes).toEqual(formatOf(schema).write(plain))
  expect(read(bytes)).toEqual(value)
  expect(() => write({ ...value, at: 5 })).toThrow('at: 5 is not of the type timestamp-millis')
})

test('hooks get bigints when longs are bigints', () => {
  const schema = record({ name: 'at', type: { type: 'long', logicalType: 'timestamp-nanos' } })
  const nanos: AvroLogicalType<string, bigint> = {
    fromAvro: (value) => `${value} ns`,
    toAvro: (text) => BigInt(text.replace(' ns', '')),
  }
  const { write, read } = formatOf(schema, {
    longs: 'bigint',
    logicalTypes: { 'timestamp-nanos': nanos },
  })
  const value = { at: '1700000000123456789 ns' }
  expect(read(write(value))).toEqual(value)
})

test('a logical type reads what was written as the type below, or as itself', () => {
  const own = record({ name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } })
  const logicalTypes = { 'timestamp-millis': date }
  const expected = { at: new Date(5) }
  for (const type of ['long', 'int', { type: 'long', logicalType: 'timestamp-millis' }]) {
    const written = { schema: record({ name: 'at', type }), value: { at: 5 } }
    expect(readAs(written, own, { logicalTypes })).toEqual(expected)
  }
  const plain = record({ name: 'at', type: 'long' })
  expect(readAs({ schema: own, value: { at: 5 } }, plain, { logicalTypes })).toEqual({ at: 5 })
  const text = { schema: record({ name: 'at', type: 'string' }), value: { at: 'x' } }
  expect(() => readAs(text, own, { logicalTypes })).toThrow('cannot read')
})

test('a bigint hook reads an int as a bigint', () => {
  const own = record({ name: 'at', type: { type: 'long', logicalType: 'timestamp-nanos' } })
  const hook: AvroLogicalType<bigint, bigint> = {
    fromAvro: (value) => value + 1n,
    toAvro: (value) => value - 1n,
  }
  const written = { schema: record({ name: 'at', type: 'int' }), value: { at: 5 } }
  const options = { longs: 'bigint', logicalTypes: { 'timestamp-nanos': hook } } as const
  expect(readAs(written, own, options)).toEqual({ at: 6n })
})

test('bytes alone are read as text by a reader that wants text', () => {
  const format = new AvroFormat<unknown>({ subject: 's' })
  const schemas = { written: { text: '"bytes"', parts: [] }, own: { text: '"string"', parts: [] } }
  const long = 'ü'.repeat(5000)
  expect(format.reader(schemas)(formatOf('bytes').write(Buffer.from(long)))).toBe(long)
  expect(() => formatOf('bytes').write('text')).toThrow('the value is not bytes')
})

const lists = formatOf(
  record(
    { name: 'numbers', type: { type: 'array', items: 'int' } },
    { name: 'nulls', type: { type: 'array', items: 'null' } },
    { name: 'words', type: { type: 'map', values: 'string' } },
  ),
)

test.each([
  ['more elements than bytes', [...varint(2n ** 50n), 2, 0, 0, 0], 'cut off'],
  ['more elements than an array can have', [...varint(-(2n ** 62n)), 2, 2, 0, 0, 0], 'cut off'],
  ['elements without bytes', [0, ...varint(2n ** 40n), 0, 0], 'more than 1000000 elements without'],
  [
    'many blocks of them',
    [0, ...Array.from({ length: 9 }, () => varint(200_000n)).flat(), 0, 0],
    'elements without',
  ],
  ['a block of another length than it says', [1, 4, 2, 0, 0, 0], 'not as long as it says'],
  ['a block that ends before it begins', [1, ...varint(-4n), 2, 0, 0, 0], 'not as long as it says'],
  ['a key longer than the bytes', [0, 0, 2, ...varint(500n), 97], 'cut off'],
  ['a key of negative length', [0, 0, 2, 1, 97, 0, 0], 'cut off'],
])('bytes that would keep a reader busy are refused: %s', (_name, payload, message) => {
  expect(() => lists.read(bytesOf(...payload))).toThrow(message)
})

test('elements without bytes are read as long as they are few', () => {
  expect(lists.read(bytesOf(0, ...varint(3n), 0, 0))).toEqual({
    numbers: [],
    nulls: [null, null, null],
    words: {},
  })
})

test('the name of a type is a schema, which the registry wants in quotes', () => {
  expect(new AvroFormat({ subject: 's', schema: 'string' }).own?.text).toBe('"string"')
  expect(new AvroFormat({ subject: 's', schema: '"string"' }).own?.text).toBe('"string"')
  expect(new AvroFormat({ subject: 's', schema: { type: 'int' } }).own?.text).toBe('{"type":"int"}')
})

test('bytes after the value are refused', () => {
  expect(() => formatOf('int').read(bytesOf(2, 2))).toThrow('trailing data')
})

const everything = record(
  {
    name: 'a',
    type: { type: 'array', items: ['null', 'long', 'string', { type: 'map', values: 'bytes' }] },
  },
  {
    name: 'b',
    type: { type: 'map', values: { type: 'array', items: { type: 'fixed', name: 'F', size: 3 } } },
  },
  { name: 'c', type: ['null', 'R'] },
  { name: 'd', type: { type: 'enum', name: 'E', symbols: ['X', 'Y'] } },
  { name: 'e', type: 'double' },
)

test('whatever the bytes are, there is a value or an error, and soon', () => {
  const { write, read } = formatOf(everything)
  const value = {
    a: [null, 5, 'text', { k: Buffer.from('v') }],
    b: { k: [Buffer.from('abc'), Buffer.from('def')] },
    c: { a: [], b: {}, c: null, d: 'Y', e: 1 },
    d: 'X',
    e: -0.5,
  }
  const whole = write(value)
  const cut = fc.nat(whole.length - 6).map((length) => whole.subarray(0, 5 + length))
  const changed = fc
    .array(fc.tuple(fc.integer({ min: 5, max: whole.length - 1 }), fc.nat(255)), {
      minLength: 1,
      maxLength: 4,
    })
    .map((changes) => {
      const bytes = Buffer.from(whole)
      for (const [at, byte] of changes) bytes[at] = byte
      return bytes
    })
  const random = fc.uint8Array({ maxLength: 60 }).map((payload) => bytesOf(...payload))
  fc.assert(
    fc.property(cut, (bytes) => {
      expect(() => read(bytes)).toThrow(Error)
    }),
    { numRuns: 100 },
  )
  fc.assert(
    fc.property(fc.oneof(changed, random), (bytes) => {
      let again: unknown
      try {
        again = read(bytes)
      } catch (error) {
        return error instanceof Error
      }
      // What could be read can be written, and is the same then.
      expect(read(write(again))).toEqual(again)
      return true
    }),
    { numRuns: 2000 },
  )
})

test.each([
  ['{', 'it is not JSON'],
  ['"nothing"', 'undefined type name'],
  [
    '{"type":"record","name":"R","fields":[{"name":"a","type":"Missing"}]}',
    'undefined type name: Missing',
  ],
  ['null', 'invalid type: null'],
  ['string', 'it is not JSON'],
])('the schema %s is refused', (text, message) => {
  const format = new AvroFormat<unknown>({ subject: 's' })
  expect(() => format.writer({ text, parts: [] })).toThrow(message)
  const part = { name: 'a.B', text }
  expect(() => format.writer({ text: '"string"', parts: [part] })).toThrow(
    `its part a.B: ${message}`,
  )
})

test.each([
  [undefined, 'avro'],
  [{}, 'subject'],
  [{ subject: '' }, 'subject'],
  [{ subject: 's', schema: 5 }, 'schema'],
  [{ subject: 's', register: true }, 'register'],
  [{ subject: 's', register: 'yes', schema: 'string' }, 'register'],
  [{ subject: 's', references: [], reference: [] }, 'reference'],
  [{ subject: 's', references: [{ name: 'a' }], schema: 'string' }, 'references'],
  [{ subject: 's', references: [{ name: 'a', subject: 'b', version: 1 }] }, 'references'],
  [{ subject: 's', longs: 'long' }, 'longs'],
  [{ subject: 's', logicalTypes: { date: {} } }, 'logicalTypes.date'],
  [{ subject: 's', logicalTypes: 5 }, 'logicalTypes'],
  [{ subject: 's', messageType: 'M' }, 'messageType'],
])('the options %j are refused, at %s', (options, option) => {
  expect(() => new AvroFormat(options as AvroOptions)).toThrow(`The option ${option} is not valid`)
})
