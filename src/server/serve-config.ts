import { assertSignal } from '../base/assert-signal.ts'
import { optionsOf, resolveConfig, type ResolvedConfig, type StreamsConfig } from '../config.ts'
import { StreamsError } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import { assertTopology } from '../topology/assert-topology.ts'
import { findGlobalStore, findStore, type Topology } from '../topology/topology.ts'
import { Exposure, storeOperations, type Expose, type StoreOperation } from './exposure.ts'
import { assertListenerSecure } from './loopback.ts'

/** Where the HTTP service listens. */
export interface HttpConfig {
  /** 0: any free port; `service.url` says which. */
  readonly port: number
  /** Default 127.0.0.1: nobody outside this machine. */
  readonly host?: string
  /**
   * `host` or `host:port` under which the other instances reach this one. Default: host and port of
   * the listener. Needed when the host is 0.0.0.0 or ::.
   */
  readonly advertise?: string
}

/** The options of `serve`: those of KafkaStreams, and the HTTP service. */
export interface ServeConfig extends Omit<StreamsConfig, 'endpoint'> {
  readonly http: HttpConfig
  /**
   * The stores that can be asked over HTTP, and what may be asked of each. Default: none. Instances
   * ask each other over HTTP as well, so `service.store` needs it too.
   */
  readonly expose?: Expose
  /** `none`: anybody who reaches the port may ask. Only then may the host be other than loopback. */
  readonly auth?: 'none'
  /** Closes the service when it aborts. */
  readonly signal?: AbortSignal
}

/** The options of `serve`, checked and taken apart. */
export interface ResolvedServeConfig {
  readonly host: string
  readonly port: number
  readonly exposure: Exposure
  readonly allowRemotePeers: boolean
  readonly signal: AbortSignal | undefined
  readonly streams: StreamsConfig
  readonly log: ResolvedConfig['log']
  /** Where other instances reach the port that was opened. */
  readonly endpoint: (port: number) => Endpoint
}

const invalid = (option: string, detail: string): StreamsError =>
  new StreamsError('CONFIG_INVALID', { option, detail })

const httpOptions = ['port', 'host', 'advertise']

/**
 * Checks the options. Throws `CONFIG_INVALID` (also those of KafkaStreams) or `LISTENER_INSECURE`.
 */
export function resolveServeConfig(topology: Topology, config: ServeConfig): ResolvedServeConfig {
  assertTopology(topology)
  const { http, expose = {}, auth, signal, ...streams } = optionsOf(config) as ServeConfig
  if ('endpoint' in streams) {
    throw invalid('endpoint', 'the HTTP service is the endpoint; use http.advertise')
  }
  checkHttp(http)
  const { port, host = '127.0.0.1', advertise } = http
  if (signal !== undefined) assertSignal(signal)
  if (auth !== undefined && auth !== 'none') throw invalid('auth', "it can only be 'none'")
  assertListenerSecure(host, auth)
  checkExpose(topology, expose)
  const advertised = advertisedOf(host, advertise)
  const { log } = resolveConfig(streams)
  return {
    host,
    port,
    exposure: new Exposure(expose),
    allowRemotePeers: auth === 'none',
    signal,
    streams,
    log,
    endpoint: (real) => ({ host: advertised.host, port: advertised.port ?? real }),
  }
}

function checkHttp(http: unknown): asserts http is HttpConfig {
  if (typeof http !== 'object' || http === null || Array.isArray(http))
    throw invalid('http', 'it must be { port }')
  const unknownName = Object.keys(http).find((name) => !httpOptions.includes(name))
  if (unknownName !== undefined) {
    const known = httpOptions.map((name) => `http.${name}`).join(', ')
    throw invalid(`http.${unknownName}`, `there is no such option; there are ${known}`)
  }
  const { port, host } = http as { port?: unknown; host?: unknown }
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65_535) {
    throw invalid('http.port', 'it must be a whole number from 0 (any free port) to 65535')
  }
  if (host !== undefined && (typeof host !== 'string' || host === '')) {
    throw invalid('http.host', 'it must be the name or the address of this machine')
  }
}

function checkExpose(topology: Topology, expose: Expose): void {
  if (typeof expose !== 'object' || expose === null || Array.isArray(expose)) {
    throw invalid(
      'expose',
      "it must be an object such as { 'word-counts': { operations: ['get'] } }",
    )
  }
  for (const [store, entry] of Object.entries(expose)) {
    if (
      findStore(topology, store) === undefined &&
      findGlobalStore(topology, store) === undefined
    ) {
      throw invalid('expose', `the topology has no store ${store}`)
    }
    const operations: unknown = (entry as { operations?: unknown } | null)?.operations
    const isList =
      Array.isArray(operations) &&
      operations.length > 0 &&
      operations.every((one) => storeOperations.includes(one as StoreOperation))
    if (!isList) {
      const choices = storeOperations.map((one) => `'${one}'`).join(', ')
      throw invalid(`expose.${store}`, `it must be { operations } with at least one of ${choices}`)
    }
  }
}

function advertisedOf(
  host: string,
  advertise: unknown,
): { host: string; port: number | undefined } {
  if (advertise === undefined) {
    if (host === '0.0.0.0' || host === '::') {
      throw invalid('http.advertise', `${host} is no address that other instances can reach`)
    }
    return { host, port: undefined }
  }
  const pattern = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:/]+))(?::(\d{1,5}))?$/
  const match = typeof advertise === 'string' ? pattern.exec(advertise) : null
  const name = match?.[1] ?? match?.[2]
  const port = match?.[3] === undefined ? undefined : Number(match[3])
  if (name === undefined || (port !== undefined && (port < 1 || port > 65_535))) {
    throw invalid('http.advertise', "it must be 'host' or 'host:port'")
  }
  return { host: name, port }
}
