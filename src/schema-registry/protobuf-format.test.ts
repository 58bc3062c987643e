import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProtobufFormat, type ProtobufOptions } from './protobuf-format.ts'

interface Both {
  write: (value: unknown) => Buffer
  read: (bytes: Buffer) => unknown
}

/** Writes and reads by one schema. */
function formatOf(text: string, options: Partial<ProtobufOptions> = {}): Both {
  const format = new ProtobufFormat<unknown>({ subject: 's', ...options })
  const schema = { text, parts: [] }
  const write = format.writer(schema)
  const read = format.reader({ written: schema, own: undefined })
  return { write: (value) => write(1, value), read: (bytes) => read(bytes) }
}

const proto3 = (body: string): string => `syntax = "proto3"; package acme; ${body}`
const all = proto3(`message All {
  int32 i32 = 1; uint32 u32 = 2; int64 i64 = 3; uint64 u64 = 4; float f = 5; bool b = 6; string s = 7;
  bytes raw = 8; Kind kind = 9; Inner inner = 10; repeated Inner list = 11; map<uint32, string> by_u32 = 12;
  map<int64, int32> by_i64 = 13; map<bool, Inner> by_truth = 14; oneof one { string first = 15; int32 second = 16; }
  optional double maybe = 17;
  message Inner { sint32 n = 1; Inner inner = 2; }
  enum Kind { NONE = 0; SOME = 1; }
}`)

test.each([
  [{ i32: 1.5 }, 'i32: 1.5 is not a whole number'],
  [{ i32: 2 ** 31 }, 'i32: 2147483648 is not a number of 32 bits'],
  [{ i32: '5' }, 'i32: "5" is not a whole number'],
  [{ u32: -1 }, 'u32: -1 is not an unsigned number of 32 bits'],
  [{ i64: 2 ** 53 }, 'i64: 9007199254740992 is not a whole number of 64 bits'],
  [{ i64: 2n ** 63n }, 'i64: 9223372036854775808 is not a number of 64 bits'],
  [{ u64: -1n }, 'u64: -1 is not an unsigned number of 64 bits'],
  [{ f: '1' }, 'f: "1" is not a number'],
  [{ b: 1 }, 'b: 1 is not a boolean'],
  [{ s: 5 }, 's: 5 is not a string'],
  [{ raw: 'AA==' }, 'raw: "AA==" is not bytes'],
  [{ kind: 'OTHER' }, 'kind: "OTHER" is none of NONE, SOME'],
  [{ kind: 1.5 }, 'kind: 1.5 is none of NONE, SOME'],
  [{ kind: 'toString' }, 'kind: "toString" is none of NONE, SOME'],
  [{ inner: 5 }, 'inner: 5 is not an object'],
  [{ inner: { inner: { n: 'x' } } }, 'inner.inner.n: "x" is not a whole number'],
  [{ list: {} }, 'list: {} is not an array'],
  [{ list: [{ n: 1 }, null] }, 'list: the element 1 is not there'],
  [{ list: [{ n: 0.5 }] }, 'list.n: 0.5 is not a whole number'],
  [{ byU32: [] }, 'byU32: [] is not an object'],
  [{ byU32: { '-1': 'x' } }, 'byU32: -1 is not an unsigned number of 32 bits'],
  [{ byU32: { a: 'x' } }, 'byU32: "a" is not a whole number'],
  [{ byU32: { 1: null } }, 'byU32: the value of "1" is not there'],
  [
    { byI64: { '9223372036854775808': 1 } },
    'byI64: 9223372036854775808 is not a number of 64 bits',
  ],
  [{ byTruth: { yes: {} } }, 'byTruth: "yes" is not true or false'],
  [{ first: 'a', second: 1 }, 'one: there is first as well as second'],
  ['text', '"text" is not an object'],
  [null, 'null is not an object'],
  [[], '[] is not an object'],
])('the value %o is refused: %s', (value, message) => {
  expect(() => formatOf(all).write(value)).toThrow(message)
})

test('a required field must be there', () => {
  const { write } = formatOf('syntax = "proto2"; message Old { required int32 id = 1; }')
  expect(() => write({})).toThrow('id: it is required, and not there')
  expect(write({ id: 0 })).toEqual(Buffer.from('0000000001000800', 'hex'))
})

test('null counts as absent, and fields of other names are passed over', () => {
  const { write } = formatOf(all)
  expect(write({ i32: null, inner: undefined, unknown: 5 })).toEqual(
    Buffer.from('000000000100', 'hex'),
  )
  // Whatever stands on the prototype is no field.
  expect(write(Object.create({ i32: 5 }))).toEqual(Buffer.from('000000000100', 'hex'))
})

test('a number beyond 2^53 is an error when it is read, or a bigint', () => {
  const text = proto3('message M { uint64 n = 1; }')
  const big = formatOf(text, { longs: 'bigint' })
  const bytes = big.write({ n: 2n ** 53n })
  expect(big.read(bytes)).toEqual({ n: 2n ** 53n })
  expect(() => formatOf(text).read(bytes)).toThrow(
    "n: 9007199254740992 is beyond 2^53; use longs: 'bigint'",
  )
})

test('what is read is not a part of the bytes, which are borrowed', () => {
  const { write, read } = formatOf(all)
  const bytes = write({ raw: Buffer.from('abc') })
  const { raw } = read(bytes) as { raw: Buffer }
  bytes.fill(0)
  expect(raw.toString()).toBe('abc')
})

const two = proto3(
  'message A { int32 x = 1; } message B { int32 x = 1; message A { int32 y = 1; } }',
)

test('a serde for one message refuses another', () => {
  const ofB = formatOf(two, { messageType: 'B' })
  const ofAny = formatOf(two)
  const bytes = ofB.write({ x: 5 })
  expect(ofB.read(bytes)).toEqual({ x: 5 })
  expect(ofAny.read(bytes)).toEqual({ x: 5 })
  expect(() => ofB.read(ofAny.write({ x: 1 }))).toThrow('the value is a message acme.A, and not B')
  const inner = formatOf(two, { messageType: 'B.A' })
  expect(inner.write({ y: 1 })).toEqual(Buffer.from('00000000010402000801', 'hex'))
  expect(inner.read(inner.write({ y: 1 }))).toEqual({ y: 1 })
  expect(() => ofB.read(inner.write({ y: 1 }))).toThrow('a message acme.B.A, and not B')
})

test('a message of a name that the package has as well is the one of the package', () => {
  const { write } = formatOf(
    'syntax = "proto3"; package acme; message acme { int32 x = 1; } message M {}',
    {
      messageType: 'acme.M',
    },
  )
  expect(write({})).toEqual(Buffer.from('00000000010202', 'hex'))
})

test.each([
  [proto3('message A {}'), 'Missing', 'it has no message Missing; there are acme.A'],
  [proto3('message A {}'), 'acme', 'it has no message acme; there are acme.A'],
  [proto3(''), undefined, 'it has no message at the place 0'],
  [proto3('message A { Missing x = 1; }'), undefined, "no such Type or Enum 'Missing'"],
  ['syntax = "proto3"; message {', undefined, "illegal type name '{' (the schema, line 1)"],
  [
    proto3('import "other/file.proto"; message A {}'),
    undefined,
    'it imports other/file.proto, which is none of its references and not known otherwise',
  ],
  [
    proto3('import "google/protobuf/timestamp.proto"; message A {}'),
    'google.protobuf.Timestamp',
    'the message google.protobuf.Timestamp is in an import, and not in the file itself',
  ],
])('the schema %s with the message %s is refused', (text, messageType, message) => {
  expect(() => formatOf(text, { messageType })).toThrow(message)
})

test('a message at a place that the schema does not have is told', () => {
  const { read } = formatOf(two)
  for (const place of ['0204', '040204', '040000']) {
    const steps = place === '0204' ? '2' : place === '040204' ? '1.2' : '0.0'
    expect(() => read(Buffer.from(`0000000001${place}`, 'hex'))).toThrow(
      `it has no message at the place ${steps}`,
    )
  }
})

test('any and decimal have the fields that they are known for', () => {
  const text =
    proto3(`import "google/protobuf/any.proto"; import "confluent/type/decimal.proto"; import "confluent/meta.proto";
    message M { google.protobuf.Any any = 1; confluent.type.Decimal amount = 2; }`)
  const { write, read } = formatOf(text)
  const value = {
    any: { typeUrl: 'type.googleapis.com/acme.A', value: Buffer.from('0805', 'hex') },
    amount: { value: Buffer.from('04d2', 'hex'), precision: 4, scale: 2 },
  }
  expect(read(write(value))).toEqual(value)
})

const deep = (depth: number): object => (depth === 0 ? {} : { inner: deep(depth - 1) })

test('messages that are too deep are refused, and not the end of the process', () => {
  const { write, read } = formatOf(proto3('message M { M inner = 1; }'))
  expect(() => write(deep(20_000))).toThrow(Error)
  const { length } = write(deep(50))
  expect(length).toBeGreaterThan(100)
  let nested = Buffer.alloc(0)
  for (let depth = 0; depth < 500; depth += 1) {
    const size = nested.length
    const head = size < 128 ? [0x0a, size] : [0x0a, (size & 0x7f) | 0x80, size >> 7]
    nested = Buffer.concat([Buffer.from(head), nested])
  }
  expect(() => read(Buffer.concat([Buffer.from('000000000100', 'hex'), nested]))).toThrow(
    'max depth exceeded',
  )
})

test('whatever the bytes are, there is a value or an error, and soon', () => {
  const { write, read } = formatOf(all, { longs: 'bigint' })
  const value = {
    i32: -5,
    u32: 7,
    i64: -(2n ** 60n),
    u64: 2n ** 63n,
    f: 0.5,
    b: true,
    s: 'text',
    raw: Buffer.from('raw'),
    kind: 'SOME',
    inner: { n: 5, inner: { n: -6 } },
    list: [{ n: 1 }, { n: 2 }],
    byU32: { 7: 'seven' },
    byI64: { '-5': 5, '48909090909090909': 6 },
    byTruth: { true: { n: 1 } },
    second: 0,
    maybe: 0,
  }
  const whole = write(value)
  expect(read(whole)).toEqual(value)
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
  const cut = fc.nat(whole.length - 6).map((length) => whole.subarray(0, 5 + length))
  const random = fc
    .uint8Array({ maxLength: 60 })
    .map((payload) => Buffer.from([0, 0, 0, 0, 1, 0, ...payload]))
  fc.assert(
    fc.property(fc.oneof(changed, cut, random), (bytes) => {
      let again: unknown
      try {
        again = read(bytes)
      } catch (error) {
        return error instanceof Error
      }
      expect(read(write(again))).toEqual(again)
      return true
    }),
    { numRuns: 2000 },
  )
})

test.each([
  [{ subject: 's', schema: {} }, 'schema'],
  [{ subject: 's', messageType: '' }, 'messageType'],
  [{ subject: 's', longs: 'string' }, 'longs'],
  [{ subject: 's', validate: 'always' }, 'validate'],
])('the options %j are refused, at %s', (options, option) => {
  expect(() => new ProtobufFormat(options as unknown as ProtobufOptions)).toThrow(
    `The option ${option} is not valid`,
  )
})
