/** Serdes of `millpond/schema-registry` against a registry over HTTP, in another process. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { serdes, StreamsBuilder, keyValueStore, nullable, topic } from 'millpond'
import { SchemaRegistry, type SchemaRegistryOptions } from 'millpond/schema-registry'
import { TopologyTestDriver } from 'millpond/testing'
import { failureOf } from '../peers/failure-of.ts'
import { localhostCertificate } from '../peers/localhost-certificate.ts'
import { SchemaRegistryPeer } from '../peers/schema-registry.ts'
import { thrownBy } from '../peers/thrown-by.ts'

interface Order {
  id: string
  total: number
}

const orderV1 = {
  type: 'record',
  name: 'Order',
  namespace: 'com.acme',
  fields: [
    { name: 'id', type: 'string' },
    { name: 'total', type: 'long' },
  ],
}
const orderV2 = {
  ...orderV1,
  fields: [...orderV1.fields, { name: 'note', type: ['null', 'string'], default: null }],
}

let peer: SchemaRegistryPeer
let count = 0
/** A subject that no other test uses. */
let subject = ''

beforeAll(async () => {
  peer = await SchemaRegistryPeer.start({ firstId: 1000 })
})
afterAll(() => peer[Symbol.asyncDispose]())
beforeEach(async () => {
  count += 1
  subject = `orders-${count}-value`
  await peer.fail()
  await peer.seen()
})

function registryOf(options: Partial<SchemaRegistryOptions> = {}): SchemaRegistry {
  return new SchemaRegistry({ url: peer.url, timeoutMs: 5000, ...options })
}

async function seenPaths(): Promise<string[]> {
  return (await peer.seen()).map(({ method, path }) => `${method} ${path}`)
}

const plain = (value: unknown): unknown => structuredClone(value)
const idOf = (bytes: Uint8Array): number => Buffer.from(bytes).readUInt32BE(1)

test('a schema that is registered is looked up at the first value, and never again', async () => {
  const id = await peer.register(subject, orderV1)
  await using registry = registryOf()
  const serde = registry.avro<Order>({ subject, schema: orderV1 })
  expect(serde.name).toBe(`avro(${subject})`)
  expect(await seenPaths()).toEqual([`POST /subjects/${subject}/versions`])

  const bytes = serde.serialize({ id: 'a', total: 5 })
  expect(idOf(bytes)).toBe(id)
  expect(Buffer.from(bytes.subarray(5)).toString('hex')).toBe('02610a')
  expect(plain(serde.deserialize(bytes))).toEqual({ id: 'a', total: 5 })
  serde.serialize({ id: 'b', total: 6 })
  // Under its own id the schema is known as well.
  expect(await seenPaths()).toEqual([`POST /subjects/${subject}`])
})

test('a schema is registered when that was asked for', async () => {
  await using registry = registryOf()
  const value = { id: 'a', total: 5 }
  const serde = registry.avro<Order>({ subject, schema: orderV1, register: true })
  const id = idOf(serde.serialize(value))
  expect(idOf(registry.avro<Order>({ subject, schema: orderV1 }).serialize(value))).toBe(id)
  const [request] = await peer.seen()
  expect(request?.path).toBe(`/subjects/${subject}/versions`)
  expect(request?.headers['content-type']).toBe('application/vnd.schemaregistry.v1+json')
  expect(JSON.parse(request?.body ?? '')).toEqual({
    schema: JSON.stringify(orderV1),
    schemaType: 'AVRO',
  })
})

test('without a schema of its own a serde writes by the latest version and reads each by its own', async () => {
  await using registry = registryOf()
  const v1 = registry.avro<Order>({ subject, schema: orderV1, register: true })
  const old = v1.serialize({ id: 'a', total: 5 })
  await peer.register(subject, orderV2)
  const serde = registry.avro<Order & { note?: string | null }>({ subject })
  expect(plain(serde.deserialize(old))).toEqual({ id: 'a', total: 5 })
  const bytes = serde.serialize({ id: 'b', total: 6, note: 'n' })
  expect(plain(serde.deserialize(bytes))).toEqual({ id: 'b', total: 6, note: 'n' })
  expect(plain(v1.deserialize(bytes))).toEqual({ id: 'b', total: 6 })
})

test('version 2 is read by version 1 and version 1 by version 2', async () => {
  await using registry = registryOf()
  const v1 = registry.avro<Order>({ subject, schema: orderV1, register: true })
  const v2 = registry.avro<Order & { note: string | null }>({
    subject,
    schema: orderV2,
    register: true,
  })
  const first = v1.serialize({ id: 'a', total: 5 })
  const second = v2.serialize({ id: 'b', total: 6, note: 'n' })
  expect(plain(v2.deserialize(first))).toEqual({ id: 'a', total: 5, note: null })
  expect(plain(v1.deserialize(second))).toEqual({ id: 'b', total: 6 })
})

test('after load nothing is asked any more, also about versions that were deleted', async () => {
  const oldId = await peer.register(subject, orderV1)
  await peer.register(subject, orderV2)
  await peer.delete(subject, 1)
  await using registry = registryOf()
  const serde = registry.avro<Order>({ subject, schema: orderV2 })
  await registry.load()
  expect(await seenPaths()).toContain(`GET /subjects/${subject}/versions/1?deleted=true`)

  const old = Buffer.from(serde.serialize({ id: 'a', total: 5 }))
  expect(await seenPaths()).toEqual([])
  const written = Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), Buffer.from('02610a', 'hex')])
  written.writeUInt32BE(oldId, 1)
  expect(plain(serde.deserialize(written))).toEqual({ id: 'a', total: 5, note: null })
  expect(plain(serde.deserialize(old))).toEqual({ id: 'a', total: 5, note: null })
  expect(await seenPaths()).toEqual([])
})

test('load passes over what is not there yet, where a schema is stated, and over versions of no use', async () => {
  await using registry = registryOf()
  const reader = registry.avro<Order>({ subject, schema: orderV1 })
  await registry.load()
  await peer.register(subject, { ...orderV1, fields: [{ name: 'other', type: 'int' }] })
  await reader.load()
  const later = registry.avro<Order>({ subject: `${subject}-missing` })
  expect(await failureOf(registry.load())).toMatchObject({ code: 'SCHEMA_REGISTRY_NOT_FOUND' })
  expect(await failureOf(later.load())).toMatchObject({
    message: `The schema registry does not know the subject ${subject}-missing: Subject '${subject}-missing' not found (error 40401).`,
  })
})

test('an id that appears while the program runs holds it up once', async () => {
  await using registry = registryOf()
  const serde = registry.avro<Order>({ subject, schema: orderV1, register: true })
  await serde.load()
  await using other = registryOf()
  const v2 = other.avro<object>({ subject, schema: orderV2, register: true })
  const bytes = v2.serialize({ id: 'a', total: 5, note: 'n' })
  await peer.seen()
  for (let times = 0; times < 3; times += 1) {
    expect(plain(serde.deserialize(bytes))).toEqual({ id: 'a', total: 5 })
  }
  expect(await seenPaths()).toEqual([`GET /schemas/ids/${idOf(bytes)}`])
})

test('serdes that want the same at the same time ask once', async () => {
  await peer.register(subject, orderV1)
  await using registry = registryOf()
  const serdesOfOne = Array.from({ length: 4 }, () => registry.avro<Order>({ subject }))
  await Promise.all(serdesOfOne.map((serde) => serde.load()))
  expect((await seenPaths()).slice(1)).toEqual([
    `GET /subjects/${subject}/versions/latest`,
    `GET /subjects/${subject}/versions?deleted=true`,
    `GET /subjects/${subject}/versions/1?deleted=true`,
  ])
})

test('a serde that cannot wait and one that can ask for the same at the same time', async () => {
  await peer.register(subject, orderV1)
  await using registry = registryOf()
  const [first, second] = [registry.avro<Order>({ subject }), registry.avro<Order>({ subject })]
  const loading = first.load()
  const bytes = second.serialize({ id: 'a', total: 5 })
  await loading
  expect(first.serialize({ id: 'a', total: 5 })).toEqual(bytes)
})

test('parts of a schema come from the registry, also those of its versions', async () => {
  const money = {
    type: 'record',
    name: 'Money',
    namespace: 'com.acme',
    fields: [{ name: 'units', type: 'long' }],
  }
  const invoice = {
    type: 'record',
    name: 'Invoice',
    namespace: 'com.acme',
    fields: [{ name: 'net', type: 'com.acme.Money' }],
  }
  await peer.register(`money-${count}`, money)
  const references = [{ name: 'com.acme.Money', subject: `money-${count}`, version: 1 }]
  await using registry = registryOf()
  const options = { subject, schema: invoice, references, register: true }
  const bytes = registry.avro<object>(options).serialize({ net: { units: 5 } })
  await using other = registryOf()
  expect(plain(other.avro({ subject }).deserialize(bytes))).toEqual({ net: { units: 5 } })
})

test('Protobuf: files, imports and the place of the message come from the registry', async () => {
  const money = 'syntax = "proto3"; package acme; message Money { int64 units = 1; }'
  const order =
    'syntax = "proto3"; package acme; import "money.proto"; import "google/protobuf/timestamp.proto"; ' +
    'message Other {} message Order { string id = 1; Money net = 2; google.protobuf.Timestamp at = 3; }'
  await peer.register(`money-${count}`, money, { schemaType: 'PROTOBUF' })
  const references = [{ name: 'money.proto', subject: `money-${count}`, version: 1 }]
  await using registry = registryOf()
  const messageType = 'Order'
  const serde = registry.protobuf<object>({
    subject,
    schema: order,
    references,
    messageType,
    register: true,
  })
  expect(serde.name).toBe(`protobuf(${subject})`)
  const value = { id: 'a', net: { units: 5 }, at: { seconds: 1, nanos: 2 } }
  const bytes = serde.serialize(value)
  expect(Buffer.from(bytes.subarray(5)).toString('hex')).toBe('02020a0161120208051a0408011002')

  await using other = registryOf()
  const reader = other.protobuf<object>({ subject, messageType })
  await other.load()
  await peer.seen()
  expect(reader.deserialize(bytes)).toEqual(value)
  expect(await seenPaths()).toEqual([])
})

test('JSON: values are validated, and read without asking', async () => {
  const schema = { type: 'object', properties: { total: { type: 'number' } } }
  await using registry = registryOf()
  const serde = registry.json<object>({ subject, schema, register: true })
  const bytes = serde.serialize({ total: 5 })
  expect(thrownBy(() => serde.serialize({ total: 'x' }))).toMatchObject({
    code: 'SERDE_FAILED',
    message: `The serde json(${subject}) could not serialize a value: /total must be number.`,
  })
  await using other = registryOf()
  await peer.seen()
  expect(other.json({ subject }).deserialize(bytes)).toEqual({ total: 5 })
  expect(await seenPaths()).toEqual([])
  const strict = other.json({ subject, validate: 'always' })
  expect(strict.deserialize(bytes)).toEqual({ total: 5 })
  expect(await seenPaths()).toEqual([`GET /schemas/ids/${idOf(bytes)}`])
})

test('a schema of another language is told', async () => {
  await peer.register(subject, '{"type":"object"}', { schemaType: 'JSON' })
  await using registry = registryOf()
  expect(thrownBy(() => registry.avro({ subject }).serialize({}))).toMatchObject({
    code: 'SCHEMA_REGISTRY_SCHEMA_INVALID',
    message: `It is not possible to use the schema to write the subject ${subject} with: it is a schema of type JSON, and avro(${subject}) is for AVRO.`,
  })
})

test('what the registry refuses is told: not there, not compatible, no schema', async () => {
  await peer.register(subject, orderV1)
  await using registry = registryOf()
  const wrong = { ...orderV1, fields: [...orderV1.fields, { name: 'note', type: 'string' }] }
  const lookedUp = registry.avro<object>({ subject, schema: wrong })
  expect(thrownBy(() => lookedUp.serialize({}))).toMatchObject({
    code: 'SCHEMA_REGISTRY_NOT_FOUND',
    context: { status: 404, registryCode: 40403 },
  })
  const registered = registry.avro<object>({ subject, schema: wrong, register: true })
  const refused = thrownBy(() => registered.serialize({}))
  expect(refused.code).toBe('SCHEMA_REGISTRY_INCOMPATIBLE')
  expect(refused.message).toContain(`the schema for the subject ${subject}`)
  expect(refused.message).toContain('READER_FIELD_MISSING_DEFAULT_VALUE')
  const broken = registry.avro<object>({ subject, schema: { type: 'record' }, register: true })
  expect(await failureOf(broken.load())).toMatchObject({ code: 'SCHEMA_REGISTRY_SCHEMA_INVALID' })
  const unknown = registry.avro({ subject, schema: orderV1 })
  expect(thrownBy(() => unknown.deserialize(Buffer.from('00000f42400000', 'hex')))).toMatchObject({
    code: 'SCHEMA_REGISTRY_NOT_FOUND',
    message:
      'The schema registry does not know the schema id 1000000: Schema 1000000 not found (error 40403).',
  })
})

test('what the writer wrote and the reader cannot read is told for each value', async () => {
  await using registry = registryOf()
  const writer = registry.avro<Order>({ subject, schema: orderV1, register: true })
  const bytes = writer.serialize({ id: 'a', total: 5 })
  const own = { ...orderV1, fields: [...orderV1.fields, { name: 'must', type: 'int' }] }
  const reader = registry.avro({ subject, schema: own })
  for (let times = 0; times < 2; times += 1) {
    const error = thrownBy(() => reader.deserialize(bytes))
    expect(error.code).toBe('SCHEMA_REGISTRY_SCHEMA_INVALID')
    expect(error.message).toContain(`the schema id ${idOf(bytes)} for avro(${subject})`)
    expect(error.message).toContain('no matching field for default-less com.acme.Order.must')
  }
})

test('bytes that are no such value name the serde, the id and the reason', async () => {
  await using registry = registryOf()
  const serde = registry.avro<Order>({ subject, schema: orderV1, register: true })
  const bytes = Buffer.from(serde.serialize({ id: 'abc', total: 5 }))
  expect(thrownBy(() => serde.deserialize(bytes.subarray(0, 7))).message).toBe(
    `The serde avro(${subject}) could not deserialize a value: schema id ${idOf(bytes)}: truncated buffer.`,
  )
  expect(thrownBy(() => serde.deserialize(Buffer.from('{"id":"a"}'))).message).toContain(
    'it begins with byte 123 and not with 0, a schema id',
  )
  expect(thrownBy(() => serde.serialize({ id: 'a' } as Order)).message).toBe(
    `The serde avro(${subject}) could not serialize a value: total: undefined is not of the type long.`,
  )
})

test.each([
  ['an answer of 500', { status: 500, text: 'oops' }],
  ['a dropped connection', 'drop'],
  ['an answer that breaks off', 'cut'],
] as const)('%s is asked again', async (_name, fault) => {
  const id = await peer.register(subject, orderV1)
  await using registry = registryOf()
  await peer.fail(fault, fault)
  expect(idOf(registry.avro<Order>({ subject }).serialize({ id: 'a', total: 5 }))).toBe(id)
  await peer.fail(fault)
  await using other = registryOf()
  await other.avro<Order>({ subject }).load()
})

test('a registry that hangs holds a serde up for timeoutMs and no longer', async () => {
  await using registry = registryOf({ timeoutMs: 300 })
  await peer.fail(...Array<'hang'>(10).fill('hang'))
  const serde = registry.avro({ subject })
  const started = performance.now()
  const error = thrownBy(() => serde.serialize({}))
  expect(performance.now() - started).toBeLessThan(5000)
  expect(error).toMatchObject({ code: 'SCHEMA_REGISTRY_UNAVAILABLE', retriable: true })
  expect(error.message).toMatch(
    /about the subject orders-\d+-value: http:\S+: no answer within \d+ ms\./,
  )
  // While it is believed to be down, nobody waits.
  await peer.seen()
  expect(thrownBy(() => serde.serialize({})).code).toBe('SCHEMA_REGISTRY_UNAVAILABLE')
  expect(await seenPaths()).toEqual([])
  await peer.fail(...Array<'hang'>(10).fill('hang'))
  expect(await failureOf(serde.load())).toMatchObject({ code: 'SCHEMA_REGISTRY_UNAVAILABLE' })
})

test('nobody listens: the error says where', async () => {
  const gone = await SchemaRegistryPeer.start()
  await gone[Symbol.asyncDispose]()
  await using registry = new SchemaRegistry({ url: gone.url, timeoutMs: 300 })
  const { code, message } = thrownBy(() => registry.avro({ subject }).serialize({}))
  expect(code).toBe('SCHEMA_REGISTRY_UNAVAILABLE')
  expect(message).toContain(`${gone.url}: connect ECONNREFUSED`)
})

test('the second server of a registry is asked when the first one is gone', async () => {
  const id = await peer.register(subject, orderV1)
  await using registry = registryOf({
    url: undefined,
    urls: ['http://127.0.0.1:1', `${peer.url}/`],
  })
  expect(idOf(registry.avro<Order>({ subject }).serialize({ id: 'a', total: 5 }))).toBe(id)
})

test.each([
  ['a page of a proxy', { status: 200, text: '<html>' }, 'it is not JSON'],
  ['another answer', { status: 200, text: '{"versions":[]}' }, 'it has no schema'],
  ['a redirect', { status: 302, text: '', headers: { location: '/x' } }, 'status 302'],
])('%s is told', async (_name, fault, reason) => {
  await using registry = registryOf()
  await peer.fail(fault)
  const error = thrownBy(() => registry.avro({ subject }).serialize({}))
  expect(error.code).toBe('SCHEMA_REGISTRY_FAILED')
  expect(error.message).toContain(`the subject ${subject} that is of no use: ${reason}`)
})

test('users and tokens are sent, and nothing that is said shows them', async () => {
  const password = 'sesame-4711'
  const authorization = `Basic ${Buffer.from(`me:${password}`).toString('base64')}`
  await using closed = await SchemaRegistryPeer.start({ authorization })
  await using registry = new SchemaRegistry({ url: closed.url, auth: { username: 'me', password } })
  const right = registry.avro<Order>({ subject, schema: orderV1, register: true })
  right.serialize({ id: 'a', total: 5 })

  const token = 'token-of-another-kind'
  await using refused = new SchemaRegistry({ url: closed.url, auth: { token } })
  const error = thrownBy(() => refused.avro({ subject }).serialize({}))
  expect(error).toMatchObject({ code: 'SCHEMA_REGISTRY_UNAUTHORIZED', context: { status: 401 } })
  // This registry repeats what it was sent.
  expect(error.message).toContain('Unauthorized: Bearer ***')
  expect(`${error.stack} ${JSON.stringify(error.context)}`).not.toContain(token)
  const [seen] = (await closed.seen()).slice(-1)
  expect(seen?.headers['authorization']).toBe(`Bearer ${token}`)
})

test('headers of the program are sent', async () => {
  await using registry = registryOf({ headers: { 'X-Tenant': 'seven' } })
  thrownBy(() => registry.avro({ subject }).serialize({}))
  const [seen] = await peer.seen()
  expect(seen?.headers['x-tenant']).toBe('seven')
})

test('a registry behind TLS is asked when its certificate is trusted, and not otherwise', async () => {
  const { cert, key } = localhostCertificate
  await using secure = await SchemaRegistryPeer.start({ tls: { cert, key } })
  await using trusting = new SchemaRegistry({ url: secure.url, tls: { ca: cert } })
  const serde = trusting.avro<Order>({ subject, schema: orderV1, register: true })
  expect(idOf(serde.serialize({ id: 'a', total: 5 }))).toBe(1)
  await using other = new SchemaRegistry({ url: secure.url, timeoutMs: 300 })
  const error = thrownBy(() => other.avro({ subject }).serialize({}))
  expect(error.code).toBe('SCHEMA_REGISTRY_UNAVAILABLE')
  expect(error.message).toContain('self-signed certificate')
})

test('after close a serde goes on with what it knows, and no thread is left', async () => {
  const threads = (): number =>
    process
      .getActiveResourcesInfo()
      .filter((name) => name.includes('Worker') || name === 'MessagePort').length
  const before = threads()
  const registry = registryOf()
  const serde = registry.avro<Order>({ subject, schema: orderV1, register: true })
  const bytes = serde.serialize({ id: 'a', total: 5 })
  await registry.close()
  await registry.close()
  expect(plain(serde.deserialize(bytes))).toEqual({ id: 'a', total: 5 })
  const unknown = Buffer.from(bytes)
  unknown.writeUInt32BE(7, 1)
  expect(thrownBy(() => serde.deserialize(unknown)).code).toBe('CLIENT_CLOSED')
  expect(await failureOf(serde.load())).toMatchObject({ code: 'CLIENT_CLOSED' })
  expect(threads()).toBe(before)
})

test('a program that does not close its registry ends all the same', async () => {
  const path = fileURLToPath(new URL('schema-registry-program.ts', import.meta.url))
  // The peer answers from another process: this one may wait.
  const { stdout, status } = spawnSync(process.execPath, ['--import', 'tsx', path, peer.url], {
    encoding: 'utf8',
    timeout: 15_000,
  })
  expect({ stdout, status }).toEqual({ stdout: '0a68656c6c6f', status: 0 })
})

test('whoever waits when a registry is closed hears of it', async () => {
  const registry = registryOf({ timeoutMs: 60_000 })
  await peer.fail('hang')
  const failure = failureOf(registry.avro({ subject }).load())
  await registry.close()
  expect(await failure).toMatchObject({ code: 'CLIENT_CLOSED' })
})

test('a topology reads, stores and writes values of a registry', async () => {
  await using registry = registryOf()
  const value = registry.avro<Order>({ subject, schema: orderV1, register: true })
  const key = registry.avro<{ customer: string }>({
    subject: `${subject}-key`,
    schema: { type: 'record', name: 'Key', fields: [{ name: 'customer', type: 'string' }] },
    register: true,
  })
  const totals = registry.protobuf<{ orders: number; total: number }>({
    subject: `${subject}-totals`,
    schema: 'syntax = "proto3"; message Totals { int32 orders = 1; int64 total = 2; }',
    register: true,
  })
  const orders = topic('orders', { key, value })
  const byCustomer = keyValueStore('totals-by-customer', { key, value: totals })
  const output = topic('totals', { key: serdes.string, value: nullable(totals) })
  const builder = new StreamsBuilder()
  builder
    .stream(orders)
    .groupByKey()
    .aggregate(
      () => ({ orders: 0, total: 0 }),
      (sum, order) => ({ orders: sum.orders + 1, total: sum.total + order.total }),
      { store: byCustomer },
    )
    .toStream()
    .selectKey((_totals, { customer }) => customer, { key: serdes.string })
    .to(output)
  await registry.load()

  await peer.seen()
  using driver = new TopologyTestDriver(builder.build())
  const input = driver.input(orders)
  input.pipe({ key: { customer: 'c' }, value: { id: 'a', total: 5 }, timestamp: 1 })
  input.pipe({ key: { customer: 'c' }, value: { id: 'b', total: 6 }, timestamp: 2 })
  expect(driver.output(output).readAll()).toEqual([
    { key: 'c', value: { orders: 1, total: 5 }, timestamp: 1 },
    { key: 'c', value: { orders: 2, total: 11 }, timestamp: 2 },
  ])
  expect(driver.store(byCustomer).get({ customer: 'c' })).toEqual({ orders: 2, total: 11 })
  expect(await seenPaths()).toEqual([])
})
