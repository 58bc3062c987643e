import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveConfig, type StreamsConfig } from './config.ts'

const least: StreamsConfig = { applicationId: 'word-count', brokers: ['localhost:9092'] }

test("two options are enough, and the others have Kafka Streams' defaults", () => {
  expect(resolveConfig(least)).toMatchObject({
    applicationId: 'word-count',
    brokers: ['localhost:9092'],
    stateDir: join(tmpdir(), 'millpond'),
    engine: { kind: 'state-engine', name: 'lmdb' },
    clientId: undefined,
    workers: 1,
    commitInterval: 30_000,
    cacheBytes: 10_485_760,
    processingGuarantee: 'at-least-once',
    standbyReplicas: 1,
    acceptableRecoveryLag: 10_000,
    maxWarmupReplicas: 2,
    probingRebalanceInterval: 600_000,
    clientTags: {},
    rackAwareAssignmentTags: [],
    replicationFactor: -1,
    maxTaskIdle: 0,
    bufferedRecordsPerPartition: 1000,
    groupInstanceId: undefined,
    sessionTimeout: 45_000,
    heartbeatInterval: 3_000,
    rebalanceTimeout: 300_000,
    topicConfigs: {},
    windowStoreChangelogAdditionalRetention: 86_400_000,
    endpoint: undefined,
    onDeserializationError: 'fail',
    onProcessingError: 'fail',
    onProductionError: 'fail',
    deadLetterQueueTopic: undefined,
    onUncaughtError: 'stop-instance',
    offsetReset: 'earliest',
  })
})

test('an option that is given wins over its default, and undefined means absent', () => {
  const config = resolveConfig({ ...least, commitInterval: 100, cacheBytes: undefined })
  expect(config.commitInterval).toBe(100)
  expect(config.cacheBytes).toBe(10_485_760)
})

test.each([
  [{ brokers: ['localhost:9092'] }, 'The option applicationId is not valid: it is required.'],
  [{ applicationId: 'a' }, 'The option brokers is not valid: it is required.'],
  [
    { ...least, applicationId: 'a/b' },
    `The option applicationId is not valid: it must be 1 to 180 letters, digits, '.', '_' or '-', because it names topics and a directory; not "a/b".`,
  ],
  [
    { ...least, brokers: [] },
    "The option brokers is not valid: it must be a list of at least one 'host:port', not [].",
  ],
  [
    { ...least, engine: 'rocksdb' },
    'The option engine is not valid: it must be an engine, such as rocksdb() of millpond/rocksdb, not "rocksdb".',
  ],
  [
    { ...least, engine: null },
    'The option engine is not valid: it must be an engine, such as rocksdb() of millpond/rocksdb, not null.',
  ],
  [
    { ...least, sasl: { mechanism: 'plain', username: 'shop' } },
    'The option sasl is not valid: password must be a string with at least one character.',
  ],
  [
    { ...least, tls: { cert: 'pem' } },
    'The option tls is not valid: cert and key are given together.',
  ],
  [
    { ...least, brokers: ['localhost'] },
    `The option brokers is not valid: "localhost" is not of the form 'host:port'.`,
  ],
  [
    { ...least, brokers: ['localhost:99999'] },
    `The option brokers is not valid: "localhost:99999" is not of the form 'host:port'.`,
  ],
  [
    { ...least, commitInterval: 1.5 },
    'The option commitInterval is not valid: it must be a whole number of milliseconds from 0 to 2147483647, not 1.5.',
  ],
  [
    { ...least, groupInstanceId: 'shop 0' },
    'The option groupInstanceId is not valid: it may not be "shop 0": only letters, digits, ".", "_" and "-" may be used.',
  ],
  [
    { ...least, maxWarmupReplicas: 0 },
    'The option maxWarmupReplicas is not valid: it must be a whole number of copies from 1 to 2147483647, not 0.',
  ],
  [
    { ...least, clientTags: { zone: '' } },
    `The option clientTags is not valid: it must be an object of at most 5 strings, such as { zone: 'b' }, with names of at most 20 and values of at most 30 characters, not {"zone":""}.`,
  ],
  [
    { ...least, clientTags: { zone: 'b' }, rackAwareAssignmentTags: ['zone', 'rack'] },
    'The option rackAwareAssignmentTags is not valid: each of them must be in clientTags, and "rack" is not.',
  ],
  [
    { ...least, rackAwareAssignmentTags: 'zone' },
    'The option rackAwareAssignmentTags is not valid: it must be a list of at most 5 names of clientTags, not "zone".',
  ],
  [
    { ...least, offsetReset: 'oldest' },
    `The option offsetReset is not valid: it must be 'earliest', 'latest', 'none' or { byDuration: milliseconds }, not "oldest".`,
  ],
  [
    { ...least, offsetReset: { byDuration: -1 } },
    `The option offsetReset is not valid: it must be 'earliest', 'latest', 'none' or { byDuration: milliseconds }, not {"byDuration":-1}.`,
  ],
  [
    { ...least, onProcessingError: 'retry' },
    `The option onProcessingError is not valid: it must be 'fail', 'continue' or a function, not "retry".`,
  ],
  [
    { ...least, onProductionError: null },
    `The option onProductionError is not valid: it must be 'fail', 'continue' or a function, not null.`,
  ],
  [
    { ...least, onUncaughtError: 'replace' },
    `The option onUncaughtError is not valid: it must be 'replace-worker', 'stop-instance', 'stop-application' or a function, not "replace".`,
  ],
  [
    { ...least, onDeserializationError: 'skip' },
    `The option onDeserializationError is not valid: it must be 'fail', 'continue' or a function, not "skip".`,
  ],
  [
    { ...least, endpoint: { host: 'localhost', port: 0 } },
    'The option endpoint is not valid: it must be { host, port } with a port from 1 to 65535, not {"host":"localhost","port":0}.',
  ],
  [
    { ...least, heartbeatInterval: 3000, sessionTimeout: 3000 },
    'The option heartbeatInterval is not valid: it must be less than sessionTimeout (3000 ms), not 3000.',
  ],
  [
    { ...least, topicConfigs: { 'min.insync.replicas': 2 } },
    `The option topicConfigs is not valid: it must be an object of strings, such as { 'min.insync.replicas': '2' }, not {"min.insync.replicas":2}.`,
  ],
  [
    { ...least, standbyReplicas: -1 },
    'The option standbyReplicas is not valid: it must be a whole number of replicas from 0 to 1000, not -1.',
  ],
  [
    { ...least, logger: console.log },
    "The option logger is not valid: it must be a logger with the methods debug, info, warn, error, such as console, or one of 'silent', 'debug', 'info', 'warn', 'error', not a function.",
  ],
  [
    { ...least, workers: 0 },
    'The option workers is not valid: it must be a whole number of workers from 1 to 1024, not 0.',
  ],
  [
    { ...least, processingGuarantee: 'exactly_once_v2' },
    `The option processingGuarantee is not valid: it must be 'at-least-once' or 'exactly-once', not "exactly_once_v2".`,
  ],
  [
    { ...least, processingGuarantee: 'exactly-once', commitInterval: 10_000 },
    'The option transactionTimeout is not valid: it must be more than commitInterval (10000 ms), not 10000.',
  ],
])('%j is refused in plain words', (config, message) => {
  expect(() => resolveConfig(config as StreamsConfig)).toThrow(message)
})

test.each([
  ['comitInterval', 'commitInterval'],
  ['commit.interval.ms', 'commitInterval'],
  ['application.id', 'applicationId'],
  ['statedir', 'stateDir'],
])('the unknown option %s is refused with the nearest that exists, %s', (name, nearest) => {
  expect(() => resolveConfig({ ...least, [name]: 1 })).toThrow(
    `The option ${name} is not valid: there is no such option; did you mean '${nearest}'?`,
  )
})

test.each(['constructor', 'toString', 'exactlyOnceBeta'])(
  'the unknown option %s is refused without a guess when none is near',
  (name) => {
    expect(() => resolveConfig({ ...least, [name]: 1 })).toThrow(
      `The option ${name} is not valid: there is no such option.`,
    )
  },
)

test('a value that cannot be shown is refused as well', () => {
  const circular: unknown[] = []
  circular.push(circular)
  const config = { ...least, brokers: circular } as unknown as StreamsConfig
  expect(() => resolveConfig(config)).toThrow(
    "an object that is not JSON is not of the form 'host:port'",
  )
})

test('an IPv6 broker in brackets is accepted', () => {
  expect(resolveConfig({ ...least, brokers: ['[::1]:9092'] }).brokers).toEqual(['[::1]:9092'])
})

test('under exactly-once commits are frequent, unless they are told not to be', () => {
  const exactly = { ...least, processingGuarantee: 'exactly-once' } as const
  expect(resolveConfig(exactly)).toMatchObject({ commitInterval: 100, transactionTimeout: 10_000 })
  expect(resolveConfig({ ...exactly, commitInterval: 500 }).commitInterval).toBe(500)
  expect(resolveConfig(least).commitInterval).toBe(30_000)
})
