/** Tests that must compile. Checked by `tsc`, never run. */
import {
  keyValueStore,
  nullable,
  serdes,
  sessionStore,
  topic,
  versionedStore,
  windowStore,
  type KeyValueStore,
  type RawKey,
  type RecordHeaders,
  type SessionStore,
  type TimestampedKeyValueStore,
  type TimestampedWindowStore,
  type Topology,
  type VersionedStore,
  type WindowStore,
} from 'millpond'
import {
  TopologyTestDriver,
  type ProducedRecord,
  type TestInputTopic,
  type TestOutputRecord,
  type TestOutputTopic,
} from 'millpond/testing'
import { same } from './same.ts'

const words = topic('words', { value: serdes.string })
const changes = topic('changes', { key: serdes.string, value: nullable(serdes.long) })
const both = { key: serdes.string, value: serdes.long }

export function recordsIn(driver: TopologyTestDriver): void {
  const input = driver.input(words, { startTime: 0, advanceTime: 10 })
  same<typeof input, TestInputTopic<RawKey, string>>(true)
  input.pipe({ key: null, value: 'tea', timestamp: 5, headers: [['h', null]] })
  input.pipeValue(null, 7)
  input.pipeValues(new Set(['tea']), { start: 0 })
  input.pipeAll([{ key: Buffer.from('k'), value: null }])
  driver.input(changes).pipeKeyValues(new Map([['tea', 1]]))
  input.advanceTime(5)
}

export function recordsOut(driver: TopologyTestDriver): void {
  const output = driver.output(changes)
  same<typeof output, TestOutputTopic<string, number | null>>(true)
  const next = output.read()
  same<typeof next, TestOutputRecord<string, number | null> | undefined>(true)
  const { key, value, timestamp, headers } = output.readRecord()
  same<[typeof key, typeof value, typeof timestamp], [string, number | null, number]>(true)
  same<typeof headers, RecordHeaders | undefined>(true)
  const pairs = output.readKeyValues()
  same<typeof pairs, [string, number | null][]>(true)
  const last = output.readKeyValuesToMap()
  same<typeof last, Map<string, number | null>>(true)
  console.log(output.isEmpty, output.size, output.readValue(), output.readValues())
}

export function whatWasWritten(driver: TopologyTestDriver): void {
  const bytes = driver.rawOutput('app-counts-changelog').readAll()
  console.log(bytes[0]?.value.byteLength, driver.producedTopicNames.join())
  const all = driver.takeProduced()
  same<typeof all, ProducedRecord[]>(true)
  const dropped = driver.metrics.droppedRecords().get('late')
  same<typeof dropped, number | undefined>(true)
}

export function storesOfAllKinds(driver: TopologyTestDriver): void {
  const rows = driver.store(keyValueStore('rows', both))
  same<typeof rows, KeyValueStore<string, number>>(true)
  const dated = driver.timestampedStore(keyValueStore('rows', both))
  same<typeof dated, TimestampedKeyValueStore<string, number>>(true)
  const windows = driver.windowStore(windowStore('windows', both))
  same<typeof windows, WindowStore<string, number>>(true)
  const datedWindows = driver.timestampedWindowStore(windowStore('windows', both))
  same<typeof datedWindows, TimestampedWindowStore<string, number>>(true)
  const sessions = driver.sessionStore(sessionStore('sessions', both))
  same<typeof sessions, SessionStore<string, number>>(true)
  const versions = driver.versionedStore(
    versionedStore('versions', { ...both, historyRetention: 10 }),
  )
  same<typeof versions, VersionedStore<string, number>>(true)
}

export function aRowAtATime(rows: KeyValueStore<string, number>): number {
  let sum = 0
  using range = rows.range({ from: 'a', to: 'z' })
  for (const [key, value] of range) sum += key.length + value
  rows.put('a', sum)
  const before = rows.putIfAbsent('b', 1)
  same<typeof before, number | undefined>(true)
  return rows.delete('a') ?? rows.approximateEntryCount()
}

export async function withOptions(topology: Topology): Promise<void> {
  using driver = new TopologyTestDriver(topology, {
    applicationId: 'app',
    cacheBytes: 0,
    wallClock: Date.UTC(2026, 0, 1),
    stateDir: './state',
    maxTaskIdle: 10,
    recordsPerPipeMax: 1_000,
    onDeserializationError: 'continue',
    onProcessingError: () => 'fail',
    onProductionError: 'continue',
    deadLetterQueueTopic: 'letters',
  })
  driver.advanceWallClockTime(1_000)
  await driver.settled()
}
