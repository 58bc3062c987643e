import { StreamsError } from '../errors.ts'
import type { Clock } from './clock.ts'
import type { Connection, ConnectOptions, Listener, ListenOptions, Transport } from './transport.ts'

const firstEphemeralPort = 49_152

/** How a {@link MemoryTransport} behaves; all may be changed while it runs. */
export interface MemoryTransportOptions {
  clock: Clock
  /** Milliseconds from a write to its arrival. Default 0: in a later turn of the event loop. */
  delayMs?: number
  /** Bytes arrive in pieces of at most this size. Default: as they were written. */
  chunkBytesMax?: number
}

/**
 * A network inside one process: same events in the same order as sockets have, no sockets. For tests
 * and simulation, with the faults of a real one:
 *
 * - `delayMs`: the way takes this long; order is kept.
 * - `cut(address?)`: open connections are reset, both ends see it.
 * - `stall(address)`: nothing arrives and no connection is made, and nobody is told, until `resume`.
 *
 * @example
 * const network = new MemoryTransport({ clock })
 * await network.listen({ host: 'a', port: 9092, onConnection: serve })
 * const connection = await network.connect({ host: 'a', port: 9092, timeoutMs: 1000 })
 */
export class MemoryTransport implements Transport {
  delayMs: number
  chunkBytesMax: number
  readonly #clock: Clock
  readonly #listeners = new Map<string, ListenOptions>()
  readonly #open = new Set<MemoryConnection>()
  readonly #stalled = new Map<string, (() => void)[]>()
  #nextPort = firstEphemeralPort
  #connectCount = 0

  constructor(options: MemoryTransportOptions) {
    this.#clock = options.clock
    this.delayMs = options.delayMs ?? 0
    this.chunkBytesMax = options.chunkBytesMax ?? Infinity
  }

  /** Connections that were asked for so far, refused ones included. */
  get connectCount(): number {
    return this.#connectCount
  }

  /** Connections that are open, each counted once. */
  get openCount(): number {
    return this.#open.size / 2
  }

  connect(options: ConnectOptions): Promise<Connection> {
    this.#connectCount += 1
    const address = `${options.host}:${options.port}`
    return new Promise((resolve, reject) => {
      let settled = false
      const fail = (detail: string): void => {
        if (settled) return
        settled = true
        timer.cancel()
        options.signal?.removeEventListener('abort', onAbort)
        reject(new StreamsError('BROKER_UNREACHABLE', { broker: address, detail }))
      }
      const onAbort = (): void => fail('aborted')
      const timer = this.#clock.setTimer(options.timeoutMs, () => {
        fail(`no connection within ${options.timeoutMs} ms`)
      })
      options.signal?.addEventListener('abort', onAbort, { once: true })
      if (options.signal?.aborted) fail('aborted')
      this.#later(address, () => {
        if (settled) return
        const listener = this.#listeners.get(address)
        if (listener === undefined) {
          fail('connection refused')
          return
        }
        settled = true
        timer.cancel()
        options.signal?.removeEventListener('abort', onAbort)
        const client = new MemoryConnection(this, address, address)
        const server = new MemoryConnection(this, address, `client:${this.#connectCount}`)
        client.other = server
        server.other = client
        this.#open.add(client).add(server)
        // As with sockets: the handlers of either side are set before anything can arrive.
        listener.onConnection(server)
        resolve(client)
      })
    })
  }

  async listen(options: ListenOptions): Promise<Listener> {
    const port = options.port === 0 ? this.#nextPort++ : options.port
    const { host } = options
    const address = `${host}:${port}`
    if (this.#listeners.has(address)) throw new StreamsError('ADDRESS_IN_USE', { host, port })
    this.#listeners.set(address, options)
    const close = async (): Promise<void> => {
      this.#listeners.delete(address)
      this.cut(address)
    }
    return { host, port, close, [Symbol.asyncDispose]: close }
  }

  /** Resets the connections to this address, or all of them. */
  cut(address?: string): void {
    for (const connection of this.#open) {
      if (address === undefined || connection.address === address) {
        connection.destroy(new Error('connection reset'))
      }
    }
  }

  /** Holds back everything from and to this address. */
  stall(address: string): void {
    if (!this.#stalled.has(address)) this.#stalled.set(address, [])
  }

  /** Lets go what `stall` held back, in order, in a later turn. */
  resume(address: string): void {
    // What arrives until then queues up behind, so that nothing overtakes.
    this.#clock.setImmediate(() => {
      const held = this.#stalled.get(address)
      this.#stalled.delete(address)
      for (const run of held ?? []) run()
    })
  }

  /** Of the connections: carries an event to the other end. */
  carry(connection: MemoryConnection, run: () => void): void {
    this.#later(connection.address, run)
  }

  /** Of the connections: this end is no more, which it learns whatever the network does. */
  closed(connection: MemoryConnection, tell: () => void): void {
    this.#open.delete(connection)
    this.#clock.setImmediate(tell)
  }

  #later(address: string, run: () => void): void {
    const arrive = (): void => {
      const held = this.#stalled.get(address)
      if (held === undefined) run()
      else held.push(run)
    }
    if (this.delayMs > 0) this.#clock.setTimer(this.delayMs, arrive)
    else this.#clock.setImmediate(arrive)
  }
}

/** One end of a connection of a {@link MemoryTransport}. */
class MemoryConnection implements Connection {
  readonly address: string
  readonly peer: string
  readonly #network: MemoryTransport
  other: MemoryConnection | undefined
  #queuedBytes = 0
  #corked: Buffer[] | undefined
  #isClosed = false
  #isPaused = false
  /** What arrived while this end was paused. */
  readonly #held: Buffer[] = []
  onData: (bytes: Buffer) => void = () => undefined
  onDrain: () => void = () => undefined
  onClose: (reason: Error | undefined) => void = () => undefined

  constructor(network: MemoryTransport, address: string, peer: string) {
    this.#network = network
    this.address = address
    this.peer = peer
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  write(bytes: Uint8Array): void {
    if (this.#isClosed) return
    this.#queuedBytes += bytes.length
    const copy = Buffer.from(bytes)
    if (this.#corked === undefined) this.#send(copy)
    else this.#corked.push(copy)
  }

  cork(): void {
    this.#corked ??= []
  }

  uncork(): void {
    const corked = this.#corked
    this.#corked = undefined
    if (corked !== undefined && corked.length > 0) this.#send(Buffer.concat(corked))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#network.carry(this, () => this.#release())
  }

  destroy(reason?: Error): void {
    if (this.#isClosed) return
    const { other } = this
    this.#close(reason)
    if (other !== undefined)
      this.#network.carry(this, () => other.#close(reason && new Error('connection reset')))
  }

  end(): void {
    if (this.#isClosed) return
    this.uncork()
    const { other } = this
    this.#close(undefined)
    if (other !== undefined) this.#network.carry(this, () => other.#close(undefined))
  }

  #close(reason: Error | undefined): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#queuedBytes = 0
    this.#network.closed(this, () => this.onClose(reason))
  }

  #send(bytes: Buffer): void {
    const { chunkBytesMax } = this.#network
    const { other } = this
    for (let start = 0; start < bytes.length; start += chunkBytesMax) {
      const chunk = bytes.subarray(start, Math.min(bytes.length, start + chunkBytesMax))
      this.#network.carry(this, () => {
        if (other !== undefined) other.#arrive(chunk)
        this.#written(chunk.length)
      })
    }
  }

  #written(length: number): void {
    if (this.#isClosed) return
    this.#queuedBytes -= length
    if (this.#queuedBytes === 0) this.onDrain()
  }

  #arrive(bytes: Buffer): void {
    if (this.#isClosed) return
    // What was held while paused goes first.
    if (this.#isPaused || this.#held.length > 0) this.#held.push(bytes)
    else this.onData(bytes)
  }

  #release(): void {
    while (!this.#isPaused && !this.#isClosed) {
      const bytes = this.#held.shift()
      if (bytes === undefined) return
      this.onData(bytes)
    }
  }
}
