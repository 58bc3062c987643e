import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Connection } from '../base/transport.ts'
import { StreamsError } from '../errors.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import type { Api } from '../protocol/schema.ts'
import { connectionClosed } from './connection-failure.ts'
import { decodeResponseFrame, encodeRequestFrame, type RequestBody } from './request-frame.ts'

/** Requests that a connection has under way at most; the next wait in its queue. */
const inFlightMax = 32

/** Requests that wait for their turn on a connection at most; the next is refused. */
const waitingMax = 1024

/** Correlation ids are positive int32. */
const correlationIdMask = 0x7fff_ffff

/** What a {@link RequestPipeline} works with. */
export interface RequestPipelineOptions {
  readonly clock: Clock
  readonly log: Log
  readonly connection: Connection
  /** `host:port`, for errors. */
  readonly broker: string
  readonly clientId: string
  /** The time of a request that states none, and the silence after which a connection is hung. */
  readonly requestTimeoutMs: number
  readonly firstCorrelationId: number
  /** The broker is silent while it is its turn to answer. */
  readonly onHung: (reason: StreamsError) => void
}

/** `session`: goes before the others, and alone while these are held back. */
export type RequestKind = 'ordinary' | 'session'

/** How one request is sent; all optional. */
export interface PipelinedOptions {
  /** Counts from the call, waiting in the queue included. */
  readonly timeoutMs?: number | undefined
  /** About how large the request is, so that it is written without moving it. */
  readonly bytesHint?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Default `ordinary`. */
  readonly kind?: RequestKind
}

interface PendingRequest {
  readonly kind: RequestKind
  readonly api: Api<unknown, unknown, unknown, unknown>
  readonly version: number
  readonly correlationId: number
  frame: Buffer | undefined
  sentAt: number
  /** True once its promise is settled: the answer, if it comes, is dropped. */
  settled: boolean
  readonly settle: (error: unknown, response?: unknown) => void
}

/** The requests of one connection: those that wait, and those that are sent and answered in order. */
export class RequestPipeline {
  readonly #options: RequestPipelineOptions
  #correlationId: number
  readonly #waiting: PendingRequest[] = []
  readonly #inFlight: PendingRequest[] = []
  #corked = false
  #lastDataAt = 0
  /** KIP-219: the broker asked for silence until then. */
  #throttledUntil = 0
  #throttleTimer: Timer | undefined
  #hangTimer: Timer | undefined
  /** Ordinary requests wait. */
  #isHeld = false
  #onIdle: (() => void) | undefined
  #hasConversed = false
  #reason: StreamsError | undefined

  constructor(options: RequestPipelineOptions) {
    this.#options = options
    this.#correlationId = options.firstCorrelationId
  }

  /** Requests that are sent and not answered. */
  get inFlightCount(): number {
    return this.#inFlight.length
  }

  /** Key of the API whose answer comes next. */
  get nextApiKey(): number | undefined {
    return this.#inFlight[0]?.api.key
  }

  /** True when the broker has answered something that was not about its versions. */
  get hasConversed(): boolean {
    return this.#hasConversed
  }

  /** Sends a request when its turn comes; resolves with its response. */
  send<In, Response>(
    api: Api<In, unknown, unknown, Response>,
    version: number,
    body: RequestBody<In>,
    options: PipelinedOptions,
  ): Promise<Response> {
    const { timeoutMs = this.#options.requestTimeoutMs, bytesHint, signal, kind } = options
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
        kind: kind ?? 'ordinary',
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
        const { broker } = this.#options
        giveUp(new StreamsError('REQUEST_TIMEOUT', { api: api.name, broker, timeoutMs }))
      })
      signal?.addEventListener('abort', onAbort, { once: true })
      if (pending.kind === 'session') this.#waiting.unshift(pending)
      else this.#waiting.push(pending)
      this.#pump()
    })
  }

  /** Holds back ordinary requests; resolves when all that were sent before are answered. */
  async hold(): Promise<void> {
    this.#isHeld = true
    if (this.#inFlight.length === 0) return
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
  }

  /** Lets ordinary requests go again. */
  release(): void {
    this.#isHeld = false
    this.#pump()
  }

  /** Bytes have come: the broker is not silent. */
  heard(): void {
    this.#lastDataAt = this.#options.clock.monotonic()
  }

  /** Takes a response, without its size. Throws `PROTOCOL_MALFORMED`: nothing can follow it. */
  receive(frame: Buffer): void {
    const correlationId = frame.readInt32BE(0)
    const pending = this.#inFlight[0]
    if (pending === undefined || pending.correlationId !== correlationId) {
      throw new StreamsError('PROTOCOL_MALFORMED', {
        api: `a response of ${this.#options.broker}`,
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
    if (pending.api.key !== apiVersions.key) this.#hasConversed = true
    this.#throttle(response)
    pending.settle(undefined, response)
    this.#watchHead()
    this.#pump()
    this.#tellIdle()
  }

  /** Nothing can be sent or answered any more. */
  fail(reason: StreamsError): void {
    this.#reason = reason
    this.#throttleTimer?.cancel()
    this.#hangTimer?.cancel()
    const failed = [...this.#inFlight.splice(0), ...this.#waiting.splice(0)]
    for (const pending of failed) pending.settle(reason)
    this.#tellIdle()
  }

  #tellIdle(): void {
    if (this.#inFlight.length > 0) return
    this.#onIdle?.()
    this.#onIdle = undefined
  }

  /** Sends what may be sent now. */
  #pump(): void {
    const { clock, connection } = this.#options
    while (this.#waiting.length > 0 && this.#inFlight.length < inFlightMax) {
      if (this.#isHeld && this.#waiting[0]?.kind === 'ordinary') return
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
      connection.write(pending.frame)
      pending.frame = undefined
    }
  }

  #corkForThisTurn(): void {
    if (this.#corked) return
    this.#corked = true
    const { connection } = this.#options
    connection.cork()
    queueMicrotask(() => {
      this.#corked = false
      connection.uncork()
    })
  }

  #throttle(response: unknown): void {
    const throttleTimeMs = (response as { throttleTimeMs?: number } | undefined)?.throttleTimeMs
    if (throttleTimeMs === undefined || throttleTimeMs <= 0) return
    const { clock, log, broker } = this.#options
    this.#throttledUntil = clock.monotonic() + throttleTimeMs
    log.debug('The broker asked for silence', { broker, throttleTimeMs })
  }

  /** Watches for a hung broker while it is the turn of a request that was given up. */
  #watchHead(): void {
    this.#hangTimer?.cancel()
    this.#hangTimer = undefined
    const head = this.#inFlight[0]
    if (head === undefined || !head.settled || this.#reason !== undefined) return
    const { clock, requestTimeoutMs, broker, onHung } = this.#options
    const silentSince = Math.max(head.sentAt, this.#lastDataAt)
    const restMs = silentSince + requestTimeoutMs - clock.monotonic()
    if (restMs > 0) this.#hangTimer = clock.setTimer(restMs, () => this.#watchHead())
    else onHung(connectionClosed(broker, undefined, `it was silent for ${requestTimeoutMs} ms`))
  }

  #aborted(api: string): StreamsError {
    return new StreamsError('ABORTED', { what: `${api} to ${this.#options.broker}` })
  }

  #refused(api: string): StreamsError {
    const detail = `${waitingMax} requests wait already, ${api} is refused`
    return connectionClosed(this.#options.broker, undefined, detail)
  }
}
