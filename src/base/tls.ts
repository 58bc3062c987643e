/** TLS of this machine: options of both sides, and what its failures mean. */
import { X509Certificate } from 'node:crypto'
import { createSecureContext, type ConnectionOptions, type SecureContextOptions } from 'node:tls'
import { StreamsError, messageOf } from '../errors.ts'
import { shownValue } from './shown-value.ts'

/** A certificate or key as text (PEM) or bytes. */
export type TlsMaterial = string | Uint8Array

/**
 * TLS to the brokers: options of `node:tls` under their names there. Files are read by the program:
 * `ca: readFileSync('ca.pem')`.
 */
export interface TlsOptions {
  /**
   * Certificates that are trusted, in place of those that Node.js trusts. Java: ssl.truststore.*
   */
  readonly ca?: TlsMaterial | readonly TlsMaterial[]
  /** The certificate of this client with its chain, for brokers that ask for one. Java: ssl.keystore.certificate.chain. */
  readonly cert?: TlsMaterial
  /** The private key of `cert`. Java: ssl.keystore.key. */
  readonly key?: TlsMaterial
  /** Certificate and key in one PKCS #12 file, in place of `cert` and `key`. Java: ssl.keystore.location. */
  readonly pfx?: TlsMaterial
  /** Opens `key` or `pfx`. Java: ssl.key.password. */
  readonly passphrase?: string
  /** The name that all brokers' certificates are for. Default: the host of each. */
  readonly servername?: string
  /** False: the brokers' certificates are not looked at, and anybody can be a broker. Default true. */
  readonly rejectUnauthorized?: boolean
  /**
   * Decides whether a certificate, which is signed by who is trusted, is for this host: an error is
   * the reason why not. `() => undefined` takes any. Java: ssl.endpoint.identification.algorithm.
   */
  readonly checkServerIdentity?: ConnectionOptions['checkServerIdentity']
  /** The oldest version that is spoken. Default: that of Node.js. Java: ssl.enabled.protocols. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** Cipher suites, as OpenSSL names them. Default: those of Node.js. Java: ssl.cipher.suites. */
  readonly ciphers?: string
}

/** TLS of a server. */
export interface TlsServerOptions {
  /** Its certificate with its chain, and the key: PEM or bytes. */
  readonly cert: TlsMaterial
  readonly key: TlsMaterial
  readonly passphrase?: string
  /** Who signs the certificates of clients. */
  readonly ca?: TlsMaterial | readonly TlsMaterial[]
  /** Whether clients must show a certificate that `ca` has signed. Default `none`. */
  readonly clientCertificate?: 'none' | 'required'
}

const clientNames: readonly (keyof TlsOptions)[] = [
  'ca',
  'cert',
  'key',
  'pfx',
  'passphrase',
  'servername',
  'rejectUnauthorized',
  'checkServerIdentity',
  'minVersion',
  'ciphers',
]

const serverNames: readonly (keyof TlsServerOptions)[] = [
  'cert',
  'key',
  'passphrase',
  'ca',
  'clientCertificate',
]

/** What the material of a side is made of: checked by taking it in. */
type Material = Pick<
  TlsOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'minVersion' | 'ciphers'
>

function contextOf({ ca, cert, key, pfx, passphrase, minVersion, ciphers }: Material) {
  const given = { ca, cert, key, pfx, passphrase, minVersion, ciphers }
  const stated = Object.entries(given).filter(([, value]) => value !== undefined)
  return createSecureContext(Object.fromEntries(stated) as SecureContextOptions)
}

/** A sentence about what is wrong with the option `tls` of a client, which shows no secret. */
export function tlsProblem(value: unknown): string | undefined {
  if (typeof value === 'boolean') return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `it must be true, or an object with ${clientNames.join(', ')}`
  const options = value as TlsOptions
  const wrong = unknownName(options, clientNames) ?? wrongType(options)
  if (wrong !== undefined) return wrong
  if ((options.cert === undefined) !== (options.key === undefined))
    return 'cert and key are given together'
  return materialProblem(options)
}

/** A sentence about what is wrong with the option `tls` of a server, which shows no secret. */
export function tlsServerProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `it must be an object with ${serverNames.join(', ')}`
  const options = value as TlsServerOptions
  const wrong = unknownName(options, serverNames)
  if (wrong !== undefined) return wrong
  if (options.cert === undefined || options.key === undefined) return 'it needs cert and key'
  const { clientCertificate = 'none' } = options
  if (clientCertificate !== 'none' && clientCertificate !== 'required')
    return `clientCertificate must be 'none' or 'required', not ${shownValue(clientCertificate)}`
  if (clientCertificate === 'required' && options.ca === undefined)
    return "with clientCertificate: 'required' it needs ca, who signs them"
  return materialProblem(options)
}

function unknownName(options: object, known: readonly string[]): string | undefined {
  const name = Object.keys(options).find((one) => !known.includes(one))
  return name === undefined ? undefined : `it has no ${name}; there are ${known.join(', ')}`
}

/** What `node:tls` would silently take for something else. */
function wrongType(options: TlsOptions): string | undefined {
  const { rejectUnauthorized, servername, checkServerIdentity, minVersion } = options
  if (minVersion !== undefined && minVersion !== 'TLSv1.2' && minVersion !== 'TLSv1.3')
    return `minVersion must be 'TLSv1.2' or 'TLSv1.3', not ${shownValue(minVersion)}`
  if (rejectUnauthorized !== undefined && typeof rejectUnauthorized !== 'boolean')
    return `rejectUnauthorized must be true or false, not ${shownValue(rejectUnauthorized)}`
  if (servername !== undefined && typeof servername !== 'string')
    return `servername must be a string, not ${shownValue(servername)}`
  if (checkServerIdentity !== undefined && typeof checkServerIdentity !== 'function')
    return 'checkServerIdentity must be a function'
  return undefined
}

function materialProblem(options: Material): string | undefined {
  const { ca, cert, key, pfx } = options
  const empty = Object.entries({ ca, cert, key, pfx }).find(([, one]) => isEmpty(one))
  if (empty !== undefined) return `${empty[0]} is empty`
  try {
    contextOf(options)
    return authorityProblem(options.ca)
  } catch (error) {
    return `its certificates and keys cannot be used: ${messageOf(error)}`
  }
}

/**
 * `node:tls` takes an empty text for nothing at all: all that Node.js trusts would be trusted in place
 * of `ca`, and no certificate would be shown.
 */
function isEmpty(material: unknown): boolean {
  return material === null || (material as TlsMaterial | undefined)?.length === 0
}

/** OpenSSL passes over what is no certificate in PEM: with a path in place of a file, nobody is trusted. */
function authorityProblem(ca: Material['ca']): string | undefined {
  if (ca === undefined) return undefined
  const authorities: readonly unknown[] = Array.isArray(ca) ? ca : [ca]
  if (authorities.length > 0 && authorities.every(isCertificate)) return undefined
  return 'ca must be certificates in PEM, as text or bytes, and not the path of their file'
}

function isCertificate(material: unknown): boolean {
  try {
    const bytes = Buffer.from(material as TlsMaterial)
    return bytes.includes('-----BEGIN') && new X509Certificate(bytes).raw.length > 0
  } catch {
    return false
  }
}

/** The options of a connection, with the material taken in once for all connections. */
export function connectionOptions(options: TlsOptions): ConnectionOptions {
  const { servername, rejectUnauthorized, checkServerIdentity } = options
  return {
    secureContext: contextOf(options),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    ...(checkServerIdentity !== undefined && { checkServerIdentity }),
  }
}

/** True for what the two sides of TLS have to say to each other, or cannot read. */
export function isTlsError(cause: unknown): boolean {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' && code.startsWith('ERR_SSL_')
}

/** Codes of bytes that are no TLS at all. */
const notTls: ReadonlySet<unknown> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_BAD_RECORD_TYPE',
])

/** A failure that comes back with every new attempt: `TLS_FAILED`, with what may be done. */
export function tlsFailure(peer: string, cause: unknown): StreamsError {
  const { code } = cause as { readonly code?: unknown }
  const hint = notTls.has(code)
    ? '; it does not speak TLS on this port, or not this version: leave out the option tls, or take another port'
    : alertHint(String(code))
  return new StreamsError('TLS_FAILED', { broker: peer, detail: textOf(cause) + hint }, { cause })
}

/** The broker's certificate is not trusted, or is for somebody else. */
export function untrustedFailure(peer: string, cause: unknown): StreamsError {
  const hint = '; see ca, servername and checkServerIdentity of the option tls'
  return new StreamsError('TLS_FAILED', { broker: peer, detail: textOf(cause) + hint }, { cause })
}

function alertHint(code: string): string {
  if (!/ALERT/.test(code)) return ''
  return /CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED/.test(code)
    ? '; the broker does not accept the certificate of this client: see cert, key and pfx of the option tls'
    : '; the broker does not accept what this client offers: see minVersion and ciphers of the option tls'
}

/** OpenSSL writes the address of an object and the place in its source around its message. */
function textOf(cause: unknown): string {
  const { code, reason } = cause as { readonly code?: unknown; readonly reason?: unknown }
  const text = typeof reason === 'string' ? reason : messageOf(cause).trim()
  return typeof code === 'string' && !text.includes(code) ? `${text} (${code})` : text
}

/**
 * True when a peer that was not spoken to in TLS has answered in TLS: with a record of an alert or of
 * a handshake, of any version.
 */
export function isTlsRecord(size: number): boolean {
  const type = size >>> 24
  return (type === 0x15 || type === 0x16) && ((size >>> 16) & 0xff) === 0x03
}
