import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from './base/clock.ts'
import { systemDisk, type Disk } from './base/disk.ts'
import type { Log } from './base/log.ts'
import { reasonOfIllegalName } from './base/legal-name.ts'
import { logFrom, loggerProblem, type LoggerChoice } from './base/logger.ts'
import { systemRandom, type Random } from './base/random.ts'
import { shownValue } from './base/shown-value.ts'
import { tlsProblem, type TlsOptions } from './base/tls.ts'
import { systemTransport, type Transport } from './base/transport.ts'
import { ClientSecurity } from './client/client-security.ts'
import { saslProblem, type SaslOptions } from './client/sasl-options.ts'
import type { ErrorHandling, UncaughtErrorHandler } from './error-handlers.ts'
import { StreamsError } from './errors.ts'
import { lmdbStateEngine, stateEngineProblem, type StateEngine } from './kv/state-engine.ts'
import { offsetResetProblem, type OffsetReset } from './topology/offset-reset.ts'

/**
 * The options of {@link KafkaStreams}. Two are required; the others have Kafka Streams' defaults.
 * All times are milliseconds.
 *
 * @example
 * const config: StreamsConfig = { applicationId: 'word-count', brokers: ['localhost:9092'] }
 */
export interface StreamsConfig extends ErrorHandling {
  /**
   * Names the application: the consumer group, the prefix of its internal topics and its directory
   * below `stateDir`. All instances of one application share it. Java: application.id.
   */
  readonly applicationId: string
  /** Some brokers of the cluster as `host:port`; the others are found through them. Java: bootstrap.servers. */
  readonly brokers: readonly string[]
  /**
   * TLS to the brokers: true with the certificates that Node.js trusts, or what differs. Default false.
   * Java: security.protocol, ssl.*
   */
  readonly tls?: boolean | TlsOptions
  /**
   * Who this application is to the brokers: a user with a password, a token, or a mechanism of one's
   * own. Default: nobody. Java: security.protocol, sasl.*
   */
  readonly sasl?: SaslOptions
  /**
   * Directory for local state. Each instance on a machine needs its own. What is lost there is
   * restored from the changelog topics. Default: `millpond` in the system's temporary directory,
   * as Java has `kafka-streams` there; in production give a directory that survives a restart.
   */
  readonly stateDir?: string
  /**
   * What keeps persistent stores in files: `rocksdb()` of `millpond/rocksdb`, or LMDB, the default. A
   * state directory belongs to the engine that wrote it; another one is refused with
   * `STATE_ENGINE_DIFFERS`, until `cleanUp()` has emptied it.
   */
  readonly engine?: StateEngine
  /** Name of the connections in the brokers' logs and quotas. Default: `<applicationId>-<processId>`. */
  readonly clientId?: string
  /**
   * Workers of this instance: each is a member of the group, in a thread of its own. Default 1. More need the
   * topology as the URL of the module that exports it; see {@link KafkaStreams}. Java: num.stream.threads.
   */
  readonly workers?: number
  /** Longest time between commits. Default 30 s, under exactly-once 100 ms. Java: commit.interval.ms. */
  readonly commitInterval?: number
  /**
   * Bytes of the record caches of this process together, 0 for none: how many updates of a key are
   * folded into one before it is forwarded. Default 10 MiB. Java: statestore.cache.max.bytes.
   */
  readonly cacheBytes?: number
  /**
   * `at-least-once` (the default): after a failure some records may be processed again, and their results
   * be written twice. `exactly-once`: what a record changes in stores and topics, and that it was read, is
   * committed together, in a transaction; who reads the results must read only what was committed. Needs
   * brokers of Kafka 2.5 or newer. Java: processing.guarantee, where it is called exactly_once_v2.
   */
  readonly processingGuarantee?: 'at-least-once' | 'exactly-once'
  /**
   * Under exactly-once: a transaction that is open for longer is aborted by the brokers, so that one whose
   * instance was killed holds up readers no longer than this. Must be more than `commitInterval`, and at
   * most `transaction.max.timeout.ms` of the brokers. Default 10 s. Java: transaction.timeout.ms.
   */
  readonly transactionTimeout?: number
  /**
   * Copies of each store on other instances: when the owner is gone one of them takes over without a
   * restore, and until then answers who allows an older answer. Default 1. Java: num.standby.replicas.
   */
  readonly standbyReplicas?: number
  /**
   * How many records of its changelogs a copy of a task may lack and still take the task over at once; a
   * copy that lacks more follows first, while the task stays where it is. Default 10,000. Java:
   * acceptable.recovery.lag.
   */
  readonly acceptableRecoveryLag?: number
  /**
   * Copies that follow only to take a task over, in the whole application at a time, on top of the standby
   * replicas. Default 2. Java: max.warmup.replicas.
   */
  readonly maxWarmupReplicas?: number
  /**
   * Milliseconds between two looks whether such copies have caught up, while there are some. Default 10
   * min. Java: probing.rebalance.interval.ms.
   */
  readonly probingRebalanceInterval?: number
  /**
   * Where this instance is, such as `{ zone: 'b' }`: at most 5 names of at most 20 characters, with
   * values of at most 30. Default none. Java: client.tag.*
   */
  readonly clientTags?: Readonly<Record<string, string>>
  /**
   * Names of `clientTags` by which the copies of a task are kept apart, as far as there are instances:
   * with `['zone']` a standby is in another zone than the active task. Default none. Java:
   * rack.aware.assignment.tags.
   */
  readonly rackAwareAssignmentTags?: readonly string[]
  /** Of internal topics that are created; -1 (default) leaves it to the brokers. Java: replication.factor. */
  readonly replicationFactor?: number
  /**
   * How long a task with an empty input waits for records that may come, so that inputs are taken in
   * the order of timestamps: 0 (default) waits only while the broker is known to have more, -1 never.
   * Java: max.task.idle.ms.
   */
  readonly maxTaskIdle?: number
  /**
   * How old what is known of topics may be: by then partitions that were added, and topics that match a
   * pattern, are found. Default 5 min. Java: metadata.max.age.ms.
   */
  readonly metadataMaxAge?: number
  /** Records of a partition that are held ready; above it fetching pauses. Default 1000. */
  readonly bufferedRecordsPerPartition?: number
  /**
   * How the instances are a group. `classic` works with every broker. `streams` (KIP-1071) leaves to the
   * broker who gets which task, and needs Apache Kafka 4.2. All instances of an application speak the
   * same: to change it, stop all of them. Default `classic`. Java: group.protocol.
   */
  readonly groupProtocol?: 'classic' | 'streams'
  /** Static membership: an instance that returns under this id takes its tasks back without a rebalance. */
  readonly groupInstanceId?: string
  /** Silence after which the group takes this instance's tasks away. Default 45 s. */
  readonly sessionTimeout?: number
  /** Between heartbeats; less than a third of `sessionTimeout` is wise. Default 3 s. */
  readonly heartbeatInterval?: number
  /** How long the group waits for members to give up tasks and join again. Default 300 s. Java: max.poll.interval.ms. */
  readonly rebalanceTimeout?: number
  /** Configs for all internal topics that are created, over the defaults. Java: topic.* */
  readonly topicConfigs?: Readonly<Record<string, string>>
  /**
   * Milliseconds that windows and sessions stay in changelog topics after their stores forgot them: for
   * clocks that differ. Default a day. Java: windowstore.changelog.additional.retention.ms.
   */
  readonly windowStoreChangelogAdditionalRetention?: number
  /** Where other instances reach this one's query service. Java: application.server. */
  readonly endpoint?: { readonly host: string; readonly port: number }
  /**
   * Where to begin in an input topic when nothing was committed and the topic itself states nothing.
   * Default earliest. Java: auto.offset.reset.
   */
  readonly offsetReset?: OffsetReset
  /**
   * What follows when an error that no other handler has passed over ends the worker of this instance.
   * Default `stop-instance`. Java: setUncaughtExceptionHandler.
   */
  readonly onUncaughtError?: UncaughtErrorHandler
  /**
   * Who hears what the instance has to say: a logger with `debug`, `info`, `warn` and `error`, such as
   * `console`, pino or winston, or a level from which lines go to standard error. `'info'` adds changes
   * of state and assignments, `'silent'` says nothing. What fails again and again, such as each attempt
   * to reach a broker, is told once and then as a number each minute. Default `'warn'`.
   */
  readonly logger?: LoggerChoice
}

/** The options with every default filled in. */
export interface ResolvedConfig extends Required<
  Omit<
    StreamsConfig,
    'clientId' | 'groupInstanceId' | 'endpoint' | 'logger' | 'deadLetterQueueTopic' | 'tls' | 'sasl'
  >
> {
  readonly log: Log
  /** Names of the options that the program states itself. */
  readonly stated: ReadonlySet<string>
  /** The options `tls` and `sasl`. */
  readonly security: ClientSecurity
  readonly clientId: string | undefined
  readonly groupInstanceId: string | undefined
  readonly deadLetterQueueTopic: string | undefined
  readonly endpoint: { readonly host: string; readonly port: number } | undefined
}

/** The world as an engine sees it: time, chance, network and files. */
export interface Ports {
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  readonly disk: Disk
  /** True: all workers of an instance run in this thread, whatever their number, as in a simulation. */
  readonly workersHere?: boolean
  /** What a member tells the others, in these versions only: as an older release, in a simulation. */
  readonly userDataVersions?: readonly (1 | 2)[]
}

/** This machine. */
export const systemPorts: Ports = {
  clock: systemClock,
  random: systemRandom,
  transport: systemTransport,
  disk: systemDisk,
}

/** A sentence about what is wrong with a value; undefined when it is right. */
type Check = (value: unknown) => string | undefined

const invalid = (option: string, detail: string): StreamsError =>
  new StreamsError('CONFIG_INVALID', { option, detail })

/** `alternative` is for the message: what else is allowed, which the caller has looked for. */
function integer(least: number, most: number, unit: string, alternative = ''): Check {
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
      ? undefined
      : `it must be a whole number of ${unit} from ${least}${most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`}${alternative}, not ${shownValue(value)}`
}

function oneOf(...allowed: readonly string[]): Check {
  return (value) =>
    allowed.includes(value as string)
      ? undefined
      : `it must be ${allowed.map((one) => `'${one}'`).join(' or ')}, not ${shownValue(value)}`
}

/** One of the words, or a function. */
function handler(...allowed: readonly string[]): Check {
  const words = allowed.map((one) => `'${one}'`).join(', ')
  return (value) =>
    typeof value === 'function' || allowed.includes(value as string)
      ? undefined
      : `it must be ${words} or a function, not ${shownValue(value)}`
}

const timeMax = 2 ** 31 - 1
const milliseconds = (least: number): Check => integer(least, timeMax, 'milliseconds')

const text: Check = (value) =>
  typeof value === 'string' && value.length > 0
    ? undefined
    : `it must be a string with at least one character, not ${shownValue(value)}`

/** The id is part of topic names (at most 249 characters) and the name of a directory. */
const applicationIdLengthMax = 180

const applicationId: Check = (value) =>
  typeof value === 'string' &&
  /^[a-zA-Z0-9._-]+$/.test(value) &&
  value !== '.' &&
  value !== '..' &&
  value.length <= applicationIdLengthMax
    ? undefined
    : `it must be 1 to ${applicationIdLengthMax} letters, digits, '.', '_' or '-', because it names topics and a directory; not ${shownValue(value)}`

const topicName: Check = (value) => {
  const illegal = reasonOfIllegalName(value)
  return illegal === undefined ? undefined : `it must be the name of a topic: ${illegal}`
}

const port = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= 65_535

function isAddress(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const match = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:,/]+):(\d{1,5})$/.exec(value)
  return match !== null && port(Number(match[1]))
}

const brokers: Check = (value) => {
  if (!Array.isArray(value) || value.length === 0)
    return `it must be a list of at least one 'host:port', not ${shownValue(value)}`
  const bad = value.find((broker) => !isAddress(broker))
  return bad === undefined ? undefined : `${shownValue(bad)} is not of the form 'host:port'`
}

const endpoint: Check = (value) => {
  const { host, port: number } = (value ?? {}) as { host?: unknown; port?: unknown }
  return typeof host === 'string' && host.length > 0 && port(number as number)
    ? undefined
    : `it must be { host, port } with a port from 1 to 65535, not ${shownValue(value)}`
}

/** Java's bounds: the tags of all members are in what the group coordinator keeps. */
const tagsMax = 5
const tagNameLengthMax = 20
const tagValueLengthMax = 30

/** Java's rule for `group.instance.id`. */
const groupInstanceId: Check = (value) => {
  const illegal = reasonOfIllegalName(value)
  return illegal === undefined ? undefined : `it may not be ${shownValue(value)}: ${illegal}`
}

const clientTags: Check = (value) => {
  const rule = `it must be an object of at most ${tagsMax} strings, such as { zone: 'b' }, with names of at most ${tagNameLengthMax} and values of at most ${tagValueLengthMax} characters`
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `${rule}, not ${shownValue(value)}`
  const tags = Object.entries(value)
  const isTag = ([name, one]: [string, unknown]): boolean =>
    name.length > 0 &&
    name.length <= tagNameLengthMax &&
    typeof one === 'string' &&
    one.length > 0 &&
    one.length <= tagValueLengthMax
  return tags.length <= tagsMax && tags.every(isTag)
    ? undefined
    : `${rule}, not ${shownValue(value)}`
}

const rackAwareAssignmentTags: Check = (value) =>
  Array.isArray(value) && value.length <= tagsMax && value.every((name) => typeof name === 'string')
    ? undefined
    : `it must be a list of at most ${tagsMax} names of clientTags, not ${shownValue(value)}`

const replicationFactor: Check = (value) =>
  value === -1
    ? undefined
    : integer(1, 32_767, 'replicas', " or -1 for the brokers' default")(value)

const maxTaskIdle: Check = (value) =>
  value === -1 ? undefined : integer(0, timeMax, 'milliseconds', ' or -1 to never wait')(value)

const topicConfigs: Check = (value) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((one) => typeof one === 'string')
    ? undefined
    : `it must be an object of strings, such as { 'min.insync.replicas': '2' }, not ${shownValue(value)}`

const errorHandler = handler('fail', 'continue')

const uncaughtErrorHandler = handler('replace-worker', 'stop-instance', 'stop-application')

/** More threads than any machine has cores are a mistake. */
const workersMax = 1024

const checks: Readonly<Record<keyof StreamsConfig, Check>> = {
  applicationId,
  brokers,
  tls: tlsProblem,
  sasl: saslProblem,
  stateDir: text,
  engine: stateEngineProblem,
  clientId: text,
  workers: integer(1, workersMax, 'workers'),
  commitInterval: milliseconds(0),
  cacheBytes: integer(0, Number.MAX_SAFE_INTEGER, 'bytes'),
  processingGuarantee: oneOf('at-least-once', 'exactly-once'),
  transactionTimeout: milliseconds(1),
  standbyReplicas: integer(0, 1000, 'replicas'),
  acceptableRecoveryLag: integer(0, Number.MAX_SAFE_INTEGER, 'records'),
  maxWarmupReplicas: integer(1, 2 ** 31 - 1, 'copies'),
  probingRebalanceInterval: milliseconds(1),
  clientTags,
  rackAwareAssignmentTags,
  replicationFactor,
  maxTaskIdle,
  metadataMaxAge: milliseconds(1),
  bufferedRecordsPerPartition: integer(1, 2 ** 31 - 1, 'records'),
  groupProtocol: oneOf('classic', 'streams'),
  groupInstanceId,
  sessionTimeout: milliseconds(1),
  heartbeatInterval: milliseconds(1),
  rebalanceTimeout: milliseconds(1),
  topicConfigs,
  windowStoreChangelogAdditionalRetention: integer(0, Number.MAX_SAFE_INTEGER, 'milliseconds'),
  endpoint,
  onDeserializationError: errorHandler,
  onProcessingError: errorHandler,
  onProductionError: errorHandler,
  onUncaughtError: uncaughtErrorHandler,
  deadLetterQueueTopic: topicName,
  offsetReset: offsetResetProblem,
  logger: loggerProblem,
}

/** Names of all options. */
export const configOptions: readonly string[] = Object.keys(checks)

/** Inserted, dropped or replaced characters that lead from one word to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}

/** Java's names of options that have another one here; those not listed are alike but for dots and units. */
const otherNames = new Map([
  ['bootstrap.servers', 'brokers'],
  ['application.server', 'endpoint'],
  ['num.stream.threads', 'workers'],
  ['statestore.cache.max.bytes', 'cacheBytes'],
  ['cache.max.bytes.buffering', 'cacheBytes'],
  ['deserialization.exception.handler', 'onDeserializationError'],
  ['processing.exception.handler', 'onProcessingError'],
  ['production.exception.handler', 'onProductionError'],
  ['errors.dead.letter.queue.topic.name', 'deadLetterQueueTopic'],
  ['max.poll.interval.ms', 'rebalanceTimeout'],
])

/** A question after the option that may have been meant; nothing when none is near. */
function suggestion(name: string): string {
  const other = otherNames.get(name)
  if (other !== undefined) return `; did you mean '${other}'?`
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '')
  const distance = (option: string): number => editDistance(plain, option.toLowerCase())
  const nearest = configOptions.reduce((best, option) =>
    distance(option) < distance(best) ? option : best,
  )
  return distance(nearest) <= plain.length / 3 ? `; did you mean '${nearest}'?` : ''
}

/** The options of a program that may have no types: none at all is an object without any. */
export function optionsOf(config: unknown): object {
  if (config === undefined || config === null) return {}
  if (typeof config === 'object' && !Array.isArray(config)) return config
  throw invalid(
    'config',
    `the second argument must be an object of options, not ${shownValue(config)}`,
  )
}

/**
 * Checks the options and fills in the defaults. Throws `CONFIG_INVALID`, naming the option and what
 * it may be. The clock is for the time of log lines.
 */
export function resolveConfig(
  config: StreamsConfig,
  clock: Pick<Clock, 'now'> = systemClock,
): ResolvedConfig {
  const given: Readonly<Record<string, unknown>> = { ...optionsOf(config) }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(checks, name))
      throw invalid(name, `there is no such option${suggestion(name)}`)
  }
  for (const [name, check] of Object.entries(checks)) {
    const value = given[name]
    if (value === undefined && name !== 'applicationId' && name !== 'brokers') continue
    const detail = value === undefined ? 'it is required' : check(value)
    if (detail !== undefined) throw invalid(name, detail)
  }
  const isExactlyOnce = config.processingGuarantee === 'exactly-once'
  const resolved: ResolvedConfig = {
    applicationId: config.applicationId,
    brokers: Object.freeze([...config.brokers]),
    security: new ClientSecurity({ tls: config.tls, sasl: config.sasl }),
    stateDir: config.stateDir ?? join(tmpdir(), 'millpond'),
    engine: config.engine ?? lmdbStateEngine,
    clientId: config.clientId,
    workers: config.workers ?? 1,
    commitInterval: config.commitInterval ?? (isExactlyOnce ? 100 : 30_000),
    cacheBytes: config.cacheBytes ?? 10 * 1024 * 1024,
    processingGuarantee: config.processingGuarantee ?? 'at-least-once',
    transactionTimeout: config.transactionTimeout ?? 10_000,
    standbyReplicas: config.standbyReplicas ?? 1,
    acceptableRecoveryLag: config.acceptableRecoveryLag ?? 10_000,
    maxWarmupReplicas: config.maxWarmupReplicas ?? 2,
    probingRebalanceInterval: config.probingRebalanceInterval ?? 600_000,
    clientTags: Object.freeze({ ...config.clientTags }),
    rackAwareAssignmentTags: Object.freeze([...new Set(config.rackAwareAssignmentTags)]),
    replicationFactor: config.replicationFactor ?? -1,
    maxTaskIdle: config.maxTaskIdle ?? 0,
    metadataMaxAge: config.metadataMaxAge ?? 300_000,
    bufferedRecordsPerPartition: config.bufferedRecordsPerPartition ?? 1000,
    groupProtocol: config.groupProtocol ?? 'classic',
    groupInstanceId: config.groupInstanceId,
    sessionTimeout: config.sessionTimeout ?? 45_000,
    heartbeatInterval: config.heartbeatInterval ?? 3_000,
    rebalanceTimeout: config.rebalanceTimeout ?? 300_000,
    topicConfigs: Object.freeze({ ...config.topicConfigs }),
    windowStoreChangelogAdditionalRetention:
      config.windowStoreChangelogAdditionalRetention ?? 86_400_000,
    endpoint: config.endpoint && Object.freeze({ ...config.endpoint }),
    onDeserializationError: config.onDeserializationError ?? 'fail',
    onProcessingError: config.onProcessingError ?? 'fail',
    onUncaughtError: config.onUncaughtError ?? 'stop-instance',
    onProductionError: config.onProductionError ?? 'fail',
    deadLetterQueueTopic: config.deadLetterQueueTopic,
    offsetReset: config.offsetReset ?? 'earliest',
    stated: new Set(Object.keys(given).filter((name) => given[name] !== undefined)),
    log: logFrom(config.logger ?? 'warn', config.applicationId, clock),
  }
  const untold = resolved.rackAwareAssignmentTags.find(
    (name) => !Object.hasOwn(resolved.clientTags, name),
  )
  if (untold !== undefined) {
    throw invalid(
      'rackAwareAssignmentTags',
      `each of them must be in clientTags, and ${shownValue(untold)} is not`,
    )
  }
  if (resolved.heartbeatInterval >= resolved.sessionTimeout) {
    throw invalid(
      'heartbeatInterval',
      `it must be less than sessionTimeout (${resolved.sessionTimeout} ms), not ${resolved.heartbeatInterval}`,
    )
  }
  if (isExactlyOnce && resolved.transactionTimeout <= resolved.commitInterval) {
    throw invalid(
      'transactionTimeout',
      `it must be more than commitInterval (${resolved.commitInterval} ms), not ${resolved.transactionTimeout}`,
    )
  }
  return Object.freeze(resolved)
}
