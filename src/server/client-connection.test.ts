import { getEventListeners } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { QueryInstance } from '../../test/peers/query-instance.ts'
import { until } from '../../test/integration/until.ts'
import { systemClock, yieldTurn } from '../base/clock.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { GetAnswer, GetRequest } from '../query/request.ts'
import { QueryRouter, type QueryPeers } from '../query/router.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { ClientConnection, unansweredRequestsMax } from './client-connection.ts'
import { EventLoopWatch } from './event-loop-watch.ts'
import { Exposure } from './exposure.ts'
import { HopPeers } from './hop.ts'
import { createHttpApp } from './http-app.ts'
import { openPort } from './http-listener.ts'
import type { HttpSubject, Instance as ServedInstance } from './instance.ts'
import { PeerPools } from './peer-pools.ts'
import type { TypedApp } from './typed-app.ts'

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
/** In partition 1 and 2 of three. */
const [here, elsewhere] = ['kafka', 'be']

/** A question that another instance has, and what that instance does with it. */
interface Hop {
  readonly signal: AbortSignal | undefined
  readonly answer: () => void
}

/** Peers that answer when the test says so. */
interface SlowPeers extends QueryPeers {
  readonly hops: Hop[]
}

function slowPeers(): SlowPeers {
  const hops: Hop[] = []
  const ask = <A>(signal: AbortSignal | undefined, answer: A): Promise<A> =>
    new Promise((resolve) => hops.push({ signal, answer: () => resolve(answer) }))
  const meta = { store: 'counts', role: 'active', lag: 0, position: {}, partial: false } as const
  const one = { ...meta, servedBy: 'peer', partition: 2 }
  const all = { ...meta, servedBy: ['peer'], partitions: [2] }
  return {
    hops,
    get: (_peer, { signal }) =>
      ask(signal, { kind: 'get', found: { value: 7, timestamp: 5 }, meta: one }),
    page: (_peer, _partitions, { signal }) =>
      ask(signal, { kind: 'page', rows: [], more: false, meta: all }),
    count: (_peer, _partitions, { signal }) =>
      ask(signal, { kind: 'count', approximate: 1, meta: all }),
  }
}

/** An instance with a port, and partitions 0 and 1 of three. */
class Instance {
  readonly target = new QueryInstance(counts, 3, [0, 1])
  readonly app: TypedApp
  readonly url: string
  readonly port: number
  readonly sockets: Socket[] = []
  requests = 0

  private constructor(app: TypedApp, port: number) {
    this.app = app
    this.port = port
    this.url = `http://127.0.0.1:${port}`
  }

  static async open(
    makeRouter: (target: QueryInstance, port: number) => QueryRouter,
  ): Promise<Instance> {
    const subject: { -readonly [K in keyof HttpSubject]: HttpSubject[K] } = {
      instance: undefined as ServedInstance | undefined,
      exposure: new Exposure({ counts: { operations: ['get', 'range'] } }),
      loop: new EventLoopWatch(new ManualClock()),
      isDraining: false,
      onFault: (error) => {
        throw error
      },
    }
    const app = createHttpApp(subject)
    const port = await openPort(app, { host: '127.0.0.1', port: 0 })
    const instance = new Instance(app, port)
    opened.push(instance)
    app.server.on('connection', (socket: Socket) => instance.sockets.push(socket))
    app.server.on('request', () => {
      instance.requests += 1
    })
    const { target } = instance
    for (const key of [here, elsewhere]) target.put(key, 1, 5)
    const self = { host: '127.0.0.1', port }
    for (const partition of [0, 1]) target.owners.set(partition, self)
    target.owners.set(2, { host: '127.0.0.1', port: 1 })
    const streams = {
      state: 'running' as const,
      metrics: new StreamsMetrics(),
      localTasks: () => [],
    }
    subject.instance = { target, router: makeRouter(target, port), streams }
    return instance
  }

  /** The server's end of the connection that was opened last. */
  get client(): ClientConnection {
    return ClientConnection.of(this.sockets.at(-1) as Socket)
  }
}

const opened: Instance[] = []
const clients: Socket[] = []
afterEach(async () => {
  for (const socket of clients.splice(0)) socket.destroy()
  for (const { app } of opened.splice(0)) {
    app.server.closeAllConnections()
    await app.close()
  }
})

async function withSlowPeers(): Promise<{ instance: Instance; peers: SlowPeers }> {
  const peers = slowPeers()
  const instance = await Instance.open(
    (target, port) => new QueryRouter({ target, self: { host: '127.0.0.1', port }, peers }),
  )
  return { instance, peers }
}

/** A client that writes what it is told to, and keeps what it hears. */
class Client {
  readonly socket: Socket
  heard = ''
  readonly closed: Promise<void>

  constructor({ port }: Instance) {
    this.socket = connect({ host: '127.0.0.1', port })
    clients.push(this.socket)
    this.socket.on('data', (bytes: Buffer) => (this.heard += bytes.toString()))
    this.socket.on('error', () => undefined)
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve()))
  }

  ask(...paths: readonly string[]): void {
    this.socket.write(
      paths.map((path) => `GET /v1/stores/counts/${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''),
    )
  }

  get statuses(): number[] {
    return [...this.heard.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
  }
}

test.each([`keys/${elsewhere}`, 'keys', 'count'])(
  'a client that hangs up ends its question %s, also on its way to another instance',
  async (path) => {
    const { instance, peers } = await withSlowPeers()
    const client = new Client(instance)
    client.ask(path)
    const hop = await until(() => peers.hops[0])
    expect(hop.signal?.aborted).toBe(false)
    client.socket.destroy()
    await until(() => hop.signal?.aborted === true)
    // The peer is as slow as it is; what is here is not read any more for nobody.
    hop.answer()
    await yieldTurn(systemClock)
    expect(instance.target.scans).toBe(0)
  },
)

test('a question that waits behind another of its connection is ended as well', async () => {
  const { instance, peers } = await withSlowPeers()
  const client = new Client(instance)
  client.ask(`keys/${elsewhere}`, 'count', 'keys')
  await until(() => peers.hops.length === 3)
  client.socket.destroy()
  await until(() => peers.hops[0]?.signal?.aborted)
  expect(peers.hops.map(({ signal }) => signal?.aborted)).toEqual([true, true, true])
})

test('a connection that is kept hears of no end, and keeps nothing of what was answered', async () => {
  const { instance, peers } = await withSlowPeers()
  const client = new Client(instance)
  for (let asked = 1; asked <= 3; asked += 1) {
    client.ask(`keys/${elsewhere}`)
    const hop = await until(() => peers.hops[asked - 1])
    hop.answer()
    await until(() => client.statuses.length === asked)
    expect(hop.signal?.aborted).toBe(false)
  }
  expect(client.statuses).toEqual([200, 200, 200])
  await until(() => instance.client.unanswered === 0)
  expect(getEventListeners(instance.client.signal, 'abort')).toEqual([])
})

test('the instance that owns the key hears that nobody waits any more', async () => {
  const signals: (AbortSignal | undefined)[] = []
  class Waiting extends QueryRouter {
    override getHere({ signal }: GetRequest): Promise<GetAnswer> {
      signals.push(signal)
      return new Promise(() => undefined)
    }
  }
  const nobody = slowPeers()
  const owner = await Instance.open(
    (target, port) => new Waiting({ target, self: { host: '127.0.0.1', port }, peers: nobody }),
  )
  await using pools = new PeerPools({
    clock: new ManualClock(),
    timeoutMs: 1000,
    allowRemote: false,
  })
  const asked = await Instance.open((target, port) => {
    const peers = new HopPeers(target, pools)
    return new QueryRouter({ target, self: { host: '127.0.0.1', port }, peers })
  })
  asked.target.owners.set(2, { host: '127.0.0.1', port: owner.port })
  const client = new Client(asked)
  client.ask(`keys/${elsewhere}`)
  const signal = await until(() => signals[0])
  expect(signal.aborted).toBe(false)
  client.socket.destroy()
  await until(() => signal.aborted)
})

test('more questions at a time than a connection may have are refused, and it is closed', async () => {
  const { instance, peers } = await withSlowPeers()
  const client = new Client(instance)
  client.ask(...Array.from({ length: unansweredRequestsMax + 3 }, () => `keys/${elsewhere}`))
  await until(() => instance.requests === unansweredRequestsMax + 3)
  expect(peers.hops).toHaveLength(unansweredRequestsMax)
  for (const { answer } of peers.hops) answer()
  await client.closed
  const fine = Array.from({ length: unansweredRequestsMax }, () => 200)
  expect(client.statuses).toEqual([...fine, 429])
  const refusal = client.heard.slice(client.heard.indexOf('HTTP/1.1 429'))
  expect(refusal).toMatch(/\r\nconnection: close\r\n/i)
  expect(refusal).toMatch(/\r\nretry-after: 1\r\n/i)
  expect(refusal).toContain('"code":"TOO_MANY_REQUESTS"')
})

test('as many questions as a connection may have are answered in their order, again and again', async () => {
  const { instance, peers } = await withSlowPeers()
  const client = new Client(instance)
  for (let round = 1; round <= 3; round += 1) {
    client.ask(...Array.from({ length: unansweredRequestsMax }, () => `keys/${elsewhere}`))
    await until(() => peers.hops.length === round * unansweredRequestsMax)
    for (const { answer } of peers.hops.slice(-unansweredRequestsMax).reverse()) answer()
    await until(() => client.statuses.length === round * unansweredRequestsMax)
    await until(() => instance.client.unanswered === 0)
  }
  expect(new Set(client.statuses)).toEqual(new Set([200]))
})

test('a client that floods its connection is not read any more', async () => {
  const { instance, peers } = await withSlowPeers()
  const client = new Client(instance)
  const flood = Array.from({ length: 100_000 }, () => 'count')
  client.ask(`keys/${elsewhere}`)
  await until(() => peers.hops.length === 1)
  client.ask(...flood)
  await until(() => instance.sockets[0]?.isPaused() === true)
  // What Node reads in one go, and the answers that it keeps for a client before it stops reading.
  expect(instance.requests).toBeLessThan(5000)
  expect(peers.hops.length).toBeLessThanOrEqual(unansweredRequestsMax)
  for (const { answer } of peers.hops) answer()
  await client.closed
  expect(client.statuses.at(-1)).toBe(429)
})

test('bytes that are no HTTP are not told in place of the answer before them', async () => {
  const { instance, peers } = await withSlowPeers()
  const client = new Client(instance)
  client.ask(`keys/${elsewhere}`)
  await until(() => peers.hops.length === 1)
  client.socket.write('nonsense\r\n\r\n')
  await client.closed
  expect(client.heard).toBe('')
  await until(() => peers.hops[0]?.signal?.aborted)
})

test.each([
  ['NONSENSE / HTTP/1.1\r\n\r\n', 'the bytes are not HTTP'],
  ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 'CONNECT is for proxies'],
  [`GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`, 'more than 65536 bytes'],
])('%j is refused with the reason', async (bytes, reason) => {
  const { instance } = await withSlowPeers()
  const client = new Client(instance)
  client.socket.write(bytes)
  await client.closed
  expect(client.statuses).toEqual([400])
  expect(client.heard).toContain(reason)
})

test('a request that does not come to its end is told so', async () => {
  const { instance } = await withSlowPeers()
  const client = new Client(instance)
  client.socket.write('GET /livez HTTP/1.1\r\n')
  const socket = await until(() => instance.sockets[0])
  // Node looks for such connections every half minute.
  const timeout = Object.assign(new Error('timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  instance.app.server.emit('clientError', timeout, socket)
  await client.closed
  expect(client.statuses).toEqual([408])
  expect(client.heard).toContain('it did not arrive in time')
})

test('the answers to HEAD have no bodies', async () => {
  const { instance } = await withSlowPeers()
  const client = new Client(instance)
  const paths = [`/v1/stores/counts/keys/${here}`, '/nowhere', '/livez', '/v1/stores?x=1']
  client.socket.write(paths.map((path) => `HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  await until(() => client.statuses.length === paths.length)
  expect(client.statuses).toEqual([200, 404, 200, 400])
  expect(client.heard).not.toContain('{')
})

test('what stands behind its question counts for each connection alone', async () => {
  const { instance, peers } = await withSlowPeers()
  const full = new Client(instance)
  full.ask(...Array.from({ length: unansweredRequestsMax }, () => `keys/${elsewhere}`))
  await until(() => peers.hops.length === unansweredRequestsMax)
  const other = new Client(instance)
  other.ask(`keys/${here}`)
  await until(() => other.statuses.length === 1)
  expect(other.statuses).toEqual([200])
})
