import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { seededRandom, type Random } from '../base/random.ts'
import { saslMechanism } from './sasl-mechanism.ts'
import type { SaslExchange, SaslOptions } from './sasl-options.ts'

/** Gives a client the nonce of the vectors. */
const rfcRandom: Random = {
  next: () => 0,
  bytes: () => Buffer.from('rOprNGfwEbeRWgbNEkqO', 'base64url'),
}

/** Runs a mechanism against answers that are known before; returns what it sent. */
async function converse(
  options: SaslOptions,
  answers: readonly string[],
  random: Random = rfcRandom,
): Promise<string[]> {
  const sent: string[] = []
  const rest = [...answers]
  const exchange: SaslExchange = {
    host: 'a',
    port: 1,
    signal: new AbortController().signal,
    send: async (bytes) => {
      sent.push(Buffer.from(bytes).toString())
      return Buffer.from(rest.shift() ?? '')
    },
  }
  await saslMechanism(options, random).authenticate(exchange)
  return sent
}

test('plain sends name and password', async () => {
  const options = { mechanism: 'plain', username: 'ünal', password: 'p, =' } as const
  expect(await converse(options, [''])).toEqual(['\0ünal\0p, ='])
})

describe('scram', () => {
  const pencil = { mechanism: 'scram-sha-256', username: 'user', password: 'pencil' } as const
  const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0'
  const first = `r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`
  const last = 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='

  test('is the exchange of RFC 7677', async () => {
    expect(await converse(pencil, [first, last])).toEqual([
      'n,,n=user,r=rOprNGfwEbeRWgbNEkqO',
      `c=biws,r=${nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`,
    ])
  })

  test('takes another nonce each time', async () => {
    const mechanism = saslMechanism(pencil, seededRandom(1))
    const sent: string[] = []
    for (const _ of [1, 2]) {
      const failed = mechanism.authenticate({
        host: 'a',
        port: 1,
        signal: new AbortController().signal,
        send: async (bytes) => {
          sent.push(Buffer.from(bytes).toString())
          return Buffer.from('')
        },
      })
      await failureOf(failed)
    }
    expect(sent).toHaveLength(2)
    expect(sent[0]).not.toBe(sent[1])
  })

  test.each([
    ['a server that does not know the password', [first, `v=${'A'.repeat(43)}=`], 'not know'],
    ['a server that refuses', [first, 'e=other-error'], 'other-error'],
    ['a server that says nothing in the end', [first, ''], 'its last message'],
    ['a nonce that is not ours', [`r=x,s=AAAA,i=4096`], 'the nonce is not ours'],
    [
      'a nonce to which nothing was added',
      [`r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096`],
      'the nonce is not ours',
    ],
    ['too few iterations', [`r=${nonce},s=AAAA,i=4095`], 'it wants 4095 iterations'],
    ['too many iterations', [`r=${nonce},s=AAAA,i=1000001`], 'it wants 1000001 iterations'],
    ['what is not SCRAM', ['hello'], 'its first message'],
  ])('%s is refused', async (_case, answers, detail) => {
    expect(await failureOf(converse(pencil, answers))).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
      context: {
        broker: 'a:1',
        mechanism: 'SCRAM-SHA-256',
        detail: expect.stringContaining(detail),
      },
    })
  })
})

describe('oauthbearer', () => {
  const bearer = (token: () => unknown): SaslOptions => ({
    mechanism: 'oauthbearer',
    token: async () => token() as { value: string },
  })

  test('sends the token with its extensions', async () => {
    const options = bearer(() => ({ value: 'abc.def-_', extensions: { traceId: '1 2' } }))
    expect(await converse(options, [''])).toEqual([
      'n,,\x01auth=Bearer abc.def-_\x01traceId=1 2\x01\x01',
    ])
  })

  test('hears the reason of a refusal before the refusal', async () => {
    const refused = converse(
      bearer(() => ({ value: 'abc' })),
      ['{"status":"invalid_token"}', ''],
    )
    expect(await failureOf(refused)).toMatchObject({
      code: 'SASL_AUTHENTICATION_FAILED',
      context: { mechanism: 'OAUTHBEARER', detail: '{"status":"invalid_token"}' },
    })
  })

  test('a token that is not to be had is not a refusal: it is tried again', async () => {
    const options = bearer(() => {
      throw new Error('the provider is down')
    })
    const failure = await failureOf(converse(options, ['']))
    expect(String(failure)).toBe('Error: no token was to be had: the provider is down')
  })

  test.each([
    [undefined],
    ['abc'],
    [{ value: '' }],
    [{ value: 'a b' }],
    [{ value: 'a\x01auth=Bearer b' }],
    [{ value: 'a', extensions: { auth: 'x' } }],
    [{ value: 'a', extensions: { 'a b': 'x' } }],
    [{ value: 'a', extensions: { a: 'x\x01' } }],
  ])('%j is not sent', async (token) => {
    expect(
      await failureOf(
        converse(
          bearer(() => token),
          [''],
        ),
      ),
    ).toMatchObject({
      code: 'CONFIG_INVALID',
      context: { option: 'sasl.token' },
    })
  })
})

test('a mechanism of the program says what it wants', async () => {
  const options: SaslOptions = {
    mechanism: 'custom',
    name: 'TWO-STEPS',
    authenticate: async (exchange) => {
      const challenge = await exchange.send(Buffer.from(`hello ${exchange.host}`))
      await exchange.send(Buffer.from(`answer to ${challenge.toString()}`))
    },
  }
  expect(saslMechanism(options, rfcRandom).name).toBe('TWO-STEPS')
  expect(await converse(options, ['42'])).toEqual(['hello a', 'answer to 42'])
})
