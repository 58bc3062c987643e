import { expect, test } from 'vitest'
import { JsonFormat, type JsonOptions } from './json-format.ts'

const order = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: { id: { type: 'string' }, total: { type: 'number', minimum: 0 } },
  required: ['id', 'total'],
}
const bytesOf = (text: string): Buffer => Buffer.concat([Buffer.alloc(5), Buffer.from(text)])

function formatOf(
  schema: unknown,
  options: Partial<JsonOptions> = {},
  parts: readonly { name: string; schema: unknown }[] = [],
): { write: (value: unknown) => Buffer; read: (bytes: Buffer) => unknown } {
  const format = new JsonFormat<unknown>({ subject: 's', ...options })
  const complete = {
    text: JSON.stringify(schema),
    parts: parts.map((part) => ({ name: part.name, text: JSON.stringify(part.schema) })),
  }
  const write = format.writer(complete)
  const written = format.needsWriter ? complete : undefined
  const own = typeof options.schema === 'string' ? { text: options.schema, parts: [] } : undefined
  const read = format.reader({ written, own })
  return { write: (value) => write(258, value), read: (bytes) => read(bytes) }
}

test('values are JSON behind the id, and validated before they are written', () => {
  const { write } = formatOf(order)
  const bytes = write({ id: 'grüß', total: 5 })
  expect(bytes.toString('hex', 0, 5)).toBe('0000000102')
  expect(bytes.toString('utf8', 5)).toBe('{"id":"grüß","total":5}')
  expect(() => write({ id: 'a', total: -1 })).toThrow('/total must be >= 0')
  expect(() => write({ id: 'a' })).toThrow("the value must have required property 'total'")
  expect(() => write(undefined)).toThrow('the value must be object')
})

test('what is read is validated only when that is asked for', () => {
  const bytes = bytesOf('{"id":5}')
  expect(formatOf(order).read(bytes)).toEqual({ id: 5 })
  expect(() => formatOf(order, { validate: 'always' }).read(bytes)).toThrow('must have required')
  const schema = JSON.stringify({ type: 'object', properties: { id: { type: 'string' } } })
  expect(() => formatOf(order, { validate: 'always', schema }).read(bytes)).toThrow(
    '/id must be string',
  )
  expect(formatOf(order, { validate: 'always', schema }).read(bytesOf('{"id":"a"}'))).toEqual({
    id: 'a',
  })
})

test('the schema of the writer is needed only to validate by it', () => {
  const needs = (options: Partial<JsonOptions>): boolean =>
    new JsonFormat({ subject: 's', ...options }).needsWriter
  expect(needs({})).toBe(false)
  expect(needs({ validate: 'always' })).toBe(true)
  expect(needs({ validate: 'always', schema: order })).toBe(false)
})

test.each(['', '{', 'undefined', '{"a":1} x', '\uFFFF'])(
  'bytes that are not JSON are refused: %j',
  (text) => {
    expect(() => formatOf(order).read(bytesOf(text))).toThrow(SyntaxError)
  },
)

test('a part stands where it is referred to', () => {
  const { write } = formatOf(
    { type: 'object', properties: { price: { $ref: 'money.json' } } },
    {},
    [{ name: 'money.json', schema: { type: 'object', required: ['units'] } }],
  )
  expect(write({ price: { units: 5 } }).toString('utf8', 5)).toBe('{"price":{"units":5}}')
  expect(() => write({ price: {} })).toThrow("/price must have required property 'units'")
})

test.each([
  ['http://json-schema.org/draft-06/schema#', { exclusiveMinimum: 5 }],
  ['http://json-schema.org/draft-07/schema#', { if: { const: 7 }, else: false }],
  [
    'https://json-schema.org/draft/2019-09/schema',
    { $defs: { a: { minimum: 6 } }, $ref: '#/$defs/a' },
  ],
  ['https://json-schema.org/draft/2020-12/schema', { prefixItems: [false], minimum: 6 }],
])('schemas of %s are understood', ($schema, rule) => {
  const { write } = formatOf({ $schema, ...rule })
  expect(() => write(5)).toThrow('the value')
  expect(write(7).toString('utf8', 5)).toBe('7')
})

test('a schema with keywords and formats of other programs is taken', () => {
  const schema = { type: 'string', format: 'made-up', 'connect.index': 5, javaType: 'x.Y' }
  expect(formatOf(schema).write('a').toString('utf8', 5)).toBe('"a"')
})

test('the first three of many faults are told', () => {
  const anyOf = ['string', 'array', 'object', 'null'].map((type) => ({ type }))
  expect(() => formatOf({ anyOf }).write(5)).toThrow(
    'the value must be string; the value must be array; the value must be object; and 2 more',
  )
})

test('a value that has no JSON form is refused, whatever the schema', () => {
  expect(() => formatOf({}).write(undefined)).toThrow('the value has no JSON form')
  expect(() => formatOf({}).write({ n: 5n })).toThrow('BigInt')
})

test.each([
  ['{', 'it is not JSON'],
  [
    '{"$schema":"http://json-schema.org/draft-04/schema#"}',
    'JSON Schema draft-04 is not supported',
  ],
  ['{"type":"nothing"}', 'type must be'],
  ['{"$ref":"missing.json"}', "can't resolve reference missing.json"],
])('the schema %s is refused', (text, message) => {
  const format = new JsonFormat<unknown>({ subject: 's' })
  expect(() => format.writer({ text, parts: [] })).toThrow(message)
})

test.each([
  [{ subject: 's', validate: 'never' }, 'validate'],
  [{ subject: 's', schema: 5 }, 'schema'],
  [{ subject: 's', longs: 'bigint' }, 'longs'],
])('the options %j are refused, at %s', (options, option) => {
  expect(() => new JsonFormat(options as unknown as JsonOptions)).toThrow(
    `The option ${option} is not valid`,
  )
})
