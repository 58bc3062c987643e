import { systemTransport, type Connection, type Transport } from '../../src/base/transport.ts'
import { StreamsError } from '../../src/errors.ts'

/** The network of a process that can be killed: `cut` is what others see of a `kill -9`. */
export class CutTransport implements Transport {
  readonly #connections = new Set<Connection>()
  readonly #inner: Transport
  #isCut = false

  constructor(inner: Transport = systemTransport) {
    this.#inner = inner
  }

  readonly listen: Transport['listen'] = (options) => this.#inner.listen(options)

  readonly connect: Transport['connect'] = async (options) => {
    const broker = `${options.host}:${options.port}`
    if (this.#isCut) throw new StreamsError('BROKER_UNREACHABLE', { broker, detail: 'cut' })
    const connection = await this.#inner.connect(options)
    this.#connections.add(connection)
    if (this.#isCut) connection.destroy()
    return connection
  }

  heal(): void {
    this.#isCut = false
  }

  /** Destroys all connections, and makes none until `heal`. */
  cut(): void {
    this.#isCut = true
    for (const connection of this.#connections) connection.destroy()
  }
}
