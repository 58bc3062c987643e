import {
  systemTransport,
  type Connection,
  type ConnectOptions,
  type Transport,
} from '../../src/base/transport.ts'

/** Where a request frame has the key of its API. */
const apiKeyPosition = 4

/** A network that loses answers: the broker has done what it was asked for, and nobody hears of it. */
export class LossyTransport implements Transport {
  readonly #wanted = new Map<number, number>()

  readonly listen: Transport['listen'] = (options) => systemTransport.listen(options)

  async connect(options: ConnectOptions): Promise<Connection> {
    const inner = await systemTransport.connect(options)
    return new LossyConnection(inner, (apiKey) => this.#takeOne(apiKey))
  }

  /** The connections of the next requests of this API are gone before their answers arrive. */
  loseAnswers(api: { readonly key: number }, count: number): void {
    this.#wanted.set(api.key, count)
  }

  /** True: all that was to be lost is lost. */
  get isDone(): boolean {
    return [...this.#wanted.values()].every((count) => count === 0)
  }

  #takeOne(apiKey: number): boolean {
    const count = this.#wanted.get(apiKey) ?? 0
    if (count > 0) this.#wanted.set(apiKey, count - 1)
    return count > 0
  }
}

class LossyConnection implements Connection {
  readonly #inner: Connection
  readonly #loses: (apiKey: number) => boolean
  #isLost = false
  onData: Connection['onData'] = () => undefined

  constructor(inner: Connection, loses: (apiKey: number) => boolean) {
    this.#inner = inner
    this.#loses = loses
    inner.onData = (bytes) => {
      if (this.#isLost) inner.destroy()
      else this.onData(bytes)
    }
  }

  get peer(): string {
    return this.#inner.peer
  }

  get queuedBytes(): number {
    return this.#inner.queuedBytes
  }

  set onDrain(listener: Connection['onDrain']) {
    this.#inner.onDrain = listener
  }

  get onDrain(): Connection['onDrain'] {
    return this.#inner.onDrain
  }

  set onClose(listener: Connection['onClose']) {
    this.#inner.onClose = listener
  }

  get onClose(): Connection['onClose'] {
    return this.#inner.onClose
  }

  write(bytes: Uint8Array): void {
    const apiKey = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readInt16BE(
      apiKeyPosition,
    )
    if (this.#loses(apiKey)) this.#isLost = true
    this.#inner.write(bytes)
  }

  cork(): void {
    this.#inner.cork()
  }

  uncork(): void {
    this.#inner.uncork()
  }

  pause(): void {
    this.#inner.pause()
  }

  resume(): void {
    this.#inner.resume()
  }

  destroy(reason?: Error): void {
    this.#inner.destroy(reason)
  }

  end(): void {
    this.#inner.end()
  }
}
