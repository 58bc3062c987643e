import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { saslHandshake } from '../protocol/messages/17-sasl-handshake.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import { saslAuthenticate } from '../protocol/messages/36-sasl-authenticate.ts'
import type { AnyApi, ResponseInputOf } from '../protocol/schema.ts'
import {
  SaslUsers,
  saslMechanisms,
  saslServer,
  type BrokerSaslMechanism,
  type SaslServer,
  type SaslStep,
} from './sasl-server.ts'

/** Who may connect to the dev broker. */
export interface BrokerSaslOptions {
  /** Names and passwords. */
  readonly users: Readonly<Record<string, string>>
  /** Default: all that there are. Kafka: sasl.enabled.mechanisms. */
  readonly mechanisms?: readonly BrokerSaslMechanism[]
  /**
   * Milliseconds after which a client has to authenticate again, or is disconnected; 0 (default):
   * never. Kafka: connections.max.reauth.ms.
   */
  readonly sessionLifetimeMs?: number
}

/** A sentence about what is wrong with the option `sasl`, which shows no secret. */
export function brokerSaslProblem(options: BrokerSaslOptions): string | undefined {
  if (typeof options !== 'object' || options === null) return 'it must be an object with users'
  const { users, mechanisms = [], sessionLifetimeMs = 0 } = options
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown !== undefined) return `it has no ${unknown}; there are ${names.join(', ')}`
  if (typeof users !== 'object' || users === null || Object.keys(users).length === 0)
    return 'users must be an object with the password of each user'
  const nameless = Object.entries(users).find(
    ([name, password]) => !isCredential(name) || !isCredential(password),
  )
  if (nameless !== undefined)
    return `${shownValue(nameless[0])} and its password must be texts of at least one character, without NUL`
  const other = mechanisms.find((one) => !Object.hasOwn(saslMechanisms, one))
  if (other !== undefined)
    return `mechanisms must be of ${Object.keys(saslMechanisms).join(', ')}, not ${shownValue(other)}`
  if (options.mechanisms?.length === 0) return 'mechanisms must name at least one'
  return Number.isSafeInteger(sessionLifetimeMs) && sessionLifetimeMs >= 0
    ? undefined
    : `sessionLifetimeMs must be a whole number of milliseconds, not ${shownValue(sessionLifetimeMs)}`
}

const names = ['users', 'mechanisms', 'sessionLifetimeMs']

function isCredential(text: unknown): boolean {
  return typeof text === 'string' && text.length > 0 && !text.includes('\0')
}

/** What all connections of a broker whose clients authenticate have in common. */
export class Authenticator {
  readonly users: SaslUsers
  /** On the wire. */
  readonly mechanisms: readonly string[]
  readonly sessionLifetimeMs: number
  readonly clock: Clock

  constructor(options: BrokerSaslOptions, { clock, random }: { clock: Clock; random: Random }) {
    const all = Object.keys(saslMechanisms) as BrokerSaslMechanism[]
    this.users = new SaslUsers(options.users, random)
    this.mechanisms = (options.mechanisms ?? all).map((name) => saslMechanisms[name])
    this.sessionLifetimeMs = options.sessionLifetimeMs ?? 0
    this.clock = clock
  }
}

/** Who somebody has proved to be, and until when that counts. */
interface Identity {
  readonly user: string
  readonly mechanism: string
  /** Of the monotonic clock. */
  readonly endsAt: number
}

/**
 * Who is at the other end of one connection. Java's SaslServerAuthenticator.
 *
 * ```
 * unknown ──SaslHandshake──▶ under way ──SaslAuthenticate …──▶ known ──SaslHandshake──▶ under way …
 *                                │                               │
 *                                └──────────▶ refused            └─ the session ends ─▶ disconnected
 * ```
 */
export class ClientSession {
  readonly #authenticator: Authenticator | undefined
  readonly #peer: string
  #identity: Identity | undefined
  #underWay: { readonly mechanism: string; readonly server: SaslServer } | undefined
  #isRefused = false

  constructor(authenticator: Authenticator | undefined, peer: string) {
    this.#authenticator = authenticator
    this.#peer = peer
  }

  /** Throws `SASL_AUTHENTICATION_FAILED` when this request ends the connection. */
  admit(api: AnyApi): void {
    if (this.#authenticator === undefined) return
    if (this.#isRefused) throw this.#notAdmitted(`${api.name} after it was refused`)
    if (api.key === saslHandshake.key) return
    if (api.key === saslAuthenticate.key) {
      if (this.#underWay === undefined) throw this.#notAdmitted(`${api.name} without a handshake`)
      return
    }
    if (this.#underWay !== undefined)
      throw this.#notAdmitted(`${api.name} in the middle of an authentication`)
    if (this.#identity === undefined) {
      if (api.key === apiVersions.key) return
      throw this.#notAdmitted(`${api.name} before it`)
    }
    if (this.#authenticator.clock.monotonic() >= this.#identity.endsAt)
      throw this.#notAdmitted(`${api.name} after the session has ended`)
  }

  /** A client chooses a mechanism. */
  handshake(mechanism: string): ResponseInputOf<typeof saslHandshake> {
    if (this.#authenticator === undefined)
      return { errorCode: errorCode.ILLEGAL_SASL_STATE, mechanisms: [] }
    const { mechanisms, users } = this.#authenticator
    const server = mechanisms.includes(mechanism) ? saslServer(mechanism, users) : undefined
    if (server === undefined) {
      this.#isRefused = true
      return { errorCode: errorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms }
    }
    this.#underWay = { mechanism, server }
    return { errorCode: errorCode.NONE, mechanisms }
  }

  /** A message of the mechanism. */
  async authenticate(bytes: Buffer): Promise<ResponseInputOf<typeof saslAuthenticate>> {
    const [authenticator, underWay] = [this.#authenticator, this.#underWay]
    if (authenticator === undefined || underWay === undefined) {
      return {
        errorCode: errorCode.ILLEGAL_SASL_STATE,
        errorMessage: 'SaslAuthenticate without a handshake',
        authBytes: Buffer.alloc(0),
      }
    }
    const step = this.#unchanged(await underWay.server.step(bytes), underWay.mechanism)
    if (step.kind === 'challenge')
      return { errorCode: errorCode.NONE, errorMessage: null, authBytes: step.bytes }
    this.#underWay = undefined
    if (step.kind === 'refusal') {
      this.#isRefused = true
      const { reason = `Authentication failed: invalid credentials with ${underWay.mechanism}` } =
        step
      return {
        errorCode: errorCode.SASL_AUTHENTICATION_FAILED,
        errorMessage: reason,
        authBytes: Buffer.alloc(0),
      }
    }
    const { clock, sessionLifetimeMs } = authenticator
    const endsAt = sessionLifetimeMs === 0 ? Infinity : clock.monotonic() + sessionLifetimeMs
    this.#identity = { user: step.user, mechanism: underWay.mechanism, endsAt }
    return {
      errorCode: errorCode.NONE,
      errorMessage: null,
      authBytes: step.bytes,
      sessionLifetimeMs,
    }
  }

  /** Whoever authenticates again has to be the same (KIP-368). */
  #unchanged(step: SaslStep, mechanism: string): SaslStep {
    const before = this.#identity
    if (before === undefined || step.kind !== 'done') return step
    if (before.user === step.user && before.mechanism === mechanism) return step
    const reason = 'Cannot change user or mechanism during re-authentication'
    return { kind: 'refusal', reason }
  }

  #notAdmitted(what: string): StreamsError {
    const facts = { broker: this.#peer, mechanism: 'SASL', detail: `there was ${what}` }
    return new StreamsError('SASL_AUTHENTICATION_FAILED', facts)
  }
}
