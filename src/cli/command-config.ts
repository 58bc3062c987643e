/** The file of `--command-config`: how a command connects to the brokers. */
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { tlsProblem, type TlsOptions } from '../base/tls.ts'
import { ClientSecurity } from '../client/client-security.ts'
import { saslProblem, type SaslOptions } from '../client/sasl-options.ts'
import { messageOf } from '../errors.ts'

/** Options of `tls` whose value is the path of a file here. */
const materials = ['ca', 'cert', 'key', 'pfx']

/**
 * Reads `{ "tls": …, "sasl": … }`, the options of the configuration, in JSON: certificates, keys and
 * the token of OAUTHBEARER are paths of files, from the place of this one. Throws an Error that names the
 * file, and shows nothing that is in it.
 */
export function readCommandConfig(path: string): ClientSecurity {
  const { tls = false, sasl, ...others } = parsed(path)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw wrong(path, `it has no ${unknown}; there are tls and sasl`)
  const read = (file: unknown): Buffer => readMaterial(path, file)
  const options = { tls: withFiles(tls, read), sasl: withToken(sasl, read) }
  const problem =
    describe('tls', tlsProblem(options.tls)) ??
    (sasl === undefined ? undefined : describe('sasl', saslProblem(options.sasl)))
  if (problem !== undefined) throw wrong(path, problem)
  return new ClientSecurity({
    tls: options.tls as boolean | TlsOptions,
    sasl: options.sasl as SaslOptions | undefined,
  })
}

function parsed(path: string): Readonly<Record<string, unknown>> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw wrong(path, messageOf(error))
  }
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Its message would show the text, and with it a password.
  }
  throw wrong(path, 'it is not a JSON object')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withFiles(tls: unknown, read: (file: unknown) => Buffer): unknown {
  if (!isObject(tls)) return tls
  const entries = Object.entries(tls).map(([name, value]) => {
    if (!materials.includes(name)) return [name, value]
    return [name, Array.isArray(value) ? value.map(read) : read(value)]
  })
  return Object.fromEntries(entries)
}

/** A token is read anew for each connection. */
function withToken(sasl: unknown, read: (file: unknown) => Buffer): unknown {
  if (!isObject(sasl) || sasl['mechanism'] !== 'oauthbearer') return sasl
  const { token, ...others } = sasl
  return { ...others, token: () => ({ value: read(token).toString().trim() }) }
}

function readMaterial(path: string, file: unknown): Buffer {
  if (typeof file !== 'string')
    throw wrong(path, 'a certificate, key or token is the path of a file')
  try {
    return readFileSync(resolve(dirname(path), file))
  } catch (error) {
    throw wrong(path, messageOf(error))
  }
}

function describe(option: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${option}: ${problem}`
}

function wrong(path: string, detail: string): Error {
  return new Error(`The file ${path} cannot be used: ${detail}`)
}
