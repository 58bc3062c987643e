import { systemClock, type Clock, type Timer } from '../base/clock.ts'
import { lockRefreshMs, systemDisk, type Disk, type DiskLock } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { logFrom } from '../base/logger.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { systemRandom } from '../base/random.ts'
import { systemTransport } from '../base/transport.ts'
import { isStreamsError, messageOf, StreamsError } from '../errors.ts'
import { BrokerIdentity } from './broker-identity.ts'
import {
  checkBrokerOptions,
  transactionTimeoutMaxMsDefault,
  transactionVersionDefault,
  type BrokerOptions,
} from './broker-options.ts'
import { Authenticator } from './client-session.ts'
import { apiRanges } from './dispatcher.ts'
import { GroupConfigs } from './group-configs.ts'
import { GroupCoordinator } from './group-coordinator.ts'
import { BrokerListener, requestBytesMaxDefault } from './listener.ts'
import { LogCleaner, type CleanableLog } from './log-cleaner.ts'
import { OffsetStore } from './offset-store.ts'
import type { BrokerParts } from './request-context.ts'
import { StreamsGroups } from './streams-groups.ts'
import { Topics } from './topics.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'
import { TransactionStore } from './transaction-store.ts'

/** Where the files of a broker without a data directory are, in its own memory. */
const memoryDataDir = '/memory'

const cleanIntervalMsDefault = 15_000

/**
 * Kafka's is 1 GiB; nothing is compacted or deleted before a segment ends, and here that is to be
 * seen.
 */
const segmentBytesDefault = 64 * 1024 * 1024

/** What runs between `start` and `close`. */
interface Running {
  readonly lock: DiskLock
  readonly topics: Topics
  readonly offsets: OffsetStore
  readonly groups: GroupCoordinator
  readonly transactionStore: TransactionStore
  readonly transactions: TransactionCoordinator
  readonly cleaner: LogCleaner
  readonly listener: BrokerListener
}

/**
 * A Kafka broker for development and tests: one node, the real protocol, topics with retention and
 * compaction, consumer groups, transactions. For production there is Apache Kafka.
 *
 * What it has acknowledged has been handed to the operating system, and survives a `kill -9`; it is
 * put on the medium when the broker closes.
 *
 * @example
 * import { Broker } from 'millpond/broker'
 *
 * await using broker = new Broker({ port: 9092, dataDir: './data' })
 * await broker.start()
 */
export class Broker implements AsyncDisposable {
  readonly #options: BrokerOptions
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #log: Log
  readonly #dataDir: string
  #running: Running | undefined
  #refresh: Timer | undefined
  /** Another broker has taken the data directory over. */
  #isLocked = false
  #closed: Promise<void> | undefined

  /** @throws StreamsError `CONFIG_INVALID` */
  constructor(options: BrokerOptions = {}) {
    checkBrokerOptions(options)
    this.#options = options
    this.#disk = options.disk ?? (options.dataDir === undefined ? new MemoryDisk() : systemDisk)
    this.#clock = options.clock ?? systemClock
    this.#log = logFrom(options.logger ?? 'silent', 'broker', this.#clock)
    this.#dataDir = options.dataDir ?? memoryDataDir
  }

  /** Where it listens. */
  get host(): string {
    return this.#options.host ?? '127.0.0.1'
  }

  /** The port on which the broker listens, once it is started. */
  get port(): number {
    return this.#started.listener.port
  }

  /** `host:port` for the `brokers` of clients. */
  get address(): string {
    const host = this.#advertisedHost
    return host.includes(':') ? `[${host}]:${this.port}` : `${host}:${this.port}`
  }

  /**
   * Reads what is stored, and listens. Rejects with `STATE_DIRECTORY_LOCKED` (another broker has
   * the data directory), `ADDRESS_IN_USE`, `STATE_DIRECTORY_FAILED`, `DISK_FAILED`; nothing is left
   * open then.
   */
  async start(): Promise<void> {
    if (this.#running !== undefined || this.#closed !== undefined)
      throw new StreamsError('CONFIG_INVALID', { option: 'start', detail: 'a broker starts once' })
    this.#disk.makeDirectory(this.#dataDir)
    const lock = this.#disk.lock(`${this.#dataDir}/.lock`)
    try {
      this.#running = await this.#open(lock)
    } catch (error) {
      lock.release()
      throw error
    }
    this.#running.cleaner.start()
    this.#refreshLater(lock)
    const facts = { address: this.address, dataDir: this.#options.dataDir ?? 'in memory' }
    this.#log.info('the broker is started', facts)
  }

  /** Cleans all logs once, now: retention and compaction. For tests, which do not want to wait. */
  clean(): Promise<void> {
    return this.#started.cleaner.run()
  }

  /**
   * Ends all connections, puts everything on the medium, and gives the data directory back.
   * Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #started(): Running {
    if (this.#running === undefined) throw new StreamsError('CLIENT_CLOSED', { what: 'broker' })
    return this.#running
  }

  get #advertisedHost(): string {
    const { host, advertisedHost } = this.#options
    return advertisedHost ?? (host === '0.0.0.0' || host === '::' ? 'localhost' : this.host)
  }

  async #open(lock: DiskLock): Promise<Running> {
    const { random = systemRandom, transport = systemTransport, sasl } = this.#options
    const [disk, clock, log, dataDir] = [this.#disk, this.#clock, this.#log, this.#dataDir]
    const identity = new BrokerIdentity({ disk, random, dataDir })
    const { leaderEpoch } = identity
    const topicDefaults = new Map(
      Object.entries({
        'segment.bytes': String(segmentBytesDefault),
        ...this.#options.topicDefaults,
      }),
    )
    const store = { disk, clock, log, dataDir, leaderEpoch }
    const topics = new Topics({ ...store, random, defaults: topicDefaults })
    const offsets = new OffsetStore(store)
    const { initialRebalanceDelayMs = 0 } = this.#options
    const configs = new GroupConfigs({
      disk,
      dataDir,
      defaults: new Map([['streams.initial.rebalance.delay.ms', String(initialRebalanceDelayMs)]]),
    })
    const groups = new GroupCoordinator({
      clock,
      random,
      offsets,
      streams: new StreamsGroups({ clock, topics, configs, leaderEpoch }),
      sessionTimeoutMinMs: this.#options.sessionTimeoutMinMs ?? 100,
      initialRebalanceDelayMs,
    })
    const transactionVersion = this.#options.transactionVersion ?? transactionVersionDefault
    const transactionStore = new TransactionStore(store)
    const transactions = new TransactionCoordinator({
      clock,
      log,
      store: transactionStore,
      topics,
      offsets,
      newProducerId: () => identity.newProducerId(),
      coordinatorEpoch: leaderEpoch,
      timeoutMaxMs: this.#options.transactionTimeoutMaxMs ?? transactionTimeoutMaxMsDefault,
      transactionVersion,
    })
    const cleaner = new LogCleaner({
      disk,
      clock,
      log,
      intervalMs: this.#options.cleanIntervalMs ?? cleanIntervalMsDefault,
      logs: () => [offsets.cleanable(), transactionStore.cleanable(), ...cleanableLogs(topics)],
    })
    const endpoint = (): BrokerParts['endpoint'] => ({
      host: this.#advertisedHost,
      port: this.port,
    })
    const parts: BrokerParts = {
      clock,
      log,
      identity,
      topics,
      groups,
      transactions,
      features: new Map([
        ['streams.version', { min: 0, max: 1, level: 1 }],
        ['transaction.version', { min: 0, max: 2, level: transactionVersion }],
      ]),
      authenticator: sasl && new Authenticator(sasl, { clock, random }),
      topicDefaults,
      autoCreateTopics: this.#options.autoCreateTopics ?? true,
      defaultPartitions: this.#options.defaultPartitions ?? 1,
      // The port is known when the first client is there.
      get endpoint() {
        return endpoint()
      },
      apiRanges,
    }
    try {
      transactions.start()
      const listener = await BrokerListener.open({
        transport,
        log,
        host: this.host,
        port: this.#options.port ?? 0,
        requestBytesMax: this.#options.requestBytesMax ?? requestBytesMaxDefault,
        tls: this.#options.tls,
        broker: parts,
      })
      return { lock, topics, offsets, groups, transactionStore, transactions, cleaner, listener }
    } catch (error) {
      transactions.close()
      closeStores({ topics, offsets, transactionStore })
      throw error
    }
  }

  /**
   * Says that it lives: where nobody can look its process up, another broker would take the directory.
   * One that stood still for so long that this has happened answers nobody any more.
   */
  #refreshLater(lock: DiskLock): void {
    this.#refresh = this.#clock.setTimer(lockRefreshMs, () => {
      try {
        lock.refresh()
      } catch (error) {
        if (isStreamsError(error, 'STATE_DIRECTORY_LOCKED')) {
          this.#log.error('the broker ends', { error: messageOf(error) })
          this.#isLocked = true
          void this.close()
          return
        }
        this.#log.warn('the lock of the data directory could not be refreshed', {
          error: messageOf(error),
        })
      }
      this.#refreshLater(lock)
    })
  }

  async #close(): Promise<void> {
    this.#refresh?.cancel()
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    try {
      // Whoever waits in a group is answered first: the connections then have nothing under way.
      running.groups.close()
      await running.listener.close()
      await running.cleaner.close()
    } finally {
      running.transactions.close()
      try {
        // What is not on the medium yet must not come over what the other broker writes.
        if (!this.#isLocked) closeStores(running)
      } finally {
        running.lock.release()
      }
    }
    this.#log.info('the broker is closed')
  }
}

/** A disk that fails in the one does not keep the others from being closed. */
function closeStores({
  topics,
  offsets,
  transactionStore,
}: Pick<Running, 'topics' | 'offsets' | 'transactionStore'>): void {
  try {
    transactionStore.close()
  } finally {
    try {
      offsets.close()
    } finally {
      topics.close()
    }
  }
}

function cleanableLogs(topics: Topics): CleanableLog[] {
  return topics.all().flatMap(({ partitions, settings }) => {
    const compaction = settings.isCompacted ? settings : undefined
    return partitions.map((log) => ({ log, compaction }))
  })
}
