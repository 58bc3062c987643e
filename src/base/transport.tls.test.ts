import { connect as connectTcp, type AddressInfo } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import {
  localhostCertificate,
  strangerCertificate,
} from '../../test/peers/localhost-certificate.ts'
import { connectionOptions, type TlsOptions, type TlsServerOptions } from './tls.ts'
import { systemTransport, type Connection, type Listener } from './transport.ts'

const timeoutMs = 10_000
const { cert, key } = localhostCertificate
const trusting: TlsOptions = { ca: cert }

const open: { close(): Promise<void> | void }[] = []

afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
})

/** A server that answers in capitals, and remembers with whom no TLS came about. */
async function listen(tls?: TlsServerOptions): Promise<Listener & { failures: string[] }> {
  const failures: string[] = []
  const listener = await systemTransport.listen({
    host: '127.0.0.1',
    port: 0,
    ...(tls && { tls }),
    onTlsFailure: (_peer, reason) => failures.push(reason.message),
    onConnection: (connection) => {
      connection.onData = (bytes) => connection.write(Buffer.from(bytes.toString().toUpperCase()))
    },
  })
  open.push(listener)
  return Object.assign(listener, { failures })
}

function connect(port: number, tls: TlsOptions, host = 'localhost'): Promise<Connection> {
  return systemTransport.connect({ host, port, tls: connectionOptions(tls), timeoutMs })
}

/** What the other side says to a greeting, or why it says nothing. */
function greeted(connection: Connection): Promise<string | Error | undefined> {
  open.push({ close: () => connection.destroy() })
  return new Promise((resolve) => {
    connection.onData = (bytes) => resolve(bytes.toString())
    connection.onClose = (reason) => resolve(reason)
    connection.write(Buffer.from('hello'))
  })
}

test('bytes go through TLS, and no warning is given about an address', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  open.push({ close: () => void process.off('warning', onWarning) })
  const { port } = await listen({ cert, key })
  expect(await greeted(await connect(port, trusting))).toBe('HELLO')
  expect(await greeted(await connect(port, trusting, '127.0.0.1'))).toBe('HELLO')
  expect(warnings).toEqual([])
})

test('closing the listener ends connections, and those whose handshake is not over', async () => {
  const listener = await listen({ cert, key })
  const connection = await connect(listener.port, trusting)
  const ended = new Promise<void>((resolve) => {
    connection.onClose = () => resolve()
  })
  const mute = connectTcp({ host: '127.0.0.1', port: listener.port })
  mute.on('error', () => undefined)
  open.push({ close: () => void mute.destroy() })
  await new Promise((resolve) => {
    mute.once('connect', resolve)
  })
  const muteEnded = new Promise((resolve) => {
    mute.once('close', resolve)
  })
  await listener.close()
  await expect(Promise.all([ended, muteEnded])).resolves.toBeDefined()
})

test.each([
  ['that nobody trusts', {}, 'localhost', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  [
    'for another name',
    { ...trusting, servername: 'kafka' },
    'localhost',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ],
])('a certificate %s is no broker', async (_case, tls, host, reason) => {
  const { port } = await listen({ cert, key })
  expect(await failureOf(connect(port, tls, host))).toMatchObject({
    code: 'TLS_FAILED',
    context: {
      broker: `${host}:${port}`,
      detail: expect.stringMatching(`${reason}.*see ca, servername and checkServerIdentity`),
    },
  })
})

test('a certificate may be looked at in another way, or not at all', async () => {
  const { port } = await listen({ cert: strangerCertificate.cert, key: strangerCertificate.key })
  const ca = strangerCertificate.cert
  const loose = [
    { ca, servername: 'stranger.example' },
    { ca, checkServerIdentity: () => undefined },
    { rejectUnauthorized: false },
  ]
  for (const tls of loose) expect(await greeted(await connect(port, tls))).toBe('HELLO')
})

test('a client shows the certificate that a server wants to see', async () => {
  const { port } = await listen({ cert, key, ca: cert, clientCertificate: 'required' })
  expect(await greeted(await connect(port, { ...trusting, cert, key }))).toBe('HELLO')
})

test('a client that should show a certificate and shows none learns why', async () => {
  const server = await listen({ cert, key, ca: cert, clientCertificate: 'required' })
  const answer = await connect(server.port, trusting).then(greeted, String)
  expect(String(answer)).toContain('the certificate of this client')
  expect(server.failures).toHaveLength(1)
})

test('a client that shows the certificate of a stranger is hung up on', async () => {
  const server = await listen({ cert, key, ca: cert, clientCertificate: 'required' })
  const connection = await connect(server.port, { ...trusting, ...strangerCertificate })
  expect(await greeted(connection)).not.toBe('HELLO')
  expect(server.failures).toHaveLength(1)
})

test('versions that do not meet are told', async () => {
  const server = createTlsServer({ cert, key, maxVersion: 'TLSv1.2' })
  open.push({ close: () => void server.close() })
  await new Promise<void>((resolve) => {
    server.listen({ host: '127.0.0.1', port: 0 }, resolve)
  })
  const { port } = server.address() as AddressInfo
  expect(await failureOf(connect(port, { ...trusting, minVersion: 'TLSv1.3' }))).toMatchObject({
    code: 'TLS_FAILED',
    context: { detail: expect.stringContaining('see minVersion and ciphers') },
  })
})

test('who speaks TLS to a port that does not gets a hint', async () => {
  const hangsUp = await systemTransport.listen({
    host: '127.0.0.1',
    port: 0,
    onConnection: (connection) => {
      connection.onData = () => connection.end()
    },
  })
  open.push(hangsUp)
  expect(await failureOf(connect(hangsUp.port, trusting))).toMatchObject({
    code: 'BROKER_UNREACHABLE',
    context: { detail: expect.stringContaining('does this port speak TLS?') },
  })
  const answers = await systemTransport.listen({
    host: '127.0.0.1',
    port: 0,
    onConnection: (connection) => {
      connection.onData = () => connection.write(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))
    },
  })
  open.push(answers)
  expect(await failureOf(connect(answers.port, trusting))).toMatchObject({
    code: 'TLS_FAILED',
    context: { detail: expect.stringContaining('leave out the option tls') },
  })
})

test('who does not speak TLS to a port that does is hung up on, and the server hears of it', async () => {
  const server = await listen({ cert, key })
  const { port } = server
  const connection = await systemTransport.connect({ host: 'localhost', port, timeoutMs })
  expect(await greeted(connection)).not.toBe('HELLO')
  expect(server.failures).toHaveLength(1)
})
