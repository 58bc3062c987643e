import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Connection, Transport } from '../base/transport.ts'
import { isStreamsError, messageOf, StreamsError } from '../errors.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import type { AnyApi, Api } from '../protocol/schema.ts'
import type { Authenticate } from './client-security.ts'
import { connectionClosed, hangUpHint, notConnected } from './connection-failure.ts'
import { lifeController, within } from './deadline.ts'
import { FrameReader } from './frame-reader.ts'
import { kafkaFailure } from './kafka-failure.ts'
import type { RequestBody } from './request-frame.ts'
import { RequestPipeline } from './request-pipeline.ts'
import { SessionRenewal } from './session-renewal.ts'

export type { RequestBody } from './request-frame.ts'

/** A response above this size closes the connection. */
const responseBytesMaxDefault = 128 * 1024 * 1024

/** What a {@link BrokerConnection} needs to be opened. */
export interface BrokerConnectionOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly host: string
  readonly port: number
  readonly clientId: string
  readonly tls?: ConnectionOptions | undefined
  readonly connectTimeoutMs: number
  /** The time of a request that states none, and the silence after which a connection is hung. */
  readonly requestTimeoutMs: number
  /** Default 128 MiB. */
  readonly responseBytesMax?: number | undefined
  /** For tests of the wrap. Default 0. */
  readonly firstCorrelationId?: number | undefined
  /** Runs between the negotiation of versions and the first request, and before a session ends. */
  readonly authenticate?: Authenticate | undefined
  readonly signal?: AbortSignal | undefined
}

/** How one request is sent; all optional. */
export interface SendOptions {
  /** Default: that of the connection. Counts from the call, waiting in the queue included. */
  timeoutMs?: number | undefined
  /** The highest version to be used. Default: the highest that both sides know. */
  versionMax?: number | undefined
  /** About how large the request is, so that it is written without moving it. */
  bytesHint?: number | undefined
  signal?: AbortSignal | undefined
}

/**
 * A connection to one broker. Requests are pipelined and answered in order.
 *
 * A request that is not answered in time fails alone; its late answer is dropped. But a broker
 * answers in order, so when the one whose turn it is has been given up and the broker has been
 * silent for `requestTimeoutMs`, nothing else can come either: the connection is hung and is closed,
 * which fails the others with `CONNECTION_CLOSED`.
 */
export class BrokerConnection {
  readonly #options: BrokerConnectionOptions
  readonly #connection: Connection
  readonly #frames: FrameReader
  readonly #pipeline: RequestPipeline
  readonly #renewal: SessionRenewal
  /** Version ranges of the broker, by API key. */
  #ranges: ReadonlyMap<number, readonly [number, number]> = new Map()
  #reason: StreamsError | undefined
  /** Aborts when the connection ends. */
  readonly #life = lifeController()
  readonly #ended: Promise<void>
  #end: () => void = () => undefined

  private constructor(connection: Connection, options: BrokerConnectionOptions) {
    this.#options = options
    this.#connection = connection
    this.#pipeline = new RequestPipeline({
      clock: options.clock,
      log: options.log,
      connection,
      broker: this.broker,
      clientId: options.clientId,
      requestTimeoutMs: options.requestTimeoutMs,
      firstCorrelationId: options.firstCorrelationId ?? 0,
      onHung: (reason) => this.#fail(reason),
    })
    this.#frames = new FrameReader({
      peer: this.broker,
      frameBytesMax: options.responseBytesMax ?? responseBytesMaxDefault,
      onFrame: (frame) => this.#pipeline.receive(frame),
    })
    this.#renewal = new SessionRenewal({
      clock: options.clock,
      random: options.random,
      renew: () => this.#authenticateAgain(),
      onFailure: (error) => this.#fail(this.#notRenewed(error)),
    })
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
    connection.onData = (bytes) => this.#take(bytes)
    connection.onClose = (reason) => {
      this.#fail(this.#closedError(reason))
      this.#end()
    }
  }

  /**
   * Connects, negotiates versions, authenticates. Rejects with `BROKER_UNREACHABLE`, `TLS_FAILED`,
   * `SASL_AUTHENTICATION_FAILED`, `SASL_MECHANISM_UNSUPPORTED`.
   */
  static async open(options: BrokerConnectionOptions): Promise<BrokerConnection> {
    const { host, port, tls, connectTimeoutMs, signal } = options
    const connection = new BrokerConnection(
      await options.transport.connect({
        host,
        port,
        timeoutMs: connectTimeoutMs,
        ...(tls && { tls }),
        ...(signal && { signal }),
      }),
      options,
    )
    try {
      await connection.#negotiate()
      connection.#renewal.begin(await connection.#authenticate())
      return connection
    } catch (error) {
      const failure = notConnected(connection.broker, error)
      await connection.close()
      throw failure
    }
  }

  /** `host:port`. */
  get broker(): string {
    return `${this.#options.host}:${this.#options.port}`
  }

  get isClosed(): boolean {
    return this.#reason !== undefined
  }

  /** Requests that are sent and not answered. */
  get inFlightCount(): number {
    return this.#pipeline.inFlightCount
  }

  /**
   * The highest version that both sides know. Throws `PROTOCOL_UNSUPPORTED_VERSION` when there is
   * none.
   */
  versionOf(api: AnyApi, versionMax: number = api.versions[1]): number {
    const range = this.#ranges.get(api.key)
    const min = Math.max(api.versions[0], range?.[0] ?? 0)
    const max = Math.min(api.versions[1], versionMax, range?.[1] ?? -1)
    if (max >= min) return max
    throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
      api: api.name,
      version: `${api.versions[0]} to ${Math.min(api.versions[1], versionMax)}`,
      detail: `${this.broker} has ${range === undefined ? 'no version' : `${range[0]} to ${range[1]}`}`,
    })
  }

  /**
   * Sends a request and resolves with its response. Rejects with `REQUEST_TIMEOUT`,
   * `CONNECTION_CLOSED`, `ABORTED`, `PROTOCOL_MALFORMED` (the connection is then closed) or
   * `PROTOCOL_UNSUPPORTED_VERSION`.
   */
  async request<In, Response>(
    api: Api<In, unknown, unknown, Response>,
    body: RequestBody<In>,
    options: SendOptions = {},
  ): Promise<Response> {
    return this.#pipeline.send(api, this.versionOf(api, options.versionMax), body, options)
  }

  /** Ends at once; what waits rejects with the reason (default `CONNECTION_CLOSED`). Idempotent. */
  close(reason?: StreamsError): Promise<void> {
    this.#fail(reason ?? connectionClosed(this.broker, undefined, undefined))
    return this.#ended
  }

  async #negotiate(): Promise<void> {
    let version = apiVersions.versions[1]
    let response = await this.#versionsOfBroker(version)
    if (response.errorCode === errorCode.UNSUPPORTED_VERSION && version > 0) {
      // KIP-511: the refusal may name the broker's range for this very API; old brokers are silent.
      const range = response.apiKeys.find((row) => row.apiKey === apiVersions.key)
      version = Math.min(version - 1, range?.maxVersion ?? 0)
      response = await this.#versionsOfBroker(Math.max(0, version))
    }
    if (response.errorCode !== errorCode.NONE)
      throw kafkaFailure(apiVersions.name, response.errorCode, { subject: this.broker })
    this.#ranges = new Map(
      response.apiKeys.map((row) => [row.apiKey, [row.minVersion, row.maxVersion]]),
    )
  }

  #versionsOfBroker(version: number) {
    const body = { clientSoftwareName: 'millpond', clientSoftwareVersion: '1' }
    return this.#pipeline.send(apiVersions, version, body, this.#openingOptions)
  }

  /** Of requests that are part of making the connection. */
  get #openingOptions() {
    const { connectTimeoutMs, signal } = this.#options
    return { timeoutMs: connectTimeoutMs, signal, kind: 'session' } as const
  }

  /** Resolves with the milliseconds after which it has to be done again; 0: never. */
  async #authenticate(): Promise<number> {
    const { authenticate, host, port, clock, connectTimeoutMs: ms } = this.#options
    if (authenticate === undefined) return 0
    const { signal } = this.#life
    const session = authenticate({
      host,
      port,
      signal,
      versionOf: (api) => this.versionOf(api),
      request: (api, body) =>
        this.#pipeline.send(api, this.versionOf(api), body, this.#openingOptions),
    })
    return within(clock, session, {
      ms,
      signals: [this.#options.signal, signal],
      onAbort: () =>
        this.#reason ?? new StreamsError('ABORTED', { what: `connecting to ${this.broker}` }),
      onTimeout: () => {
        const facts = { api: 'SaslAuthenticate', broker: this.broker, timeoutMs: ms }
        return new StreamsError('REQUEST_TIMEOUT', facts)
      },
    })
  }

  /** Between two ordinary requests: a broker takes none of them in the middle of an authentication. */
  async #authenticateAgain(): Promise<number> {
    await this.#pipeline.hold()
    const lifetimeMs = await this.#authenticate()
    this.#pipeline.release()
    return lifetimeMs
  }

  #take(bytes: Buffer): void {
    if (this.#reason !== undefined) return
    this.#pipeline.heard()
    try {
      this.#frames.push(bytes)
    } catch (error) {
      this.#fail(this.#malformed(error))
    }
  }

  #fail(reason: StreamsError): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#options.log.debug('A connection to a broker ended', { reason: reason.message })
    this.#frames.stop()
    this.#renewal.stop()
    this.#connection.destroy(reason)
    this.#pipeline.fail(reason)
    this.#life.abort()
  }

  #closedError(cause: Error | undefined): StreamsError {
    if (cause instanceof StreamsError) return cause
    const details = [cause?.message, this.#endDetail()].filter((detail) => detail !== undefined)
    const detail = details.length === 0 ? undefined : details.join(', ')
    return connectionClosed(this.broker, cause, detail)
  }

  /** Where in the conversation the broker has hung up. */
  #endDetail(): string | undefined {
    if (this.#frames.isInsideFrame) return 'in the middle of a response'
    const { nextApiKey, hasConversed } = this.#pipeline
    if (nextApiKey === undefined || hasConversed) return undefined
    const { tls, authenticate } = this.#options
    if (nextApiKey === apiVersions.key) return tls ? hangUpHint.versionsInTls : hangUpHint.versions
    return authenticate ? undefined : hangUpHint.firstRequest
  }

  #malformed(cause: unknown): StreamsError {
    if (isStreamsError(cause, 'TLS_FAILED')) return cause
    return connectionClosed(this.broker, cause, messageOf(cause))
  }

  /** The next connection tells whether the reason is a lasting one. */
  #notRenewed(cause: unknown): StreamsError {
    const detail = `its session could not be renewed: ${messageOf(cause)}`
    return connectionClosed(this.broker, cause, detail)
  }
}
