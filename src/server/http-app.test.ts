import { METHODS } from 'node:http'
import type { LightMyRequestResponse } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { HttpInstance, type HttpBody } from '../../test/peers/http-instance.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, windowStore, type AnyStore } from '../store/descriptor.ts'
import type { Expose } from './exposure.ts'

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
const words = ['kafka', 'a', 'to', 'be', 'f', 'c', 'b', 'g']

const keysOf = ({ rows }: HttpBody): string => rows.map(({ key }) => key).join(' ')

class Bench extends HttpInstance {
  constructor(store: AnyStore = counts, expose?: Expose) {
    super(store, expose)
    opened.push(this)
  }
}

const opened: Bench[] = []
afterEach(async () => {
  for (const bench of opened.splice(0)) await bench.app.close()
})

function wordCounts(): Bench {
  const bench = new Bench()
  for (const [index, word] of words.entries()) bench.target.put(word, index, 1000 + index)
  return bench
}

const problem = (code: string, status: number): unknown => ({
  status,
  headers: expect.objectContaining({
    'content-type': 'application/problem+json; charset=utf-8',
  }),
  body: expect.objectContaining({
    code,
    status,
    type: `urn:millpond:error:${code}`,
    title: expect.any(String),
    detail: expect.any(String),
    retriable: expect.any(Boolean),
    context: expect.any(Object),
  }),
  text: expect.any(String),
})

test('a value comes as a row with its envelope', async () => {
  const { status, body, headers } = await wordCounts().get('/v1/stores/counts/keys/kafka')
  expect(status).toBe(200)
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(body).toEqual({
    key: 'kafka',
    value: 0,
    timestamp: 1000,
    meta: {
      store: 'counts',
      partition: 1,
      servedBy: '127.0.0.1:7070',
      role: 'active',
      lag: 0,
      position: { lines: { 1: 101 } },
      partial: false,
    },
  })
})

test('a window store is listed, and says clearly that it is no key-value store', async () => {
  const both = { key: serdes.string, value: serdes.long }
  const bench = new Bench(windowStore('clicks', { ...both, retention: 1, windowSize: 1 }))
  const { body } = await bench.get('/v1/stores')
  expect(body).toMatchObject({ stores: [{ name: 'clicks', type: 'window' }] })
  for (const path of ['keys/kafka', 'keys', 'count']) {
    const answer = await bench.get(`/v1/stores/clicks/${path}`)
    expect(answer).toEqual(problem('QUERY_INVALID', 400))
    expect(answer.body).toMatchObject({ detail: expect.stringContaining('is a window store') })
  }
})

test('a key that the owner does not have is a 404 with the envelope', async () => {
  const answer = await wordCounts().get('/v1/stores/counts/keys/nobody')
  expect(answer).toEqual(problem('KEY_NOT_FOUND', 404))
  expect(answer.body.meta).toMatchObject({ servedBy: '127.0.0.1:7070', partial: false })
  expect(answer.headers['retry-after']).toBeUndefined()
})

test('keys with any characters are found, also the empty one', async () => {
  const bench = new Bench()
  for (const key of ['', '/', 'a/b', 'ä ö%', '日本', '?x=1']) bench.target.put(key, key.length)
  for (const key of ['', '/', 'a/b', 'ä ö%', '日本', '?x=1']) {
    const { status, body } = await bench.get(`/v1/stores/counts/keys/${encodeURIComponent(key)}`)
    expect([status, body.key, body.value]).toEqual([200, key, key.length])
  }
})

test('a key is given and told as the base64 of its bytes', async () => {
  const bench = wordCounts()
  const { body } = await bench.get('/v1/stores/counts/keys/a2Fma2E?keyFormat=base64')
  expect(body).toMatchObject({ key: 'a2Fma2E=', value: 0 })
  expect(await bench.get('/v1/stores/counts/keys/a2Fma2E=?keyFormat=base64')).toMatchObject({
    status: 200,
  })
  expect(await bench.get('/v1/stores/counts/keys/a-_*?keyFormat=base64')).toEqual(
    problem('KEY_INVALID', 400),
  )
})

test('keys stand in the text form of their serde', async () => {
  const bench = new Bench(keyValueStore('by-number', { key: serdes.int, value: serdes.json() }))
  bench.target.put(-5, { name: 'minus five' })
  const { body } = await bench.get('/v1/stores/by-number/keys/-5')
  expect(body).toMatchObject({ key: '-5', value: { name: 'minus five' } })
  expect(await bench.get('/v1/stores/by-number/keys/five')).toEqual(problem('KEY_INVALID', 400))
  expect(await bench.get('/v1/stores/by-number/keys?prefix=5')).toEqual(problem('KEY_INVALID', 400))
})

test('a serde without text has its keys in base64', async () => {
  const bench = new Bench(keyValueStore('raw', { key: serdes.bytes, value: serdes.bytes }))
  bench.target.put(Buffer.from([0, 255]), Buffer.from([1, 2]))
  const { body } = await bench.get('/v1/stores/raw/keys/AP8')
  expect(body).toMatchObject({ key: 'AP8=', value: 'AQI=' })
  expect(await bench.get('/v1/stores/raw/keys/AP8?keyFormat=text')).toEqual(
    problem('KEY_INVALID', 400),
  )
})

test('a page has its rows in the order of their keys, and a cursor to the next', async () => {
  const bench = wordCounts()
  const first = await bench.get('/v1/stores/counts/keys?limit=3')
  expect(first.body).toEqual({
    rows: [
      { key: 'a', value: 1, timestamp: 1001 },
      { key: 'b', value: 6, timestamp: 1006 },
      { key: 'be', value: 3, timestamp: 1003 },
    ],
    cursor: 'AQBiZQ',
    meta: {
      store: 'counts',
      partitions: [0, 1, 2],
      servedBy: ['127.0.0.1:7070'],
      role: 'active',
      lag: 0,
      position: { lines: { 0: 100, 1: 101, 2: 102 } },
      partial: false,
    },
  })
  const second = await bench.get('/v1/stores/counts/keys?limit=100&cursor=AQBiZQ')
  expect(keysOf(second.body)).toBe('c f g kafka to')
  expect(second.body.cursor).toBeNull()
})

test.each([
  ['from=b&to=f', 'b be c f'],
  ['prefix=b', 'b be'],
  ['prefix=b&from=b%00', 'be'],
  ['reverse=true&limit=2', 'to kafka'],
  ['from=x', ''],
  ['from=YmU=&to=Zg&keyFormat=base64', 'YmU= Yw== Zg=='],
])('the page of %s has the keys %j', async (query, keys) => {
  const { status, body } = await wordCounts().get(`/v1/stores/counts/keys?${query}`)
  expect(status).toBe(200)
  expect(keysOf(body)).toBe(keys)
})

test('a page comes in lines to whoever accepts them', async () => {
  const { headers, text } = await wordCounts().get('/v1/stores/counts/keys?prefix=b', {
    accept: 'application/x-ndjson',
  })
  expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  const lines = text.trimEnd().split('\n')
  expect(lines.slice(0, 2)).toEqual([
    '{"key":"b","value":6,"timestamp":1006}',
    '{"key":"be","value":3,"timestamp":1003}',
  ])
  expect(JSON.parse(lines[2] ?? '')).toMatchObject({ cursor: null, meta: { store: 'counts' } })
  expect(lines).toHaveLength(3)
})

test('rows are counted', async () => {
  const { body } = await wordCounts().get('/v1/stores/counts/count')
  expect(body).toMatchObject({ approximate: 8, meta: { partitions: [0, 1, 2] } })
})

const wholeNumber = (given: string): string =>
  `limit must be a whole number from 1 to 1000, not ${JSON.stringify(given)}`

test.each([
  ['/v1/stores/counts/keys?limit=0', 'QUERY_INVALID', 'limit'],
  ['/v1/stores/counts/keys?limit=1001', 'QUERY_INVALID', 'limit'],
  ['/v1/stores/counts/keys?limit=many', 'QUERY_INVALID', 'limit'],
  ['/v1/stores/counts/keys?limit=1.5', 'QUERY_INVALID', wholeNumber('1.5')],
  ['/v1/stores/counts/keys?limit=1e2', 'QUERY_INVALID', wholeNumber('1e2')],
  ['/v1/stores/counts/keys?limit=0x10', 'QUERY_INVALID', wholeNumber('0x10')],
  ['/v1/stores/counts/keys?limit=', 'QUERY_INVALID', wholeNumber('')],
  ['/v1/stores/counts/keys?limit', 'QUERY_INVALID', wholeNumber('')],
  ['/v1/stores/counts/keys?limit=+5', 'QUERY_INVALID', wholeNumber(' 5')],
  ['/v1/stores/counts/keys?limit=%2B5', 'QUERY_INVALID', wholeNumber('+5')],
  ['/v1/stores/counts/keys?limit=-5', 'QUERY_INVALID', wholeNumber('-5')],
  ['/v1/stores/counts/keys?limit=٥', 'QUERY_INVALID', wholeNumber('٥')],
  ['/v1/stores/counts/keys?limit=5%00', 'QUERY_INVALID', wholeNumber('5\u0000')],
  ['/v1/stores/counts/keys?limit=true', 'QUERY_INVALID', wholeNumber('true')],
  ['/v1/stores/counts/keys?limit=99999999999999999999', 'QUERY_INVALID', 'from 1 to 1000'],
  ['/v1/stores/counts/keys?limit=1&limit=2', 'QUERY_INVALID', 'limit is given more than once'],
  ['/v1/stores/counts/keys?limit=1&limit=1', 'QUERY_INVALID', 'limit is given more than once'],
  ['/v1/stores/counts/keys?from=a&from=b', 'QUERY_INVALID', 'from is given more than once'],
  ['/v1/stores/counts/keys?prefix=a&prefix=', 'QUERY_INVALID', 'prefix is given more than once'],
  [
    '/v1/stores/counts/keys?limt=1',
    'QUERY_INVALID',
    'there is no parameter "limt"; this route takes from, to, prefix, reverse, limit, cursor, allowPartial, keyFormat, consistency and maxLag',
  ],
  ['/v1/stores/counts/keys?Limit=1', 'QUERY_INVALID', 'there is no parameter "Limit"'],
  ['/v1/stores/counts/keys?=1', 'QUERY_INVALID', 'there is no parameter ""'],
  ['/v1/stores/counts/keys?__proto__=1', 'QUERY_INVALID', 'there is no parameter "__proto__"'],
  ['/v1/stores/counts/keys?toString=1', 'QUERY_INVALID', 'there is no parameter "toString"'],
  ['/v1/stores/counts/keys?reverse=perhaps', 'QUERY_INVALID', 'reverse must be true or false'],
  ['/v1/stores/counts/keys?reverse=TRUE', 'QUERY_INVALID', 'reverse must be true or false'],
  ['/v1/stores/counts/keys?reverse=1', 'QUERY_INVALID', 'reverse must be true or false, not "1"'],
  ['/v1/stores/counts/keys?reverse', 'QUERY_INVALID', 'reverse must be true or false, not ""'],
  ['/v1/stores/counts/keys?cursor=', 'QUERY_INVALID', 'cursor'],
  ['/v1/stores/counts/count?allowPartial=yes', 'QUERY_INVALID', 'allowPartial must be true or'],
  ['/v1/stores/counts/count?limit=5', 'QUERY_INVALID', 'this route takes allowPartial'],
  ['/v1/stores/counts/keys/kafka?limit=5', 'QUERY_INVALID', 'this route takes keyFormat'],
  ['/v1/stores?keyFormat=text', 'QUERY_INVALID', 'this route takes none'],
  ['/v1/metadata/stores/counts?x', 'QUERY_INVALID', 'this route takes none'],
  ['/v1/metadata/stores/counts/keys/a?x', 'QUERY_INVALID', 'this route takes keyFormat'],
  ['/v1/stores/counts/keys?cursor=nonsense', 'QUERY_INVALID', 'cursor'],
  ['/v1/stores/counts/keys?from=%FF', 'QUERY_INVALID', 'escape'],
  ['/v1/stores/counts/keys?partitions=1', 'QUERY_INVALID', 'partitions'],
  ['/v1/stores/counts/keys/kafka?keyFormat=hex', 'QUERY_INVALID', 'keyFormat'],
  ['/v1/stores/counts/keys/%', 'QUERY_INVALID', 'escape'],
  ['/v1/stores/counts/keys/%FF', 'QUERY_INVALID', 'escape'],
])('%s is refused with %s', async (url, code, detail) => {
  const answer = await wordCounts().get(url)
  expect(answer).toEqual(problem(code, 400))
  expect(answer.body.detail).toContain(detail)
})

test('probes and scrapers may add parameters that mean nothing here', async () => {
  const bench = wordCounts()
  for (const path of ['/livez', '/readyz', '/startupz', '/metrics']) {
    expect((await bench.get(`${path}?verbose&at=1`)).status).toBe(200)
  }
})

test.each([20_000, 60_000])('a key of %i bytes is too long', async (length) => {
  const answer = await wordCounts().get(`/v1/stores/counts/keys/${'k'.repeat(length)}`)
  expect(answer).toEqual(problem('KEY_TOO_LONG', 400))
})

/** Every route, and one that is none. */
const routes = [
  '/v1/stores',
  '/v1/stores/counts/keys/kafka',
  '/v1/stores/counts/keys',
  '/v1/stores/counts/count',
  '/v1/metadata/stores/counts',
  '/v1/metadata/stores/counts/keys/kafka',
  '/livez',
  '/readyz',
  '/startupz',
  '/metrics',
]
const noRoutes = ['/', '/v1', '/v2/stores', '/v1/stores/', '/v1/stores/counts/keys/a/b', '/livez/x']

/** What Node reads as a method, but CONNECT, which is for proxies and never comes to a route. */
const otherMethods = METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method))

test('there are as many methods as HTTP has', () => {
  expect(otherMethods).toEqual(expect.arrayContaining(['TRACE', 'PROPFIND', 'PUT', 'OPTIONS']))
})

test.each(otherMethods)('%s is not allowed on any route, and unknown on others', async (method) => {
  const bench = wordCounts()
  const send = (url: string): Promise<LightMyRequestResponse> =>
    bench.app.inject({
      method: method as 'PUT',
      url,
      payload: '{broken',
      headers: { 'content-type': 'application/json' },
    })
  for (const url of routes) {
    const response = await send(url)
    expect([url, response.statusCode, response.headers['allow']]).toEqual([url, 405, 'GET, HEAD'])
    expect(response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', context: { method } })
  }
  for (const url of noRoutes) {
    const response = await send(url)
    expect([url, response.statusCode, response.headers['allow']]).toEqual([url, 404, undefined])
    expect(response.json()).toMatchObject({ code: 'ROUTE_UNKNOWN' })
  }
  expect(bench.faults).toEqual([])
})

test('HEAD is answered with the headers of GET', async () => {
  const bench = wordCounts()
  const urls = [...routes, ...noRoutes, '/v1/stores/counts/keys/nobody', '/v1/stores?x=1']
  for (const url of urls.filter((one) => one !== '/metrics')) {
    const get = await bench.app.inject({ method: 'GET', url })
    const head = await bench.app.inject({ method: 'HEAD', url })
    const of = ({ statusCode, headers }: LightMyRequestResponse): unknown[] => [
      url,
      statusCode,
      headers['content-type'],
      headers['content-length'],
    ]
    expect(of(head)).toEqual(of(get))
  }
  // Its body tells of the question before.
  expect((await bench.app.inject({ method: 'HEAD', url: '/metrics' })).statusCode).toBe(200)
})

test('an unknown route is a problem document', async () => {
  for (const url of noRoutes) {
    expect(await wordCounts().get(url)).toEqual(problem('ROUTE_UNKNOWN', 404))
  }
})

test('a store that is not exposed cannot be told from one that is not there', async () => {
  const bench = new Bench(counts, {})
  for (const path of ['keys/a', 'keys', 'count']) {
    const hidden = await bench.get(`/v1/stores/counts/${path}`)
    const absent = await bench.get(`/v1/stores/others/${path}`)
    expect(hidden).toEqual(problem('STORE_UNKNOWN', 404))
    expect(hidden.text.replaceAll('counts', 'others')).toBe(absent.text)
  }
  expect(await bench.get('/v1/metadata/stores/counts')).toEqual(problem('STORE_UNKNOWN', 404))
  expect((await bench.get('/v1/stores')).body).toEqual({ stores: [] })
})

test('only the operations that are exposed are allowed', async () => {
  const bench = new Bench(counts, { counts: { operations: ['get'] } })
  expect(await bench.get('/v1/stores/counts/keys')).toEqual(problem('OPERATION_NOT_ALLOWED', 403))
  expect(await bench.get('/v1/stores/counts/count')).toEqual(problem('OPERATION_NOT_ALLOWED', 403))
  expect(await bench.get('/v1/stores/counts/keys/a')).toEqual(problem('KEY_NOT_FOUND', 404))
})

test('the exposed stores are listed with what can be asked of them', async () => {
  expect((await wordCounts().get('/v1/stores')).body).toEqual({
    stores: [
      {
        name: 'counts',
        type: 'key-value',
        serdes: { key: 'string', value: 'long' },
        keyFormat: 'text',
        partitions: 3,
        operations: ['get', 'range'],
      },
    ],
  })
})

test('the partitions of a store are told with their hosts', async () => {
  const bench = wordCounts()
  bench.target.owners.delete(2)
  bench.target.drop(2)
  expect((await bench.get('/v1/metadata/stores/counts')).body).toEqual({
    store: 'counts',
    partitions: [
      { partition: 0, active: '127.0.0.1:7070', standby: [], lag: 0 },
      { partition: 1, active: '127.0.0.1:7070', standby: [], lag: 0 },
      { partition: 2, active: null, standby: [] },
    ],
  })
  expect((await bench.get('/v1/metadata/stores/counts/keys/kafka')).body).toEqual({
    store: 'counts',
    key: 'kafka',
    partition: 1,
    active: '127.0.0.1:7070',
    standby: [],
    lag: 0,
  })
  expect(await bench.get('/v1/metadata/stores/counts/keys/be')).toEqual(
    problem('OWNER_UNKNOWN', 503),
  )
})

test.each([
  [
    'before the start',
    'STREAMS_NOT_STARTED',
    (bench: Bench) => (bench.target.availability = 'not-started'),
  ],
  ['while joining', 'STREAMS_REBALANCING', (bench: Bench) => (bench.target.partitions = undefined)],
  ['while restoring', 'STORE_NOT_AVAILABLE', (bench: Bench) => bench.target.restoring.add(1)],
  ['after the end', 'STREAMS_STOPPED', (bench: Bench) => (bench.target.availability = 'stopped')],
])('%s the answer is 503 with Retry-After', async (_when, code, arrange) => {
  const bench = wordCounts()
  arrange(bench)
  for (const path of ['keys/kafka', 'keys', 'count']) {
    const answer = await bench.get(`/v1/stores/counts/${path}`)
    expect(answer).toEqual(problem(code, 503))
    expect(answer.headers['retry-after']).toBe('1')
  }
})

test('before there is an instance the answer is 503 as well', async () => {
  const bench = wordCounts()
  bench.subject.instance = undefined
  for (const path of ['/v1/stores', '/v1/stores/counts/keys/a', '/v1/metadata/stores/counts']) {
    const answer = await bench.get(path)
    expect(answer).toEqual(problem('STREAMS_NOT_STARTED', 503))
    expect(answer.headers['retry-after']).toBe('1')
  }
  expect((await bench.get('/livez')).status).toBe(200)
  expect((await bench.get('/readyz')).body).toMatchObject({ code: 'STREAMS_NOT_STARTED' })
  expect((await bench.get('/startupz')).status).toBe(503)
  expect((await bench.get('/metrics')).status).toBe(200)
})

test('a hop for a partition that is not here is misdirected, never forwarded', async () => {
  const bench = wordCounts()
  bench.target.drop(1)
  bench.target.owners.set(1, { host: '127.0.0.1', port: 7071 })
  const hop = { 'millpond-hop': '1' }
  const answer = await bench.get('/v1/stores/counts/keys/kafka', hop)
  expect(answer).toEqual(problem('MISDIRECTED', 421))
  expect(bench.faults).toEqual([])
})

test('a copy answers those who say so, and never beyond the lag that they allow', async () => {
  const bench = wordCounts()
  bench.target.standbys.set(1, 12)
  bench.target.owners.delete(1)
  const path = '/v1/stores/counts/keys/kafka'
  expect(await bench.get(path)).toEqual(problem('OWNER_UNKNOWN', 503))
  const { status, body } = await bench.get(`${path}?consistency=any`)
  expect(status).toBe(200)
  expect(body).toMatchObject({ value: 0, meta: { role: 'standby', lag: 12, partition: 1 } })
  expect((await bench.get(`${path}?maxLag=12`)).status).toBe(200)
  const stale = await bench.get(`${path}?maxLag=11`)
  expect(stale).toEqual(problem('STALE', 412))
  expect(stale.body.context).toMatchObject({ lag: 12, maxLag: 11 })
  expect((await bench.get('/v1/stores/counts/keys?maxLag=0')).status).toBe(412)
  expect((await bench.get('/v1/stores/counts/count?consistency=any')).body).toMatchObject({
    approximate: 8,
    meta: { role: 'standby' },
  })
  const absent = await bench.get('/v1/stores/counts/keys/a-word?consistency=any')
  expect(absent.body.code).toBe('KEY_NOT_FOUND')
  for (const query of [
    'consistency=some',
    'maxLag=-1',
    'maxLag=1.5',
    'maxLag=9007199254740992',
    'consistency=active&maxLag=1',
  ])
    expect(await bench.get(`${path}?${query}`)).toEqual(problem('QUERY_INVALID', 400))
})

test('a hop gets keys and values as bytes', async () => {
  const bench = wordCounts()
  const hop = { 'millpond-hop': '1' }
  const { body } = await bench.get('/v1/stores/counts/keys/a2Fma2E?keyFormat=base64', hop)
  expect(body).toMatchObject({ key: 'a2Fma2E=', value: 'AAAAAAAAAAA=', timestamp: 1000 })
  expect((await bench.get('/v1/stores/counts/keys', hop)).body.code).toBe('QUERY_INVALID')
  bench.target.restoring.add(2)
  const page = await bench.get('/v1/stores/counts/keys?keyFormat=base64&partitions=1,2', hop)
  expect(page.body.rows).toHaveLength(3)
  expect(page.body.meta).toMatchObject({ partitions: [1], missingPartitions: [2] })
})

test('a fault of ours says nothing of itself to the caller', async () => {
  const bench = wordCounts()
  bench.target.local = () => {
    throw new TypeError('secret')
  }
  const answer = await bench.get('/v1/stores/counts/keys/kafka')
  expect(answer).toEqual(problem('INTERNAL_ERROR', 500))
  expect(answer.text).not.toContain('secret')
  expect(bench.faults).toEqual([new TypeError('secret')])
})

test.each([
  ['created', 200, 503, 503],
  ['rebalancing', 200, 503, 200],
  ['running', 200, 200, 200],
  ['pending-shutdown', 200, 503, 503],
  ['not-running', 503, 503, 503],
  ['pending-error', 200, 503, 503],
  ['error', 503, 503, 503],
] as const)('%s: alive %i, ready %i, started %i', async (state, alive, ready, started) => {
  const bench = wordCounts()
  bench.streams.state = state
  const statuses = []
  for (const path of ['/livez', '/readyz', '/startupz']) {
    const { status, headers, body } = await bench.get(path)
    statuses.push(status)
    expect(body.state).toBe(state)
    expect(headers['retry-after']).toBe(status === 503 ? '1' : undefined)
  }
  expect(statuses).toEqual([alive, ready, started])
})

test('readiness waits for restores and tells how far they are', async () => {
  const bench = wordCounts()
  bench.streams.tasks = [
    { id: '1_0', role: 'active', state: 'running', inputs: [], restoring: [] },
    {
      id: '1_1',
      role: 'active',
      state: 'restoring',
      inputs: [],
      restoring: [
        { store: 'counts', offset: 30, endOffset: 100 },
        { store: 'others', offset: 0, endOffset: undefined },
      ],
    },
  ]
  const { status, body } = await bench.get('/readyz')
  expect(status).toBe(503)
  expect(body).toMatchObject({
    code: 'STORE_NOT_AVAILABLE',
    restoring: [
      {
        task: '1_1',
        stores: [
          { store: 'counts', offset: 30, endOffset: 100, remaining: 70 },
          { store: 'others', offset: 0, endOffset: null, remaining: null },
        ],
      },
    ],
  })
  expect((await bench.get('/startupz')).status).toBe(200)
  expect((await bench.get('/livez')).status).toBe(200)
})

test('an instance is not ready without a routing table, nor while it closes', async () => {
  const bench = wordCounts()
  bench.target.hostsKnown = false
  expect((await bench.get('/readyz')).body.code).toBe('STREAMS_REBALANCING')
  bench.target.hostsKnown = true
  bench.subject.isDraining = true
  expect((await bench.get('/readyz')).body.code).toBe('STREAMS_STOPPED')
  expect((await bench.get('/livez')).status).toBe(200)
  expect((await bench.get('/v1/stores/counts/keys/kafka')).status).toBe(200)
})

test('an instance whose event loop is blocked is not alive', async () => {
  const bench = wordCounts()
  bench.clock.advance(60_000)
  expect((await bench.get('/livez')).status).toBe(200)
  // The clock moves, and no timer comes through.
  bench.clock.monotonic = () => 60_000 + 5501
  const { status, body } = await bench.get('/livez')
  expect(status).toBe(503)
  expect(body).toMatchObject({ code: 'EVENT_LOOP_STUCK', context: { delayMs: 5001 } })
})

test('metrics count the answers by route and status', async () => {
  const bench = wordCounts()
  bench.metrics.recordsProcessed.add(3)
  await bench.get('/v1/stores/counts/keys/kafka')
  await bench.get('/v1/stores/counts/keys/a')
  await bench.get('/v1/stores/counts/keys/nobody')
  const { headers, text } = await bench.get('/metrics')
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(text).toContain('millpond_records_processed_total 3\n')
  const route = '/v1/stores/:store/keys/:key'
  expect(text).toContain(`millpond_http_requests_total{route="${route}",status="200"} 2\n`)
  expect(text).toContain(`millpond_http_requests_total{route="${route}",status="404"} 1\n`)
  expect(text).toContain(`millpond_http_request_seconds_count{route="${route}"} 3\n`)
})
