import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { isStreamsError, messageOf, StreamsError } from '../errors.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import type { BrokerConnection } from './broker-connection.ts'
import { addressName, type BrokerAddress } from './broker-address.ts'
import type { BrokerPool } from './broker-pool.ts'
import { ClusterView } from './cluster-view.ts'
import { canPass } from './kafka-failure.ts'

/** Brokers that are tried in one pass at most, before its failure is told. */
const candidatesMax = 8

/** What a {@link Cluster} needs. */
export interface ClusterOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly pool: BrokerPool
  /** Where to start. */
  readonly bootstrap: readonly BrokerAddress[]
  readonly metadataMaxAgeMs: number
}

/** Keeps the view of the cluster fresh: asks any broker that answers, about all tracked topics. */
export class Cluster {
  readonly view = new ClusterView()
  readonly #options: ClusterOptions
  readonly #tracked = new Set<string>()
  #isStale = true
  /** The refresh under way, and the one that starts after it: others share them. */
  #current: Promise<void> | undefined
  #next: Promise<void> | undefined
  #ageTimer: Timer | undefined
  #isUnreachable = false
  #isClosed = false

  constructor(options: ClusterOptions) {
    this.#options = options
  }

  /** True: something suggests that the view is wrong. The next who needs it refreshes it. */
  get isStale(): boolean {
    return this.#isStale
  }

  markStale(): void {
    this.#isStale = true
  }

  /** Asks about this topic from the next refresh on. */
  track(topic: string): void {
    this.#tracked.add(topic)
  }

  untrack(topic: string): void {
    this.#tracked.delete(topic)
  }

  /**
   * Resolves when an answer that was asked for after this call has arrived. Each broker is tried
   * once; rejects with the last failure.
   */
  refresh(): Promise<void> {
    if (this.#current === undefined) return this.#start()
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.#start()
      })
    return this.#next
  }

  /** A connection to whichever broker can be reached. */
  async anyConnection(purpose: string): Promise<BrokerConnection> {
    return this.#tryEach((address) => this.#options.pool.connection(address, purpose))
  }

  /** Stops refreshing and waits for the one under way. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#ageTimer?.cancel()
    await (this.#next ?? this.#current)?.catch(() => undefined)
  }

  #start(): Promise<void> {
    const run = this.#ask().finally(() => {
      this.#current = undefined
    })
    // Whoever asked may have stopped waiting; the failure is then nobody's.
    run.catch(() => undefined)
    this.#current = run
    return run
  }

  async #ask(): Promise<void> {
    const topics = [...this.#tracked].map((name) => ({ name }))
    const { pool, bootstrap } = this.#options
    await this.#tryEach(async (address) => {
      const connection = await pool.connection(address, 'control')
      const response = await connection.request(metadata, (version) => ({
        topics,
        ...(version >= 4 && { allowAutoTopicCreation: false }),
      }))
      if (response.brokers.length === 0) {
        throw new StreamsError('BROKER_UNREACHABLE', {
          broker: connection.broker,
          detail: 'it names no brokers, it may be starting',
        })
      }
      this.#isStale = false
      this.view.apply(response)
    })
    pool.retain([...this.view.nodes.values(), ...bootstrap])
    this.#armAgeTimer()
  }

  #armAgeTimer(): void {
    const { clock, metadataMaxAgeMs, log } = this.#options
    this.#ageTimer?.cancel()
    if (this.#isClosed) return
    this.#ageTimer = clock.setTimer(metadataMaxAgeMs, () => {
      this.refresh().catch((error: unknown) => {
        if (this.#isClosed) return
        log.warn('The metadata of the cluster could not be refreshed', { reason: messageOf(error) })
        this.#armAgeTimer()
      })
    })
  }

  async #tryEach<T>(attempt: (address: BrokerAddress) => Promise<T>): Promise<T> {
    let failure: unknown
    for (const address of this.#candidates()) {
      try {
        const result = await attempt(address)
        this.#noteReached()
        return result
      } catch (error) {
        if (!canPass(error)) throw error
        failure = error
      }
    }
    this.#noteUnreachable(failure)
    throw failure
  }

  #noteReached(): void {
    // As loud as the bad news: those who heard that want to hear this.
    if (this.#isUnreachable) this.#options.log.warn('the brokers can be reached again')
    this.#isUnreachable = false
  }

  #noteUnreachable(failure: unknown): void {
    if (this.#isClosed) return
    this.#isUnreachable = true
    const { log, bootstrap } = this.#options
    const names = bootstrap.slice(0, candidatesMax).map(addressName).join(', ')
    log.warn(`cannot reach any broker of ${names}, trying again`, { reason: reasonOf(failure) })
  }

  /**
   * Brokers in the order in which they are tried: known ones before the bootstrap list (which helps
   * when the whole cluster has moved), those that can be reached first, otherwise at random.
   */
  #candidates(): BrokerAddress[] {
    const { pool, bootstrap, random } = this.#options
    const known = [...this.view.nodes.values()].map((address) => ({ address, turn: random.next() }))
    const first = bootstrap.map((address, index) => ({ address, turn: 1 + index }))
    return [...known, ...first]
      .map((candidate) => ({ ...candidate, waitMs: pool.waitMs(candidate.address) }))
      .sort((a, b) => a.waitMs - b.waitMs || a.turn - b.turn)
      .slice(0, candidatesMax)
      .map((candidate) => candidate.address)
  }
}

/** Why a broker cannot be reached; which one it was is said beside it. */
function reasonOf(failure: unknown): string {
  const detail = isStreamsError(failure, 'BROKER_UNREACHABLE')
    ? failure.context['detail']
    : undefined
  return typeof detail === 'string' ? detail : messageOf(failure)
}
