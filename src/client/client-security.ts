import type { ConnectionOptions } from 'node:tls'
import type { Random } from '../base/random.ts'
import { connectionOptions, type TlsOptions } from '../base/tls.ts'
import { saslMechanism } from './sasl-mechanism.ts'
import type { SaslOptions } from './sasl-options.ts'
import { authenticate, type AuthenticationChannel } from './sasl-session.ts'

/** How connections are secured, as checked by `tlsProblem` and `saslProblem`. */
export interface SecurityOptions {
  readonly tls?: boolean | TlsOptions | undefined
  readonly sasl?: SaslOptions | undefined
}

/** Speaks for this client on a new connection; resolves with the lifetime of the session, 0: for ever. */
export type Authenticate = (channel: AuthenticationChannel) => Promise<number>

/**
 * How a client secures its connections. Keys and passwords go in and do not come out: whoever shows an
 * object of this class shows nothing.
 */
export class ClientSecurity {
  readonly #tls: ConnectionOptions | undefined
  readonly #sasl: SaslOptions | undefined

  constructor({ tls = false, sasl }: SecurityOptions) {
    this.#tls = tls === false ? undefined : connectionOptions(tls === true ? {} : tls)
    this.#sasl = sasl && { ...sasl }
  }

  /** Options of TLS; undefined: there is none. The keys are inside of a `secureContext`. */
  get tls(): ConnectionOptions | undefined {
    return this.#tls
  }

  /** What is said on each connection; undefined: nothing. */
  authentication(random: Random): Authenticate | undefined {
    if (this.#sasl === undefined) return undefined
    const mechanism = saslMechanism(this.#sasl, random)
    return (channel) => authenticate(mechanism, channel)
  }
}

/** Connections that anybody may read, to brokers that take anybody. */
export const noSecurity = new ClientSecurity({})
