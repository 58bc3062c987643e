import {
  connect as connectTcp,
  createServer,
  isIP,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import {
  connect as connectTls,
  createServer as createTlsServer,
  type ConnectionOptions,
  type TlsOptions as ServerOptions,
  type TLSSocket,
} from 'node:tls'
import { StreamsError, messageOf } from '../errors.ts'
import { isTlsError, tlsFailure, untrustedFailure, type TlsServerOptions } from './tls.ts'

/**
 * One end of a byte stream. Events come one at a time, never inside a call of ours; after `onClose`
 * nothing comes. Whoever opens a connection sets its handlers in the same turn.
 */
export interface Connection {
  /** `host:port` of the other end, for messages. */
  readonly peer: string
  /** Bytes that are written but not yet with the operating system. */
  readonly queuedBytes: number
  /** Takes the bytes (borrowed until written: do not change them). Silently dropped once closed. */
  write(bytes: Uint8Array): void
  /** Holds writes back until `uncork`, so that one turn's frames leave in one packet. */
  cork(): void
  uncork(): void
  /** Stops and resumes `onData`: how a slow reader slows its peer. */
  pause(): void
  resume(): void
  /** Ends at once, dropping what is queued. `onClose` follows. Idempotent. */
  destroy(reason?: Error): void
  /** Flushes what is queued, then ends. `onClose` follows. */
  end(): void
  onData: (bytes: Buffer) => void
  /** Called when `queuedBytes` has fallen to zero again after a write. */
  onDrain: () => void
  onClose: (reason: Error | undefined) => void
}

/** Something that accepts connections. `close` also destroys those that are open. */
export interface Listener extends AsyncDisposable {
  readonly host: string
  readonly port: number
  close(): Promise<void>
}

export interface ConnectOptions {
  host: string
  port: number
  /** Given: TLS with these options of node:tls. */
  tls?: ConnectionOptions
  /** Milliseconds until the attempt fails. */
  timeoutMs: number
  signal?: AbortSignal
}

export interface ListenOptions {
  host: string
  /** 0: any free port; the listener says which. */
  port: number
  onConnection: (connection: Connection) => void
  /** Given: clients must speak TLS. */
  tls?: TlsServerOptions
  /** Hears of a client with which no TLS connection came about. */
  onTlsFailure?: (peer: string, reason: Error) => void
}

/** The port to the network. */
export interface Transport {
  /**
   * Rejects with `BROKER_UNREACHABLE` (refused, unresolved, timed out, aborted), or with `TLS_FAILED`
   * when the two sides cannot agree, or do not trust each other.
   */
  connect(options: ConnectOptions): Promise<Connection>
  /** Rejects with `ADDRESS_IN_USE`, or `CONFIG_INVALID` for a host that is not ours. */
  listen(options: ListenOptions): Promise<Listener>
}

class SocketConnection implements Connection {
  readonly peer: string
  readonly #socket: Socket
  #reason: Error | undefined
  #hasHeard = false
  onData: (bytes: Buffer) => void = () => undefined
  onDrain: () => void = () => undefined
  onClose: (reason: Error | undefined) => void = () => undefined

  constructor(socket: Socket, peer: string) {
    this.#socket = socket
    this.peer = peer
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => {
      this.#hasHeard = true
      this.onData(bytes)
    })
    socket.on('drain', () => this.onDrain())
    socket.on('error', (error) => {
      // With TLS 1.3 a client is connected before it hears that its certificate is refused.
      const isRefusal = !this.#hasHeard && isTlsError(error)
      this.#reason ??= isRefusal ? tlsFailure(peer, error) : error
    })
    socket.on('close', () => this.onClose(this.#reason))
  }

  get queuedBytes(): number {
    return this.#socket.writableLength
  }

  write(bytes: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(bytes)
  }

  cork(): void {
    this.#socket.cork()
  }

  uncork(): void {
    this.#socket.uncork()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  destroy(reason?: Error): void {
    this.#reason ??= reason
    this.#socket.destroy()
  }

  end(): void {
    this.#socket.end()
  }
}

function connect(options: ConnectOptions): Promise<Connection> {
  const { host, port, tls, timeoutMs, signal } = options
  const peer = `${host}:${port}`
  return new Promise((resolve, reject) => {
    // An address is no name to ask for (RFC 6066); the certificate is compared with it all the same.
    const name = isIP(host) === 0 ? { servername: host } : {}
    const socket: Socket | TLSSocket = tls
      ? connectTls({ host, port, ...name, ...tls })
      : connectTcp({ host, port })
    const settle = (): void => {
      socket.removeAllListeners()
      socket.setTimeout(0)
      signal?.removeEventListener('abort', aborted)
    }
    const fail = (cause: unknown): void => {
      settle()
      socket.on('error', () => undefined)
      socket.destroy()
      reject(connectFailure(peer, socket, cause))
    }
    const aborted = (): void => fail(new Error('aborted'))
    if (signal?.aborted) {
      aborted()
      return
    }
    signal?.addEventListener('abort', aborted, { once: true })
    socket.setTimeout(timeoutMs, () => fail(new Error(`no connection within ${timeoutMs} ms`)))
    socket.once('error', fail)
    socket.once('close', () => fail(new Error('closed while connecting')))
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      settle()
      resolve(new SocketConnection(socket, peer))
    })
  })
}

function connectFailure(peer: string, socket: Socket | TLSSocket, cause: unknown): StreamsError {
  const isUntrusted = 'authorizationError' in socket && Boolean(socket.authorizationError)
  if (isUntrusted) return untrustedFailure(peer, cause)
  if (isTlsError(cause)) return tlsFailure(peer, cause)
  const isTls = 'encrypted' in socket
  const hint = isTls && !socket.connecting ? handshakeHint(cause) : ''
  const detail = `${messageOf(cause)}${hint}`
  return new StreamsError('BROKER_UNREACHABLE', { broker: peer, detail }, { cause })
}

/** Whoever does not speak TLS hangs up on the first bytes of it, as a broker does that is stopping. */
function handshakeHint(cause: unknown): string {
  const { code } = cause as { readonly code?: unknown }
  return code === 'ECONNRESET' ? '; does this port speak TLS?' : ''
}

/** Milliseconds that a client may take for the handshake. */
const handshakeTimeoutMs = 10_000

function serverOf(options: ListenOptions, accept: (socket: Socket) => void): Server {
  const { tls, onTlsFailure } = options
  if (tls === undefined) return createServer(accept)
  const { clientCertificate = 'none', ...material } = tls
  const isRequired = clientCertificate === 'required'
  const server = createTlsServer(
    {
      ...(material as ServerOptions),
      requestCert: isRequired,
      rejectUnauthorized: isRequired,
      handshakeTimeout: handshakeTimeoutMs,
    },
    accept,
  )
  server.on('tlsClientError', (error, socket) => {
    onTlsFailure?.(`${socket.remoteAddress}:${socket.remotePort}`, error)
    socket.destroy()
  })
  return server
}

function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, onConnection } = options
  return new Promise((resolve, reject) => {
    const sockets = new Set<Socket>()
    const server = serverOf(options, (socket) => {
      onConnection(new SocketConnection(socket, `${socket.remoteAddress}:${socket.remotePort}`))
    })
    // Those as well whose TLS handshake is not over.
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    const failed = (error: NodeJS.ErrnoException): void => {
      reject(
        error.code === 'EADDRINUSE'
          ? new StreamsError('ADDRESS_IN_USE', { host, port }, { cause: error })
          : new StreamsError(
              'CONFIG_INVALID',
              { option: `listener ${host}:${port}`, detail: error.message },
              { cause: error },
            ),
      )
    }
    server.once('error', failed)
    server.listen({ host, port }, () => {
      server.removeListener('error', failed)
      server.on('error', () => undefined)
      const address = server.address() as AddressInfo
      let closed: Promise<void> | undefined
      const close = (): Promise<void> => {
        closed ??= new Promise((done) => {
          server.close(() => done())
          for (const socket of sockets) socket.destroy()
        })
        return closed
      }
      resolve({ host, port: address.port, close, [Symbol.asyncDispose]: close })
    })
  })
}

/** The network of this machine: TCP and TLS. */
export const systemTransport: Transport = { connect, listen }
