/** The mechanisms by which clients of the dev broker say who they are. */
import { areSameSecrets, type HashName } from '../base/digest.ts'
import type { Random } from '../base/random.ts'
import {
  authMessage,
  isProof,
  parseClientFinal,
  parseClientFirst,
  scramCredential,
  scramHashes,
  scramIterationsMin,
  serverFirst,
  serverSignature,
  type ClientFirst,
  type ScramCredential,
  type ServerFirst,
} from '../protocol/scram.ts'

/** Names of the mechanisms on the wire, by those of the options. */
export const saslMechanisms = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
} as const

/** A mechanism of the dev broker. */
export type BrokerSaslMechanism = keyof typeof saslMechanisms

/** What the broker makes of a message of a client. */
export type SaslStep =
  | { readonly kind: 'challenge'; readonly bytes: Buffer }
  | { readonly kind: 'done'; readonly bytes: Buffer; readonly user: string }
  /** The reason is for the client; undefined: it is not to learn whether the user exists. */
  | { readonly kind: 'refusal'; readonly reason?: string }

/** One authentication: takes the messages of a client in order. Java's SaslServer. */
export interface SaslServer {
  step(bytes: Buffer): SaslStep | Promise<SaslStep>
}

/** The users, and what is kept of their passwords. */
export class SaslUsers {
  readonly #passwords: ReadonlyMap<string, string>
  readonly #random: Random
  readonly #credentials = new Map<string, Promise<ScramCredential>>()

  constructor(users: Readonly<Record<string, string>>, random: Random) {
    this.#passwords = new Map(Object.entries(users))
    this.#random = random
  }

  password(user: string): string | undefined {
    return this.#passwords.get(user)
  }

  /** For SCRAM; made when it is first asked for. Undefined: there is no such user. */
  async credential(user: string, hash: HashName): Promise<ScramCredential | undefined> {
    const password = this.#passwords.get(user)
    if (password === undefined) return undefined
    const key = `${hash},${user}`
    let credential = this.#credentials.get(key)
    if (credential === undefined) {
      const salt = { salt: this.#random.bytes(saltBytes), iterations: scramIterationsMin }
      credential = scramCredential(hash, password, salt)
      this.#credentials.set(key, credential)
    }
    return credential
  }

  nonce(): string {
    return this.#random.bytes(nonceBytes).toString('base64url')
  }
}

const saltBytes = 24
const nonceBytes = 24

/** Undefined when there is no such mechanism. */
export function saslServer(mechanism: string, users: SaslUsers): SaslServer | undefined {
  if (mechanism === 'PLAIN') return new PlainServer(users)
  const hash = scramHashes[mechanism as keyof typeof scramHashes] as HashName | undefined
  return hash === undefined ? undefined : new ScramServer(hash, users)
}

/** RFC 4616. Java's PlainSaslServer. */
class PlainServer implements SaslServer {
  readonly #users: SaslUsers

  constructor(users: SaslUsers) {
    this.#users = users
  }

  step(bytes: Buffer): SaslStep {
    const parts = bytes.toString().split('\0')
    const [authorizationId, user = '', password = ''] = parts
    if (parts.length !== 3 || user === '' || password === '')
      return { kind: 'refusal', reason: 'Authentication failed: no username and password' }
    if (authorizationId !== '' && authorizationId !== user)
      return { kind: 'refusal', reason: 'Authentication failed: it is for somebody else' }
    const expected = this.#users.password(user)
    if (expected === undefined || !areSameSecrets(Buffer.from(expected), Buffer.from(password)))
      return { kind: 'refusal', reason: 'Authentication failed: Invalid username or password' }
    return { kind: 'done', bytes: Buffer.alloc(0), user }
  }
}

/** RFC 5802. Java's ScramSaslServer. */
class ScramServer implements SaslServer {
  readonly #hash: HashName
  readonly #users: SaslUsers
  #begun:
    | {
        readonly first: ClientFirst
        readonly answer: ServerFirst
        readonly credential: ScramCredential
      }
    | undefined

  constructor(hash: HashName, users: SaslUsers) {
    this.#hash = hash
    this.#users = users
  }

  step(bytes: Buffer): SaslStep | Promise<SaslStep> {
    return this.#begun === undefined ? this.#begin(bytes.toString()) : this.#end(bytes.toString())
  }

  async #begin(text: string): Promise<SaslStep> {
    const first = parseClientFirst(text)
    if (first === undefined) return { kind: 'refusal' }
    const credential = await this.#users.credential(first.username, this.#hash)
    if (credential === undefined) return { kind: 'refusal' }
    const answer = serverFirst(first.nonce + this.#users.nonce(), credential)
    this.#begun = { first, answer, credential }
    return { kind: 'challenge', bytes: Buffer.from(answer.text) }
  }

  #end(text: string): SaslStep {
    const final = parseClientFinal(text)
    const begun = this.#begun
    if (begun === undefined || final?.nonce !== begun.answer.nonce) return { kind: 'refusal' }
    const { first, answer, credential } = begun
    const { storedKey, serverKey } = credential
    const message = authMessage(first, answer, final.withoutProof)
    if (!isProof(this.#hash, final.proof, { storedKey, message })) return { kind: 'refusal' }
    const signature = serverSignature(this.#hash, serverKey, message)
    const bytes = Buffer.from(`v=${signature.toString('base64')}`)
    return { kind: 'done', bytes, user: first.username }
  }
}
