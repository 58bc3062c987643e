import { StreamsError } from '../errors.ts'

/** Where a broker listens. */
export interface BrokerAddress {
  readonly host: string
  readonly port: number
}

/** `host:port`. */
export function addressName({ host, port }: BrokerAddress): string {
  return `${host}:${port}`
}

/** Reads the option `brokers`. Throws `CONFIG_INVALID` for what is not `host:port`. */
export function parseBrokers(brokers: readonly string[]): BrokerAddress[] {
  if (brokers.length === 0) {
    throw new StreamsError('CONFIG_INVALID', { option: 'brokers', detail: 'no broker is stated' })
  }
  return brokers.map((broker) => {
    // An IPv6 address stands in brackets, because it has colons itself.
    const match = /^(?:\[(?<v6>[0-9a-fA-F:.%]+)\]|(?<host>[^:\s[\]]+)):(?<port>\d{1,5})$/.exec(
      broker.trim(),
    )
    const host = match?.groups?.['v6'] ?? match?.groups?.['host']
    const port = Number(match?.groups?.['port'])
    if (host !== undefined && port > 0 && port < 65_536) return { host, port }
    throw new StreamsError('CONFIG_INVALID', {
      option: 'brokers',
      detail: `"${broker}" is not host:port`,
    })
  })
}
