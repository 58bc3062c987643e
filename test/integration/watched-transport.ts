import {
  systemTransport,
  type Connection,
  type ConnectOptions,
  type Transport,
} from '../../src/base/transport.ts'

/** Where a request frame has the key of its API. */
const apiKeyPosition = 4

/** A network that tells which requests go out, and can be closed at any of them. */
export class WatchedTransport implements Transport {
  readonly #onRequest: (apiKey: number) => void

  constructor(onRequest: (apiKey: number) => void) {
    this.#onRequest = onRequest
  }

  readonly listen: Transport['listen'] = (options) => systemTransport.listen(options)

  async connect(options: ConnectOptions): Promise<Connection> {
    const connection = await systemTransport.connect(options)
    const write = connection.write.bind(connection)
    connection.write = (bytes) => {
      const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      this.#onRequest(frame.readInt16BE(apiKeyPosition))
      write(bytes)
    }
    return connection
  }
}
