import type { Log } from '../base/log.ts'
import type { Connection } from '../base/transport.ts'
import { isStreamsError, messageOf } from '../errors.ts'
import { ClientSession } from './client-session.ts'
import { dispatch, type Caller } from './dispatcher.ts'
import { FrameBuffer } from './frame-buffer.ts'
import type { BrokerParts } from './request-context.ts'

/** While a request is under way, this much of the next ones is taken in before reading stops. */
const waitingBytesMax = 1024 * 1024

/**
 * No request is answered while this much of earlier answers waits for a client that does not read.
 */
const queuedBytesMax = 16 * 1024 * 1024

export interface ClientConnectionOptions {
  readonly broker: BrokerParts
  readonly requestBytesMax: number
  readonly log: Log
  readonly onClose: () => void
}

/**
 * One client. Its requests are done one after the other, and answered in that order; a bad request,
 * or a failure that is not foreseen, ends this connection and nothing else.
 */
export class ClientConnection {
  readonly #connection: Connection
  readonly #options: ClientConnectionOptions
  readonly #frames: FrameBuffer
  readonly #gone = new AbortController()
  readonly #caller: Caller
  #isBusy = false
  #isPaused = false
  /** Settles when the request under way is done. */
  #work: Promise<void> = Promise.resolve()

  constructor(connection: Connection, options: ClientConnectionOptions) {
    this.#connection = connection
    this.#options = options
    this.#frames = new FrameBuffer(options.requestBytesMax)
    const host = connection.peer.slice(0, connection.peer.lastIndexOf(':'))
    const session = new ClientSession(options.broker.authenticator, connection.peer)
    this.#caller = { clientHost: `/${host}`, session, signal: this.#gone.signal }
    connection.onData = (bytes) => {
      this.#frames.push(bytes)
      this.#pump()
    }
    connection.onDrain = () => this.#pump()
    connection.onClose = () => {
      this.#gone.abort()
      options.onClose()
    }
  }

  /** Ends the connection; resolves when the request that was under way is done. */
  async close(): Promise<void> {
    this.#gone.abort()
    this.#connection.destroy()
    await this.#work
  }

  /** Does the requests that are there, until one takes its time or the client does not read. */
  #pump(): void {
    try {
      while (!this.#isBusy && !this.#gone.signal.aborted) {
        if (this.#connection.queuedBytes > queuedBytesMax) break
        const frame = this.#frames.next()
        if (frame === undefined) break
        const response = dispatch(frame, this.#caller, this.#options.broker)
        if (response instanceof Promise) this.#await(response)
        else this.#write(response)
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#throttle()
  }

  #await(response: Promise<Buffer | undefined>): void {
    this.#isBusy = true
    this.#work = response.then(
      (bytes) => {
        this.#isBusy = false
        this.#write(bytes)
        this.#pump()
      },
      (error: unknown) => this.#fail(error),
    )
  }

  #write(bytes: Buffer | undefined): void {
    if (bytes !== undefined && !this.#gone.signal.aborted) this.#connection.write(bytes)
  }

  /** Stops reading from a client that sends more than is being done. */
  #throttle(): void {
    const isStuck = this.#isBusy || this.#connection.queuedBytes > queuedBytesMax
    const mustPause = isStuck && this.#frames.bytes > waitingBytesMax
    if (mustPause === this.#isPaused) return
    this.#isPaused = mustPause
    if (mustPause) this.#connection.pause()
    else this.#connection.resume()
  }

  #fail(error: unknown): void {
    if (this.#gone.signal.aborted) return
    const facts = { peer: this.#connection.peer, reason: messageOf(error) }
    if (isStreamsError(error)) this.#options.log.warn('closed a connection', facts)
    else {
      const stack = error instanceof Error ? error.stack : undefined
      this.#options.log.error('a request failed in a way that is a bug', { ...facts, stack })
    }
    this.#gone.abort()
    this.#connection.destroy()
  }
}
