import type { ConnectionOptions } from 'node:tls'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Connection, Transport } from '../base/transport.ts'
import { isStreamsError, messageOf, StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import type { AnyApi, Api } from '../protocol/schema.ts'
import { FrameReader } from './frame-reader.ts'
import { decodeResponseFrame, encodeRequestFrame, type RequestBody } from './request-frame.ts'

export type { RequestBody } from './request-frame.ts'

/** Requests that a connection has under way at most; the next wait in its queue. */
const inFlightMax = 32

/** Requests that wait for their turn on a connection at most; the next is refused. */
const waitingMax = 1024

/** A response above this size closes the connection. */
const responseBytesMaxDefault = 128 * 1024 * 1024

/** Correlation ids are positive int32. */
const correlationIdMask = 0x7fff_ffff

/** What a {@link BrokerConnection} needs to be opened. */
export interface BrokerConnectionOptions {
  readonly transport: Transport
  readonly clock: Clock
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
  /** Runs between the negotiation of versions and the first request. */
  readonly authenticate?: ((connection: BrokerConnection) => Promise<void>) | undefined
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

interface PendingRequest {
  readonly api: Api<unknown, unknown, unknown, unknown>
  readonly version: number
  readonly correlationId: number
  frame: Buffer | undefined
  sentAt: number
  /** True once its promise is settled: the answer, if it comes, is dropped. */
  settled: boolean
  readonly settle: (error: unknown, response?: unknown) => void
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
  /** Version ranges of the broker, by API key. */
  #ranges: ReadonlyMap<number, readonly [number, number]> = new Map()
  #correlationId: number
  readonly #waiting: PendingRequest[] = []
  readonly #inFlight: PendingRequest[] = []
  #corked = false
  #lastDataAt = 0
  /** KIP-219: the broker asked for silence until then. */
  #throttledUntil = 0
  #throttleTimer: Timer | undefined
  #hangTimer: Timer | undefined
  #reason: StreamsError | undefined
  readonly #ended: Promise<void>
  #end: () => void = () => undefined

  private constructor(connection: Connection, options: BrokerConnectionOptions) {
    this.#options = options
    this.#connection = connection
    this.#correlationId = options.firstCorrelationId ?? 0
    this.#frames = new FrameReader({
      peer: this.broker,
      frameBytesMax: options.responseBytesMax ?? responseBytesMaxDefault,
      onFrame: (frame) => this.#receive(frame),
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
   * Connects, negotiates versions, authenticates. Rejects with `BROKER_UNREACHABLE`, or with what
   * `authenticate` threw.
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
      await options.authenticate?.(connection)
      return connection
    } catch (error) {
      const failure = connection.#unreachable(error)
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
    return this.#inFlight.length
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
    return this.#exchange(api, this.versionOf(api, options.versionMax), body, options)
  }

  /** Ends at once; what waits rejects with the reason (default `CONNECTION_CLOSED`). Idempotent. */
  close(reason?: StreamsError): Promise<void> {
    this.#fail(reason ?? this.#closedError(undefined))
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
    if (response.errorCode !== errorCode.NONE) {
      const { name, message } = kafkaError(response.errorCode)
      throw new StreamsError('KAFKA_ERROR', {
        api: apiVersions.name,
        subject: this.broker,
        error: name,
        detail: message,
      })
    }
    this.#ranges = new Map(
      response.apiKeys.map((row) => [row.apiKey, [row.minVersion, row.maxVersion]]),
    )
  }

  #versionsOfBroker(version: number) {
    const body = { clientSoftwareName: 'millpond', clientSoftwareVersion: '1' }
    return this.#exchange(apiVersions, version, body, {
      timeoutMs: this.#options.connectTimeoutMs,
      signal: this.#options.signal,
    })
  }

  #exchange<In, Response>(
    api: Api<In, unknown, unknown, Response>,
    version: number,
    body: RequestBody<In>,
    options: SendOptions,
  ): Promise<Response> {
    const { timeoutMs = this.#options.requestTimeoutMs, bytesHint, signal } = options
    return new Promise((resolve, reject) => {
      if (this.#reason !== undefined) throw this.#reason
      if (signal?.aborted) throw this.#aborted(api.name)
      if (this.#waiting.length >= waitingMax) throw this.#refused(api.name)
      const correlationId = this.#correlationId
      const { clientId } = this.#options
      const header = { correlationId, clientId, bytesHint }
      const frame = encodeRequestFrame(api, version, body, header)
      this.#correlationId = (correlationId + 1) & correlationIdMask
      const pending: PendingRequest = {
        api,
        version,
        correlationId,
        frame,
        sentAt: 0,
        settled: false,
        settle: (error, response) => {
          if (pending.settled) return
          pending.settled = true
          timer.cancel()
          signal?.removeEventListener('abort', onAbort)
          if (error === undefined) resolve(response as Response)
          else reject(error)
        },
      }
      const giveUp = (error: StreamsError): void => {
        pending.settle(error)
        const index = this.#waiting.indexOf(pending)
        if (index >= 0) this.#waiting.splice(index, 1)
        else this.#watchHead()
      }
      const onAbort = (): void => giveUp(this.#aborted(api.name))
      const timer = this.#options.clock.setTimer(timeoutMs, () => {
        giveUp(
          new StreamsError('REQUEST_TIMEOUT', { api: api.name, broker: this.broker, timeoutMs }),
        )
      })
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(pending)
      this.#pump()
    })
  }

  /** Sends what may be sent now. */
  #pump(): void {
    const { clock } = this.#options
    while (this.#waiting.length > 0 && this.#inFlight.length < inFlightMax) {
      const now = clock.monotonic()
      if (now < this.#throttledUntil) {
        this.#throttleTimer ??= clock.setTimer(this.#throttledUntil - now, () => {
          this.#throttleTimer = undefined
          this.#pump()
        })
        return
      }
      const pending = this.#waiting.shift()
      if (pending?.frame === undefined) return
      pending.sentAt = now
      this.#inFlight.push(pending)
      this.#corkForThisTurn()
      this.#connection.write(pending.frame)
      pending.frame = undefined
    }
  }

  #corkForThisTurn(): void {
    if (this.#corked) return
    this.#corked = true
    this.#connection.cork()
    queueMicrotask(() => {
      this.#corked = false
      this.#connection.uncork()
    })
  }

  #take(bytes: Buffer): void {
    if (this.#reason !== undefined) return
    this.#lastDataAt = this.#options.clock.monotonic()
    try {
      this.#frames.push(bytes)
    } catch (error) {
      this.#fail(this.#malformed(error))
    }
  }

  #receive(frame: Buffer): void {
    const correlationId = frame.readInt32BE(0)
    const pending = this.#inFlight[0]
    if (pending === undefined || pending.correlationId !== correlationId) {
      throw new StreamsError('PROTOCOL_MALFORMED', {
        api: `a response of ${this.broker}`,
        field: 'correlationId',
        detail: `it is ${correlationId}, expected is ${pending === undefined ? 'no response' : pending.correlationId}`,
      })
    }
    let response: unknown
    if (!pending.settled) {
      try {
        response = decodeResponseFrame(pending.api, pending.version, frame)
      } catch (error) {
        pending.settle(error)
        throw error
      }
    }
    this.#inFlight.shift()
    this.#throttle(response)
    pending.settle(undefined, response)
    this.#watchHead()
    this.#pump()
  }

  #throttle(response: unknown): void {
    const throttleTimeMs = (response as { throttleTimeMs?: number } | undefined)?.throttleTimeMs
    if (throttleTimeMs === undefined || throttleTimeMs <= 0) return
    this.#throttledUntil = this.#options.clock.monotonic() + throttleTimeMs
    this.#options.log.debug('The broker asked for silence', {
      broker: this.broker,
      throttleTimeMs,
    })
  }

  /** Watches for a hung broker while it is the turn of a request that was given up. */
  #watchHead(): void {
    this.#hangTimer?.cancel()
    this.#hangTimer = undefined
    const head = this.#inFlight[0]
    if (head === undefined || !head.settled || this.#reason !== undefined) return
    const { clock, requestTimeoutMs } = this.#options
    const silentSince = Math.max(head.sentAt, this.#lastDataAt)
    const restMs = silentSince + requestTimeoutMs - clock.monotonic()
    if (restMs > 0) this.#hangTimer = clock.setTimer(restMs, () => this.#watchHead())
    else this.#fail(this.#closedError(new Error(`it was silent for ${requestTimeoutMs} ms`)))
  }

  #fail(reason: StreamsError): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#options.log.debug('A connection to a broker ended', { reason: reason.message })
    this.#frames.stop()
    this.#throttleTimer?.cancel()
    this.#hangTimer?.cancel()
    this.#connection.destroy(reason)
    const failed = [...this.#inFlight.splice(0), ...this.#waiting.splice(0)]
    for (const pending of failed) pending.settle(reason)
  }

  #closedError(cause: Error | undefined): StreamsError {
    if (cause instanceof StreamsError) return cause
    const detail =
      cause?.message ?? (this.#frames.isInsideFrame ? 'in the middle of a response' : undefined)
    return new StreamsError('CONNECTION_CLOSED', { broker: this.broker, detail }, { cause })
  }

  #malformed(cause: unknown): StreamsError {
    return new StreamsError(
      'CONNECTION_CLOSED',
      { broker: this.broker, detail: messageOf(cause) },
      { cause },
    )
  }

  #aborted(api: string): StreamsError {
    return new StreamsError('ABORTED', { what: `${api} to ${this.broker}` })
  }

  #refused(api: string): StreamsError {
    return new StreamsError('CONNECTION_CLOSED', {
      broker: this.broker,
      detail: `${waitingMax} requests wait already, ${api} is refused`,
    })
  }

  /** What a failure while the connection is being made is to the caller. */
  #unreachable(cause: unknown): unknown {
    const passes =
      isStreamsError(cause, 'REQUEST_TIMEOUT') ||
      isStreamsError(cause, 'CONNECTION_CLOSED') ||
      isStreamsError(cause, 'PROTOCOL_MALFORMED') ||
      !isStreamsError(cause)
    if (!passes) return cause
    return new StreamsError(
      'BROKER_UNREACHABLE',
      { broker: this.broker, detail: messageOf(cause) },
      { cause },
    )
  }
}
