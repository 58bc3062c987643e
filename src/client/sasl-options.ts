import { shownValue } from '../base/shown-value.ts'

/** Who this client is to the brokers. Java: sasl.mechanism, sasl.jaas.config. */
export type SaslOptions = SaslPassword | SaslOAuthBearer | SaslCustom

/**
 * A user with a password. `plain` sends it as it is, and is for TLS; with `scram-sha-256` and
 * `scram-sha-512` it never leaves this process, and the broker shows that it knows it too.
 */
export interface SaslPassword {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
  readonly username: string
  readonly password: string
}

/**
 * A token, such as an OpenID provider gives out (KIP-255). Java: OAuthBearerLoginModule.
 *
 * @example
 * const sasl: SaslOptions = {
 *   mechanism: 'oauthbearer',
 *   token: () => ({ value: process.env['KAFKA_TOKEN'] ?? '' }),
 * }
 */
export interface SaslOAuthBearer {
  readonly mechanism: 'oauthbearer'
  /**
   * Asked for each connection, and again before the session of one ends: keep the token for as long as
   * it is good. When it fails, connecting is tried again after a while. The signal aborts when nobody
   * waits for the token any more.
   */
  readonly token: (signal: AbortSignal) => Promise<OAuthBearerToken> | OAuthBearerToken
}

/** A token with what the broker is told beside it (KIP-342). */
export interface OAuthBearerToken {
  readonly value: string
  readonly extensions?: Readonly<Record<string, string>>
}

/** Any other mechanism, such as GSSAPI or AWS_MSK_IAM: the messages are the program's. */
export interface SaslCustom {
  readonly mechanism: 'custom'
  /** As the brokers call it, for example `AWS_MSK_IAM`. */
  readonly name: string
  /**
   * Says what has to be said on a new connection, and again before its session ends: at least one
   * message. What it throws ends the attempt, and is tried again after a while.
   */
  readonly authenticate: (exchange: SaslExchange) => Promise<void>
}

/** The messages of one authentication. */
export interface SaslExchange {
  /** The broker on the other side. */
  readonly host: string
  readonly port: number
  /** Aborts when nobody waits for the end any more. */
  readonly signal: AbortSignal
  /**
   * Sends bytes, and resolves with those of the broker's answer. Rejects with
   * `SASL_AUTHENTICATION_FAILED` when it refuses.
   */
  readonly send: (bytes: Uint8Array) => Promise<Buffer>
}

const mechanisms = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer', 'custom']

const namesOf: Readonly<Record<string, readonly string[]>> = {
  oauthbearer: ['mechanism', 'token'],
  custom: ['mechanism', 'name', 'authenticate'],
}

const passwordNames = ['mechanism', 'username', 'password']

/** What the standard lets a mechanism be called (RFC 4422). */
const mechanismPattern = /^[A-Z0-9_-]{1,64}$/

/** A sentence about what is wrong with the option `sasl`, which shows no secret. */
export function saslProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `it must be an object with a mechanism`
  const given = value as Readonly<Record<string, unknown>>
  const { mechanism } = given
  if (typeof mechanism !== 'string' || !mechanisms.includes(mechanism)) {
    const known = mechanisms.map((one) => `'${one}'`).join(', ')
    return `mechanism must be one of ${known}, not ${shownValue(mechanism)}`
  }
  const names = namesOf[mechanism] ?? passwordNames
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown !== undefined)
    return `'${mechanism}' has no ${unknown}; there are ${names.join(', ')}`
  if (mechanism === 'oauthbearer')
    return typeof given['token'] === 'function'
      ? undefined
      : 'token must be a function that gives a token'
  return mechanism === 'custom' ? customProblem(given) : passwordProblem(given)
}

function passwordProblem(given: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of ['username', 'password']) {
    const text = given[name]
    if (typeof text !== 'string' || text.length === 0)
      return `${name} must be a string with at least one character`
    // It ends a name in PLAIN, and is allowed in none of the others.
    if (text.includes('\0')) return `${name} may not have the character NUL`
  }
  return undefined
}

function customProblem({ name, authenticate }: Readonly<Record<string, unknown>>) {
  if (typeof name !== 'string' || !mechanismPattern.test(name))
    return `name must be what the brokers call the mechanism, such as 'GSSAPI', not ${shownValue(name)}`
  return typeof authenticate === 'function' ? undefined : 'authenticate must be a function'
}
