import { afterEach, expect, test } from 'vitest'
import { QueryInstance } from '../../test/peers/query-instance.ts'
import { ManualClock } from '../base/manual-clock.ts'
import type { Endpoint } from '../group/membership.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { QueryRouter } from '../query/router.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { EventLoopWatch } from './event-loop-watch.ts'
import { Exposure } from './exposure.ts'
import { HopPeers } from './hop.ts'
import { createHttpApp } from './http-app.ts'
import { openPort } from './http-listener.ts'
import type { HttpSubject, Instance } from './instance.ts'
import { PeerPools } from './peer-pools.ts'
import type { TypedApp } from './typed-app.ts'

/** The value has what JSON cannot carry: the hop must not lose it. */
const totals = keyValueStore('totals', { key: serdes.string, value: serdes.bigint })

const timeoutMs = 1000

/** Two instances with real ports: the first has partitions 0 and 1, the second 2. */
class Pair {
  readonly clock = new ManualClock()
  readonly pools = new PeerPools({ clock: this.clock, timeoutMs, allowRemote: false })
  readonly targets: QueryInstance[] = []
  readonly apps: TypedApp[] = []
  readonly endpoints: Endpoint[] = []
  readonly routers: QueryRouter[] = []
  readonly requests: string[] = []

  static async open(): Promise<Pair> {
    const pair = new Pair()
    opened.push(pair)
    await pair.#add([0, 1])
    await pair.#add([2])
    for (const target of pair.targets) {
      for (const [partition, owner] of [0, 0, 1].entries()) {
        target.owners.set(partition, pair.endpoints[owner] as Endpoint)
      }
    }
    return pair
  }

  async #add(held: readonly number[]): Promise<void> {
    const target = new QueryInstance(totals, 3, held)
    for (const key of ['kafka', 'a', 'to', 'be', 'f/g', 'c', 'b', 'g']) {
      target.put(key, 2n ** 60n + BigInt(key.length), 5)
    }
    const subject: { -readonly [K in keyof HttpSubject]: HttpSubject[K] } = {
      instance: undefined as Instance | undefined,
      exposure: new Exposure({ totals: { operations: ['get', 'range'] } }),
      loop: new EventLoopWatch(this.clock),
      isDraining: false,
      onFault: (error) => {
        throw error
      },
    }
    const app = createHttpApp(subject)
    app.addHook('onRequest', async ({ url, headers }) => {
      this.requests.push(`${url.split('?')[0]} ${String(headers['millpond-hop'])}`)
    })
    const self = { host: '127.0.0.1', port: await openPort(app, { host: '127.0.0.1', port: 0 }) }
    const router = new QueryRouter({ target, self, peers: new HopPeers(target, this.pools) })
    const streams = {
      state: 'running' as const,
      metrics: new StreamsMetrics(),
      localTasks: () => [],
    }
    subject.instance = { target, router, streams }
    this.targets.push(target)
    this.apps.push(app)
    this.endpoints.push(self)
    this.routers.push(router)
  }

  get(key: string, signal?: AbortSignal): ReturnType<QueryRouter['get']> {
    const request = { kind: 'get', store: 'totals', keyBytes: Buffer.from(key), signal } as const
    return (this.routers[0] as QueryRouter).get(request)
  }
}

const opened: Pair[] = []
afterEach(async () => {
  for (const pair of opened.splice(0)) {
    await pair.pools.close()
    for (const app of pair.apps) await app.close()
  }
})

test('a value comes from its owner over HTTP as it is there', async () => {
  const pair = await Pair.open()
  const { found, meta } = await pair.get('be')
  expect(found).toEqual(expect.objectContaining({ value: 2n ** 60n + 2n, timestamp: 5 }))
  expect(meta.servedBy).toBe(`127.0.0.1:${pair.endpoints[1]?.port}`)
  expect(pair.requests).toEqual(['/v1/stores/totals/keys/YmU 1'])
})

test('absent is told by the owner', async () => {
  const pair = await Pair.open()
  const { found, meta } = await pair.get('not')
  expect(found).toBeUndefined()
  expect(meta).toMatchObject({ partition: 2, servedBy: `127.0.0.1:${pair.endpoints[1]?.port}` })
})

test('a page is merged over HTTP, forwards, backwards and behind a cursor', async () => {
  const pair = await Pair.open()
  const keys = async (bounds: object, limit = 100, after?: string): Promise<string> => {
    const answer = await (pair.routers[0] as QueryRouter).page({
      kind: 'page',
      store: 'totals',
      bounds,
      limit,
      after: after === undefined ? undefined : Buffer.from(after),
    })
    return answer.rows.map(({ key }) => key).join(' ') + (answer.more ? ' …' : '')
  }
  expect(await keys({})).toBe('a b be c f/g g kafka to')
  expect(await keys({}, 3)).toBe('a b be …')
  expect(await keys({}, 3, 'be')).toBe('c f/g g …')
  expect(await keys({ reverse: true }, 2, 'c')).toBe('be b …')
  expect(await keys({ from: Buffer.from('b'), to: Buffer.from('c') })).toBe('b be c')
  expect(await keys({ prefix: Buffer.from('b') })).toBe('b be')
})

test('the problem of the owner is the problem of the question', async () => {
  const pair = await Pair.open()
  pair.targets[1]?.restoring.add(2)
  await expect(pair.get('be')).rejects.toMatchObject({
    code: 'STORE_NOT_AVAILABLE',
    context: { store: 'totals', partition: 2, lag: 7 },
  })
})

test('a hop to an instance that gave the partition up is not forwarded again', async () => {
  const pair = await Pair.open()
  pair.targets[1]?.drop(2)
  pair.targets[1]?.owners.set(2, pair.endpoints[0] as Endpoint)
  await expect(pair.get('be')).rejects.toMatchObject({ code: 'STORE_MIGRATED' })
  expect(pair.requests).toHaveLength(1)
})

test('an instance that is gone is unreachable, and found again when it is back', async () => {
  const pair = await Pair.open()
  const port = pair.endpoints[1]?.port ?? 0
  await pair.get('be')
  await pair.apps[1]?.close()
  await expect(pair.get('be')).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
    http: 503,
    context: { peer: `127.0.0.1:${port}` },
  })
  const { found } = await pair.get('kafka')
  expect(found?.value).toBe(2n ** 60n + 5n)
})

test('an instance that does not answer in time ends the question, not the wait for ever', async () => {
  const pair = await Pair.open()
  const { server } = pair.apps[1] as TypedApp
  server.removeAllListeners('request')
  server.once('request', () => pair.clock.advance(timeoutMs))
  await expect(pair.get('be')).rejects.toMatchObject({
    code: 'QUERY_TIMEOUT',
    context: { timeoutMs },
  })
})

test('a question that nobody waits for any more is aborted', async () => {
  const pair = await Pair.open()
  const controller = new AbortController()
  const { server } = pair.apps[1] as TypedApp
  server.removeAllListeners('request')
  server.once('request', () => controller.abort())
  await expect(pair.get('be', controller.signal)).rejects.toMatchObject({ code: 'ABORTED' })
})

test('what answers without a problem document is no instance', async () => {
  const pair = await Pair.open()
  const { server } = pair.apps[1] as TypedApp
  server.removeAllListeners('request')
  server.on('request', (_request, response) => {
    response.statusCode = 500
    response.end('{}')
  })
  await expect(pair.get('be')).rejects.toMatchObject({ code: 'PEER_UNREACHABLE' })
})

test.each([
  'null',
  '[]',
  '{}',
  '"text"',
  '7',
  '{"key":7,"meta":{}}',
  '{"rows":[null],"meta":{}}',
  'no',
])('what answers with %s is no instance either', async (body) => {
  const pair = await Pair.open()
  const { server } = pair.apps[1] as TypedApp
  server.removeAllListeners('request')
  server.on('request', (_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(body)
  })
  const router = pair.routers[0] as QueryRouter
  const store = 'totals'
  const unreachable = { code: 'PEER_UNREACHABLE', http: 503 }
  await expect(pair.get('be')).rejects.toMatchObject(unreachable)
  await expect(router.page({ kind: 'page', store, bounds: {}, limit: 9 })).rejects.toMatchObject(
    unreachable,
  )
  await expect(router.count({ kind: 'count', store })).rejects.toMatchObject(unreachable)
})

test('a copy is asked over HTTP with the bounds of the question, and keeps them itself', async () => {
  const pair = await Pair.open()
  pair.targets[0]?.owners.delete(2)
  pair.targets[0]?.copies.set(2, [pair.endpoints[1] as Endpoint])
  pair.targets[1]?.standbys.set(2, 5)
  const router = pair.routers[0] as QueryRouter
  const question = { store: 'totals', keyBytes: Buffer.from('be') }
  const { found, meta } = await router.get({ kind: 'get', ...question, maxLag: 5 })
  expect(found?.value).toBe(2n ** 60n + 2n)
  expect(meta).toMatchObject({ role: 'standby', lag: 5, partition: 2 })
  const boundless = { kind: 'get', ...question, maxLag: Number.MAX_SAFE_INTEGER } as const
  expect((await router.get(boundless)).meta).toMatchObject({ role: 'standby', lag: 5 })
  const any = { store: 'totals', consistency: 'any' } as const
  const page = await router.page({ kind: 'page', ...any, bounds: {}, limit: 100 })
  expect(page.rows).toHaveLength(8)
  expect(page.meta).toMatchObject({ role: 'standby', lag: 5, partial: false })
  expect((await router.count({ kind: 'count', ...any })).approximate).toBe(8)
  await expect(router.get({ kind: 'get', ...question, maxLag: 4 })).rejects.toMatchObject({
    code: 'STALE',
    http: 412,
    context: { lag: 5, maxLag: 4, partition: 2 },
  })
})

test('an owner that hangs is not waited for where a copy may answer', async () => {
  const pair = await Pair.open()
  const { server } = pair.apps[1] as TypedApp
  server.removeAllListeners('request')
  server.once('request', () => pair.clock.advance(500))
  pair.targets[0]?.standbys.set(1, 3)
  pair.targets[0]?.owners.set(1, pair.endpoints[1] as Endpoint)
  const request = { kind: 'get', store: 'totals', keyBytes: Buffer.from('kafka') } as const
  const { meta } = await (pair.routers[0] as QueryRouter).get({ ...request, consistency: 'any' })
  expect(meta).toMatchObject({ role: 'standby', lag: 3 })
})

test('a peer on another machine is not asked while nobody proves who they are', async () => {
  const pair = await Pair.open()
  pair.targets[0]?.owners.set(2, { host: '192.0.2.1', port: 7070 })
  await expect(pair.get('be')).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
    context: { peer: '192.0.2.1:7070' },
  })
})
