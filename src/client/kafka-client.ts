import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { StreamsError, isStreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import type { Api } from '../protocol/schema.ts'
import { parseBrokers } from './broker-address.ts'
import type { BrokerConnection, RequestBody } from './broker-connection.ts'
import { BrokerPool } from './broker-pool.ts'
import { noSecurity } from './client-security.ts'
import type { PartitionLeader } from './cluster-view.ts'
import { Cluster } from './cluster.ts'
import { Coordinators } from './coordinators.ts'
import { lifeController } from './deadline.ts'
import type {
  ConnectionPurpose,
  KafkaClientOptions,
  RequestOptions,
  RequestTarget,
  TopicMetadataOptions,
} from './kafka-client-options.ts'
import { canPass, isCoordinatorError, isLeaderError, kafkaFailure } from './kafka-failure.ts'
import { Retry } from './retry.ts'
import type { BrokerNode, TopicMetadata } from './topic-metadata.ts'

export type {
  ConnectionPurpose,
  KafkaClientOptions,
  RequestOptions,
  RequestTarget,
  TopicMetadataOptions,
} from './kafka-client-options.ts'

const defaults = {
  clientId: 'millpond',
  requestTimeoutMs: 30_000,
  connectTimeoutMs: 10_000,
  deadlineMs: 60_000,
  reconnectBackoffMs: 50,
  reconnectBackoffMaxMs: 1000,
  retryBackoffMs: 100,
  retryBackoffMaxMs: 1000,
  metadataMaxAgeMs: 300_000,
}

/**
 * A connection to a Kafka cluster: finds brokers, leaders and coordinators, keeps connections, tries
 * again. Fetcher, Producer, Admin and GroupCoordinator work through it and may share one.
 *
 * @example
 * await using client = new KafkaClient({
 *   brokers: ['localhost:9092'], clock: systemClock, random: systemRandom,
 *   transport: systemTransport, log: silentLog })
 * const topics = await client.topicMetadata(['orders'])
 */
export class KafkaClient implements AsyncDisposable {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly #options: typeof defaults
  readonly #pool: BrokerPool
  readonly #cluster: Cluster
  readonly #coordinators: Coordinators
  readonly #life = lifeController()
  #purposeCount = 0
  #closing: Promise<void> | undefined

  /** Connects when first used. Throws `CONFIG_INVALID` for a broker that is not `host:port`. */
  constructor(options: KafkaClientOptions) {
    const { clock, random, log, transport, security = noSecurity } = options
    this.clock = clock
    this.random = random
    this.log = log
    const stated = Object.entries(options).filter(([, value]) => value !== undefined)
    this.#options = { ...defaults, ...Object.fromEntries(stated) }
    const bootstrap = parseBrokers(options.brokers)
    this.#pool = new BrokerPool({
      ...this.#options,
      clock,
      random,
      log,
      transport,
      tls: security.tls,
      authenticate: security.authentication(random),
    })
    this.#cluster = new Cluster({
      clock,
      random,
      log,
      bootstrap,
      pool: this.#pool,
      metadataMaxAgeMs: this.#options.metadataMaxAgeMs,
    })
    this.#coordinators = new Coordinators(this.#cluster)
  }

  /**
   * What the cluster says about these topics, from the cache when it knows all of them. A topic that
   * does not exist is absent. All topics asked for once are kept fresh from then on. Rejects as
   * `request` does, and with `KAFKA_ERROR` for a topic that may not be seen.
   */
  async topicMetadata(
    topics: readonly string[],
    options: TopicMetadataOptions = {},
  ): Promise<ReadonlyMap<string, TopicMetadata>> {
    const { view } = this.#cluster
    const isKnown = !options.fresh && topics.every((topic) => view.topic(topic) !== undefined)
    if (!isKnown) await this.#refreshTopics(topics, options)
    const found = new Map<string, TopicMetadata>()
    for (const topic of topics) {
      const known = view.topic(topic)
      if (known === undefined) this.#cluster.untrack(topic)
      else found.set(topic, known)
    }
    return found
  }

  /** Partitions of a topic as the cache knows it; undefined: not known (yet). Never waits. */
  partitionCount(topic: string): number | undefined {
    return this.#cluster.view.topic(topic)?.partitions.length
  }

  /** The leader of a partition as the cache knows it; undefined: none is known. Never waits. */
  leaderOf(topic: string, partition: number): PartitionLeader | undefined {
    return this.#cluster.view.leader(topic, partition)
  }

  /** What it is called in its requests; brokers tell others. */
  get clientId(): string {
    return this.#options.clientId
  }

  /** The brokers as the cache knows them. */
  get nodes(): ReadonlyMap<number, BrokerNode> {
    return this.#cluster.view.nodes
  }

  /**
   * Resolves when the cluster was asked anew about these topics and all others that are tracked. One
   * pass over the brokers: rejects as `request` with `retry: 'none'`.
   */
  refreshMetadata(topics: Iterable<string> = []): Promise<void> {
    for (const topic of topics) this.#cluster.track(topic)
    if (this.#life.signal.aborted) return Promise.reject(this.#closed())
    return this.#cluster.refresh()
  }

  /**
   * Sends a request to the broker that it concerns and returns the answer. Rejects with
   * `BROKER_UNREACHABLE`, `CONNECTION_CLOSED`, `REQUEST_TIMEOUT`, `KAFKA_ERROR` (an error that could
   * pass, but did not until the deadline), `PROTOCOL_UNSUPPORTED_VERSION`, `PROTOCOL_MALFORMED`,
   * `ABORTED`, `CLIENT_CLOSED`.
   */
  async request<In, Response>(
    api: Api<In, unknown, unknown, Response>,
    body: RequestBody<In>,
    target: RequestTarget,
    options: RequestOptions<Response> = {},
  ): Promise<Response> {
    const { versionMax, bytesHint, signal, subject = subjectOf(target) } = options
    const timeoutMs = options.timeoutMs ?? this.#options.requestTimeoutMs
    const isRepeated = options.retry !== 'none'
    const deadlineMs = options.deadlineMs ?? (isRepeated ? this.#options.deadlineMs : timeoutMs)
    const purpose = options.purpose ?? purposeOf(target)
    const errorCodeOf = options.errorCodeOf ?? topLevelErrorCode
    const { retryBackoffMs: backoffMs } = options
    const retry = this.retry(api.name, {
      deadlineMs,
      ...(backoffMs !== undefined && { backoffMs }),
      ...(signal && { signal }),
    })
    for (;;) {
      retry.throwIfEnded()
      let failure: unknown
      let tryMs = timeoutMs
      try {
        const connection = await retry.within(this.#connectionTo(target, purpose))
        tryMs = Math.min(timeoutMs, retry.remainingMs)
        const response = await connection.request(api, body, {
          timeoutMs: tryMs,
          versionMax,
          bytesHint,
          signal,
        })
        const code = errorCodeOf(response)
        this.#learn(target, code)
        if (code === errorCode.NONE || !isRepeated || !kafkaError(code).retriable) return response
        failure = kafkaFailure(api.name, code, { subject })
      } catch (error) {
        if (canPass(error)) this.#forget(target)
        if (!isRepeated || !canPass(error)) throw error
        failure = error
      }
      const isCutShort = tryMs < timeoutMs && isStreamsError(failure, 'REQUEST_TIMEOUT')
      await retry.wait(failure, isCutShort ? 'cut-short' : 'of-its-own')
    }
  }

  /** The waits between tries of an operation of several requests, with this client's backoff. */
  retry(
    what: string,
    options: { deadlineMs?: number; backoffMs?: number; signal?: AbortSignal } = {},
  ): Retry {
    return new Retry({
      clock: this.clock,
      random: this.random,
      what,
      backoffMs: options.backoffMs ?? this.#options.retryBackoffMs,
      backoffMaxMs: this.#options.retryBackoffMaxMs,
      deadlineMs: options.deadlineMs ?? this.#options.deadlineMs,
      signal: options.signal,
      life: this.#life.signal,
    })
  }

  /** How long one request may take when it does not say. */
  get requestTimeoutMs(): number {
    return this.#options.requestTimeoutMs
  }

  /** A purpose that nobody else has, for connections on which requests may be held. */
  uniquePurpose<Kind extends 'produce' | 'fetch' | 'group'>(kind: Kind): `${Kind}:${number}` {
    this.#purposeCount += 1
    return `${kind}:${this.#purposeCount}`
  }

  /** Ends the connections of a purpose. */
  release(purpose: ConnectionPurpose): Promise<void> {
    return this.#pool.release(purpose)
  }

  /** Ends connections and timers; requests under way reject with `CLIENT_CLOSED`. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#life.abort()
    await Promise.all([this.#cluster.close(), this.#pool.close()])
  }

  async #refreshTopics(topics: readonly string[], options: TopicMetadataOptions): Promise<void> {
    const { view } = this.#cluster
    const { timeoutMs, signal } = options
    const retry = this.retry('Metadata', {
      ...(timeoutMs !== undefined && { deadlineMs: timeoutMs }),
      ...(signal && { signal }),
    })
    for (;;) {
      retry.throwIfEnded()
      let failure: unknown
      try {
        await retry.within(this.refreshMetadata(topics))
        // An unknown topic is an answer, not a failure.
        const failed = topics.find((topic) => {
          const code = view.errorOf(topic)
          return code !== errorCode.NONE && code !== errorCode.UNKNOWN_TOPIC_OR_PARTITION
        })
        if (failed === undefined) return
        failure = kafkaFailure('Metadata', view.errorOf(failed), { subject: failed })
      } catch (error) {
        failure = error
      }
      if (!canPass(failure)) throw failure
      await retry.wait(failure)
    }
  }

  async #connectionTo(target: RequestTarget, purpose: string): Promise<BrokerConnection> {
    if (target === 'any') return this.#cluster.anyConnection(purpose)
    const address =
      typeof target === 'object' && 'coordinatorOf' in target
        ? await this.#coordinators.find(target.kind ?? 'group', target.coordinatorOf)
        : await this.#node(target)
    return this.#pool.connection(address, purpose)
  }

  async #node(target: Exclude<RequestTarget, 'any' | { coordinatorOf: string }>) {
    if (typeof target === 'object' && 'leaderOf' in target) {
      this.#cluster.track(target.leaderOf.topic)
    }
    // A node stays where it is, whatever else may be stale.
    const mayUseKnown = !this.#cluster.isStale || (typeof target === 'object' && 'node' in target)
    const known = mayUseKnown ? this.#findNode(target) : undefined
    if (known !== undefined) return known
    await this.#cluster.refresh()
    const found = this.#findNode(target)
    if (found !== undefined) return found
    throw this.#notFound(target)
  }

  #findNode(
    target: Exclude<RequestTarget, 'any' | { coordinatorOf: string }>,
  ): BrokerNode | undefined {
    const { view } = this.#cluster
    if (target === 'controller') return view.controller
    if ('node' in target) return view.nodes.get(target.node)
    return view.leader(target.leaderOf.topic, target.leaderOf.partition)?.node
  }

  #notFound(target: RequestTarget): StreamsError {
    const subject = subjectOf(target)
    if (typeof target === 'object' && 'leaderOf' in target) {
      const { topic, partition } = target.leaderOf
      const count = this.partitionCount(topic)
      const isMissing = count !== undefined && partition >= count
      const code =
        this.#cluster.view.errorOf(topic) ||
        (isMissing ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : errorCode.LEADER_NOT_AVAILABLE)
      return kafkaFailure('Metadata', code, { subject })
    }
    return new StreamsError('BROKER_UNREACHABLE', {
      broker: subject,
      detail: 'it is not in the cluster at present',
    })
  }

  /** Draws the conclusion from the code of a response. */
  #learn(target: RequestTarget, code: number): void {
    if (typeof target === 'object' && 'coordinatorOf' in target) {
      if (isCoordinatorError(code)) this.#forget(target)
    } else if (isLeaderError(code) || code === errorCode.NOT_CONTROLLER) {
      this.#cluster.markStale()
    }
  }

  /** A broker did not answer: it may not be the right one any more. */
  #forget(target: RequestTarget): void {
    if (target === 'any') return
    if (target === 'controller') this.#cluster.markStale()
    else if ('coordinatorOf' in target)
      this.#coordinators.forget(target.kind ?? 'group', target.coordinatorOf)
    else this.#cluster.markStale()
  }

  #closed(): StreamsError {
    return new StreamsError('CLIENT_CLOSED', { what: 'Kafka client' })
  }
}

function topLevelErrorCode(response: unknown): number {
  return (response as { readonly errorCode?: number }).errorCode ?? errorCode.NONE
}

function purposeOf(target: RequestTarget): ConnectionPurpose {
  return typeof target === 'object' && 'coordinatorOf' in target ? 'coordinator' : 'control'
}

function subjectOf(target: RequestTarget): string {
  if (typeof target === 'string') return target === 'any' ? 'the cluster' : 'the controller'
  if ('node' in target) return `node ${target.node}`
  if ('coordinatorOf' in target) {
    const { kind, coordinatorOf: id } = target
    return kind === 'transaction' ? `transactional id ${id}` : `group ${id}`
  }
  return `${target.leaderOf.topic}-${target.leaderOf.partition}`
}
