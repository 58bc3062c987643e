import { LimitedLog } from '../base/limited-log.ts'
import { systemPorts, type Ports } from '../config.ts'
import { StreamsError } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import { KafkaStreams } from '../kafka-streams.ts'
import { executorStore } from '../query/executor-store.ts'
import type { QueryableStore } from '../query/queryable-store.ts'
import { QueryRouter, endpointName } from '../query/router.ts'
import type { AnyStore } from '../store/descriptor.ts'
import { loadTopologyModule } from '../threads/topology-module.ts'
import type { Topology } from '../topology/topology.ts'
import { EventLoopWatch } from './event-loop-watch.ts'
import { ExposedExecutor } from './exposed-executor.ts'
import type { Exposure } from './exposure.ts'
import { HopPeers } from './hop.ts'
import { createHttpApp } from './http-app.ts'
import { closePort, openPort } from './http-listener.ts'
import type { HttpSubject, Instance } from './instance.ts'
import { PeerPools } from './peer-pools.ts'
import { resolveServeConfig, type ResolvedServeConfig, type ServeConfig } from './serve-config.ts'
import type { Service } from './service.ts'
import type { TypedApp } from './typed-app.ts'
import { WaitingExecutor } from './waiting-executor.ts'

/** Milliseconds that another instance has for an answer. */
const hopTimeoutMs = 10_000

/**
 * Runs a topology with an HTTP service for its stores. The port opens at once, and answers 503 until
 * the instance can; the promise resolves when the instance is running for the first time, and
 * rejects with what prevents it (everything is closed then).
 *
 * Whatever instance is asked, the answer is the application's: a question for a key that another
 * instance owns goes there, a page is merged from all. Only stores that `expose` names can be seen,
 * and only on this machine unless `host` and `auth` say otherwise.
 *
 * @param topology what runs, or the URL of the module that exports it, for several `workers`.
 * @param ports the world: time, chance, network to Kafka, files. Default this machine.
 *
 * @example
 * await using service = await serve(builder.build(), {
 *   applicationId: 'word-count', brokers: ['localhost:9092'], http: { port: 7070 },
 *   expose: { 'word-counts': { operations: ['get', 'range'] } },
 * })
 * console.log(await service.store(wordCounts).get('kafka'))
 * await service.closed
 */
export async function serve(
  topology: Topology | URL,
  config: ServeConfig,
  ports: Ports = systemPorts,
): Promise<Service> {
  // What may be seen is checked before the port opens.
  const known = topology instanceof URL ? await loadTopologyModule(topology.href) : { topology }
  const resolved = resolveServeConfig(known.topology, config)
  const { signal } = resolved
  if (signal?.aborted === true) throw new StreamsError('ABORTED', { what: 'the start' })
  const service = await open(topology, resolved, ports)
  const abort = (): void => {
    service.close().catch(() => undefined)
  }
  signal?.addEventListener('abort', abort, { once: true })
  try {
    await service.streams.start({ signal })
  } catch (error) {
    // What closing says beside the failure itself is its consequence.
    await service.close().catch(() => undefined)
    throw error
  }
  return service
}

class Subject implements HttpSubject {
  instance: Instance | undefined
  isDraining = false
  readonly exposure: Exposure
  readonly loop: EventLoopWatch
  /** Whoever asks what meets a fault of ours may ask it a thousand times. */
  readonly #log: LimitedLog

  constructor({ exposure, log }: ResolvedServeConfig, ports: Ports) {
    this.exposure = exposure
    this.loop = new EventLoopWatch(ports.clock)
    this.#log = new LimitedLog(log, ports.clock)
  }

  readonly onFault = (error: unknown): void => {
    this.#log.error('a query failed by a fault of the service', { error })
  }

  close(): void {
    this.loop.close()
    this.#log.close()
  }
}

/** Opens the port, then makes the instance, which tells the others where the port is. */
async function open(
  topology: Topology | URL,
  config: ResolvedServeConfig,
  ports: Ports,
): Promise<StreamsService> {
  const subject = new Subject(config, ports)
  const app = createHttpApp(subject)
  try {
    const port = await openPort(app, config)
    const endpoint = config.endpoint(port)
    const streams = new KafkaStreams(topology, { ...config.streams, endpoint }, ports)
    return new StreamsService({ subject, app, streams, config, endpoint, port, ports })
  } catch (error) {
    subject.close()
    await app.close()
    throw error
  }
}

interface ServiceParts {
  readonly subject: Subject
  readonly app: TypedApp
  readonly streams: KafkaStreams
  readonly config: ResolvedServeConfig
  readonly endpoint: Endpoint
  readonly port: number
  readonly ports: Ports
}

class StreamsService implements Service {
  readonly url: string
  readonly streams: KafkaStreams
  readonly closed: Promise<void>
  readonly #parts: ServiceParts
  readonly #pools: PeerPools
  readonly #executor: WaitingExecutor
  #closing: Promise<void> | undefined

  constructor(parts: ServiceParts) {
    const { subject, streams, config, endpoint, port, ports } = parts
    this.#parts = parts
    this.url = `http://${endpointName({ host: config.host, port })}`
    this.streams = streams
    this.#pools = new PeerPools({
      clock: ports.clock,
      timeoutMs: hopTimeoutMs,
      allowRemote: config.allowRemotePeers,
    })
    const target = streams.queryTarget
    const peers = new HopPeers(target, this.#pools)
    const router = new QueryRouter({ target, self: endpoint, peers })
    this.#executor = new WaitingExecutor(new ExposedExecutor(config.exposure, router), ports.clock)
    subject.instance = { target, router, streams }
    // Who stops the instance alone wants the service gone as well; one that failed stays to say so.
    this.closed = streams.closed.then(() => this.close())
    this.closed.catch(() => undefined)
  }

  store<D extends AnyStore>(descriptor: D): QueryableStore<D> {
    return executorStore(this.#executor, descriptor)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const { subject, app, ports } = this.#parts
    subject.isDraining = true
    try {
      await closePort(app, ports.clock)
      await this.#pools.close()
    } finally {
      subject.close()
      await this.streams.close()
    }
  }
}
