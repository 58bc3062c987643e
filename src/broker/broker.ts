import { systemClock, type Clock } from '../base/clock.ts'
import { systemDisk, type Disk, type DiskLock } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { logFrom, loggerProblem, type LoggerChoice } from '../base/logger.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { systemRandom, type Random } from '../base/random.ts'
import { systemTransport, type Transport } from '../base/transport.ts'
import { StreamsError } from '../errors.ts'
import { BrokerIdentity } from './broker-identity.ts'
import { apiRanges } from './dispatcher.ts'
import { GroupCoordinator } from './group-coordinator.ts'
import { BrokerListener, requestBytesMaxDefault } from './listener.ts'
import { LogCleaner, type CleanableLog } from './log-cleaner.ts'
import { OffsetStore } from './offset-store.ts'
import type { BrokerParts } from './request-context.ts'
import { configProblem } from './topic-configs.ts'
import { Topics } from './topics.ts'

/** Where the files of a broker without a data directory are, in its own memory. */
const memoryDataDir = '/memory'

const cleanIntervalMsDefault = 15_000

/**
 * Kafka's is 1 GiB; nothing is compacted or deleted before a segment ends, and here that is to be
 * seen.
 */
const segmentBytesDefault = 64 * 1024 * 1024

/** All optional: without any, a broker in memory on a free port of 127.0.0.1. */
export interface BrokerOptions {
  /** Where to keep everything; one broker at a time. Default: in memory, gone with the broker. */
  readonly dataDir?: string
  /** Default 127.0.0.1: only programs on this machine can connect. */
  readonly host?: string
  /** Default 0: any free port; `broker.port` says which. */
  readonly port?: number
  /**
   * The host that clients are told to connect to. Default: `host`; localhost when that is 0.0.0.0
   * or ::.
   */
  readonly advertisedHost?: string
  /** Whether a client that asks about a topic creates it. Default true. */
  readonly autoCreateTopics?: boolean
  /** Partitions of a topic that is created without saying how many. Default 1. */
  readonly defaultPartitions?: number
  /**
   * Settings, by Kafka's names, that topics have unless they set their own. Default:
   * `segment.bytes` is 64 MiB, the rest as in Kafka.
   */
  readonly topicDefaults?: Readonly<Record<string, string>>
  /**
   * The shortest session timeout that group members may ask for, in ms. Default 100 (Kafka: 6000).
   */
  readonly sessionTimeoutMinMs?: number
  /**
   * How long a new group waits for more members before its first rebalance, in ms. Default 0
   * (Kafka: 3000).
   */
  readonly initialRebalanceDelayMs?: number
  /** How often logs are cleaned by retention and compaction, in ms. Default 15 s. */
  readonly cleanIntervalMs?: number
  /** The largest request, in bytes. Default 100 MiB. */
  readonly requestBytesMax?: number
  /**
   * Who hears what the broker has to say: a logger such as `console` or pino, or a level from which
   * lines go to standard error. Default `'silent'`.
   */
  readonly logger?: LoggerChoice

  // The ports to the world, for tests and simulation.
  readonly clock?: Clock
  readonly random?: Random
  readonly transport?: Transport
  /** Default: this machine's files with `dataDir`, else memory. */
  readonly disk?: Disk
}

/** What runs between `start` and `close`. */
interface Running {
  readonly lock: DiskLock
  readonly topics: Topics
  readonly offsets: OffsetStore
  readonly groups: GroupCoordinator
  readonly cleaner: LogCleaner
  readonly listener: BrokerListener
}

/**
 * A Kafka broker for development and tests: one node, the real protocol, topics with retention and
 * compaction, consumer groups. For production there is Apache Kafka.
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
  #closed: Promise<void> | undefined

  /** @throws StreamsError `CONFIG_INVALID` */
  constructor(options: BrokerOptions = {}) {
    checkOptions(options)
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
    const { random = systemRandom, transport = systemTransport } = this.#options
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
    const groups = new GroupCoordinator({
      clock,
      random,
      offsets,
      sessionTimeoutMinMs: this.#options.sessionTimeoutMinMs ?? 100,
      initialRebalanceDelayMs: this.#options.initialRebalanceDelayMs ?? 0,
    })
    const cleaner = new LogCleaner({
      disk,
      clock,
      log,
      intervalMs: this.#options.cleanIntervalMs ?? cleanIntervalMsDefault,
      logs: () => [offsets.cleanable(), ...cleanableLogs(topics)],
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
      const listener = await BrokerListener.open({
        transport,
        log,
        host: this.host,
        port: this.#options.port ?? 0,
        requestBytesMax: this.#options.requestBytesMax ?? requestBytesMaxDefault,
        broker: parts,
      })
      return { lock, topics, offsets, groups, cleaner, listener }
    } catch (error) {
      closeStores({ topics, offsets })
      throw error
    }
  }

  async #close(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    try {
      // Whoever waits in a group is answered first: the connections then have nothing under way.
      running.groups.close()
      await running.listener.close()
      await running.cleaner.close()
    } finally {
      try {
        closeStores(running)
      } finally {
        running.lock.release()
      }
    }
    this.#log.info('the broker is closed')
  }
}

/** A disk that fails in the one does not keep the other from being closed. */
function closeStores({ topics, offsets }: Pick<Running, 'topics' | 'offsets'>): void {
  try {
    offsets.close()
  } finally {
    topics.close()
  }
}

function cleanableLogs(topics: Topics): CleanableLog[] {
  return topics.all().flatMap(({ partitions, settings }) => {
    const compaction = settings.isCompacted ? settings : undefined
    return partitions.map((log) => ({ log, compaction }))
  })
}

function checkOptions({
  topicDefaults = {},
  defaultPartitions = 1,
  logger = 'silent',
}: BrokerOptions): void {
  const unheard = loggerProblem(logger)
  if (unheard !== undefined)
    throw new StreamsError('CONFIG_INVALID', { option: 'logger', detail: unheard })
  for (const [name, value] of Object.entries(topicDefaults)) {
    const detail = configProblem(name, value)
    if (detail !== undefined)
      throw new StreamsError('CONFIG_INVALID', { option: `topicDefaults['${name}']`, detail })
  }
  if (!Number.isInteger(defaultPartitions) || defaultPartitions < 1)
    throw new StreamsError('CONFIG_INVALID', {
      option: 'defaultPartitions',
      detail: 'it must be a positive integer',
    })
}
