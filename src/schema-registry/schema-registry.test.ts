import { expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { optionalLibrary } from './optional-library.ts'
import { SchemaRegistry } from './schema-registry.ts'

interface User {
  id: string
}

const user = { type: 'record', name: 'User', fields: [{ name: 'id', type: 'string' }] }
const plain = (value: unknown): unknown => structuredClone(value)

async function codeOf(call: () => unknown): Promise<string | undefined> {
  try {
    await call()
  } catch (error) {
    return isStreamsError(error) ? error.code : String(error)
  }
  return undefined
}

test('a registry in this process is shared by its name, as long as somebody uses it', async () => {
  const first = new SchemaRegistry({ url: 'mock://shared' })
  const second = new SchemaRegistry({ url: 'mock://shared' })
  const other = new SchemaRegistry({ url: 'mock://other' })
  const bytes = first
    .avro<User>({ subject: 's', schema: user, register: true })
    .serialize({ id: 'a' })
  expect(Buffer.from(bytes).toString('hex')).toBe('00000000010261')
  expect(plain(second.avro<User>({ subject: 's' }).deserialize(bytes))).toEqual({ id: 'a' })
  expect(await codeOf(() => other.avro({ subject: 's' }).load())).toBe('SCHEMA_REGISTRY_NOT_FOUND')

  await first.close()
  await first.close()
  await new SchemaRegistry({ url: 'mock://shared' }).avro({ subject: 's' }).load()
  await second.close()
  await other.close()
})

test('a registry in this process is gone with its last client', async () => {
  const first = new SchemaRegistry({ url: 'mock://gone' })
  first.avro<User>({ subject: 's', schema: user, register: true }).serialize({ id: 'a' })
  await first.close()
  await using second = new SchemaRegistry({ url: 'mock://gone' })
  expect(await codeOf(() => second.avro({ subject: 's' }).load())).toBe('SCHEMA_REGISTRY_NOT_FOUND')
})

test('a registry in this process counts versions and ids, and knows equal schemas', async () => {
  await using registry = new SchemaRegistry({ url: 'mock://versions' })
  const idOf = (subject: string, schema: object): number =>
    Buffer.from(
      registry.avro<User>({ subject, schema, register: true }).serialize({ id: 'a' }),
    ).readUInt32BE(1)
  const wider = { ...user, fields: [...user.fields, { name: 'age', type: 'int', default: 0 }] }
  expect(idOf('s', user)).toBe(1)
  expect(idOf('s', wider)).toBe(2)
  expect(idOf('t', wider)).toBe(2)
  expect(idOf('s', user)).toBe(1)

  const known = registry.avro<User>({ subject: 's', schema: wider })
  const unknown = registry.avro<User>({ subject: 't', schema: user })
  await known.load()
  expect(await codeOf(() => unknown.serialize({ id: 'a' }))).toBe('SCHEMA_REGISTRY_NOT_FOUND')
  const reader = registry.avro<User>({ subject: 's', schema: user })
  expect(plain(reader.deserialize(known.serialize({ id: 'b' })))).toEqual({ id: 'b' })
})

test('all languages work with a registry in this process, with parts', async () => {
  await using registry = new SchemaRegistry({ url: 'mock://languages' })
  const money = 'syntax = "proto3"; message Money { int32 units = 1; }'
  registry.protobuf({ subject: 'money', schema: money, register: true }).serialize({ units: 1 })
  const order = registry.protobuf<object>({
    subject: 'order',
    schema: 'syntax = "proto3"; import "money.proto"; message Order { Money net = 1; }',
    references: [{ name: 'money.proto', subject: 'money', version: 1 }],
    register: true,
  })
  const json = registry.json<User>({ subject: 'json', schema: { type: 'object' }, register: true })
  await registry.load()
  expect(order.deserialize(order.serialize({ net: { units: 5 } }))).toEqual({ net: { units: 5 } })
  expect(json.deserialize(json.serialize({ id: 'a' }))).toEqual({ id: 'a' })
  const missing = [{ name: 'x', subject: 'money', version: 2 }]
  const broken = registry.json({ subject: 'b', schema: {}, references: missing, register: true })
  expect(await codeOf(() => broken.load())).toBe('SCHEMA_REGISTRY_NOT_FOUND')
})

test('a serde can be put into another one', async () => {
  await using registry = new SchemaRegistry({ url: 'mock://functions' })
  const serde = registry.avro<User>({ subject: 's', schema: user, register: true })
  const other = { ...serde, name: 'other' }
  expect(plain(other.deserialize(other.serialize({ id: 'a' })))).toEqual({ id: 'a' })
})

test('keys stand in URLs as JSON', async () => {
  await using registry = new SchemaRegistry({ url: 'mock://keys' })
  const key = registry.avro<User>({ subject: 's', schema: user, register: true })
  expect(key.text?.format({ id: 'a b' })).toBe('{"id":"a b"}')
  const parsed = key.text?.parse('{"id":"a b"}')
  expect(parsed).toEqual({ id: 'a b' })
  expect(key.serialize(parsed as User)).toEqual(key.serialize({ id: 'a b' }))
  expect(() => key.text?.parse('{"id')).toThrow(SyntaxError)

  const long = registry.avro<bigint>({
    subject: 'l',
    schema: 'long',
    longs: 'bigint',
    register: true,
  })
  expect(long.text?.format(5n)).toBe('5')
  expect(long.serialize(long.text?.parse('5') as bigint)).toEqual(long.serialize(5n))
  expect(long.text?.format(2n ** 60n)).toBe('"1152921504606846976"')
  expect(await codeOf(() => long.serialize(long.text?.parse('"x"') as bigint))).toBe('SERDE_FAILED')
  const bytes = registry.avro<Buffer>({ subject: 'b', schema: 'bytes', register: true })
  expect(bytes.text?.format(Buffer.from('abc'))).toBe('"YWJj"')
})

test('a library that is not installed is named, with what to do', () => {
  expect(() => optionalLibrary('no-such-library', 'Avro')).toThrow(
    "The library no-such-library is needed for Avro, and cannot be loaded: Cannot find module 'no-such-library'. Install it: npm install no-such-library.",
  )
})

test('what a registry is made of does not show in what is printed of it', async () => {
  const auth = { username: 'me', password: 'sesame-4711' }
  await using registry = new SchemaRegistry({ url: 'http://localhost:1', auth })
  const serde = registry.avro({ subject: 's' })
  const { inspect } = await import('node:util')
  const shown = [registry, serde].map((one) => inspect(one, { depth: 9, showHidden: true })).join()
  expect(shown).toContain('SchemaRegistry')
  expect(`${shown} ${JSON.stringify([registry, serde])}`).not.toMatch(/sesame|bWU6/)
})
