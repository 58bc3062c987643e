import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'

/** Where a schema registry is, and who asks. Exactly one of `url` and `urls` is needed. */
export interface SchemaRegistryOptions {
  /**
   * The address of the registry, such as `https://schemas.example.com`; a path is kept.
   * `mock://NAME` is a registry in this process, for tests: all clients of one name share it.
   */
  readonly url?: string
  /** Several servers of one registry; those after the first are asked when it fails. */
  readonly urls?: readonly string[]
  /** Basic or bearer authentication. Default: none, or what stands before the `@` of a url. */
  readonly auth?: RegistryAuth
  /** More headers for each request. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Milliseconds that finding out one schema may take, all attempts together. A serde that meets an id
   * for the first time holds up its thread for that long at most. Default 10 s.
   */
  readonly timeoutMs?: number
  /** For `https:` servers that need more than the certificates that Node.js trusts. */
  readonly tls?: RegistryTls
}

/** Who asks: a user with a password (or key and secret of an API key), or a token. */
export type RegistryAuth =
  | { readonly username: string; readonly password: string }
  | { readonly token: string }

/** Options of a TLS connection, those of Node.js of the same names. Certificates and keys are PEM. */
export interface RegistryTls {
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[]
  readonly cert?: string | Uint8Array
  readonly key?: string | Uint8Array
  readonly passphrase?: string
  readonly servername?: string
  /** False: the certificate of the server is not looked at. Default true. */
  readonly rejectUnauthorized?: boolean
}

/** The options, checked and taken apart. */
export interface ResolvedRegistryOptions {
  /** Without a slash at the end. */
  readonly servers: readonly string[]
  /** The name of a registry in this process; undefined: the servers are asked over HTTP. */
  readonly mock: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** What must not be shown. */
  readonly secrets: readonly string[]
  readonly timeoutMs: number
  readonly tls: RegistryTls
}

/** The longest that a timer of Node.js can wait. */
const timeoutMsMax = 2 ** 31 - 1
/** Shorter ones would make words of ordinary answers unreadable. */
const secretCharactersMin = 4

const names = ['url', 'urls', 'auth', 'headers', 'timeoutMs', 'tls']
const tlsNames = ['ca', 'cert', 'key', 'passphrase', 'servername', 'rejectUnauthorized']

const contentType = 'application/vnd.schemaregistry.v1+json'

/** `CONFIG_INVALID` for an option of a registry or of its serdes. */
export function invalidOption(option: string, detail: string): StreamsError {
  return new StreamsError('CONFIG_INVALID', { option, detail })
}

/** Refuses what is no object, and names that no option has. */
export function assertNames(given: unknown, known: readonly string[], of: string): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidOption(of, `it must be an object with ${known.join(', ')}`)
  }
  const unknownName = Object.keys(given).find((name) => !known.includes(name))
  if (unknownName === undefined) return
  throw invalidOption(unknownName, `${of} has no such option; there are ${known.join(', ')}`)
}

/** Checks the options. Throws `CONFIG_INVALID`, which shows no credentials. */
export function resolveRegistryOptions(options: SchemaRegistryOptions): ResolvedRegistryOptions {
  assertNames(options, names, 'SchemaRegistry')
  const { timeoutMs = 10_000, tls = {} } = options
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > timeoutMsMax) {
    throw invalidOption('timeoutMs', 'it must be a whole number of milliseconds, at least 1')
  }
  assertNames(tls, tlsNames, 'tls')
  const urls = urlsOf(options).map(parseUrl)
  const mock = mockOf(urls)
  const authorization = authorizationOf(options.auth, urls)
  const headers = headersOf(options.headers)
  const all = {
    ...headers,
    accept: contentType,
    'content-type': contentType,
    ...(authorization === undefined ? {} : { authorization: authorization.header }),
  }
  return {
    servers: urls.map(serverOf),
    mock,
    headers: all,
    secrets: [...Object.values(headers), ...(authorization?.secrets ?? [])]
      .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
      .filter((secret) => secret.length >= secretCharactersMin),
    timeoutMs,
    tls,
  }
}

function urlsOf({ url, urls }: SchemaRegistryOptions): readonly string[] {
  if (url !== undefined && urls !== undefined) {
    throw invalidOption('urls', 'there is url as well; give one of them')
  }
  if (url !== undefined) return [url]
  if (Array.isArray(urls) && urls.length > 0) return urls as readonly string[]
  throw invalidOption(
    'url',
    'the address of the registry is needed, as https://schemas.example.com',
  )
}

function parseUrl(given: unknown): URL {
  let url: URL | undefined
  try {
    if (typeof given === 'string') url = new URL(given)
  } catch {
    // Its message would show the text, and with it a password.
  }
  if (url === undefined || !/^(?:https?|mock):$/.test(url.protocol)) {
    throw invalidOption('url', 'it must begin with http://, https:// or mock://')
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalidOption('url', 'it has a query or a fragment, which an address of a registry lacks')
  }
  return url
}

function mockOf(urls: readonly URL[]): string | undefined {
  const mock = urls.find(({ protocol }) => protocol === 'mock:')
  if (mock === undefined) return undefined
  if (urls.length > 1) throw invalidOption('urls', 'a mock:// registry has no other servers')
  return mock.href
}

function serverOf({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`.replace(/\/+$/, '')
}

interface Authorization {
  readonly header: string
  readonly secrets: readonly string[]
}

function authorizationOf(auth: unknown, urls: readonly URL[]): Authorization | undefined {
  const withUser = urls.find(({ username, password }) => username !== '' || password !== '')
  if (auth === undefined) {
    if (withUser === undefined) return undefined
    return basic(decodeURIComponent(withUser.username), decodeURIComponent(withUser.password))
  }
  if (withUser !== undefined) throw invalidOption('auth', 'there is a user in the url as well')
  const { username, password, token } = (
    typeof auth === 'object' && auth !== null ? auth : {}
  ) as Readonly<Record<string, unknown>>
  if (typeof token === 'string' && username === undefined && password === undefined) {
    if (!/^[\x21-\x7e]+$/.test(token)) throw invalidOption('auth.token', 'it is no token')
    return { header: `Bearer ${token}`, secrets: [token] }
  }
  if (typeof username === 'string' && typeof password === 'string' && token === undefined) {
    return basic(username, password)
  }
  throw invalidOption('auth', 'it must be { username, password } or { token }, all of them text')
}

function basic(username: string, password: string): Authorization {
  const encoded = Buffer.from(`${username}:${password}`).toString('base64')
  return { header: `Basic ${encoded}`, secrets: [password, encoded] }
}

function headersOf(given: unknown): Record<string, string> {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null) {
    throw invalidOption('headers', `it must be an object of texts, not ${shownValue(given)}`)
  }
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(given as Record<string, unknown>)) {
    // The value may be a secret and is not shown.
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || typeof value !== 'string') {
      throw invalidOption('headers', `${shownValue(name)} is no header with a text`)
    }
    // oxlint-disable-next-line no-control-regex -- what a header may not have
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw invalidOption('headers', `the text of ${shownValue(name)} has characters of no header`)
    }
    headers[name.toLowerCase()] = value
  }
  return headers
}
