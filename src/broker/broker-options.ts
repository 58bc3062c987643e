import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'
import { loggerProblem, type LoggerChoice } from '../base/logger.ts'
import type { Random } from '../base/random.ts'
import { shownValue } from '../base/shown-value.ts'
import { tlsServerProblem, type TlsServerOptions } from '../base/tls.ts'
import type { Transport } from '../base/transport.ts'
import { StreamsError } from '../errors.ts'
import { brokerSaslProblem, type BrokerSaslOptions } from './client-session.ts'
import { configProblem } from './topic-configs.ts'

/** Kafka's `transaction.max.timeout.ms`. */
export const transactionTimeoutMaxMsDefault = 15 * 60_000

export const transactionVersionDefault = 2

/** The longest that a timer of Node.js waits. */
const timerMsMax = 0x7fff_ffff

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
  /** The longest transaction timeout that producers may ask for, in ms. Default 15 min, as in Kafka. */
  readonly transactionTimeoutMaxMs?: number
  /**
   * Kafka's feature `transaction.version`: with 2, the default, the epoch of a producer rises with
   * every transaction (KIP-890); with 1 clients behave as with brokers before Kafka 4.
   */
  readonly transactionVersion?: 1 | 2
  /** How often logs are cleaned by retention and compaction, in ms. Default 15 s. */
  readonly cleanIntervalMs?: number
  /** The largest request, in bytes. Default 100 MiB. */
  readonly requestBytesMax?: number
  /** Given: clients must speak TLS. */
  readonly tls?: TlsServerOptions
  /** Given: clients must say who they are. */
  readonly sasl?: BrokerSaslOptions
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

/** @throws StreamsError `CONFIG_INVALID` */
export function checkBrokerOptions(options: BrokerOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    refuse('options', `they must be an object, not ${shownValue(options)}`)
  const { host = '127.0.0.1', port = 0 } = options
  if (typeof host !== 'string' || host === '')
    refuse('host', `it must be an address to listen on, not ${shownValue(host)}`)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    refuse('port', `it must be a whole number from 0 to 65535, not ${shownValue(port)}`)
  const { topicDefaults = {} } = options
  if (typeof topicDefaults !== 'object' || topicDefaults === null)
    refuse('topicDefaults', `it must be an object, not ${shownValue(topicDefaults)}`)
  checkValues(options)
}

function checkValues({
  topicDefaults = {},
  defaultPartitions = 1,
  logger = 'silent',
  transactionTimeoutMaxMs = transactionTimeoutMaxMsDefault,
  transactionVersion = transactionVersionDefault,
  tls,
  sasl,
}: BrokerOptions): void {
  refuse('tls', tls && tlsServerProblem(tls))
  refuse('sasl', sasl && brokerSaslProblem(sasl))
  refuse('logger', loggerProblem(logger))
  for (const [name, value] of Object.entries(topicDefaults))
    refuse(`topicDefaults['${name}']`, configProblem(name, value))
  if (!isIntegerFrom1(defaultPartitions))
    refuse('defaultPartitions', 'it must be a positive integer')
  if (!isIntegerFrom1(transactionTimeoutMaxMs, timerMsMax))
    refuse('transactionTimeoutMaxMs', `it must be an integer from 1 to ${timerMsMax}`)
  if (!isIntegerFrom1(transactionVersion, transactionVersionDefault))
    refuse('transactionVersion', 'it must be 1 or 2')
}

function isIntegerFrom1(value: number, max = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max
}

function refuse(option: string, detail: string | undefined): void {
  if (detail !== undefined) throw new StreamsError('CONFIG_INVALID', { option, detail })
}
