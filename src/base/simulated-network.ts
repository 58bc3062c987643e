import { StreamsError } from '../errors.ts'
import type { Timer } from './clock.ts'
import { randomInteger, type Random } from './random.ts'
import type { Connection, ConnectOptions, Listener, ListenOptions, Transport } from './transport.ts'
import type { VirtualProcess, VirtualTime } from './virtual-time.ts'

const firstEphemeralPort = 49_152

/** A connection that meets a wall is asked for again after so many milliseconds, then twice as many. */
const connectRetryMs = 1000

/** Of the writes so many in a hundred arrive in pieces. */
const splitPercent = 10
const piecesMax = 3

/** How fast a network is, in milliseconds; may be changed while it runs. */
export interface NetworkPace {
  /** Each piece of bytes takes from `minMs` to `maxMs`. */
  minMs: number
  maxMs: number
  /** So many in a hundred take up to `slowMs`. */
  slowPercent: number
  slowMs: number
}

/** Which way bytes go on a connection, seen from whoever asked for it. */
export type WireDirection = 'request' | 'response'

/** Bytes on a connection. */
export interface WirePiece {
  readonly connection: number
  readonly direction: WireDirection
  /** The machine that has sent them. */
  readonly host: string
  readonly bytes: Buffer
}

/** Sees every byte: `arrived` when the receiver takes it, `written` when the sender gives it away. */
export interface WireTap {
  arrived?(piece: WirePiece): void
  written?(piece: WirePiece): void
}

/**
 * The network of a simulated cluster. Bytes of a connection arrive in order, each piece after a delay of
 * its own; connections overtake each other. Faults, between machines that are named by host:
 *
 * - `cut`: open connections are reset, both ends hear of it, what was on its way is lost.
 * - `block`: nothing arrives in this direction until `unblock`, and nobody is told. What was sent
 *   arrives then, as with TCP, which sends again.
 * - A process that dies has its connections closed by its machine. A machine without power is silent.
 */
export class SimulatedNetwork {
  readonly pace: NetworkPace = { minMs: 0.05, maxMs: 1, slowPercent: 1, slowMs: 150 }
  readonly time: VirtualTime
  readonly taps: WireTap[] = []
  readonly #random: Random
  readonly #listeners = new Map<string, SimulatedListener>()
  readonly #ends = new Set<SimulatedEnd>()
  readonly #blocked = new Set<string>()
  /** Ends of which something has met a wall; also of the dead, whose machines send it again. */
  readonly #held = new Set<SimulatedEnd>()
  /** Machines without power: nothing answers there. */
  readonly #silent = new Set<string>()
  #nextPort = firstEphemeralPort
  #connectionCount = 0

  constructor(time: VirtualTime) {
    this.time = time
    this.#random = time.random
  }

  /** The network as a process sees it. It listens and connects as the machine on which it runs. */
  transport(process: VirtualProcess): Transport {
    process.onDeath(() => this.#processDied(process))
    return {
      connect: (options) => this.#connect(process, options),
      listen: (options) => this.#listen(process, options),
    }
  }

  /** Machines with open connections to `host`. */
  peersOf(host: string): string[] {
    const peers = [...this.#ends].filter((end) => end.host === host).map((end) => end.otherHost)
    return [...new Set(peers)].sort()
  }

  /** Resets the open connections of a machine, with another one if it is given. */
  cut(host: string, otherHost?: string): void {
    for (const end of this.#ends) {
      if (end.host !== host || (otherHost !== undefined && end.otherHost !== otherHost)) continue
      this.time.note(host, `connection ${end.id} is cut`)
      end.reset()
    }
  }

  /** Nothing arrives from one machine at the other. */
  block(from: string, to: string): void {
    this.time.note(from, `nothing arrives at ${to}`)
    this.#blocked.add(link(from, to))
  }

  /** What has not arrived does, in order. */
  unblock(from: string, to: string): void {
    if (!this.#blocked.delete(link(from, to))) return
    this.time.note(from, `bytes arrive at ${to} again`)
    for (const end of this.#held) {
      if (end.host !== from || end.otherHost !== to) continue
      this.#held.delete(end)
      end.release()
    }
  }

  /** All machines hear each other again. */
  unblockAll(): void {
    for (const blocked of this.#blocked) {
      const [from = '', to = ''] = blocked.split('>')
      this.unblock(from, to)
    }
  }

  /** A machine without power does not even say that nobody listens. */
  setSilent(host: string, isSilent: boolean): void {
    if (isSilent) this.#silent.add(host)
    else this.#silent.delete(host)
  }

  isBlocked(from: string, to: string): boolean {
    return this.#blocked.has(link(from, to)) || this.#silent.has(to)
  }

  /** True: the process has died, and its machine is there to say so. */
  isGone(process: VirtualProcess | undefined): boolean {
    return process !== undefined && process.isDead && !this.#silent.has(process.host)
  }

  /** How long the next piece takes. */
  delay(): number {
    const { minMs, maxMs, slowPercent, slowMs } = this.pace
    const isSlow = this.#random.next() * 100 < slowPercent
    const most = isSlow ? slowMs : maxMs
    return minMs + this.#random.next() * Math.max(0, most - minMs)
  }

  /** Of the connections: something of this one has met a wall. */
  hold(end: SimulatedEnd): void {
    this.#held.add(end)
  }

  /** Of the connections: they are no more. */
  forget(end: SimulatedEnd): void {
    this.#ends.delete(end)
  }

  /** Of the connections: where a write is cut into pieces, in ascending order. */
  cutsOf(length: number): number[] {
    if (length < 2 || this.#random.next() * 100 >= splitPercent) return []
    const cuts = Array.from({ length: 1 + randomInteger(this.#random, piecesMax - 1) }, () =>
      randomInteger(this.#random, length),
    )
    return cuts.sort((a, b) => a - b)
  }

  async #listen(process: VirtualProcess, options: ListenOptions): Promise<Listener> {
    const { host } = options
    const port = options.port === 0 ? this.#nextPort++ : options.port
    const address = `${host}:${port}`
    if (this.#listeners.has(address)) throw new StreamsError('ADDRESS_IN_USE', { host, port })
    const listener = { process, options, address }
    this.#listeners.set(address, listener)
    const close = async (): Promise<void> => {
      if (this.#listeners.get(address) === listener) this.#listeners.delete(address)
      for (const end of this.#ends) if (end.listener === listener) end.destroy()
    }
    return { host, port, close, [Symbol.asyncDispose]: close }
  }

  #connect(process: VirtualProcess, options: ConnectOptions): Promise<Connection> {
    const { host, port, timeoutMs, signal } = options
    const address = `${host}:${port}`
    return new Promise((resolve, reject) => {
      let isSettled = false
      const timers: Timer[] = []
      const settle = (): void => {
        isSettled = true
        for (const timer of timers) timer.cancel()
        signal?.removeEventListener('abort', onAbort)
      }
      const fail = (detail: string): void => {
        if (isSettled) return
        settle()
        reject(new StreamsError('BROKER_UNREACHABLE', { broker: address, detail }))
      }
      const onAbort = (): void => fail('aborted')
      const attempt = (retryMs: number): void => {
        if (isSettled) return
        const from = process.host
        if (this.isBlocked(from, host) || this.isBlocked(host, from)) {
          timers.push(process.later(retryMs, () => attempt(retryMs * 2)))
          return
        }
        const listener = this.#listeners.get(address)
        if (listener === undefined) fail('connection refused')
        else
          this.#accept(process, listener, (end) => {
            if (isSettled) return end.destroy()
            settle()
            resolve(end)
          })
      }
      if (signal?.aborted) return onAbort()
      signal?.addEventListener('abort', onAbort, { once: true })
      timers.push(process.later(timeoutMs, () => fail(`no connection within ${timeoutMs} ms`)))
      timers.push(process.later(this.delay(), () => attempt(connectRetryMs)))
    })
  }

  /** The machine of the listener has the connection: its process hears of it, then the one that asked. */
  #accept(
    process: VirtualProcess,
    listener: SimulatedListener,
    opened: (end: SimulatedEnd) => void,
  ): void {
    listener.process.later(this.delay(), () => {
      if (this.#listeners.get(listener.address) !== listener || process.isDead) return
      this.#connectionCount += 1
      const id = this.#connectionCount
      const client = new SimulatedEnd(this, {
        process,
        id,
        sends: 'request',
        peer: listener.address,
      })
      const server = new SimulatedEnd(this, {
        process: listener.process,
        id,
        sends: 'response',
        peer: `${process.host}:${id}`,
        listener,
      })
      client.other = server
      server.other = client
      this.#ends.add(client).add(server)
      // The handlers of either side are set before anything can arrive.
      server.send(() => opened(client))
      listener.options.onConnection(server)
    })
  }

  /** Its machine closes what it had open; one without power says nothing. */
  #processDied(process: VirtualProcess): void {
    for (const [address, listener] of this.#listeners) {
      if (listener.process === process) this.#listeners.delete(address)
    }
    const isSilent = this.#silent.has(process.host)
    for (const end of this.#ends) if (end.process === process) end.abandon(isSilent)
  }
}

interface SimulatedListener {
  readonly process: VirtualProcess
  readonly options: ListenOptions
  readonly address: string
}

interface EndOptions {
  readonly process: VirtualProcess
  readonly id: number
  readonly sends: WireDirection
  readonly peer: string
  readonly listener?: SimulatedListener
}

const nobody = (): void => undefined

/**
 * One end of a connection. What it sends waits in a queue; for each piece there is an event in the process
 * of the other end, which takes the first that waits: so the order is kept, whatever delays them.
 */
class SimulatedEnd implements Connection {
  readonly process: VirtualProcess
  readonly id: number
  readonly peer: string
  readonly listener: SimulatedListener | undefined
  other: SimulatedEnd | undefined
  readonly #network: SimulatedNetwork
  readonly #sends: WireDirection
  readonly #onTheWay: (() => void)[] = []
  /** When the last piece arrives. */
  #lastArrival = 0
  /** Events that have met a wall. */
  #heldCount = 0
  #queuedBytes = 0
  #corked: Buffer[] | undefined
  #isClosed = false
  #isPaused = false
  /** What arrived while this end was paused. */
  readonly #unread: Buffer[] = []
  onData: (bytes: Buffer) => void = nobody
  onDrain: () => void = nobody
  onClose: (reason: Error | undefined) => void = nobody

  constructor(network: SimulatedNetwork, options: EndOptions) {
    this.#network = network
    this.process = options.process
    this.id = options.id
    this.peer = options.peer
    this.listener = options.listener
    this.#sends = options.sends
  }

  get host(): string {
    return this.process.host
  }

  get otherHost(): string {
    return this.other?.host ?? ''
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  write(bytes: Uint8Array): void {
    this.process.touch()
    if (this.#isClosed || this.process.isDead) return
    this.#queuedBytes += bytes.length
    const copy = Buffer.from(bytes)
    if (this.#corked === undefined) this.#give(copy)
    else this.#corked.push(copy)
  }

  cork(): void {
    this.#corked ??= []
  }

  uncork(): void {
    const corked = this.#corked
    this.#corked = undefined
    if (corked === undefined || corked.length === 0 || this.process.isDead) return
    this.#give(Buffer.concat(corked))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#unread.length > 0) this.process.later(0, () => this.#read())
  }

  destroy(reason?: Error): void {
    if (this.#isClosed || this.process.isDead) return
    this.#close(reason)
    const { other } = this
    this.send(() => other?.hearEnd(reason && new Error('connection reset')))
  }

  end(): void {
    this.uncork()
    this.destroy()
  }

  /** Both ends are told, what is on its way is lost. */
  reset(): void {
    for (const end of [this, this.other]) {
      if (end === undefined) continue
      end.#onTheWay.length = 0
      end.process.later(this.#network.delay(), () => end.hearEnd(new Error('connection reset')))
      this.#network.forget(end)
    }
  }

  /** Its process is dead: nothing more comes; the other end is told unless the machine is silent. */
  abandon(isSilent: boolean): void {
    this.#isClosed = true
    this.#network.forget(this)
    const { other } = this
    if (!isSilent) this.send(() => other?.hearEnd(undefined))
  }

  /** Of the other end: it is closed. */
  hearEnd(reason: Error | undefined): void {
    if (!this.#isClosed) this.#close(reason)
  }

  /** Sends an event to the other end, behind what was sent before. */
  send(event: () => void): void {
    this.#onTheWay.push(event)
    const { time } = this.#network
    this.#lastArrival = Math.max(this.#lastArrival, time.now + this.#network.delay())
    this.#arriveAt(this.#lastArrival)
    if (this.#network.isGone(this.other?.process)) this.#refused()
  }

  /** What has met a wall arrives after all. */
  release(): void {
    for (; this.#heldCount > 0; this.#heldCount -= 1) {
      const { time } = this.#network
      this.#lastArrival = Math.max(this.#lastArrival, time.now + this.#network.delay())
      this.#arriveAt(this.#lastArrival)
    }
  }

  #arriveAt(due: number): void {
    const receiver = this.other?.process
    if (receiver === undefined) return
    this.#network.time.schedule(receiver, due, () => {
      if (!this.#network.isBlocked(this.host, this.otherHost)) return this.#onTheWay.shift()?.()
      this.#heldCount += 1
      this.#network.hold(this)
    })
  }

  /** The machine at the other end knows nothing of this connection any more. */
  #refused(): void {
    this.process.later(this.#network.delay(), () => this.hearEnd(new Error('connection reset')))
  }

  #close(reason: Error | undefined): void {
    this.#isClosed = true
    this.#queuedBytes = 0
    this.#network.forget(this)
    this.process.later(0, () => this.onClose(reason))
  }

  #give(bytes: Buffer): void {
    const { taps } = this.#network
    for (const tap of taps) tap.written?.(this.#piece(bytes))
    let start = 0
    for (const end of [...this.#network.cutsOf(bytes.length), bytes.length]) {
      if (end > start) this.#givePiece(bytes.subarray(start, end))
      start = end
    }
  }

  #givePiece(piece: Buffer): void {
    const { other } = this
    this.send(() => {
      this.#network.time.mixBytes(piece)
      for (const tap of this.#network.taps) tap.arrived?.(this.#piece(piece))
      this.#taken(piece.length)
      if (other !== undefined) other.#arrive(piece)
    })
  }

  #piece(bytes: Buffer): WirePiece {
    return { connection: this.id, direction: this.#sends, host: this.host, bytes }
  }

  #taken(length: number): void {
    if (this.#isClosed) return
    this.#queuedBytes -= length
    if (this.#queuedBytes === 0 && this.onDrain !== nobody) {
      this.process.later(0, () => this.onDrain())
    }
  }

  #arrive(bytes: Buffer): void {
    if (this.#isClosed) return
    if (this.#isPaused || this.#unread.length > 0) this.#unread.push(bytes)
    else this.onData(bytes)
  }

  #read(): void {
    if (this.#isPaused || this.#isClosed) return
    const bytes = this.#unread.shift()
    if (bytes === undefined) return
    if (this.#unread.length > 0) this.process.later(0, () => this.#read())
    this.onData(bytes)
  }
}

const link = (from: string, to: string): string => `${from}>${to}`
