import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Requests of one connection that wait for an answer at a time. Node starts each pipelined request
 * when it has been read, whatever stands before it, so that one client could keep any number of
 * scans and hops under way.
 */
export const unansweredRequestsMax = 16

/** A place on the connection, which the socket leads to: there is no other place for it. */
const connections = new WeakMap<Socket, ClientConnection>()

/** A client's connection, with what it waits for. */
export class ClientConnection {
  readonly #gone = new AbortController()
  #unanswered = 0

  private constructor(socket: Socket) {
    // One listener for each question under way: more than Node thinks wise.
    setMaxListeners(0, this.#gone.signal)
    socket.once('close', () => this.#gone.abort())
  }

  static of(socket: Socket): ClientConnection {
    let connection = connections.get(socket)
    if (connection === undefined) {
      connection = new ClientConnection(socket)
      connections.set(socket, connection)
    }
    return connection
  }

  /**
   * Aborts when the client has hung up: nobody hears the answers to what is under way. It is the
   * connection's, not the request's: whoever listens stops when the answer is there.
   */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Requests that are not answered yet. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** Counts the request until it is answered; false: there are too many already. */
  admit(response: ServerResponse): boolean {
    this.#unanswered += 1
    response.once('close', () => {
      this.#unanswered -= 1
    })
    return this.#unanswered <= unansweredRequestsMax
  }
}
