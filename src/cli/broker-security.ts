import { readFileSync } from 'node:fs'
import { messageOf } from '../errors.ts'
import type { BrokerOptions } from '../broker/index.ts'
import { ClientSecurity } from '../client/client-security.ts'

/** Files that say how the clients of `millpond broker` connect. */
export interface BrokerSecurityOptions {
  readonly tlsCert?: string
  readonly tlsKey?: string
  /** A line `name:password` for each user. */
  readonly saslUsers?: string
}

/** What the files say. Throws an Error that names the file, and shows nothing that is in it. */
export function brokerSecurity({
  tlsCert,
  tlsKey,
  saslUsers,
}: BrokerSecurityOptions): Pick<BrokerOptions, 'tls' | 'sasl'> {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new Error('--tls-cert and --tls-key are given together.')
  }
  const tls =
    tlsCert !== undefined && tlsKey !== undefined
      ? { cert: read(tlsCert), key: read(tlsKey) }
      : undefined
  const sasl = saslUsers === undefined ? undefined : { users: usersOf(saslUsers) }
  return { ...(tls && { tls }), ...(sasl && { sasl }) }
}

/** How the command itself connects to its broker: it need not ask who that is. */
export function ownSecurity({ tls, sasl }: Pick<BrokerOptions, 'tls' | 'sasl'>): ClientSecurity {
  const [user] = Object.entries(sasl?.users ?? {})
  return new ClientSecurity({
    ...(tls && { tls: { rejectUnauthorized: false } }),
    ...(user && { sasl: { mechanism: 'plain', username: user[0], password: user[1] } }),
  })
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`The file ${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

/** Empty lines, and lines that begin with #, are no users. */
function usersOf(path: string): Record<string, string> {
  const users = new Map<string, string>()
  for (const [index, line] of read(path).split(/\r?\n/).entries()) {
    if (line === '' || line.startsWith('#')) continue
    const at = line.indexOf(':')
    const name = line.slice(0, at)
    if (at < 1 || at === line.length - 1) {
      throw new Error(`Line ${index + 1} of ${path} is not name:password.`)
    }
    if (users.has(name)) throw new Error(`The user ${name} is in ${path} twice.`)
    users.set(name, line.slice(at + 1))
  }
  if (users.size === 0) throw new Error(`There is no user in ${path}.`)
  return Object.fromEntries(users)
}
