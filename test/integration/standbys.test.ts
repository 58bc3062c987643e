import { expect, test } from 'vitest'
import { yieldTurn } from '../../src/base/clock.ts'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import { systemPorts } from '../../src/config.ts'
import {
  StreamsBuilder,
  joinWindows,
  keyValueStore,
  serdes,
  sessionStore,
  sessionWindows,
  timeWindows,
  topic,
  versionedStore,
  windowStore,
  type KafkaStreams,
  type LagInfo,
  type RestoreProgress,
  type StreamsConfig,
  type StandbyUpdate,
} from '../../src/index.ts'
import { CutTransport } from './cut-transport.ts'
import { RecentTimes, readTexts, texts, writeTexts } from './joined-streams.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'
import { counts, isEqual, poem, startedCluster, wordCount, wordCounts } from './word-count.ts'

const withStandby = { standbyReplicas: 1 }

/** Ids of the tasks in one role, in order. */
function tasksOf(streams: KafkaStreams, role: 'active' | 'standby'): string[] {
  return streams
    .localTasks()
    .filter((task) => task.role === role)
    .map(({ id }) => id)
    .sort()
}

/** What an instance has in any role, up to date or not. */
async function rowsOf(
  streams: KafkaStreams,
  options: { consistency?: 'any'; maxLag?: number } = {},
): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for await (const [word, count] of streams.store(wordCounts).range(options)) rows[word] = count
  return rows
}

const stateful = ['1_0', '1_1', '1_2', '1_3']

/** Resolves when the two have all tasks with state, each of them once as active and once as standby. */
async function shared(a: KafkaStreams, b: KafkaStreams, signal: AbortSignal): Promise<void> {
  const isMirrored = (one: KafkaStreams, other: KafkaStreams): boolean => {
    const active = tasksOf(one, 'active').filter((id) => stateful.includes(id))
    return active.length > 0 && active.join() === tasksOf(other, 'standby').join()
  }
  await until(
    () => [a, b].every(({ state }) => state === 'running') && isMirrored(a, b) && isMirrored(b, a),
    signal,
  )
}

/** Resolves when the standbys of an instance have all there is. */
async function caughtUp(streams: KafkaStreams, signal: AbortSignal): Promise<void> {
  await until(async () => isEqual(counts, await rowsOf(streams, { maxLag: 0 })), signal)
}

async function started(
  cluster: TestCluster,
  name: string,
  options: { network?: CutTransport; config?: Partial<StreamsConfig> } = {},
): Promise<KafkaStreams> {
  const { network, config } = options
  const ports = network === undefined ? systemPorts : { ...systemPorts, transport: network }
  const all = { ...withStandby, ...config }
  const streams = cluster.streams(wordCount(cluster), name, all, ports)
  await streams.start()
  return streams
}

test.for(['at-least-once', 'exactly-once'] as const)(
  'a standby answers while its owner is gone, and takes over without a restore, %s',
  { timeout: 60_000 },
  async (processingGuarantee, { signal }) => {
    await using cluster = await startedCluster()
    const network = new CutTransport()
    const config = { processingGuarantee, transactionTimeout: 1000 }
    const [a, b] = await Promise.all([
      started(cluster, 'a', { network, config }),
      started(cluster, 'b', { config }),
    ])
    const restored: RestoreProgress[] = []
    const updates: StandbyUpdate[] = []
    b.on('restore', (one) => restored.push(one)).on('standbyUpdate', (one) => updates.push(one))
    await cluster.write('lines', poem)
    await shared(a, b, signal)
    await caughtUp(b, signal)
    const moving = tasksOf(b, 'standby')
    expect(Object.keys(await rowsOf(b)).length).toBeLessThan(Object.keys(counts).length)
    restored.length = 0
    const recordsBefore = b.metrics.recordsRestored.value

    network.cut()
    // The group has noticed nothing yet.
    expect(tasksOf(b, 'standby')).toEqual(moving)
    expect(await rowsOf(b, { consistency: 'any' })).toEqual(counts)
    // From here on they are answered without a gap, until the task runs here.
    const isOver = new AbortController()
    const refused: unknown[] = []
    const asking = (async () => {
      while (!isOver.signal.aborted) {
        const rows = await rowsOf(b, { consistency: 'any' }).catch((error: unknown) => error)
        if (!isEqual(counts, rows as Record<string, number>)) refused.push(rows)
        await yieldTurn(systemPorts.clock)
      }
    })()

    await until(() => stateful.every((id) => tasksOf(b, 'active').includes(id)), signal)
    await until(() => b.state === 'running', signal)
    await until(async () => isEqual(counts, await rowsOf(b)), signal)
    isOver.abort()
    await asking
    expect(refused).toEqual([])
    expect(b.metrics.recordsRestored.value - recordsBefore).toBe(0)
    expect(restored.filter(({ phase }) => phase === 'batch')).toEqual([])
    const promoted = updates.filter(({ reason }) => reason === 'promoted')
    expect(promoted.map(({ taskId }) => taskId).sort()).toEqual(moving)

    await cluster.write('lines', ['to be'])
    await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await rowsOf(b)), signal)
  },
)

test('an instance that joins gets its tasks when it has their state, and the other one keeps a copy', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const a = await started(cluster, 'a')
  await until(async () => isEqual(counts, await rowsOf(a)), signal)
  const updates: StandbyUpdate[] = []
  a.on('standbyUpdate', (one) => updates.push(one))
  const b = await started(cluster, 'b')
  await shared(a, b, signal)
  const kept = tasksOf(a, 'standby')
  await caughtUp(a, signal)
  await caughtUp(b, signal)
  // What was active here went on as a standby where it was.
  const starts = updates.filter(({ phase, taskId }) => phase === 'start' && kept.includes(taskId))
  expect(starts.map(({ taskId }) => taskId).sort()).toEqual(kept)
  for (const { offset, taskId } of starts) {
    const lags = a.allLocalStorePartitionLags().get('word-counts')
    expect(offset).toBe(lags?.get(Number(taskId.slice(2)))?.currentOffsetPosition)
  }
}, 60_000)

test('how far each copy is behind is known', async ({ signal }) => {
  await using cluster = await startedCluster()
  const [a, b] = await Promise.all([started(cluster, 'a'), started(cluster, 'b')])
  await cluster.write('lines', poem)
  await shared(a, b, signal)
  await caughtUp(b, signal)
  const lags = (): LagInfo[] => [
    ...(b.allLocalStorePartitionLags().get('word-counts')?.values() ?? []),
  ]
  // Active tasks write their changelogs when they commit: once for each word, or more often when a commit
  // comes between the lines.
  await until(async () => {
    const changelog = await cluster.read('word-count-word-counts-changelog')
    const words = new Set(changelog.map(({ key }) => String(key)))
    const ends = lags().reduce((sum, { endOffsetPosition = 0 }) => sum + endOffsetPosition, 0)
    return words.size === 10 && ends === changelog.length
  }, signal)
  await until(() => lags().every(({ offsetLag }) => offsetLag === 0), signal)
  expect(lags()).toHaveLength(4)
  const shown = b.metrics.registry.families().map(({ name }) => name)
  expect(shown).toContain('millpond_standby_lag_records')
}, 60_000)

test('a table that is its own changelog is followed as far as was committed, and promoted', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  await cluster.createTopic('prices', 2)
  const store = keyValueStore('prices', { key: serdes.string, value: serdes.string })
  const builder = new StreamsBuilder({ optimize: 'all' })
  builder.table(topic(cluster.name('prices'), { key: serdes.string, value: serdes.string }), {
    store,
  })
  const topology = builder.build()
  const network = new CutTransport()
  const a = cluster.streams(topology, 'a', withStandby, { ...systemPorts, transport: network })
  const b = cluster.streams(topology, 'b', withStandby)
  await Promise.all([a.start(), b.start()])
  const now = systemPorts.clock.now()
  for (const [key, partition] of [
    ['tea', 0],
    ['pot', 1],
    ['cup', 0],
  ] as const) {
    cluster.producer.send(
      cluster.name('prices'),
      partition,
      Buffer.from(key),
      Buffer.from(`the price of ${key}`),
      now,
      [],
    )
  }
  await cluster.producer.flush()
  const rows = async (streams: KafkaStreams): Promise<string[]> => {
    const keys: string[] = []
    for await (const [key] of streams.store(store).range({ maxLag: 0 })) keys.push(key)
    return keys
  }
  await until(() => tasksOf(b, 'standby').length === 1 && tasksOf(b, 'active').length === 1, signal)
  await until(async () => (await rows(b)).join() === 'cup,pot,tea', signal)
  const restoredBefore = b.metrics.recordsRestored.value
  network.cut()
  await until(() => tasksOf(b, 'active').length === 2 && b.state === 'running', signal)
  expect(b.metrics.recordsRestored.value).toBe(restoredBefore)
  expect(await rows(b)).toEqual(['cup', 'pot', 'tea'])
}, 60_000)

test('stores of all kinds are followed, and go on as they were', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  for (const name of ['clicks', 'views', 'prices', 'visited', 'joined'])
    await cluster.createTopic(name, 1)
  const times = new RecentTimes()
  const seconds = windowStore('seconds', {
    key: serdes.string,
    value: serdes.long,
    windowSize: 1000,
    retention: 60_000,
  })
  const visits = sessionStore('visits', {
    key: serdes.string,
    value: serdes.long,
    retention: 60_000,
  })
  const prices = versionedStore('prices', {
    key: serdes.string,
    value: serdes.string,
    historyRetention: 60_000,
  })
  const builder = new StreamsBuilder()
  const clicks = builder.stream(texts(cluster, 'clicks'))
  clicks
    .groupByKey()
    .windowedBy(timeWindows({ size: 1000, grace: 0 }))
    .count({ store: seconds })
  clicks
    .groupByKey()
    .windowedBy(sessionWindows({ gap: 1000, grace: 0 }))
    .count({ store: visits })
    .suppress({ until: 'window-closes', buffer: 'unbounded', name: 'final' })
    .toStream()
    .map((count, { key }) => [key, String(count)], { key: serdes.string, value: serdes.string })
    .to(texts(cluster, 'visited'))
  clicks
    .leftJoin(builder.stream(texts(cluster, 'views')), (click, view) => `${click}+${view}`, {
      windows: joinWindows({ difference: 100, grace: 0 }),
    })
    .to(texts(cluster, 'joined'))
  builder.table(texts(cluster, 'prices'), { store: prices })
  const topology = builder.build()
  const network = new CutTransport()
  const a = cluster.streams(topology, 'a', withStandby, { ...systemPorts, transport: network })
  await a.start()
  const b = cluster.streams(topology, 'b', withStandby)
  const zero = times.at(0) - (times.at(0) % 1000)
  await writeTexts(cluster, 'clicks', [
    ['ann', 'c1', zero],
    ['ann', 'c2', zero + 500],
    ['bob', 'c3', zero + 700],
  ])
  await writeTexts(cluster, 'views', [['bob', 'v1', zero + 750]])
  await writeTexts(cluster, 'prices', [
    ['tea', '4', zero],
    ['tea', '5', zero + 900],
  ])
  await until(() => a.metrics.recordsProcessed.value >= 6, signal)
  await b.start()
  // The other sub-topology moves to b.
  await until(() => tasksOf(b, 'standby').length + tasksOf(b, 'active').length === 2, signal)
  await until(async () => {
    const inputs = ['clicks', 'views', 'prices'].map((name) => cluster.name(name))
    const offsets = await fetchCommittedOffsets(
      cluster.client,
      cluster.name('word-count'),
      inputs.map((name) => ({ topic: name, partition: 0 })),
    )
    return [...offsets.values()].reduce((sum, { offset }) => sum + offset, 0) === 6
  }, signal)
  // A lag is that of the last answer of a broker: what was written since is not in it.
  await until(async () => {
    const lags = [...b.allLocalStorePartitionLags()]
    const arrived = await Promise.all(
      lags.map(async ([store, partitions]) => {
        const { length } = await cluster.read(`word-count-${store}-changelog`)
        return partitions.get(0)?.currentOffsetPosition === length
      }),
    )
    return arrived.length > 0 && arrived.every(Boolean)
  }, signal)

  const before = b.metrics.recordsRestored.value
  network.cut()
  expect(await b.store(seconds).fetch('ann', zero, { maxLag: 0 })).toBe(2)
  expect(await b.store(visits).fetchSession('ann', zero, zero + 500, { maxLag: 0 })).toBe(2)
  await until(() => tasksOf(b, 'active').length === 2 && b.state === 'running', signal)
  expect(b.metrics.recordsRestored.value).toBe(before)
  expect(await b.store(seconds).fetch('ann', zero)).toBe(2)
  expect(await b.store(prices).get('tea', { asOf: zero + 100 })).toMatchObject({ value: '4' })
  expect(await cluster.read('visited')).toEqual([])

  await writeTexts(cluster, 'clicks', [
    ['ann', 'c4', zero + 900],
    ['cid', 'c5', zero + 9000],
  ])
  await until(async () => (await readTexts(cluster, 'visited')).length >= 2, signal)
  expect(await readTexts(cluster, 'visited')).toEqual(['ann=3', 'bob=1'])
  // What found no partner, of the records that were joined before: its time is over.
  await until(async () => (await readTexts(cluster, 'joined')).length >= 3, signal)
  const joined = await readTexts(cluster, 'joined')
  expect(joined.filter((text) => !text.includes('c4'))).toEqual([
    'ann=c1+undefined',
    'ann=c2+undefined',
    'bob=c3+v1',
  ])
}, 60_000)
