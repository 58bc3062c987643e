/** Payloads against those of Avro's and Protobuf's own libraries for Java (conformance/java/SchemaVectors.java). */
import avsc from 'avsc'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AvroFormat } from './avro-format.ts'
import type { LongForm } from './long-form.ts'
import { ProtobufFormat } from './protobuf-format.ts'
import type { CompleteSchema } from './registered-schema.ts'
import type { SchemaFormat } from './schema-format.ts'

interface Case {
  readonly name: string
  readonly schema: unknown
  readonly own?: unknown
  readonly parts?: readonly { readonly name: string; readonly schema: unknown }[]
  readonly longs?: LongForm
  readonly blocking?: boolean
  readonly message?: string
  readonly value: unknown
  readonly read?: unknown
}

interface Vector {
  readonly hex: string
  readonly read?: unknown
  readonly error?: string
}

function load<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'), revive) as T
}

/** Bytes and bigints, which JSON lacks. */
function revive(_name: string, value: unknown): unknown {
  if (typeof value === 'string' && /^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1))
  const { $bytes } = (value ?? {}) as { readonly $bytes?: string }
  return typeof $bytes === 'string' ? Buffer.from($bytes, 'hex') : value
}

const cases = load<{ avro: readonly Case[]; protobuf: readonly Case[] }>('schema-cases.json')
const vectors = load<Record<'avro' | 'protobuf', Record<string, Vector>>>('schema-vectors.json')
const id = 258

const textOf = (schema: unknown, isText: boolean): string =>
  isText ? String(schema) : JSON.stringify(schema)

function schemasOf(
  { schema, own, parts = [] }: Case,
  isText: boolean,
): { written: CompleteSchema; own: CompleteSchema | undefined } {
  const texts = parts.map(({ name, schema }) => ({ name, text: textOf(schema, isText) }))
  return {
    written: { text: textOf(schema, isText), parts: texts },
    own: own === undefined ? undefined : { text: textOf(own, isText), parts: [] },
  }
}

/** As JSON compares them: records of the library are of classes of their own. */
const plain = (value: unknown): unknown => structuredClone(value)

function assertBothWays(format: SchemaFormat<unknown>, one: Case, vector: Vector): void {
  const schemas = schemasOf(one, format.name === 'protobuf')
  if (one.blocking !== true) {
    expect(format.writer(schemas.written)(id, one.value).toString('hex')).toBe(vector.hex)
  }
  const bytes = Buffer.from(vector.hex, 'hex')
  const read = format.reader({ written: schemas.written, own: undefined })(bytes)
  // What was borrowed is not looked at again.
  bytes.fill(0xff)
  expect(plain(read)).toEqual(plain(one.value))
}

test.each(cases.avro.map((one) => [one.name, one] as const))('Avro: %s', (name, one) => {
  const vector = vectors.avro[name] as Vector
  const format = new AvroFormat<unknown>({ subject: 's', longs: one.longs })
  assertBothWays(format, one, vector)
  if (one.own === undefined) return

  const schemas = schemasOf(one, false)
  if (vector.error !== undefined) {
    expect(() => format.reader(schemas)).toThrow('no matching field for default-less User.age')
    return
  }
  const read = format.reader(schemas)(Buffer.from(vector.hex, 'hex'))
  expect(plain(read)).toEqual(plain(one.read))
  // What Java read, in the JSON of Avro.
  const type = avsc.Type.forSchema(one.own as avsc.Schema)
  expect(JSON.parse(type.toString(read))).toEqual(vector.read)
})

test.each(cases.protobuf.map((one) => [one.name, one] as const))('Protobuf: %s', (name, one) => {
  const vector = vectors.protobuf[name] as Vector
  const { message: messageType, longs } = one
  const format = new ProtobufFormat<unknown>({ subject: 's', messageType, longs })
  assertBothWays(format, one, vector)
  if (one.own === undefined) return
  const read = format.reader(schemasOf(one, true))(Buffer.from(vector.hex, 'hex'))
  expect(read).toEqual(one.read)
})

test('there is a vector for each case', () => {
  expect(Object.keys(vectors.avro)).toEqual(cases.avro.map(({ name }) => name))
  expect(Object.keys(vectors.protobuf)).toEqual(cases.protobuf.map(({ name }) => name))
})
