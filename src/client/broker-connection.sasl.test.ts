import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ScriptedBroker } from '../../test/peers/scripted-broker.ts'
import { silentLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryTransport } from '../base/memory-transport.ts'
import { seededRandom } from '../base/random.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { saslHandshake } from '../protocol/messages/17-sasl-handshake.ts'
import { saslAuthenticate } from '../protocol/messages/36-sasl-authenticate.ts'
import { BrokerConnection } from './broker-connection.ts'
import { ClientSecurity } from './client-security.ts'
import type { SaslOptions } from './sasl-options.ts'

const beat = { groupId: 'g', generationId: 1, memberId: 'm' }
const alice = { mechanism: 'plain', username: 'alice', password: 'secret' } as const

const granted = (sessionLifetimeMs = 0) => ({
  errorCode: 0,
  errorMessage: null,
  authBytes: Buffer.alloc(0),
  sessionLifetimeMs,
})

async function setUp(sasl: SaslOptions = alice) {
  const clock = new ManualClock()
  const network = new MemoryTransport({ clock })
  const broker = await ScriptedBroker.listen(network, { host: 'a', port: 1 })
  broker.on(saslHandshake, () => ({ errorCode: 0, mechanisms: ['PLAIN'] }))
  broker.on(saslAuthenticate, () => granted())
  broker.on(heartbeat, () => ({ errorCode: 0 }))
  const random = seededRandom(1)
  const open = () =>
    BrokerConnection.open({
      transport: network,
      clock,
      random,
      log: silentLog,
      host: 'a',
      port: 1,
      clientId: 'tester',
      connectTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      authenticate: new ClientSecurity({ sasl }).authentication(random),
    })
  const apis = (): string[] => broker.requests.map(({ api }) => api)
  return { clock, network, broker, open, apis }
}

describe('a new connection', () => {
  test('says who it is before anything else', async () => {
    const { broker, open, apis } = await setUp()
    const connection = await open()
    await connection.request(heartbeat, beat)
    expect(apis()).toEqual(['ApiVersions', 'SaslHandshake', 'SaslAuthenticate', 'Heartbeat'])
    expect(broker.received(saslHandshake)).toEqual([{ mechanism: 'PLAIN' }])
    const [request] = broker.received(saslAuthenticate)
    expect(Buffer.from(request?.authBytes ?? []).toString()).toBe('\0alice\0secret')
    await connection.close()
  })

  test.each([
    [
      { errorCode: 33, mechanisms: ['GSSAPI', 'OAUTHBEARER'] },
      'SASL_MECHANISM_UNSUPPORTED',
      'GSSAPI, OAUTHBEARER',
    ],
    [{ errorCode: 33, mechanisms: [] }, 'SASL_MECHANISM_UNSUPPORTED', 'but none'],
    [{ errorCode: 34, mechanisms: [] }, 'SASL_AUTHENTICATION_FAILED', 'wants no authentication'],
  ])('ends when the handshake is answered with %j', async (answer, code, text) => {
    const { clock, network, broker, open } = await setUp()
    broker.on(saslHandshake, () => answer)
    const failure = await failureOf(open())
    expect(failure).toMatchObject({ code, message: expect.stringContaining(text) })
    await clock.settle()
    expect(network.openCount).toBe(0)
    expect(clock.timerCount).toBe(0)
  })

  test("tells the broker's reason for a refusal, and no secret", async () => {
    const { broker, open } = await setUp()
    const errorMessage = 'Authentication failed: Invalid username or password'
    broker.on(saslAuthenticate, () => ({ ...granted(), errorCode: 58, errorMessage }))
    const failure = await failureOf(open())
    expect(failure).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
      message: `Authentication by PLAIN failed between this process and a:1: ${errorMessage}. See the option sasl.`,
    })
    expect(JSON.stringify(failure)).not.toContain('secret')
  })

  test('can be tried again when the broker fails in a way that passes', async () => {
    const { broker, open } = await setUp()
    broker.on(saslAuthenticate, () => ({ ...granted(), errorCode: 7 }))
    expect(await failureOf(open())).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { kafkaRetriable: true },
    })
  })

  test('is unreachable when the broker never comes to an end', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(saslAuthenticate, () => 'silence')
    const failed = failureOf(open())
    await clock.run(10_000)
    expect(await failed).toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(clock.timerCount).toBe(0)
  })

  test('aborts the signal of a token for which it has waited too long', async () => {
    const signals: AbortSignal[] = []
    const { clock, open } = await setUp({
      mechanism: 'oauthbearer',
      token: (signal) => {
        signals.push(signal)
        return new Promise(() => undefined)
      },
    })
    const failed = failureOf(open())
    await clock.run(10_000)
    expect(await failed).toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(clock.timerCount).toBe(0)
  })

  test('is unreachable, which passes, while no token is to be had', async () => {
    const { open } = await setUp({
      mechanism: 'oauthbearer',
      token: () => Promise.reject(new Error('the provider is down')),
    })
    expect(await failureOf(open())).toMatchObject({
      code: 'BROKER_UNREACHABLE',
      context: { detail: 'no token was to be had: the provider is down' },
    })
  })

  test('is refused when a mechanism of the program says nothing, or goes on for ever', async () => {
    const silent = await setUp({
      mechanism: 'custom',
      name: 'X',
      authenticate: async () => undefined,
    })
    expect(await failureOf(silent.open())).toMatchObject({ code: 'SASL_AUTHENTICATION_FAILED' })
    const endless = await setUp({
      mechanism: 'custom',
      name: 'X',
      authenticate: async ({ send }) => {
        for (;;) await send(Buffer.from('and'))
      },
    })
    expect(await failureOf(endless.open())).toMatchObject({ code: 'SASL_AUTHENTICATION_FAILED' })
    expect(endless.broker.received(saslAuthenticate)).toHaveLength(100)
  })
})

describe('a session that ends (KIP-368)', () => {
  test('is renewed after 85 to 95 % of its time, again and again', async () => {
    const { clock, broker, open, apis } = await setUp()
    broker.on(saslAuthenticate, () => granted(100_000))
    const connection = await open()
    await clock.run(84_000)
    expect(apis()).toHaveLength(3)
    await clock.run(11_000)
    expect(apis().slice(3)).toEqual(['SaslHandshake', 'SaslAuthenticate'])
    await clock.run(95_000)
    expect(apis().slice(5)).toEqual(['SaslHandshake', 'SaslAuthenticate'])
    await connection.close()
    expect(clock.timerCount).toBe(0)
  })

  test('waits for the answer that is under way, and holds back what comes meanwhile', async () => {
    const { clock, broker, open, apis } = await setUp()
    broker.on(saslAuthenticate, () => granted(100_000))
    const connection = await open()
    let answer: () => void = () => undefined
    broker.on(heartbeat, async () => {
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      return { errorCode: 0 }
    })
    await clock.run(84_000)
    const before = connection.request(heartbeat, beat)
    await clock.run(11_000)
    broker.on(metadata, () => ({ brokers: [], topics: [] }))
    const meanwhile = connection.request(metadata, { topics: [] })
    await clock.run(1000)
    expect(apis().slice(3)).toEqual(['Heartbeat'])
    answer()
    await expect(before).resolves.toMatchObject({ errorCode: 0 })
    await meanwhile
    expect(apis().slice(3)).toEqual(['Heartbeat', 'SaslHandshake', 'SaslAuthenticate', 'Metadata'])
    await connection.close()
  })

  test('that is not renewed ends the connection, whose requests may be tried on a new one', async () => {
    const { clock, broker, open } = await setUp()
    broker.on(saslAuthenticate, () => granted(100_000))
    const connection = await open()
    broker.on(saslAuthenticate, () => ({ ...granted(), errorCode: 58, errorMessage: 'gone' }))
    await clock.run(95_000)
    expect(connection.isClosed).toBe(true)
    await expect(connection.request(heartbeat, beat)).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
      context: { detail: expect.stringContaining('could not be renewed') },
    })
    expect(clock.timerCount).toBe(0)
  })

  test('of a connection that is closed meanwhile leaves nothing behind', async () => {
    const { clock, network, broker, open } = await setUp()
    broker.on(saslAuthenticate, () => granted(100_000))
    const connection = await open()
    broker.on(heartbeat, () => 'silence')
    await clock.run(84_000)
    const waiting = failureOf(connection.request(heartbeat, beat))
    await clock.run(11_000)
    await connection.close()
    expect(await waiting).toMatchObject({ code: 'CONNECTION_CLOSED' })
    await clock.settle()
    expect(network.openCount).toBe(0)
    expect(clock.timerCount).toBe(0)
  })
})

describe('a broker that hangs up without a word', () => {
  test('may want authentication', async () => {
    const clock = new ManualClock()
    const network = new MemoryTransport({ clock })
    const broker = await ScriptedBroker.listen(network, { host: 'a', port: 1 })
    broker.on(metadata, ({ connection }) => {
      connection.end()
      return 'skip'
    })
    const connection = await BrokerConnection.open({
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
    await expect(connection.request(metadata, { topics: [] })).rejects.toMatchObject({
      code: 'CONNECTION_CLOSED',
      context: { detail: expect.stringContaining('the option sasl') },
    })
  })
})
