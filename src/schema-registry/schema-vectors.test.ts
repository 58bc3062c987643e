/** Payloads against those of Avro's and Protobuf's own libraries for Java (conformance/java/SchemaVectors.java). */
import { Type, type Schema } from 'avsc'
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

function load(file: string): unknown {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'), revive)
}

/** Bytes and bigints, which JSON lacks. */
function revive(_name: string, value: unknown): unknown {
  if (typeof value === 'string' && /^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1))
  const { $bytes } = (value ?? {}) as { readonly $bytes?: string }
  return typeof $bytes === 'string' ? Buffer.from($bytes, 'hex') : value
}

type Language = 'avro' | 'protobuf'

const cases = load('schema-cases.json') as Record<Language, readonly Case[]>
const vectors = load('schema-vectors.json') as Record<Language, Record<string, Vector>>
const id = 258

const vectorOf = (language: Language, { name }: Case): Vector => vectors[language][name] as Vector
const bytesOf = ({ hex }: Vector): Buffer => Buffer.from(hex, 'hex')

function formatOf(language: Language, one: Case): SchemaFormat<unknown> {
  const { message: messageType, longs } = one
  return language === 'avro'
    ? new AvroFormat({ subject: 's', longs })
    : new ProtobufFormat({ subject: 's', longs, messageType })
}

function schemasOf(
  language: Language,
  { schema, own, parts = [] }: Case,
): { written: CompleteSchema; own: CompleteSchema | undefined } {
  const textOf = (given: unknown): string =>
    language === 'avro' ? JSON.stringify(given) : String(given)
  return {
    written: {
      text: textOf(schema),
      parts: parts.map((part) => ({ name: part.name, text: textOf(part.schema) })),
    },
    own: own === undefined ? undefined : { text: textOf(own), parts: [] },
  }
}

/** As JSON compares them: records of the library are of classes of their own. */
const plain = (value: unknown): unknown => structuredClone(value)

type Row = readonly [Language, string, Case]
const rows: readonly Row[] = (['avro', 'protobuf'] as const).flatMap((language) =>
  cases[language].map((one) => [language, one.name, one] as const),
)

// A writer may put elements into blocks as it likes.
test.each(rows.filter(([, , one]) => one.blocking !== true))(
  '%s writes the bytes of Java: %s',
  (language, _name, one) => {
    const write = formatOf(language, one).writer(schemasOf(language, one).written)
    expect(write(id, one.value).toString('hex')).toBe(vectorOf(language, one).hex)
  },
)

test.each(rows)('%s reads the bytes of Java: %s', (language, _name, one) => {
  const { written } = schemasOf(language, one)
  const bytes = bytesOf(vectorOf(language, one))
  const read = formatOf(language, one).reader({ written, own: undefined })(bytes)
  // What was borrowed is not looked at again.
  bytes.fill(0xff)
  expect(plain(read)).toEqual(plain(one.value))
})

const changes = rows.filter(([, , one]) => one.own !== undefined)

test.each(changes.filter(([, , one]) => one.read !== undefined))(
  '%s reads by another version: %s',
  (language, _name, one) => {
    const read = formatOf(language, one).reader(schemasOf(language, one))
    expect(plain(read(bytesOf(vectorOf(language, one))))).toEqual(plain(one.read))
  },
)

test.each(changes.filter(([language, , one]) => language === 'avro' && one.read !== undefined))(
  '%s reads by another version what Java reads: %s',
  (language, _name, one) => {
    const vector = vectorOf(language, one)
    const read = formatOf(language, one).reader(schemasOf(language, one))(bytesOf(vector))
    const json = Type.forSchema(one.own as Schema).toString(read)
    expect(JSON.parse(json)).toEqual(vector.read)
  },
)

test.each(changes.filter(([, , one]) => one.read === undefined))(
  '%s refuses what Java refuses: %s',
  (language, _name, one) => {
    expect(vectorOf(language, one).error).toContain('missing required field age')
    expect(() => formatOf(language, one).reader(schemasOf(language, one))).toThrow(
      'no matching field for default-less User.age',
    )
  },
)

test('there is a vector for each case', () => {
  expect(Object.keys(vectors.avro)).toEqual(cases.avro.map(({ name }) => name))
  expect(Object.keys(vectors.protobuf)).toEqual(cases.protobuf.map(({ name }) => name))
})
