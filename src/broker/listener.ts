import { LimitedLog } from '../base/limited-log.ts'
import type { Log } from '../base/log.ts'
import type { TlsServerOptions } from '../base/tls.ts'
import type { Connection, Listener as PortListener, Transport } from '../base/transport.ts'
import { ClientConnection } from './client-connection.ts'
import type { BrokerParts } from './request-context.ts'

/** Kafka's `socket.request.max.bytes`. */
export const requestBytesMaxDefault = 100 * 1024 * 1024

const connectionsMax = 10_000

export interface BrokerListenerOptions {
  readonly transport: Transport
  readonly log: Log
  readonly host: string
  readonly port: number
  readonly requestBytesMax: number
  readonly tls?: TlsServerOptions | undefined
  readonly broker: BrokerParts
}

/** Accepts clients. */
export class BrokerListener implements AsyncDisposable {
  /** Of connections: anybody can open bad ones, as many as he likes. */
  readonly #log: LimitedLog
  readonly #listener: PortListener
  readonly #clients: Set<ClientConnection>

  private constructor(log: LimitedLog, listener: PortListener, clients: Set<ClientConnection>) {
    this.#log = log
    this.#listener = listener
    this.#clients = clients
  }

  /** Rejects with `ADDRESS_IN_USE`, or `CONFIG_INVALID` for a host that is not ours. */
  static async open(options: BrokerListenerOptions): Promise<BrokerListener> {
    const clients = new Set<ClientConnection>()
    const { transport, host, port, tls } = options
    const log = new LimitedLog(options.log, options.broker.clock)
    const onConnection = (connection: Connection): void =>
      accept(connection, clients, { ...options, log })
    const onTlsFailure = (peer: string, reason: Error): void =>
      log.warn('refused a connection: no TLS came about', { peer, reason: reason.message })
    const secured = tls && { tls, onTlsFailure }
    const listener = await transport.listen({ host, port, onConnection, ...secured })
    return new BrokerListener(log, listener, clients)
  }

  get port(): number {
    return this.#listener.port
  }

  /** Takes no more clients and ends those that are there; resolves when their requests are done. */
  async close(): Promise<void> {
    this.#log.debug('the listener closes', { port: this.port, clients: this.#clients.size })
    const ended = Promise.all([...this.#clients].map((client) => client.close()))
    await this.#listener.close()
    await ended
    this.#log.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function accept(
  connection: Connection,
  clients: Set<ClientConnection>,
  { log, broker, requestBytesMax }: BrokerListenerOptions,
): void {
  if (clients.size >= connectionsMax) {
    log.warn('refused a connection: there are too many', { peer: connection.peer, connectionsMax })
    connection.destroy()
    return
  }
  const onClose = (): void => {
    clients.delete(client)
  }
  const client = new ClientConnection(connection, {
    broker,
    requestBytesMax,
    log,
    onClose,
  })
  clients.add(client)
}
