import { expect, test } from 'vitest'
import { ScriptedExchange, type Script } from '../../test/peers/scripted-exchange.ts'
import type { Random } from '../base/random.ts'
import { isStreamsError, type StreamsError } from '../errors.ts'
import { run, runNow, type Lookup } from './lookup.ts'
import { RegistryClient } from './registry-client.ts'

const text = '{"type":"string"}'
const ok = (body: unknown): ReturnType<Script> => ({ status: 200, text: JSON.stringify(body) })
const failed = (
  status: number,
  code: number,
  message: string,
): { status: number; text: string } => ({
  status,
  text: JSON.stringify({ error_code: code, message }),
})

/** The pauses are exactly as long as they are meant to be. */
const middling: Random = { next: () => 0.5, bytes: (length) => Buffer.alloc(length) }

function clientOf(
  script: Script,
  servers: readonly string[] = ['http://a'],
): { client: RegistryClient; exchange: ScriptedExchange } {
  const exchange = new ScriptedExchange(script)
  const { clock } = exchange
  const client = new RegistryClient({ servers, timeoutMs: 10_000, clock, random: middling })
  return { client, exchange }
}

function failureNow(exchange: ScriptedExchange, lookup: Lookup<unknown>): StreamsError {
  try {
    runNow(exchange, lookup)
  } catch (error) {
    if (isStreamsError(error)) return error
    throw error
  }
  throw new Error('it did not fail')
}

test('a schema is asked for once, whoever asks and in whichever way', async () => {
  const { client, exchange } = clientOf(() => ok({ schema: text }))
  const expected = { type: 'AVRO', text, references: [] }
  expect(runNow(exchange, client.schemaById(7, 's'))).toEqual(expected)
  expect(runNow(exchange, client.schemaById(7, 's'))).toEqual(expected)
  expect(await run(exchange, client.schemaById(7, 's'))).toEqual(expected)
  expect(exchange.seen).toEqual(['GET http://a/schemas/ids/7'])
})

test('what was learnt as a version, or registered, is known by its id', () => {
  const { client, exchange } = clientOf(({ method }) =>
    method === 'POST' ? ok({ id: 4 }) : ok({ id: 3, version: 1, subject: 's', schema: text }),
  )
  runNow(exchange, client.version('s', 1))
  runNow(exchange, client.version('s', 1))
  runNow(exchange, client.register('s', { type: 'JSON', text: '{}', references: [] }))
  expect(runNow(exchange, client.schemaById(3, 's')).text).toBe(text)
  expect(runNow(exchange, client.schemaById(4, 's')).type).toBe('JSON')
  expect(exchange.seen).toEqual([
    'GET http://a/subjects/s/versions/1?deleted=true',
    'POST http://a/subjects/s/versions',
  ])
})

test('the next server is asked when one fails, in each of the ways that may pass', () => {
  for (const answer of [
    { failure: 'connect ECONNREFUSED' },
    { status: 500, text: 'oops' },
    { status: 503, text: '' },
    { status: 429, text: '' },
    { status: 408, text: '' },
  ]) {
    const { client, exchange } = clientOf(
      ({ server }) => (server === 'http://a' ? answer : ok({ schema: text })),
      ['http://a', 'http://b'],
    )
    expect(runNow(exchange, client.schemaById(1, 's')).text).toBe(text)
    expect(exchange.seen).toEqual(['GET http://a/schemas/ids/1', 'GET http://b/schemas/ids/1'])
    expect(exchange.pauses).toEqual([])
  }
})

test('after all servers failed there is a pause, longer each time, until the time is over', () => {
  const { client, exchange } = clientOf(() => ({ failure: 'refused' }), ['http://a', 'http://b'])
  const error = failureNow(exchange, client.schemaById(1, 's'))
  expect(error.code).toBe('SCHEMA_REGISTRY_UNAVAILABLE')
  expect(error.retriable).toBe(true)
  expect(error.message).toBe(
    'The schema registry gave no answer about the schema id 1: http://b: refused.',
  )
  expect(exchange.pauses.slice(0, 6)).toEqual([100, 200, 400, 800, 1000, 1000])
  expect(exchange.clock.monotonic()).toBeLessThanOrEqual(10_000)
  expect(exchange.clock.monotonic()).toBeGreaterThan(8500)
})

test('servers that hang share the time, and none of it is exceeded', async () => {
  const { client, exchange } = clientOf(() => ok({ schema: text }), ['http://a', 'http://b'])
  exchange.takesMs = 100_000
  const error = await run(exchange, client.schemaById(1, 's')).catch((error: unknown) => error)
  expect(isStreamsError(error, 'SCHEMA_REGISTRY_UNAVAILABLE')).toBe(true)
  expect(String(error)).toContain('too late')
  expect(exchange.seen.length).toBe(3)
  expect(exchange.clock.monotonic()).toBe(10_000)
})

test('a registry that does not answer is left alone for a second, and then asked again', () => {
  const { client, exchange } = clientOf(() => ({ failure: 'refused' }))
  failureNow(exchange, client.schemaById(1, 's'))
  const asked = exchange.seen.length
  const error = failureNow(exchange, client.schemaById(2, 's'))
  expect(error.message).toContain('the schema id 2: http://a: refused')
  expect(exchange.seen.length).toBe(asked)

  exchange.clock.advance(1000)
  exchange.script = () => ok({ schema: text })
  expect(runNow(exchange, client.schemaById(2, 's')).text).toBe(text)
})

test('a refusal is believed for five seconds, or until somebody forgets it', () => {
  const { client, exchange } = clientOf(() => failed(404, 40403, 'Schema 9 not found'))
  for (let count = 0; count < 3; count += 1) {
    const error = failureNow(exchange, client.schemaById(9, 's'))
    expect(error.code).toBe('SCHEMA_REGISTRY_NOT_FOUND')
    expect(error.message).toBe(
      'The schema registry does not know the schema id 9: Schema 9 not found (error 40403).',
    )
  }
  expect(exchange.seen.length).toBe(1)
  // Other questions are asked.
  failureNow(exchange, client.schemaById(8, 's'))
  expect(exchange.seen.length).toBe(2)
  exchange.clock.advance(5000)
  failureNow(exchange, client.schemaById(9, 's'))
  expect(exchange.seen.length).toBe(3)
  client.forgetFailures()
  failureNow(exchange, client.schemaById(9, 's'))
  expect(exchange.seen.length).toBe(4)
})

test('not more than a thousand refusals are remembered', () => {
  const { client, exchange } = clientOf(() => failed(404, 40403, 'not found'))
  for (let id = 0; id <= 1000; id += 1) failureNow(exchange, client.schemaById(id, 's'))
  failureNow(exchange, client.schemaById(1000, 's'))
  expect(exchange.seen.length).toBe(1001)
  failureNow(exchange, client.schemaById(0, 's'))
  expect(exchange.seen.length).toBe(1002)
})

test.each([
  [failed(401, 40101, 'Unauthorized'), 'SCHEMA_REGISTRY_UNAUTHORIZED'],
  [{ status: 403, text: '<html>Forbidden</html>' }, 'SCHEMA_REGISTRY_UNAUTHORIZED'],
  [failed(409, 409, 'Schema being registered is incompatible'), 'SCHEMA_REGISTRY_INCOMPATIBLE'],
  [failed(422, 42201, 'Invalid schema'), 'SCHEMA_REGISTRY_SCHEMA_INVALID'],
  [failed(404, 40401, "Subject 's' not found."), 'SCHEMA_REGISTRY_NOT_FOUND'],
  // A route that is not there says nothing about schemas.
  [failed(404, 404, 'HTTP 404 Not Found'), 'SCHEMA_REGISTRY_FAILED'],
  [{ status: 404, text: '<html>nginx</html>' }, 'SCHEMA_REGISTRY_FAILED'],
  [{ status: 301, text: '' }, 'SCHEMA_REGISTRY_FAILED'],
  [failed(400, 400, 'bad'), 'SCHEMA_REGISTRY_FAILED'],
] as const)('the answer %j is final: %s', (answer, code) => {
  const { client, exchange } = clientOf(() => answer)
  const schema = { type: 'AVRO', text, references: [] } as const
  const error = failureNow(exchange, client.register('s', schema))
  expect(error.code).toBe(code)
  expect(error.retriable).toBe(false)
  expect(error.context['status']).toBe(answer.status)
  expect(error.message).toContain('the schema for the subject s')
  expect(exchange.seen.length).toBe(1)
})

test('a long or winding message of a registry becomes one short line', () => {
  const { client, exchange } = clientOf(() => failed(400, 1, `a\n  b ${'x'.repeat(1000)}.`))
  const { message } = failureNow(exchange, client.schemaById(1, 's'))
  expect(message).toContain(': a b xxx')
  expect(message.length).toBeLessThan(520)
  expect(message).toMatch(/x… \(error 1\)\.$/)
})

test.each([
  ['not JSON', 'it is not JSON'],
  ['null', 'it has no schema'],
  ['[]', 'it has no schema'],
  ['{"schema":5}', 'it has no schema'],
  ['{"schema":"{}","schemaType":"XML"}', 'its schemaType is none of AVRO, PROTOBUF and JSON'],
  ['{"schema":"{}","references":{}}', 'its references are malformed'],
  ['{"schema":"{}","references":[{"name":"a"}]}', 'its references are malformed'],
  ['{"schema":"{}","references":[null]}', 'its references are malformed'],
])('an answer that is no schema is told: %s', (answer, reason) => {
  const { client, exchange } = clientOf(() => ({ status: 200, text: answer }))
  const error = failureNow(exchange, client.schemaById(1, 's'))
  expect(error.code).toBe('SCHEMA_REGISTRY_FAILED')
  expect(error.message).toBe(
    `The schema registry gave an answer about the schema id 1 that is of no use: ${reason}.`,
  )
})

test('an answer without an id, or without versions, is told as well', () => {
  const { client, exchange } = clientOf(() => ok({ schema: text, id: '5' }))
  const schema = { type: 'AVRO', text, references: [] } as const
  for (const lookup of [client.latest('s'), client.version('s', 1), client.idOf('s', schema)]) {
    expect(failureNow(exchange, lookup).message).toContain('it has no id')
  }
  expect(failureNow(exchange, client.versions('s')).message).toContain('it is no list of versions')
})

test('a subject may have any characters', () => {
  const { client, exchange } = clientOf(() => ok([1]))
  runNow(exchange, client.versions(':.ctx:a/b c'))
  expect(exchange.seen).toEqual(['GET http://a/subjects/%3A.ctx%3Aa%2Fb%20c/versions?deleted=true'])
})

test('ids of a context are asked for within it, and are not those of others', () => {
  const { client, exchange } = clientOf(() => ok({ schema: text }))
  runNow(exchange, client.schemaById(1, ':.one:s'))
  runNow(exchange, client.schemaById(1, ':.one:t'))
  runNow(exchange, client.schemaById(1, ':.two:s'))
  runNow(exchange, client.schemaById(1, 's'))
  expect(exchange.seen).toEqual([
    'GET http://a/schemas/ids/1?subject=%3A.one%3As',
    'GET http://a/schemas/ids/1?subject=%3A.two%3As',
    'GET http://a/schemas/ids/1',
  ])
})

test('the parts of a schema come before what refers to them, each once, also when they go in circles', () => {
  const references: Record<string, object[]> = {
    order: [
      { name: 'line', subject: 'line', version: 1 },
      { name: 'money', subject: 'money', version: 2 },
    ],
    line: [{ name: 'money', subject: 'money', version: 2 }],
    money: [{ name: 'order', subject: 'order', version: 1 }],
  }
  const { client, exchange } = clientOf(({ path }) => {
    const subject = path.split('/')[2] ?? ''
    return ok({ id: 1, schema: `text of ${subject}`, references: references[subject] })
  })
  const order = runNow(exchange, client.version('order', 1))
  const { text, parts } = runNow(exchange, client.complete(order))
  expect(text).toBe('text of order')
  expect(parts.map(({ name }) => name)).toEqual(['order', 'money', 'line'])
  expect(exchange.seen.length).toBe(3)
})

test('a client that is closed gives what it knows, and asks nothing', () => {
  const { client, exchange } = clientOf(() => ok({ schema: text }))
  runNow(exchange, client.schemaById(1, 's'))
  client.close()
  expect(runNow(exchange, client.schemaById(1, 's')).text).toBe(text)
  expect(failureNow(exchange, client.schemaById(2, 's')).code).toBe('CLIENT_CLOSED')
  expect(exchange.seen.length).toBe(1)
})
