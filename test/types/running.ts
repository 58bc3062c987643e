/** What runs and asks programs, and must compile. Checked by `tsc`, never run. */
import {
  KafkaStreams,
  StreamsError,
  createLog,
  isStreamsError,
  keyValueStore,
  minutes,
  serdes,
  sessionStore,
  shutdownSignal,
  versionedStore,
  windowStore,
  type DeadLetterRecord,
  type ErrorCode,
  type ErrorHandlerContext,
  type KeyQueryMetadata,
  type LocalTask,
  type ProcessingErrorHandler,
  type QueryableKeyValueStore,
  type QueryableSessionStore,
  type QueryableVersionedStore,
  type QueryableWindowStore,
  type RecordHeaders,
  type StreamsConfig,
  type StreamsMetadata,
  type StreamsState,
  type Topology,
  type VersionedRecord,
  type Windowed,
} from 'millpond'
import { startBroker } from 'millpond/broker'
import { serve, type Service } from 'millpond/server'
import { same } from './same.ts'

const least: StreamsConfig = { applicationId: 'shop', brokers: ['localhost:9092'] }
const spent = keyValueStore('spent', { key: serdes.string, value: serdes.long })
const perMinute = windowStore('per-minute', { key: serdes.string, value: serdes.long })
const visits = sessionStore('visits', {
  key: serdes.string,
  value: serdes.json<readonly string[]>(),
})
const prices = versionedStore('prices', {
  key: serdes.string,
  value: serdes.double,
  historyRetention: minutes(60),
})

export async function untilTheSignal(topology: Topology): Promise<void> {
  const streams = new KafkaStreams(topology, { ...least, logger: console })
  streams
    .on('stateChange', (now, before) => {
      same<typeof now, StreamsState>(true)
      console.log(before, now)
    })
    .on('restore', ({ store, restored, endOffset, phase }) => {
      if (phase === 'end') console.log(store, restored, endOffset)
    })
    .on('error', (error) => console.error(error.message))
  await streams.run({ signal: shutdownSignal() })
}

export async function startAndClose(topology: Topology): Promise<void> {
  await using streams = new KafkaStreams(topology, least)
  await streams.start({ signal: AbortSignal.timeout(10_000) })
  streams.pause()
  if (streams.isPaused) streams.resume()
  await streams.close({ timeout: 5_000, leaveGroup: false })
  streams.cleanUp()
  await streams.closed
}

export async function ask(streams: KafkaStreams): Promise<void> {
  const rows = streams.store(spent)
  same<typeof rows, QueryableKeyValueStore<string, number>>(true)
  const one = await rows.get('ann', { timeout: 100 })
  same<typeof one, number | undefined>(true)
  const many = await rows.getMany(['ann', 'bob'])
  same<typeof many, Map<string, number>>(true)
  for await (const [key, value] of rows.range({ from: 'a', reverse: true, limit: 3 })) {
    same<[typeof key, typeof value], [string, number]>(true)
  }
  for await (const [key] of rows.prefix(Buffer.from('a'))) console.log(key)
  const count = await rows.approximateEntryCount()
  same<typeof count, number>(true)
}

export async function askWindows(streams: KafkaStreams): Promise<void> {
  const windows = streams.store(perMinute)
  same<typeof windows, QueryableWindowStore<string, number>>(true)
  for await (const [start, count] of windows.fetchRange('ann', 0, 60_000)) {
    console.log(new Date(start), count.toFixed())
  }
  for await (const [windowed, count] of windows.range({ timeFrom: 0, limit: 10 })) {
    same<typeof windowed, Windowed<string>>(true)
    console.log(windowed.window.end, count)
  }
}

export async function askSessions(streams: KafkaStreams): Promise<void> {
  const sessions = streams.store(visits)
  same<typeof sessions, QueryableSessionStore<string, readonly string[]>>(true)
  for await (const [{ key, window }, pages] of sessions.fetch('ann', { reverse: true })) {
    console.log(key, window.start, pages.length)
  }
  const session = await sessions.fetchSession('ann', 0, 10)
  same<typeof session, readonly string[] | undefined>(true)
}

export async function askVersions(streams: KafkaStreams): Promise<number | undefined> {
  const versions = streams.store(prices)
  same<typeof versions, QueryableVersionedStore<string, number>>(true)
  const then = await versions.get('tea', { asOf: 5 })
  same<typeof then, VersionedRecord<number> | undefined>(true)
  for await (const { value, validTo } of versions.versions('tea', 0, 10)) {
    console.log(value, validTo ?? 'still')
  }
  return then?.value
}

export function whoHasWhat(streams: KafkaStreams): void {
  const metadata = streams.queryMetadataForKey(spent, 'ann')
  same<typeof metadata, KeyQueryMetadata>(true)
  console.log(metadata.active?.host, metadata.standby.length)
  same<ReturnType<typeof streams.allMetadata>, StreamsMetadata[]>(true)
  same<ReturnType<typeof streams.localTasks>, LocalTask[]>(true)
  for (const { endpoint } of streams.streamsMetadataForStore('spent')) console.log(endpoint.port)
}

export async function overHttp(topology: Topology): Promise<void> {
  await using service = await serve(topology, {
    ...least,
    http: { port: 0 },
    expose: { spent: { operations: ['get', 'range'] } },
    signal: shutdownSignal(),
  })
  same<typeof service, Service>(true)
  const value = await service.store(spent).get('ann')
  same<typeof value, number | undefined>(true)
  console.log(service.url, service.streams.state)
  await service.closed
}

export async function onABrokerOfItsOwn(topology: Topology): Promise<void> {
  await using broker = await startBroker({ port: 0 })
  await using streams = new KafkaStreams(topology, { ...least, brokers: [broker.address] })
  await streams.start()
}

export function errorHandling(): StreamsConfig {
  const onProcessingError: ProcessingErrorHandler = ({ node, record, topic }, error) => {
    same<typeof topic, string | undefined>(true)
    console.error(node, record?.value, error)
    return 'continue'
  }
  return {
    ...least,
    onProcessingError,
    onDeserializationError: ({ sourceRawValue, headers, timestamp }) => {
      same<typeof sourceRawValue, Buffer | null>(true)
      const letter: DeadLetterRecord = {
        topic: 'letters',
        key: null,
        value: sourceRawValue,
        timestamp,
        headers,
      }
      return { result: 'continue', deadLetterRecords: [letter] }
    },
    onProductionError: ({ origin }) => (origin === 'delivery' ? 'retry' : 'fail'),
    deadLetterQueueTopic: 'letters',
  }
}

export function whereItHappened({
  topic,
  partition,
  offset,
  headers,
}: ErrorHandlerContext): string {
  const known: RecordHeaders = headers
  return `${topic}-${partition}@${offset} ${known.length}`
}

export function everyOption(): StreamsConfig {
  return {
    ...least,
    stateDir: '/var/lib/shop',
    clientId: 'shop-1',
    workers: 1,
    commitInterval: 1_000,
    cacheBytes: 0,
    processingGuarantee: 'at-least-once',
    standbyReplicas: 0,
    replicationFactor: 3,
    maxTaskIdle: -1,
    metadataMaxAge: 60_000,
    bufferedRecordsPerPartition: 500,
    groupInstanceId: 'shop-1',
    sessionTimeout: 10_000,
    heartbeatInterval: 1_000,
    rebalanceTimeout: 60_000,
    topicConfigs: { 'min.insync.replicas': '2' },
    windowStoreChangelogAdditionalRetention: 0,
    endpoint: { host: 'localhost', port: 7070 },
    offsetReset: { byDuration: minutes(5) },
    tls: { ca: ['pem'], servername: 'kafka' },
    sasl: { mechanism: 'oauthbearer', token: (signal) => ({ value: String(signal.aborted) }) },
    logger: createLog((level, message) => console.log(level, message), { level: 'warn' }),
  }
}

export function failures(error: unknown): string {
  if (isStreamsError(error, 'STORE_MIGRATED')) return String(error.context['partition'])
  if (error instanceof StreamsError) {
    const code: ErrorCode = error.code
    return error.retriable ? `${code}, again` : `${code} ${error.http}`
  }
  return 'something else'
}
