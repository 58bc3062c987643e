import { describe, expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { seededRandom } from '../base/random.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { saslHandshake } from '../protocol/messages/17-sasl-handshake.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import { saslAuthenticate } from '../protocol/messages/36-sasl-authenticate.ts'
import {
  authMessage,
  clientFinalWithoutProof,
  clientFirst,
  clientProof,
  parseServerFirst,
  saltedPassword,
} from '../protocol/scram.ts'
import type { AnyApi } from '../protocol/schema.ts'
import {
  Authenticator,
  brokerSaslProblem,
  ClientSession,
  type BrokerSaslOptions,
} from './client-session.ts'

const users = { alice: 'a', bob: 'b' }

function begin(options: Partial<BrokerSaslOptions> = {}) {
  const clock = new ManualClock()
  const authenticator = new Authenticator({ users, ...options }, { clock, random: seededRandom(1) })
  return { clock, session: new ClientSession(authenticator, 'client:1') }
}

function plain(user: string, password = user.slice(0, 1)): Buffer {
  return Buffer.from(`\0${user}\0${password}`)
}

/** What a request of this API is refused with; undefined when it is admitted. */
function refusal(session: ClientSession, api: AnyApi): unknown {
  try {
    session.admit(api)
    return undefined
  } catch (error) {
    return error
  }
}

describe('what is admitted', () => {
  test('is everything, of a broker that asks nobody', () => {
    const session = new ClientSession(undefined, 'client:1')
    expect(refusal(session, heartbeat)).toBeUndefined()
    expect(session.handshake('PLAIN').errorCode).toBe(34)
  })

  test('is nothing but the way to an authentication before it', () => {
    const { session } = begin()
    expect(refusal(session, apiVersions)).toBeUndefined()
    expect(refusal(session, saslHandshake)).toBeUndefined()
    expect(refusal(session, saslAuthenticate)).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
    })
    expect(refusal(session, heartbeat)).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
      context: { broker: 'client:1', detail: 'there was Heartbeat before it' },
    })
  })

  test('is nothing else in the middle of one', () => {
    const { session } = begin()
    session.handshake('PLAIN')
    expect(refusal(session, saslAuthenticate)).toBeUndefined()
    expect(refusal(session, apiVersions)).toBeDefined()
  })

  test('is nothing after a refusal', async () => {
    const { session } = begin()
    session.handshake('PLAIN')
    expect(await session.authenticate(plain('alice', 'x'))).toMatchObject({ errorCode: 58 })
    expect(refusal(session, saslHandshake)).toBeDefined()
    const other = begin().session
    expect(other.handshake('GSSAPI')).toEqual({
      errorCode: 33,
      mechanisms: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'],
    })
    expect(refusal(other, saslHandshake)).toBeDefined()
  })

  test('is everything after one, until the session ends', async () => {
    const { clock, session } = begin({ sessionLifetimeMs: 1000 })
    session.handshake('PLAIN')
    expect(await session.authenticate(plain('alice'))).toMatchObject({
      errorCode: 0,
      sessionLifetimeMs: 1000,
    })
    clock.advance(999)
    expect(refusal(session, heartbeat)).toBeUndefined()
    clock.advance(1)
    expect(refusal(session, heartbeat)).toMatchObject({
      context: { detail: 'there was Heartbeat after the session has ended' },
    })
    expect(refusal(session, saslHandshake)).toBeUndefined()
    session.handshake('PLAIN')
    await session.authenticate(plain('alice'))
    expect(refusal(session, heartbeat)).toBeUndefined()
  })
})

test.each([
  ['bob', 'PLAIN'],
  ['alice', 'SCRAM-SHA-256'],
])('a session is not handed to %s by %s', async (user, mechanism) => {
  const { session } = begin()
  session.handshake('PLAIN')
  await session.authenticate(plain('alice'))
  session.handshake(mechanism)
  const answer = await session.authenticate(plain(user))
  expect(answer.errorCode).toBe(58)
})

test.each([
  ['alice', ''],
  ['', 'a'],
  ['alice', 'b'],
  ['carol', 'c'],
])('PLAIN with %j and %j is refused', async (user, password) => {
  const { session } = begin()
  session.handshake('PLAIN')
  expect((await session.authenticate(plain(user, password))).errorCode).toBe(58)
})

test('SCRAM with another nonce in the last message is refused (CVE-2024-56128)', async () => {
  const exchange = async (change: (nonce: string) => string): Promise<number> => {
    const { session } = begin()
    session.handshake('SCRAM-SHA-256')
    const first = clientFirst('alice', 'ours')
    const { authBytes } = await session.authenticate(Buffer.from(first.text))
    const answer = parseServerFirst(authBytes.toString())
    if (answer === undefined) throw new Error('it cannot be read')
    const withoutProof = clientFinalWithoutProof(change(answer.nonce))
    const salted = await saltedPassword('sha256', 'a', answer)
    const proof = clientProof('sha256', salted, authMessage(first, answer, withoutProof))
    const text = `${withoutProof},p=${proof.toString('base64')}`
    return (await session.authenticate(Buffer.from(text))).errorCode
  }
  expect(await exchange((nonce) => nonce)).toBe(0)
  expect(await exchange((nonce) => `ours${nonce}`)).toBe(58)
})

test('PLAIN for somebody else, or in other bytes, is refused', async () => {
  for (const bytes of ['bob\0alice\0a', 'alice\0a', '\0alice\0a\0', '']) {
    const { session } = begin()
    session.handshake('PLAIN')
    expect((await session.authenticate(Buffer.from(bytes))).errorCode).toBe(58)
  }
})

test('users are enough, and the rest may be said', () => {
  expect(brokerSaslProblem({ users })).toBeUndefined()
  expect(brokerSaslProblem({ users, mechanisms: ['plain'], sessionLifetimeMs: 0 })).toBeUndefined()
})

test.each([
  [{}, 'users must be an object'],
  [{ users: {} }, 'users must be an object'],
  [{ users: { alice: '' } }, '"alice" and its password must be texts'],
  [{ users, mechanisms: [] }, 'mechanisms must name at least one'],
  [{ users, mechanisms: ['gssapi'] }, 'not "gssapi"'],
  [{ users, sessionLifetimeMs: -1 }, 'sessionLifetimeMs must be'],
  [{ users, user: 'alice' }, 'it has no user'],
])('the options %j are refused', (options, detail) => {
  expect(brokerSaslProblem(options as unknown as BrokerSaslOptions)).toContain(detail)
})
