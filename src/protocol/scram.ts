/**
 * SCRAM (RFC 5802, RFC 7677) as Kafka speaks it: the messages of both sides and the formulas between
 * them. Kafka compares names and passwords byte for byte in UTF-8, and so does this: SASLprep would turn
 * some passwords into others than the broker has. Java's ScramFormatter and ScramMessages.
 */
import {
  areSameSecrets,
  hashBytes,
  hashOf,
  hmacOf,
  stretchedPassword,
  type HashName,
} from '../base/digest.ts'

/** The mechanisms, by their names on the wire. */
export const scramHashes = {
  'SCRAM-SHA-256': 'sha256',
  'SCRAM-SHA-512': 'sha512',
} as const satisfies Readonly<Record<string, HashName>>

/** Rounds that a password must be stretched by at least: below, who hears the exchange guesses it. */
export const scramIterationsMin = 4096
/** More would keep this process busy for a second and longer, at the word of whoever answers. */
export const scramIterationsMax = 1_000_000

/** No channel is bound: the gs2 header, as such and in the final message. */
const gs2Header = 'n,,'
const channelBinding = Buffer.from(gs2Header).toString('base64')

/** The salt with which a password is kept, and how often it was stretched. */
export interface ScramSalt {
  readonly salt: Buffer
  readonly iterations: number
}

/** What a server has of a password: enough to check it, not to use it elsewhere. */
export interface ScramCredential extends ScramSalt {
  readonly storedKey: Buffer
  readonly serverKey: Buffer
}

/** The first message of a client, and what counts of it later. */
export interface ClientFirst {
  readonly username: string
  readonly nonce: string
  /** Without the gs2 header. */
  readonly bare: string
}

/** The first answer of a server. */
export interface ServerFirst extends ScramSalt {
  readonly nonce: string
  readonly text: string
}

/** The last message of a client. */
export interface ClientFinal {
  readonly nonce: string
  readonly withoutProof: string
  readonly proof: Buffer
}

const printable = '[\\x21-\\x2b\\x2d-\\x7e]+'
const base64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?'
const extensions = '(?:,[A-Za-z]=[^,\\0]+)*'

const clientFirstPattern = new RegExp(
  `^n,(?:a=(?<authzid>[^,]+))?,(?<bare>n=(?<name>[^,\\0]+),r=(?<nonce>${printable})${extensions})$`,
  'su',
)
const serverFirstPattern = new RegExp(
  `^r=(?<nonce>${printable}),s=(?<salt>${base64}),i=(?<iterations>[0-9]{1,9})${extensions}$`,
  'su',
)
const clientFinalPattern = new RegExp(
  `^(?<withoutProof>c=(?<channel>${base64}),r=(?<nonce>${printable})${extensions}),p=(?<proof>${base64})$`,
  'su',
)
const serverFinalPattern = new RegExp(
  `^(?:e=(?<error>[^,\\0]+)|v=(?<signature>${base64}))${extensions}$`,
  'su',
)

/** A user name as it stands in a message. */
export function scramName(username: string): string {
  return username.replaceAll('=', '=3D').replaceAll(',', '=2C')
}

/** The user whose name stands in a message; undefined when it is not written as it must be. */
function usernameOf(name: string): string | undefined {
  if (/=(?!2C|3D)/.test(name)) return undefined
  return name.replaceAll('=2C', ',').replaceAll('=3D', '=')
}

/** What the client sends first. */
export function clientFirst(username: string, nonce: string): ClientFirst & { text: string } {
  const bare = `n=${scramName(username)},r=${nonce}`
  return { username, nonce, bare, text: `${gs2Header}${bare}` }
}

/** Undefined when it is no first message of a client, or one for somebody else. */
export function parseClientFirst(text: string): ClientFirst | undefined {
  const groups = clientFirstPattern.exec(text)?.groups
  if (groups === undefined) return undefined
  const { name = '', nonce = '', bare = '', authzid } = groups
  const username = usernameOf(name)
  if (username === undefined) return undefined
  if (authzid !== undefined && usernameOf(authzid) !== username) return undefined
  return { username, nonce, bare }
}

/** What the server answers. */
export function serverFirst(nonce: string, { salt, iterations }: ScramSalt): ServerFirst {
  const text = `r=${nonce},s=${salt.toString('base64')},i=${iterations}`
  return { nonce, salt, iterations, text }
}

/** Undefined when it is no first message of a server. */
export function parseServerFirst(text: string): ServerFirst | undefined {
  const groups = serverFirstPattern.exec(text)?.groups
  if (groups === undefined) return undefined
  const { nonce = '', salt = '', iterations = '' } = groups
  return { nonce, salt: Buffer.from(salt, 'base64'), iterations: Number(iterations), text }
}

/** The last message of the client, without the proof. */
export function clientFinalWithoutProof(nonce: string): string {
  return `c=${channelBinding},r=${nonce}`
}

/** Undefined when it is no last message of a client, or one that binds a channel. */
export function parseClientFinal(text: string): ClientFinal | undefined {
  const groups = clientFinalPattern.exec(text)?.groups
  if (groups === undefined || groups['channel'] !== channelBinding) return undefined
  const { nonce = '', withoutProof = '', proof = '' } = groups
  return { nonce, withoutProof, proof: Buffer.from(proof, 'base64') }
}

/** The signature of the server, or its refusal; undefined when it is neither. */
export function parseServerFinal(
  text: string,
): { readonly signature: Buffer } | { readonly refusal: string } | undefined {
  const groups = serverFinalPattern.exec(text)?.groups
  if (groups === undefined) return undefined
  const { error, signature = '' } = groups
  return error === undefined ? { signature: Buffer.from(signature, 'base64') } : { refusal: error }
}

/** What both sides sign. */
export function authMessage(first: ClientFirst, answer: ServerFirst, withoutProof: string): string {
  return `${first.bare},${answer.text},${withoutProof}`
}

/** The password, stretched: slow on purpose. */
export function saltedPassword(hash: HashName, password: string, salt: ScramSalt): Promise<Buffer> {
  return stretchedPassword(hash, password, salt)
}

/** What a client sends to show that it knows the password. */
export function clientProof(hash: HashName, salted: Buffer, message: string): Buffer {
  const clientKey = hmacOf(hash, salted, 'Client Key')
  return exclusiveOr(clientKey, hmacOf(hash, hashOf(hash, clientKey), message))
}

/** What a server sends to show that it knows the password as well. */
export function serverSignature(hash: HashName, serverKey: Buffer, message: string): Buffer {
  return hmacOf(hash, serverKey, message)
}

/** The key behind the signature of a server, from the stretched password. */
export function serverKeyOf(hash: HashName, salted: Buffer): Buffer {
  return hmacOf(hash, salted, 'Server Key')
}

/** What a server keeps of a password. */
export async function scramCredential(
  hash: HashName,
  password: string,
  salt: ScramSalt,
): Promise<ScramCredential> {
  const salted = await saltedPassword(hash, password, salt)
  return {
    ...salt,
    storedKey: hashOf(hash, hmacOf(hash, salted, 'Client Key')),
    serverKey: serverKeyOf(hash, salted),
  }
}

/** True when the client knows the password. */
export function isProof(
  hash: HashName,
  proof: Buffer,
  { storedKey, message }: { readonly storedKey: Buffer; readonly message: string },
): boolean {
  if (proof.length !== hashBytes[hash]) return false
  const clientKey = exclusiveOr(proof, hmacOf(hash, storedKey, message))
  return areSameSecrets(hashOf(hash, clientKey), storedKey)
}

function exclusiveOr(first: Buffer, second: Buffer): Buffer {
  return Buffer.from(first.map((byte, index) => byte ^ (second[index] ?? 0)))
}
