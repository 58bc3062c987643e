import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryTransport } from '../base/memory-transport.ts'
import { silentLog } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import {
  responseFrame,
  ScriptedBroker,
  type ScriptedBrokerOptions,
} from '../../test/peers/scripted-broker.ts'
import { BrokerConnection, type BrokerConnectionOptions } from './broker-connection.ts'

const beat = { groupId: 'g', generationId: 1, memberId: 'm' }

async function setUp(
  options: Partial<BrokerConnectionOptions> = {},
  brokerOptions: Partial<ScriptedBrokerOptions> = {},
) {
  const clock = new ManualClock()
  const network = new MemoryTransport({ clock })
  const broker = await ScriptedBroker.listen(network, { host: 'a', port: 1, ...brokerOptions })
  broker.on(heartbeat, () => ({ errorCode: 0 }))
  const open = () =>
    BrokerConnection.open({
      transport: network,
      clock,
      random: seededRandom(1),
      log: silentLog,
      host: 'a',
      port: 1,
      clientId: 'tester',
      connectTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      ...options,
    })
  return { clock, network, broker, open }
}

describe('negotiation', () => {
  test('the highest version that both sides know is spoken', async () => {
    const { broker, open } = await setUp({}, { versions: [[heartbeat, 1, 2]] })
    const connection = await open()
    await connection.request(heartbeat, beat)
    expect(broker.requests.map(({ api, version }) => `${api} v${version}`)).toEqual([
      'ApiVersions v4',
      'Heartbeat v2',
    ])
    expect(broker.requests[1]?.clientId).toBe('tester')
    await connection.close()
  })

  test('a broker that refuses the version of ApiVersions is asked again with one it has', async () => {
    const { broker, open } = await setUp({}, { versions: [[apiVersions, 0, 2]] })
    const connection = await open()
    expect(broker.requests.map(({ version }) => version)).toEqual([4, 2])
    expect(connection.versionOf(heartbeat)).toBe(4)
    await connection.close()
  })

  test('an API without a common version is a clear error', async () => {
    const { open } = await setUp({}, { versions: [[heartbeat, 9, 10]] })
    const connection = await open()
    await expect(connection.request(heartbeat, beat)).rejects.toMatchObject({
      code: 'PROTOCOL_UNSUPPORTED_VERSION',
      context: { api: 'Heartbeat', version: '0 to 4', detail: 'a:1 has 9 to 10' },
    })
    await connection.close()
  })

  test('something that is not Kafka is unreachable, and nothing stays open', async () => {
    const clock = new ManualClock()
    const network = new MemoryTransport({ clock })
    await network.listen({
      host: 'a',
      port: 1,
      onConnection: (web) => {
        web.onData = () => web.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))
      },
    })
    await expect(
      BrokerConnection.open({
        transport: network,
        clock,
        random: seededRandom(1),
        log: silentLog,
        host: 'a',
        port: 1,
        clientId: 'tester',
        connectTimeoutMs: 10_000,
        requestTimeoutMs: 30_000,
      }),
    ).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      message: expect.stringContaining('1213486160 bytes are claimed'),
    })
    await clock.settle()
    expect(network.openCount).toBe(0)
    expect(clock.timerCount).toBe(0)
  })

  test('a broker that speaks TLS says so, and is not tried for ever', async () => {
    const clock = new ManualClock()
    const network = new MemoryTransport({ clock })
    await network.listen({
      host: 'a',
      port: 1,
      onConnection: (server) => {
        // A fatal alert of TLS: the handshake was not understood.
        server.onData = () => server.write(Buffer.from('15030300020250', 'hex'))
      },
    })
    const opening = BrokerConnection.open({
      transport: network,
      clock,
      random: seededRandom(1),
      log: silentLog,
      host: 'a',
      port: 1,
      clientId: 'tester',
      connectTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
    })
    expect(await failureOf(opening)).toMatchObject({
      code: 'TLS_FAILED',
      context: { broker: 'a:1', detail: expect.stringContaining('state the option tls') },
    })
  })

  test('a broker that accepts but never answers is unreachable after the connect timeout', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(apiVersions, () => 'silence')
    const failed = failureOf(open())
    await clock.run(10_000)
    expect(await failed).toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(clock.timerCount).toBe(0)
  })

  test('authenticate runs after the negotiation, and its error is told as it is', async () => {
    const { open, network, clock } = await setUp({
      authenticate: async (channel) => {
        await channel.request(heartbeat, beat)
        throw new TypeError('no such user')
      },
    })
    await expect(open()).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      context: { detail: 'no such user' },
    })
    await clock.settle()
    expect(network.openCount).toBe(0)
  })
})

describe('requests', () => {
  test('are pipelined, and each gets its own answer', async () => {
    const { broker, open } = await setUp()
    let count = 0
    broker.on(heartbeat, () => {
      count += 1
      return { errorCode: count }
    })
    const connection = await open()
    const codes = await Promise.all(
      Array.from({ length: 100 }, () => connection.request(heartbeat, beat)),
    )
    expect(codes.map((response) => response.errorCode)).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 1),
    )
    await connection.close()
  })

  test('of one turn leave in one piece', async () => {
    const { clock, network, broker, open } = await setUp()
    const connection = await open()
    const chunks: number[] = []
    const server = broker.connections[0]
    if (server === undefined) throw new Error('nobody connected')
    const take = server.onData
    server.onData = (bytes) => {
      chunks.push(bytes.length)
      take(bytes)
    }
    await Promise.all([1, 2, 3].map(() => connection.request(heartbeat, beat)))
    expect(chunks).toHaveLength(1)
    await connection.close()
    await clock.settle()
    expect(network.openCount).toBe(0)
  })

  test('beyond the bound in flight wait for their turn', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(heartbeat, () => 'silence')
    const connection = await open()
    const all = Promise.allSettled(
      Array.from({ length: 40 }, () => connection.request(heartbeat, beat)),
    )
    await clock.settle()
    expect(connection.inFlightCount).toBe(32)
    await connection.close()
    await all
  })

  test('above the bound of the queue are refused at once', async () => {
    const { broker, open } = await setUp()
    broker.on(heartbeat, () => 'silence')
    const connection = await open()
    const all = Promise.allSettled(
      Array.from({ length: 32 + 1024 }, () => connection.request(heartbeat, beat)),
    )
    await expect(connection.request(heartbeat, beat)).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
      context: { detail: '1024 requests wait already, Heartbeat is refused' },
    })
    await connection.close()
    await all
  })

  test('correlation ids start over after 2^31 - 1', async () => {
    const { broker, open } = await setUp({ firstCorrelationId: 0x7fff_fffd })
    const connection = await open()
    for (const _ of [1, 2, 3]) await connection.request(heartbeat, beat)
    expect(broker.requests.map(({ correlationId }) => correlationId)).toEqual([
      0x7fff_fffd, 0x7fff_fffe, 0x7fff_ffff, 0,
    ])
    await connection.close()
  })

  test('the value for the version that is spoken can be made when it is known', async () => {
    const { broker, open } = await setUp({}, { versions: [[metadata, 3, 3]] })
    broker.on(metadata, () => ({ brokers: [], topics: [] }))
    const connection = await open()
    const versions: number[] = []
    await connection.request(metadata, (version) => {
      versions.push(version)
      return { topics: [] }
    })
    expect(versions).toEqual([3])
    await connection.close()
  })
})

describe('a request that is not answered in time', () => {
  test('fails alone while the broker is still to answer one before it', async () => {
    const { clock, broker, open } = await setUp()
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    broker.on(fetch, async () => {
      await held
      return { responses: [] }
    })
    const connection = await open()
    const longPoll = connection.request(
      fetch,
      { maxWaitMs: 60_000, minBytes: 1, topics: [] },
      { timeoutMs: 90_000, versionMax: 12 },
    )
    const late = failureOf(connection.request(heartbeat, beat))
    await clock.run(30_000)
    expect(await late).toMatchObject({
      code: 'REQUEST_TIMEOUT',
      context: { api: 'Heartbeat', broker: 'a:1', timeoutMs: 30_000 },
    })
    expect(connection.isClosed).toBe(false)
    release()
    await expect(longPoll).resolves.toMatchObject({ errorCode: 0 })
    // The late answer was dropped: the next one gets its own.
    await expect(connection.request(heartbeat, beat)).resolves.toMatchObject({ errorCode: 0 })
    await connection.close()
  })

  test('closes the connection when it is its turn and the broker is silent', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(heartbeat, () => 'silence')
    const connection = await open()
    const first = failureOf(connection.request(heartbeat, beat))
    await clock.run(10_000)
    const second = failureOf(connection.request(heartbeat, beat))
    await clock.run(20_000)
    expect(await first).toMatchObject({
      code: 'REQUEST_TIMEOUT',
    })
    expect(await second).toMatchObject({
      code: 'CONNECTION_CLOSED',
      context: { broker: 'a:1', detail: 'it was silent for 30000 ms' },
    })
    expect(connection.isClosed).toBe(true)
    expect(clock.timerCount).toBe(0)
  })

  test('with a short timeout leaves the connection until the silence is long', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(heartbeat, () => 'silence')
    const connection = await open()
    const short = failureOf(connection.request(heartbeat, beat, { timeoutMs: 1000 }))
    await clock.run(1000)
    expect(await short).toMatchObject({ code: 'REQUEST_TIMEOUT' })
    expect(connection.isClosed).toBe(false)
    await clock.run(28_999)
    expect(connection.isClosed).toBe(false)
    await clock.run(1)
    expect(connection.isClosed).toBe(true)
  })

  test('is not hung while its answer is arriving', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(heartbeat, ({ connection: server, correlationId }) => {
      const frame = responseFrame(heartbeat, 4, correlationId, { errorCode: 0 })
      server.write(frame.subarray(0, 5))
      clock.setTimer(25_000, () => server.write(frame.subarray(5, 8)))
      clock.setTimer(40_000, () => server.write(frame.subarray(8)))
      return 'skip'
    })
    const connection = await open()
    const late = failureOf(connection.request(heartbeat, beat))
    await clock.run(45_000)
    expect(await late).toMatchObject({
      code: 'REQUEST_TIMEOUT',
    })
    expect(connection.isClosed).toBe(false)
    broker.on(heartbeat, () => ({ errorCode: 27 }))
    await expect(connection.request(heartbeat, beat)).resolves.toMatchObject({ errorCode: 27 })
    await connection.close()
  })

  test('rejects at once when its signal aborts, and its answer is dropped', async () => {
    const { clock, broker, open } = await setUp()
    let release: () => void = () => undefined
    broker.on(
      heartbeat,
      () =>
        new Promise((resolve) => {
          release = () => resolve({ errorCode: 27 })
        }),
    )
    const connection = await open()
    const abort = new AbortController()
    const aborted = failureOf(connection.request(heartbeat, beat, { signal: abort.signal }))
    await clock.settle()
    abort.abort()
    expect(await aborted).toMatchObject({ code: 'ABORTED', context: { what: 'Heartbeat to a:1' } })
    broker.on(heartbeat, () => ({ errorCode: 0 }))
    const next = connection.request(heartbeat, beat)
    await clock.settle()
    release()
    await expect(next).resolves.toMatchObject({ errorCode: 0 })
    await connection.close()
  })
})

describe('throttling', () => {
  test('nothing is sent before the time that the broker asked for', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(heartbeat, () => ({ errorCode: 0, throttleTimeMs: 500 }))
    const connection = await open()
    await connection.request(heartbeat, beat)
    broker.on(heartbeat, () => ({ errorCode: 0 }))
    const next = connection.request(heartbeat, beat)
    await clock.run(499)
    expect(broker.received(heartbeat)).toHaveLength(1)
    await clock.run(1)
    expect(broker.received(heartbeat)).toHaveLength(2)
    await next
    await connection.close()
  })

  test('a request that waits for it can time out, which does not make the broker hung', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(heartbeat, () => ({ errorCode: 0, throttleTimeMs: 60_000 }))
    const connection = await open()
    await connection.request(heartbeat, beat)
    const late = failureOf(connection.request(heartbeat, beat))
    await clock.run(59_999)
    expect(await late).toMatchObject({
      code: 'REQUEST_TIMEOUT',
    })
    expect(connection.isClosed).toBe(false)
    await connection.close()
    expect(clock.timerCount).toBe(0)
  })
})

describe('a connection that ends', () => {
  test('in the middle of a response fails what waits', async () => {
    const { broker, open } = await setUp()
    broker.on(heartbeat, ({ connection: server, correlationId }) => {
      const frame = responseFrame(heartbeat, 4, correlationId, { errorCode: 0 })
      server.write(frame.subarray(0, 7))
      server.end()
      return 'skip'
    })
    const connection = await open()
    const both = await Promise.allSettled([
      connection.request(heartbeat, beat),
      connection.request(heartbeat, beat),
    ])
    for (const result of both) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'CONNECTION_CLOSED',
          context: { broker: 'a:1', detail: 'in the middle of a response' },
        },
      })
    }
    await expect(connection.request(heartbeat, beat)).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
    })
  })

  test('is closed by a response to a request that nobody made', async () => {
    const { broker, open } = await setUp()
    broker.on(heartbeat, ({ connection: server }) => {
      server.write(responseFrame(heartbeat, 4, 4711, { errorCode: 0 }))
      return 'skip'
    })
    const connection = await open()
    await expect(connection.request(heartbeat, beat)).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
      message: expect.stringContaining('it is 4711, expected is 1'),
    })
    expect(connection.isClosed).toBe(true)
  })

  test('is closed by a response that cannot be read, and the request says why', async () => {
    const { broker, open } = await setUp()
    broker.on(fetch, ({ connection: server, correlationId }) => {
      const garbage = Buffer.alloc(40, 0xee)
      garbage.writeInt32BE(36, 0)
      garbage.writeInt32BE(correlationId, 4)
      server.write(garbage)
      return 'skip'
    })
    const connection = await open()
    const body = { maxWaitMs: 0, minBytes: 1, topics: [] }
    await expect(connection.request(fetch, body, { versionMax: 11 })).rejects.toMatchObject({
      code: 'PROTOCOL_MALFORMED',
      context: { api: 'Fetch response v11' },
    })
    expect(connection.isClosed).toBe(true)
  })

  test('is closed by a response above the bound', async () => {
    const { broker, open } = await setUp({ responseBytesMax: 10_000 })
    broker.on(heartbeat, ({ connection: server }) => {
      server.write(Buffer.from([0x10, 0, 0, 0]))
      return 'skip'
    })
    const connection = await open()
    await expect(connection.request(heartbeat, beat)).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
      message: expect.stringContaining('268435456 bytes are claimed, between 4 and 10000'),
    })
  })

  test('leaves no timer and no open connection', async () => {
    const { clock, network, broker, open } = await setUp()
    broker.on(heartbeat, () => 'silence')
    const connection = await open()
    const waiting = Promise.allSettled([connection.request(heartbeat, beat)])
    await connection.close()
    await connection.close()
    await waiting
    await clock.settle()
    expect(clock.timerCount).toBe(0)
    expect(network.openCount).toBe(0)
  })
})
