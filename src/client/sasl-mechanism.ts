import type { Random } from '../base/random.ts'
import { areSameSecrets } from '../base/digest.ts'
import { StreamsError } from '../errors.ts'
import {
  authMessage,
  clientFinalWithoutProof,
  clientFirst,
  clientProof,
  parseServerFinal,
  parseServerFirst,
  saltedPassword,
  scramHashes,
  scramIterationsMax,
  scramIterationsMin,
  serverKeyOf,
  serverSignature,
  type ServerFirst,
} from '../protocol/scram.ts'
import type {
  OAuthBearerToken,
  SaslExchange,
  SaslOAuthBearer,
  SaslOptions,
  SaslPassword,
} from './sasl-options.ts'

/** One way to say who we are. Java's SaslClient. */
export interface SaslMechanism {
  /** On the wire. */
  readonly name: string
  /** All messages of it, from the first. Rejects with `SASL_AUTHENTICATION_FAILED`, among others. */
  authenticate(exchange: SaslExchange): Promise<void>
}

/** The mechanism that the options describe; what is secret of them stays in it. */
export function saslMechanism(options: SaslOptions, random: Random): SaslMechanism {
  switch (options.mechanism) {
    case 'plain':
      return plain(options)
    case 'scram-sha-256':
      return new ScramClient('SCRAM-SHA-256', options, random)
    case 'scram-sha-512':
      return new ScramClient('SCRAM-SHA-512', options, random)
    case 'oauthbearer':
      return oauthBearer(options)
    case 'custom': {
      const { name, authenticate } = options
      return { name, authenticate: (exchange) => authenticate(exchange) }
    }
    default:
      return options satisfies never
  }
}

/** RFC 4616. */
function plain({ username, password }: SaslPassword): SaslMechanism {
  return {
    name: 'PLAIN',
    authenticate: async (exchange) => {
      await exchange.send(Buffer.from(`\0${username}\0${password}`))
    },
  }
}

const nonceBytes = 24

/** Java's ScramSaslClient. */
class ScramClient implements SaslMechanism {
  readonly name: keyof typeof scramHashes
  readonly #username: string
  readonly #password: string
  readonly #random: Random
  /** Of the last salt: brokers keep the same one, and stretching takes its time. */
  #stretched: { readonly of: string; readonly salted: Promise<Buffer> } | undefined

  constructor(name: keyof typeof scramHashes, options: SaslPassword, random: Random) {
    this.name = name
    this.#username = options.username
    this.#password = options.password
    this.#random = random
  }

  async authenticate(exchange: SaslExchange): Promise<void> {
    const hash = scramHashes[this.name]
    const first = clientFirst(this.#username, this.#random.bytes(nonceBytes).toString('base64url'))
    const answer = parseServerFirst((await exchange.send(Buffer.from(first.text))).toString())
    if (answer === undefined) throw this.#failed(exchange, 'its first message is not one of SCRAM')
    this.#check(exchange, first.nonce, answer)
    const salted = await this.#salted(answer)
    const withoutProof = clientFinalWithoutProof(answer.nonce)
    const message = authMessage(first, answer, withoutProof)
    const proof = clientProof(hash, salted, message).toString('base64')
    const end = await exchange.send(Buffer.from(`${withoutProof},p=${proof}`))
    const final = parseServerFinal(end.toString())
    if (final === undefined) throw this.#failed(exchange, 'its last message is not one of SCRAM')
    if ('refusal' in final) throw this.#failed(exchange, final.refusal)
    const expected = serverSignature(hash, serverKeyOf(hash, salted), message)
    if (areSameSecrets(final.signature, expected)) return
    throw this.#failed(exchange, 'it does not know the password itself: it may not be a broker')
  }

  #check(exchange: SaslExchange, nonce: string, answer: ServerFirst): void {
    if (!answer.nonce.startsWith(nonce) || answer.nonce.length === nonce.length)
      throw this.#failed(exchange, 'it answers to somebody else: the nonce is not ours')
    const { iterations } = answer
    if (iterations >= scramIterationsMin && iterations <= scramIterationsMax) return
    const bounds = `${scramIterationsMin} to ${scramIterationsMax}`
    throw this.#failed(exchange, `it wants ${iterations} iterations, accepted are ${bounds}`)
  }

  #salted(answer: ServerFirst): Promise<Buffer> {
    const of = `${answer.iterations},${answer.salt.toString('base64')}`
    if (this.#stretched?.of !== of) {
      const salted = saltedPassword(scramHashes[this.name], this.#password, answer)
      this.#stretched = { of, salted }
    }
    return this.#stretched.salted
  }

  #failed(exchange: SaslExchange, detail: string): StreamsError {
    return refused(this.name, exchange, detail)
  }
}

/** RFC 7628: what stands between the parts of a message, and the answer to a refusal. */
const separator = '\x01'

/** What names and values of extensions are made of. */
const extensionName = /^[A-Za-z]+$/
const extensionValue = /^[\x21-\x7e \t\r\n]+$/
const tokenPattern = /^[A-Za-z0-9._~+/-]+=*$/

/** Java's OAuthBearerSaslClient. */
function oauthBearer({ token }: SaslOAuthBearer): SaslMechanism {
  return {
    name: 'OAUTHBEARER',
    authenticate: async (exchange) => {
      const message = bearerMessage(await tokenOf(token, exchange.signal))
      const answer = await exchange.send(Buffer.from(message))
      if (answer.length === 0) return
      // The reason for a refusal comes first, and the refusal itself when the reason was heard.
      await exchange.send(Buffer.from(separator))
      throw refused('OAUTHBEARER', exchange, answer.toString())
    },
  }
}

async function tokenOf(
  token: SaslOAuthBearer['token'],
  signal: AbortSignal,
): Promise<OAuthBearerToken> {
  try {
    return await token(signal)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`no token was to be had: ${reason}`, { cause: error })
  }
}

function bearerMessage(given: unknown): string {
  const { value, extensions = {} } = (given ?? {}) as Partial<OAuthBearerToken>
  if (typeof value !== 'string' || !tokenPattern.test(value))
    throw invalidToken('it must give { value } with the text of a token')
  const parts = [`auth=Bearer ${value}`]
  for (const [name, text] of Object.entries(extensions)) {
    const isLegal =
      extensionName.test(name) &&
      name !== 'auth' &&
      typeof text === 'string' &&
      extensionValue.test(text)
    if (!isLegal) throw invalidToken(`'${name}' is no extension with a printable text`)
    parts.push(`${name}=${text}`)
  }
  return `n,,${separator}${parts.join(separator)}${separator}${separator}`
}

function refused(mechanism: string, { host, port }: SaslExchange, detail: string): StreamsError {
  const broker = `${host}:${port}`
  return new StreamsError('SASL_AUTHENTICATION_FAILED', { broker, mechanism, detail })
}

function invalidToken(detail: string): StreamsError {
  return new StreamsError('CONFIG_INVALID', { option: 'sasl.token', detail })
}
