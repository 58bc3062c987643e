/**
 * Everything that the world can do to us has one row here: the message, whether trying again can
 * help, and the HTTP status with which the query service answers it. `docs/reference/errors.md`
 * lists the same rows (a test compares them).
 */

/** Facts about one failure, by name: shown in logs, in `error.context` and in problem documents. */
export type ErrorContext = Readonly<Record<string, unknown>>

interface ErrorRow {
  readonly message: (context: ErrorContext) => string
  /** True when the same call can succeed later, unchanged. */
  readonly retriable: boolean
  /** Status of the HTTP answer when this error ends a request. */
  readonly http: number
}

const row = (
  http: number,
  retriable: 'retriable' | 'final',
  message: (context: ErrorContext) => string,
): ErrorRow => ({ message, retriable: retriable === 'retriable', http })

const text = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (value === undefined) return 'unknown'
  if (typeof value === 'bigint') return value.toString()
  return JSON.stringify(value)
}

const detail = (context: ErrorContext): string =>
  context['detail'] === undefined ? '' : `: ${text(context['detail'])}`

const errorTable = {
  // Configuration and topology
  CONFIG_INVALID: row(
    500,
    'final',
    (c) => `The option ${text(c['option'])} is not valid${detail(c)}.`,
  ),
  TOPOLOGY_INVALID: row(500, 'final', (c) => `Invalid topology${detail(c)}.`),
  SERDE_MISSING: row(
    500,
    'final',
    (c) =>
      `No ${text(c['part'])} serde is known for ${text(c['node'])}. State it in the options of that step, for example { ${text(c['part'])}: serdes.string }.`,
  ),
  SERDE_FAILED: row(
    400,
    'final',
    (c) => `The serde ${text(c['serde'])} could not ${text(c['operation'])} a value${detail(c)}.`,
  ),

  // The schema registry
  SCHEMA_REGISTRY_UNAVAILABLE: row(
    503,
    'retriable',
    (c) => `The schema registry gave no answer about ${text(c['about'])}${detail(c)}.`,
  ),
  SCHEMA_REGISTRY_UNAUTHORIZED: row(
    502,
    'final',
    (c) =>
      `The schema registry refuses ${text(c['about'])} to these credentials (status ${text(c['status'])})${detail(c)}. See the option auth.`,
  ),
  SCHEMA_REGISTRY_FAILED: row(
    502,
    'final',
    (c) =>
      `The schema registry gave an answer about ${text(c['about'])} that is of no use${detail(c)}.`,
  ),
  SCHEMA_REGISTRY_NOT_FOUND: row(
    500,
    'final',
    (c) => `The schema registry does not know ${text(c['about'])}${detail(c)}.`,
  ),
  SCHEMA_REGISTRY_INCOMPATIBLE: row(
    500,
    'final',
    (c) =>
      `The schema registry refuses ${text(c['about'])}, which is not compatible with the versions before it${detail(c)}.`,
  ),
  SCHEMA_REGISTRY_SCHEMA_INVALID: row(
    500,
    'final',
    (c) => `It is not possible to use ${text(c['about'])}${detail(c)}.`,
  ),
  SCHEMA_REGISTRY_LIBRARY_MISSING: row(
    500,
    'final',
    (c) =>
      `The library ${text(c['library'])} is needed for ${text(c['format'])}, and cannot be loaded${detail(c)}. Install it: npm install ${text(c['library'])}.`,
  ),

  // The wire
  PROTOCOL_MALFORMED: row(
    502,
    'final',
    (c) => `The bytes of ${text(c['api'])} are malformed at ${text(c['field'])}${detail(c)}.`,
  ),
  PROTOCOL_UNSUPPORTED_VERSION: row(
    502,
    'final',
    (c) => `Version ${text(c['version'])} of ${text(c['api'])} is not supported${detail(c)}.`,
  ),
  PROTOCOL_VALUE_INVALID: row(
    500,
    'final',
    (c) => `The field ${text(c['field'])} of ${text(c['api'])} cannot be written${detail(c)}.`,
  ),
  RECORD_BATCH_CORRUPT: row(
    502,
    'final',
    (c) => `A record batch at offset ${text(c['offset'])} is corrupt${detail(c)}.`,
  ),
  RECORD_BATCH_UNSUPPORTED: row(
    502,
    'final',
    (c) =>
      `A record batch at offset ${text(c['offset'])} has magic ${text(c['magic'])}; only magic 2 (Kafka 0.11 and newer) is supported.`,
  ),
  COMPRESSION_UNAVAILABLE: row(
    502,
    'final',
    (c) => `The codec ${text(c['codec'])} is not available here${detail(c)}.`,
  ),

  // The Kafka client
  BROKER_UNREACHABLE: row(
    503,
    'retriable',
    (c) => `No connection to the Kafka broker ${text(c['broker'])}${detail(c)}.`,
  ),
  TLS_FAILED: row(
    502,
    'final',
    (c) => `No TLS connection to the Kafka broker ${text(c['broker'])} is possible${detail(c)}.`,
  ),
  SASL_MECHANISM_UNSUPPORTED: row(
    502,
    'final',
    (c) =>
      `The Kafka broker ${text(c['broker'])} does not offer the SASL mechanism ${text(c['mechanism'])}, but ${c['offered'] === '' ? 'none' : text(c['offered'])}.`,
  ),
  SASL_AUTHENTICATION_FAILED: row(
    502,
    'final',
    (c) =>
      `Authentication by ${text(c['mechanism'])} failed between this process and ${text(c['broker'])}${detail(c)}. See the option sasl.`,
  ),
  REQUEST_TIMEOUT: row(
    504,
    'retriable',
    (c) =>
      `The request ${text(c['api'])} to ${text(c['broker'])} got no answer within ${text(c['timeoutMs'])} ms.`,
  ),
  CONNECTION_CLOSED: row(
    503,
    'retriable',
    (c) => `The connection to ${text(c['broker'])} was closed${detail(c)}.`,
  ),
  /** A Kafka error code in a response; `context.error` has Kafka's name, `context.kafkaRetriable` its nature. */
  KAFKA_ERROR: row(
    502,
    'final',
    (c) =>
      `The request ${text(c['api'])} failed for ${text(c['subject'])}: ${text(c['error'])}${detail(c)}.`,
  ),
  DELIVERY_FAILED: row(
    502,
    'final',
    (c) =>
      `Records for ${text(c['topic'])}-${text(c['partition'])} could not be written${detail(c)}.`,
  ),
  RECORD_TOO_LARGE: row(
    400,
    'final',
    (c) =>
      `A record of ${text(c['bytes'])} bytes for ${text(c['topic'])} is larger than the limit of ${text(c['limit'])} bytes.`,
  ),
  OFFSET_OUT_OF_RANGE: row(
    500,
    'final',
    (c) =>
      `Offset ${text(c['offset'])} of ${text(c['topic'])}-${text(c['partition'])} is not in the log${detail(c)}.`,
  ),
  OFFSET_MISSING: row(
    500,
    'final',
    (c) =>
      `The group has no offset for ${text(c['topic'])}-${text(c['partition'])}, and the offset reset of its source is 'none'. Commit one, or state another reset.`,
  ),
  SIMULATION_STUCK: row(
    500,
    'final',
    (c) => `What was waited for did not happen within ${text(c['withinMs'])} ms of simulated time.`,
  ),
  RECORD_MISSING: row(
    500,
    'final',
    (c) => `There is no record of the topic ${text(c['topic'])} that was not read yet.`,
  ),
  CLIENT_CLOSED: row(503, 'final', (c) => `The ${text(c['what'])} is closed.`),
  ABORTED: row(503, 'final', (c) => `The wait for ${text(c['what'])} was aborted.`),

  // Tasks
  SOURCE_TOPIC_MISSING: row(
    503,
    'final',
    (c) => `The source topic ${text(c['topic'])} does not exist. Create it, then start again.`,
  ),
  SINK_TOPIC_MISSING: row(
    503,
    'final',
    (c) =>
      `The topic ${text(c['topic'])}, to which the application writes, does not exist. Create it, then start again.`,
  ),
  INTERNAL_TOPIC_INVALID: row(
    500,
    'final',
    (c) =>
      `The internal topic ${text(c['topic'])} has ${text(c['actual'])} partitions, expected ${text(c['expected'])}. Reset the application or delete the topic.`,
  ),
  RECORD_UNREADABLE: row(
    500,
    'final',
    (c) =>
      `The record at ${text(c['topic'])}-${text(c['partition'])} offset ${text(c['offset'])} could not be deserialized${detail(c)}.`,
  ),
  TIMESTAMP_INVALID: row(
    500,
    'final',
    (c) =>
      `The record at ${text(c['topic'])}-${text(c['partition'])} offset ${text(c['offset'])} has the invalid timestamp ${text(c['timestamp'])}. State a timestamp extractor for this topic.`,
  ),
  PROCESSING_FAILED: row(500, 'final', (c) =>
    c['topic'] === undefined
      ? `The step ${text(c['node'])} failed outside of a record${detail(c)}.`
      : `The step ${text(c['node'])} failed on the record at ${text(c['topic'])}-${text(c['partition'])} offset ${text(c['offset'])}${detail(c)}.`,
  ),
  PROCESSOR_ASYNC: row(
    500,
    'final',
    (c) =>
      `The step ${text(c['node'])} returned a promise. A record must be done when a step returns; mapValuesAsync and forEachAsync wait for promises.`,
  ),
  STORE_NOT_CONNECTED: row(
    500,
    'final',
    (c) =>
      `The step ${text(c['node'])} is not connected to the store ${text(c['store'])}. Name it in the options of the step: { stores: { … } }, or connect them.`,
  ),
  SUPPRESSION_BUFFER_FULL: row(
    500,
    'final',
    (c) =>
      `The buffer of ${text(c['node'])} is full: it holds ${text(c['records'])} records and ${text(c['bytes'])} bytes, with limits of ${text(c['maxRecords'])} and ${text(c['maxBytes'])}. Give it more room, or a shorter time to wait.`,
  ),
  RECORD_UNWRITABLE: row(500, 'final', (c) => {
    if (c['task'] === undefined)
      return `The brokers did not take a record for ${text(c['sink'])}${detail(c)}.`
    const step = c['node'] === undefined ? 'The changelog' : `The step ${text(c['node'])}`
    const cause =
      c['topic'] === undefined
        ? 'outside of a record'
        : `after the record at ${text(c['topic'])}-${text(c['partition'])} offset ${text(c['offset'])}`
    const target = c['sink'] === undefined ? '' : ` to ${text(c['sink'])}`
    return `${step} could not write a record${target}, ${cause}${detail(c)}.`
  }),
  HANDLER_FAILED: row(500, 'final', (c) => {
    const step = c['node'] === undefined ? '' : ` at the step ${text(c['node'])}`
    return `The handler ${text(c['handler'])} failed${step}${detail(c)}.`
  }),
  APPLICATION_STOPPED: row(
    500,
    'final',
    (c) => `The process ${text(c['processId'])} has stopped the whole application${detail(c)}.`,
  ),
  APPLICATION_RUNNING: row(
    409,
    'final',
    (c) =>
      `The application ${text(c['applicationId'])} cannot be reset while it runs${detail(c)}. Stop all its instances first.`,
  ),
  TASK_MIGRATED: row(
    503,
    'retriable',
    (c) => `Task ${text(c['task'])} moved to another instance${detail(c)}.`,
  ),
  TRANSACTION_ABORTED: row(
    503,
    'retriable',
    (c) =>
      `The transaction of ${text(c['transactionalId'])} was given up${detail(c)}. What it did does not count, and is done again.`,
  ),
  RESTORE_FAILED: row(
    503,
    'final',
    (c) => `Restoring the store ${text(c['store'])} of task ${text(c['task'])} failed${detail(c)}.`,
  ),

  TASK_CORRUPTED: row(
    503,
    'retriable',
    (c) =>
      `The local state of task ${text(c['task'])} does not fit its changelog${detail(c)}. It is wiped and restored.`,
  ),
  ASSIGNMENT_FAILED: row(
    500,
    'final',
    (c) => `The leader of the group could not assign the tasks${detail(c)}.`,
  ),
  GROUP_INSTANCE_FENCED: row(
    500,
    'final',
    (c) =>
      `Another instance of the application ${text(c['groupId'])} has started with the groupInstanceId ${text(c['instanceId'])}. Give each instance its own.`,
  ),
  GROUP_INSTANCE_UNRELEASED: row(
    500,
    'final',
    (c) =>
      `The group ${text(c['groupId'])} still has a member with the groupInstanceId ${text(c['instanceId'])}. Give each instance its own, or wait until the session of that one is over.`,
  ),
  GROUP_PROTOCOL_UNSUPPORTED: row(
    500,
    'final',
    (c) =>
      `The group ${text(c['groupId'])} cannot speak the protocol that groupProtocol asks for${detail(c)}.`,
  ),
  TOPOLOGY_CHANGED: row(
    500,
    'final',
    (c) =>
      `The group ${text(c['groupId'])} keeps the topology with which its members began, and this program has another one. Stop all instances, start one with groupProtocol: 'classic' and stop it again: the group then forgets the topology, and keeps what was committed. Or give the program an applicationId of its own.`,
  ),
  TOPOLOGY_DIFFERS: row(
    500,
    'final',
    (c) =>
      `The module ${text(c['module'])} made another topology in the thread of worker ${text(c['worker'])} than in the main thread, which has "${text(c['main'])}" where the thread has "${text(c['thread'])}". It must make the same one each time: nothing in it may depend on chance, on the time, or on what only one thread has.`,
  ),
  WORKER_DIED: row(500, 'retriable', (c) =>
    c['end'] === 'none'
      ? `The thread of worker ${text(c['worker'])} could not be ended${detail(c)}. Its state cannot be opened before this process has ended.`
      : `The thread of worker ${text(c['worker'])} has ended before its time${detail(c)}.`,
  ),
  STREAMS_STATE_INVALID: row(
    500,
    'final',
    (c) => `Streams is ${text(c['state'])}: ${text(c['operation'])} is not possible${detail(c)}.`,
  ),
  STORE_FLUSH_ENDLESS: row(
    500,
    'final',
    (c) =>
      `The store ${text(c['store'])} does not come to rest: a step below it writes into it whenever it is flushed.`,
  ),

  STORE_READ_ONLY: row(
    500,
    'final',
    (c) =>
      `The global store ${text(c['store'])} is read only: it is written by its own processor, from its topic.`,
  ),

  // State on disk
  STATE_DIRECTORY_LOCKED: row(
    500,
    'final',
    (c) =>
      `The state directory ${text(c['directory'])} is in use by process ${text(c['pid'])}. Give each instance its own stateDir.`,
  ),
  STATE_DIRECTORY_FAILED: row(
    500,
    'final',
    (c) => `The state directory ${text(c['directory'])} cannot be used${detail(c)}.`,
  ),
  STATE_ENGINE_DIFFERS: row(
    500,
    'final',
    (c) =>
      `The state in ${text(c['directory'])} was written by ${text(c['found'])}, and the engine is ${text(c['engine'])}. Configure ${text(c['found'])}, or delete the state with cleanUp(): it is then restored from the changelogs.`,
  ),
  STORE_KIND_DIFFERS: row(
    500,
    'final',
    (c) =>
      `The store ${text(c['store'])} was kept as: ${text(c['found'])}; it has become: ${text(c['kind'])}. What is kept of it, here and in its changelog, cannot be read so. Give the new store another name, or begin anew with millpond reset and cleanUp().`,
  ),
  DISK_FAILED: row(500, 'final', (c) => `Writing ${text(c['path'])} failed${detail(c)}.`),
  KEY_TOO_LONG: row(
    400,
    'final',
    (c) =>
      `A key of ${text(c['bytes'])} bytes is longer than the engine's limit of ${text(c['limit'])} bytes.`,
  ),

  ENGINE_UNAVAILABLE: row(
    500,
    'final',
    (c) =>
      `The store engine ${text(c['engine'])} cannot be loaded here${detail(c)}. Keep the state in memory with { persistent: false }.`,
  ),

  // Queries
  STREAMS_NOT_STARTED: row(
    503,
    'retriable',
    () => 'Streams has not been started, retry after start().',
  ),
  STREAMS_REBALANCING: row(503, 'retriable', (c) =>
    c['store'] === undefined
      ? 'The instance is rebalancing, retry in a moment.'
      : `Cannot read the store ${text(c['store'])} while the instance is rebalancing.`,
  ),
  STREAMS_STOPPED: row(
    503,
    'final',
    (c) =>
      `Streams is ${text(c['state'])}: ${text(c['detail'] ?? 'this instance no longer serves queries')}.`,
  ),
  STORE_MIGRATED: row(
    503,
    'retriable',
    (c) =>
      `Partition ${text(c['partition'])} of the store ${text(c['store'])} is on another instance.`,
  ),
  STORE_NOT_AVAILABLE: row(
    503,
    'retriable',
    (c) => `The store ${text(c['store'])} is not available yet${detail(c)}.`,
  ),
  STALE: row(
    412,
    'retriable',
    (c) =>
      `Partition ${text(c['partition'])} of the store ${text(c['store'])} lags ${text(c['lag'])} records behind its changelog here, and at most ${text(c['maxLag'])} are allowed.`,
  ),
  STORE_UNKNOWN: row(404, 'final', (c) => `There is no store ${text(c['store'])}.`),
  STORE_PARTITION_INVALID: row(
    400,
    'final',
    (c) => `The store ${text(c['store'])} has no partition ${text(c['partition'])}.`,
  ),
  KEY_NOT_FOUND: row(
    404,
    'final',
    (c) => `The store ${text(c['store'])} has no value for this key.`,
  ),
  KEY_INVALID: row(
    400,
    'final',
    (c) => `The key is not valid for the store ${text(c['store'])}${detail(c)}.`,
  ),
  STORE_TIME_INVALID: row(
    500,
    'final',
    (c) => `The time is not valid for the store ${text(c['store'])}${detail(c)}.`,
  ),
  QUERY_INVALID: row(400, 'final', (c) => `The query is not valid${detail(c)}.`),
  QUERY_TIMEOUT: row(
    504,
    'retriable',
    (c) => `The query got no answer within ${text(c['timeoutMs'])} ms.`,
  ),
  OPERATION_NOT_ALLOWED: row(
    403,
    'final',
    (c) =>
      `The operation ${text(c['operation'])} is not exposed for the store ${text(c['store'])}.`,
  ),
  ROUTE_UNKNOWN: row(404, 'final', (c) => `There is no route ${text(c['path'])}.`),
  METHOD_NOT_ALLOWED: row(
    405,
    'final',
    (c) => `The route ${text(c['path'])} is read with GET, not ${text(c['method'])}.`,
  ),
  TOO_MANY_REQUESTS: row(
    429,
    'retriable',
    (c) =>
      `As many requests of this connection wait for an answer as may (${text(c['limit'])}); open another one.`,
  ),
  REQUEST_MALFORMED: row(400, 'final', (c) => `The HTTP request is malformed${detail(c)}.`),
  REQUEST_INCOMPLETE: row(
    408,
    'retriable',
    () => 'The HTTP request is not complete: it did not arrive in time.',
  ),
  EVENT_LOOP_STUCK: row(
    503,
    'retriable',
    (c) => `The event loop of the instance was blocked for ${text(c['delayMs'])} ms.`,
  ),
  INTERNAL_ERROR: row(
    500,
    'final',
    () => 'The query failed by a fault of the service itself; its log has the cause.',
  ),
  OWNER_UNKNOWN: row(
    503,
    'retriable',
    (c) =>
      `The owner of partition ${text(c['partition'])} of the store ${text(c['store'])} is not known yet.`,
  ),
  PEER_UNREACHABLE: row(
    503,
    'retriable',
    (c) => `The instance ${text(c['peer'])} did not answer${detail(c)}.`,
  ),
  MISDIRECTED: row(
    421,
    'retriable',
    (c) =>
      `This instance does not hold partition ${text(c['partition'])} of the store ${text(c['store'])}.`,
  ),
  ADDRESS_IN_USE: row(
    500,
    'final',
    (c) => `Port ${text(c['port'])} on ${text(c['host'])} is in use by another program.`,
  ),
  LISTENER_INSECURE: row(
    500,
    'final',
    (c) =>
      `Refusing to listen on ${text(c['host'])} without auth. Use a loopback host, or write auth: 'none'.`,
  ),
} as const satisfies Record<string, ErrorRow>

/** The code of a {@link StreamsError}. The meaning of each is on the page `docs/reference/errors.md`. */
export type ErrorCode = keyof typeof errorTable

/**
 * All codes, in the order of the table.
 *
 * @example
 * console.log(errorCodes.includes('SERDE_FAILED')) // true
 */
export const errorCodes: readonly ErrorCode[] = Object.keys(errorTable) as ErrorCode[]

/**
 * Any failure that Millpond reports. Match on `code`; show `message`.
 *
 * @example
 * try { await service.store(wordCounts).get('kafka') } catch (error) {
 *   if (error instanceof StreamsError && error.retriable) retryLater()
 *   else throw error
 * }
 */
export class StreamsError extends Error {
  readonly code: ErrorCode
  /** True when the same call can succeed later, unchanged. */
  readonly retriable: boolean
  /** Status of the HTTP answer that carries this error. */
  readonly http: number
  /** The facts: topic, partition, store, and so on. */
  readonly context: ErrorContext

  constructor(code: ErrorCode, context: ErrorContext = {}, options?: { cause?: unknown }) {
    const { message, retriable, http }: ErrorRow = errorTable[code]
    // A detail that is a sentence itself, such as the message of another error, has its own full stop.
    super(message(context).replace(/(?<!\.)\.\.$/, '.'), options)
    this.name = 'StreamsError'
    this.code = code
    this.retriable = retriable
    this.http = http
    this.context = context
  }
}

/**
 * True for a {@link StreamsError}, of that code when one is given.
 *
 * @example
 * try {
 *   await streams.start()
 * } catch (error) {
 *   if (isStreamsError(error, 'SOURCE_TOPIC_MISSING')) console.error('create the topic first')
 *   throw error
 * }
 */
export function isStreamsError(error: unknown, code?: ErrorCode): error is StreamsError {
  return error instanceof StreamsError && (code === undefined || error.code === code)
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
