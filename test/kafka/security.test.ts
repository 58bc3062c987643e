/** TLS and SASL against a real Kafka: its listeners, its validators, its reasons. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { Admin } from '../../src/client/admin.ts'
import { ClientSecurity, type SecurityOptions } from '../../src/client/client-security.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { Producer } from '../../src/client/producer.ts'
import { systemPorts } from '../../src/config.ts'
import { KafkaStreams, serdes, StreamsBuilder, topic, type SaslOptions } from '../../src/index.ts'
import { until } from '../integration/until.ts'
import { failureOf } from '../peers/failure-of.ts'
import { KafkaCluster, type KafkaListener } from '../peers/kafka-cluster.ts'
import { localhostCertificate, strangerCertificate } from '../peers/localhost-certificate.ts'

const { cert, key } = localhostCertificate
const password = 'correct-horse'
/** What SASLprep would make another password of: Kafka keeps it as it is. */
const oddPassword = 'ª\u00a0ſ'

const tlsProperties = {
  'ssl.keystore.type': 'PEM',
  'ssl.keystore.certificate.chain': cert,
  'ssl.keystore.key': key,
  'ssl.truststore.type': 'PEM',
  'ssl.truststore.certificates': cert,
}

const security = 'org.apache.kafka.common.security'
const saslProperties = {
  'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
  'plain.sasl.jaas.config': `${security}.plain.PlainLoginModule required user_alice="${password}";`,
  'scram-sha-256.sasl.jaas.config': `${security}.scram.ScramLoginModule required;`,
  'scram-sha-512.sasl.jaas.config': `${security}.scram.ScramLoginModule required;`,
  'oauthbearer.sasl.jaas.config': `${security}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
}

const listeners: KafkaListener[] = [
  { name: 'TLS', protocol: 'SSL', properties: tlsProperties },
  {
    name: 'MUTUAL',
    protocol: 'SSL',
    properties: { ...tlsProperties, 'ssl.client.auth': 'required' },
  },
  { name: 'SASL', protocol: 'SASL_PLAINTEXT', properties: saslProperties },
  { name: 'BOTH', protocol: 'SASL_SSL', properties: { ...tlsProperties, ...saslProperties } },
  {
    name: 'SHORT',
    protocol: 'SASL_PLAINTEXT',
    properties: { ...saslProperties, 'connections.max.reauth.ms': '3000' },
  },
]

/** A token as the validator for tests takes it: nobody has signed it. */
function unsecuredToken(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}

const seconds = (): number => Math.floor(Date.now() / 1000)

const alice = (mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512') =>
  ({ mechanism, username: 'alice', password }) as const

const bearer = (lifetime = 3600): SaslOptions => ({
  mechanism: 'oauthbearer',
  token: () => ({
    value: unsecuredToken({ sub: 'alice', iat: seconds(), exp: seconds() + lifetime }),
    extensions: { traceId: '1' },
  }),
})

let cluster: KafkaCluster
const open: AsyncDisposable[] = []

beforeAll(async () => {
  cluster = await KafkaCluster.start({
    heapMb: 512,
    listeners,
    scramUsers: { alice: password, odd: oddPassword },
  })
}, 120_000)

afterAll(() => cluster.close())

afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

function clientOf(address: string, options: SecurityOptions, deadlineMs = 10_000): KafkaClient {
  const client = new KafkaClient({
    brokers: [address],
    log: silentLog,
    security: new ClientSecurity(options),
    deadlineMs,
    ...systemPorts,
  })
  open.push(client)
  return client
}

let topics = 0

/** Makes a topic and writes to it: control, coordinator and data connections. */
async function works(client: KafkaClient): Promise<boolean> {
  const name = `t-${(topics += 1)}`
  await new Admin(client).createTopics([{ topic: name, partitions: 1, replicationFactor: 1 }])
  await until(async () => (await client.topicMetadata([name], { fresh: true })).has(name))
  const producer = new Producer(client)
  open.push(producer)
  producer.send(name, 0, null, Buffer.from('x'), -1, [])
  await producer.flush()
  return true
}

describe('TLS', () => {
  test('is spoken with who trusts the certificate', async () => {
    expect(await works(clientOf(cluster.address('TLS'), { tls: { ca: cert } }))).toBe(true)
  })

  test('is refused by who does not', async () => {
    const failure = await failureOf(works(clientOf(cluster.address('TLS'), { tls: true })))
    expect(failure).toMatchObject({ code: 'TLS_FAILED' })
  })

  test('with a certificate of the client, when the listener wants one', async () => {
    const tls = { ca: cert, cert, key }
    expect(await works(clientOf(cluster.address('MUTUAL'), { tls }))).toBe(true)
  })

  test.each([
    ['none', {}],
    ['that of a stranger', strangerCertificate],
  ])('ends when the client shows %s instead', async (_case, shown) => {
    const tls = { ca: cert, ...shown }
    const client = clientOf(cluster.address('MUTUAL'), { tls }, 3000)
    const failure = await failureOf(client.refreshMetadata())
    // Kafka hangs up right behind its alert, and the way may lose it.
    expect(failure).toMatchObject({ code: expect.stringMatching(/TLS_FAILED|BROKER_UNREACHABLE/) })
  })

  test('that the client does not speak is told', async () => {
    const failure = await failureOf(clientOf(cluster.address('TLS'), {}).refreshMetadata())
    expect(failure).toMatchObject({ code: 'TLS_FAILED' })
    expect(String(failure)).toContain('state the option tls')
  })

  test('that the listener does not speak is told', async () => {
    const [plain] = cluster.bootstrap
    const client = clientOf(plain ?? '', { tls: { ca: cert } }, 2000)
    expect(String(await failureOf(client.refreshMetadata()))).toContain('does this port speak TLS?')
  })
})

describe('SASL', () => {
  const ways: [string, SaslOptions][] = [
    ['PLAIN', alice('plain')],
    ['SCRAM-SHA-256', alice('scram-sha-256')],
    ['SCRAM-SHA-512', alice('scram-sha-512')],
    ['OAUTHBEARER', bearer()],
    [
      'SCRAM with an odd password',
      { ...alice('scram-sha-512'), username: 'odd', password: oddPassword },
    ],
  ]

  test.each(ways)('by %s, in the open and through TLS', async (_name, sasl) => {
    expect(await works(clientOf(cluster.address('SASL'), { sasl }))).toBe(true)
    expect(await works(clientOf(cluster.address('BOTH'), { sasl, tls: { ca: cert } }))).toBe(true)
  })

  test.each<[string, SaslOptions]>([
    ['PLAIN', { ...alice('plain'), password: 'wrong' }],
    ['SCRAM-SHA-256', { ...alice('scram-sha-256'), password: 'wrong' }],
    ['SCRAM-SHA-512 of a user that there is not', { ...alice('scram-sha-512'), username: 'bob' }],
    ['OAUTHBEARER with a token of yesterday', bearer(-86_400)],
  ])('by %s is refused', async (_name, sasl) => {
    const failure = await failureOf(works(clientOf(cluster.address('SASL'), { sasl })))
    expect(failure).toMatchObject({ code: 'SASL_AUTHENTICATION_FAILED' })
  })

  test('by what the listener does not have is refused, and what it has is named', async () => {
    const sasl: SaslOptions = {
      mechanism: 'custom',
      name: 'AWS_MSK_IAM',
      authenticate: async ({ send }) => void (await send(Buffer.from('x'))),
    }
    const failure = await failureOf(works(clientOf(cluster.address('SASL'), { sasl })))
    expect(failure).toMatchObject({
      code: 'SASL_MECHANISM_UNSUPPORTED',
      context: { offered: expect.stringContaining('SCRAM-SHA-512') },
    })
  })

  test('by a mechanism of the program', async () => {
    const sasl: SaslOptions = {
      mechanism: 'custom',
      name: 'PLAIN',
      authenticate: async ({ send }) => void (await send(Buffer.from(`\0alice\0${password}`))),
    }
    expect(await works(clientOf(cluster.address('SASL'), { sasl }))).toBe(true)
  })

  test('that a client leaves out is told', async () => {
    const failure = await failureOf(clientOf(cluster.address('SASL'), {}).refreshMetadata())
    expect(String(failure)).toContain('the option sasl')
  })

  test('that a listener does not want is told', async () => {
    const [plain] = cluster.bootstrap
    const failure = await failureOf(works(clientOf(plain ?? '', { sasl: alice('plain') })))
    expect(failure).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
      context: { detail: expect.stringContaining('wants no authentication') },
    })
  })
})

test('an application outlives several sessions without a lost connection', async ({ signal }) => {
  const sasl = alice('scram-sha-256')
  const client = clientOf(cluster.address('SHORT'), { sasl })
  await new Admin(client).createTopics([{ topic: 'long', partitions: 2, replicationFactor: 1 }])
  await until(async () => (await client.topicMetadata(['long'], { fresh: true })).has('long'))
  const builder = new StreamsBuilder()
  const seen: string[] = []
  builder.stream(topic('long', { value: serdes.string })).forEach((value) => void seen.push(value))
  const lines: string[] = []
  const hear = (line: string): void => void lines.push(line)
  const streams = new KafkaStreams(builder.build(), {
    applicationId: 'outlives',
    brokers: [cluster.address('SHORT')],
    sasl,
    logger: { debug: hear, info: () => undefined, warn: hear, error: hear },
  })
  open.push(streams)
  await streams.start()
  const producer = new Producer(client)
  open.push(producer)
  const end = Date.now() + 10_000
  let sent = 0
  while (Date.now() < end) {
    producer.send('long', sent % 2, null, Buffer.from(`${sent}`), -1, [])
    await producer.flush()
    sent += 1
  }
  await until(() => seen.length === sent, signal)
  expect(lines.filter((line) => /ended|reached|closed/.test(line))).toEqual([])
}, 60_000)
