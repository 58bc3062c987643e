import type { MemoryTransport } from '../../src/base/memory-transport.ts'
import type { Connection, Listener } from '../../src/base/transport.ts'
import { FrameReader } from '../../src/client/frame-reader.ts'
import { apis } from '../../src/protocol/apis.ts'
import { decodeRequestHeader, encodeResponseHeader } from '../../src/protocol/header.ts'
import { apiVersions } from '../../src/protocol/messages/18-api-versions.ts'
import { Reader } from '../../src/protocol/reader.ts'
import { decodeRequest, encodeResponse, type AnyApi, type Api } from '../../src/protocol/schema.ts'
import { Writer } from '../../src/protocol/writer.ts'

/** A request as a {@link ScriptedBroker} got it. */
export interface ReceivedRequest<Request = unknown> {
  readonly api: string
  readonly version: number
  readonly correlationId: number
  readonly clientId: string | null
  readonly body: Request
  /** The end of the broker: to destroy it, or to write bytes of one's own. */
  readonly connection: Connection
}

/** `silence`: no answer, and none to those that come after on this connection. */
export type ScriptedAnswer<Response> = Response | 'silence' | 'skip'

type Handler = (request: ReceivedRequest) => unknown

/**
 * A broker that answers what a test says, byte for byte a Kafka broker on the wire: requests of one
 * connection are answered one after the other. For the faults that a real broker does not show on
 * demand.
 *
 * @example
 * const broker = await ScriptedBroker.listen(network, { host: 'a', port: 9092 })
 * broker.on(heartbeat, () => ({ errorCode: 0 }))
 */
export class ScriptedBroker {
  readonly requests: ReceivedRequest[] = []
  readonly connections: Connection[] = []
  readonly address: { readonly host: string; readonly port: number }
  readonly #handlers = new Map<number, Handler>()
  readonly #versions: ReadonlyMap<number, readonly [number, number]>
  #listener: Listener | undefined

  private constructor(options: ScriptedBrokerOptions) {
    this.address = { host: options.host, port: options.port }
    const stated = new Map(options.versions?.map(([api, min, max]) => [api.key, [min, max]]))
    this.#versions = new Map(
      [...apis.values()].map((api) => {
        const [min, max] = stated.get(api.key) ?? api.versions
        return [api.key, [min ?? 0, max ?? 0]]
      }),
    )
    this.on(apiVersions, () => ({ errorCode: 0, apiKeys: this.versionRows() }))
  }

  static async listen(
    network: MemoryTransport,
    options: ScriptedBrokerOptions,
  ): Promise<ScriptedBroker> {
    const broker = new ScriptedBroker(options)
    broker.#listener = await network.listen({
      host: options.host,
      port: options.port,
      onConnection: (connection) => broker.#accept(connection),
    })
    return broker
  }

  /** Answers requests of this API with what the handler returns, from the next one on. */
  on<In, Request, Response>(
    api: Api<In, Request, Response, unknown>,
    handler: (
      request: ReceivedRequest<Request>,
    ) => ScriptedAnswer<Response> | Promise<ScriptedAnswer<Response>>,
  ): void {
    this.#handlers.set(api.key, handler as Handler)
  }

  /** The bodies of the requests of one API, in order. */
  received<Request>(api: Api<never, Request, never, unknown>): Request[] {
    return this.requests
      .filter((request) => request.api === api.name)
      .map((request) => request.body as Request)
  }

  versionRows(): { apiKey: number; minVersion: number; maxVersion: number }[] {
    return [...this.#versions].map(([apiKey, [minVersion, maxVersion]]) => ({
      apiKey,
      minVersion,
      maxVersion,
    }))
  }

  async close(): Promise<void> {
    await this.#listener?.close()
  }

  #accept(connection: Connection): void {
    this.connections.push(connection)
    let turn: Promise<boolean> = Promise.resolve(true)
    const frames = new FrameReader({
      peer: connection.peer,
      frameBytesMax: 64 * 1024 * 1024,
      onFrame: (frame) => {
        const copy = Buffer.from(frame)
        turn = turn.then((isTalking) => isTalking && this.#answer(connection, copy))
      },
    })
    connection.onData = (bytes) => frames.push(bytes)
  }

  async #answer(connection: Connection, frame: Buffer): Promise<boolean> {
    const reader = new Reader(frame)
    const header = decodeRequestHeader(apis, reader)
    const api = apis.get(header.apiKey) as AnyApi
    const range = this.#versions.get(api.key) ?? [0, -1]
    const isKnown = header.apiVersion >= range[0] && header.apiVersion <= range[1]
    const { correlationId, clientId, apiVersion: version } = header
    if (!isKnown && api.key === apiVersions.key) {
      const body = { errorCode: 35, apiKeys: this.versionRows() }
      this.requests.push({ api: api.name, version, correlationId, clientId, body: {}, connection })
      connection.write(responseFrame(apiVersions, 0, correlationId, body))
      return true
    }
    const body = decodeRequest(api, version, reader)
    const request = { api: api.name, version, correlationId, clientId, body, connection }
    this.requests.push(request)
    const handler = this.#handlers.get(api.key)
    if (handler === undefined) throw new Error(`The script has no answer to ${api.name}`)
    const answer = await handler(request)
    if (answer === 'silence') return false
    if (answer !== 'skip') connection.write(responseFrame(api, version, correlationId, answer))
    return true
  }
}

/** How a {@link ScriptedBroker} appears. */
export interface ScriptedBrokerOptions {
  readonly host: string
  readonly port: number
  /** Other version ranges than those of our tables. */
  readonly versions?: readonly (readonly [api: AnyApi, min: number, max: number])[]
}

/** A response as it goes over the wire, size included. */
export function responseFrame(
  api: AnyApi,
  version: number,
  correlationId: number,
  body: unknown,
): Buffer {
  const writer = new Writer()
  writer.int32(0)
  encodeResponseHeader(api, version, correlationId, writer)
  encodeResponse(api, version, body, writer)
  writer.patchInt32(0, writer.position - 4)
  return Buffer.from(writer.finish())
}
