import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { systemPorts } from '../../src/config.ts'
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type RestoreProgress,
} from '../../src/index.ts'
import { CutTransport } from './cut-transport.ts'
import { devBrokerOnly } from './test-cluster.ts'
import { until } from './until.ts'
import { counts, held, isEqual, poem, startedCluster, taskIds, wordCount } from './word-count.ts'

test('after a crash the other instance restores from the changelog, and no count is lost', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const network = new CutTransport()
  const alone = { standbyReplicas: 0 }
  const a = cluster.streams(wordCount(cluster), 'a', alone, { ...systemPorts, transport: network })
  await a.start()
  await cluster.write('lines', poem)
  await until(async () => isEqual(counts, await held(a)), signal)
  // Wait for the commit: what is counted and not committed is counted again by the next owner.
  await until(
    async () => (await cluster.read('word-count-word-counts-changelog')).length >= 10,
    signal,
  )
  await until(
    () => cluster.hasCommitted('word-count', 'lines', 'word-count-word-counts-repartition'),
    signal,
  )
  network.cut()

  const restored: RestoreProgress[] = []
  const b = cluster
    .streams(wordCount(cluster), 'b', alone)
    .on('restore', (one) => restored.push(one))
  await b.start()
  await until(() => taskIds(b).length === 8 && b.state === 'running', signal)
  await until(async () => isEqual(counts, await held(b)), signal)
  const ends = restored.filter(({ phase }) => phase === 'end')
  expect(ends.map(({ taskId }) => taskId).sort()).toEqual(['1_0', '1_1', '1_2', '1_3'])
  expect(ends.reduce((sum, one) => sum + one.restored, 0)).toBeGreaterThanOrEqual(10)
  await cluster.write('lines', ['to be'])
  await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await held(b)), signal)
}, 60_000)

test('a restart after a clean stop replays nothing and counts nothing twice', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const first = cluster.streams(wordCount(cluster), 'a', { commitInterval: 60_000 })
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close()

  const restored: RestoreProgress[] = []
  const second = cluster.streams(wordCount(cluster), 'a').on('restore', (one) => restored.push(one))
  await second.start()
  expect(restored.filter(({ phase }) => phase === 'batch')).toEqual([])
  expect(await held(second)).toEqual(counts)
  expect(second.metrics.recordsProcessed.value).toBe(0)
  await cluster.write('lines', ['to be'])
  await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await held(second)), signal)
})

test('a restart after a crash on the same directory loses nothing', async ({ signal }) => {
  await using cluster = await startedCluster()
  const network = new CutTransport()
  const first = cluster.streams(wordCount(cluster), 'a', {}, { ...systemPorts, transport: network })
  await first.start()
  await cluster.write('lines', poem)
  await until(async () => isEqual(counts, await held(first)), signal)
  await until(() => first.metrics.commits.value > 0, signal)
  network.cut()
  // A process that was killed leaves its lock to the next one: here it must be given back.
  await first.close({ timeout: 0 })
  await cluster.write('lines', ['to be'])

  const second = cluster.streams(wordCount(cluster), 'a')
  await second.start()
  const atLeast = { ...counts, to: 5, be: 3 }
  await until(async () => {
    const rows = await held(second)
    return Object.entries(atLeast).every(([word, count]) => (rows[word] ?? 0) >= count)
  }, signal)
  expect(Object.keys(await held(second)).sort()).toEqual(Object.keys(atLeast).sort())
}, 30_000)

test('without a directory the state comes back from the changelog', async ({ signal }) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const first = cluster.streams(wordCount(cluster), 'a')
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close()
  first.cleanUp()

  const restored: RestoreProgress[] = []
  const second = cluster.streams(wordCount(cluster), 'a').on('restore', (one) => restored.push(one))
  await second.start()
  expect(await held(second)).toEqual(counts)
  expect(second.metrics.recordsRestored.value).toBe(10)
  for (const { phase, offset, endOffset } of restored)
    expect(phase === 'end' ? offset : -1).toBe(phase === 'end' ? endOffset : -1)
})

test('state that is ahead of a changelog that was made anew is wiped', async ({ signal }) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const first = cluster.streams(wordCount(cluster), 'a')
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close()
  const admin = new Admin(cluster.client)
  await admin.deleteTopics([cluster.name('word-count-word-counts-changelog')])
  const second = cluster.streams(wordCount(cluster), 'a')
  await second.start()
  expect(await held(second)).toEqual({})
  await cluster.write('lines', ['to be'])
  await until(async () => isEqual({ to: 1, be: 1 }, await held(second)), signal)
})

test(
  'a changelog of which most was compacted away is restored to its end',
  devBrokerOnly,
  async ({ signal }) => {
    await using cluster = await startedCluster(1)
    const config = { topicConfigs: { 'segment.bytes': '1024', 'min.cleanable.dirty.ratio': '0' } }
    const first = cluster.streams(wordCount(cluster), 'a', {
      ...config,
      commitInterval: 0,
      cacheBytes: 0,
    })
    await first.start()
    for (let round = 0; round < 50; round += 1)
      await cluster.write('lines', ['to be', 'or not to be'])
    const all = { to: 100, be: 100, or: 50, not: 50 }
    await until(async () => isEqual(all, await held(first)), signal)
    await first.close()
    first.cleanUp()
    await cluster.cleanLogs()
    const kept = await cluster.read('word-count-word-counts-changelog')
    expect(kept.length).toBeLessThan(300)
    expect(kept.at(-1)?.offset).toBe(299)

    const ends: RestoreProgress[] = []
    const second = cluster.streams(wordCount(cluster), 'a', config).on('restore', (one) => {
      if (one.phase === 'end') ends.push(one)
    })
    await second.start()
    expect(await held(second)).toEqual(all)
    expect(ends).toMatchObject([{ offset: 300, endOffset: 300, restored: kept.length }])
  },
)

test('a store without a changelog is ready at once, and starts empty', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', poem)
  const unlogged = keyValueStore('word-counts', {
    key: serdes.string,
    value: serdes.long,
    changelog: false,
    persistent: false,
  })
  const first = cluster.streams(wordCount(cluster, unlogged), 'a')
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close()
  const second = cluster.streams(wordCount(cluster, unlogged), 'a')
  await second.start()
  expect(await held(second)).toEqual({})
  await cluster.write('lines', ['to be'])
  await until(async () => isEqual({ to: 1, be: 1 }, await held(second)), signal)
})

test('a store without a changelog keeps its rows when a new program has it with timestamps', async ({
  signal,
}) => {
  await using cluster = await startedCluster(2)
  const lines = topic(cluster.name('lines'), { key: serdes.string, value: serdes.string })
  const store = keyValueStore('latest', {
    key: serdes.string,
    value: serdes.string,
    changelog: false,
  })
  const plain = new StreamsBuilder()
  plain.stream(lines).process<string, string, { latest: typeof store }>(
    ({ stores }) =>
      ({ key, value }) =>
        stores.latest.put(key, value),
    { stores: { latest: store } },
  )
  const stamped = new StreamsBuilder()
  stamped.stream(lines).toTable({ store })
  const rows = async (streams: KafkaStreams): Promise<Record<string, string>> => {
    const found: Record<string, string> = {}
    for await (const [key, value] of streams.store(store).range()) found[key] = value
    return found
  }
  // Each is a slice of its own.
  const large = (key: string): string => key.repeat(70_000)
  const expected: Record<string, string> = {}
  const write = async (partition: number, key: string, value: string): Promise<void> => {
    expected[key] = value
    const now = systemPorts.clock.now()
    const bytes = Buffer.from(value)
    cluster.producer.send(cluster.name('lines'), partition, Buffer.from(key), bytes, now, [])
    await cluster.producer.flush()
  }
  await cluster.client.topicMetadata([cluster.name('lines')])
  for (const key of ['a', 'b', 'c', 'd']) await write(key < 'c' ? 0 : 1, key, large(key))
  const first = cluster.streams(plain.build(), 'a')
  await first.start()
  await until(async () => Object.keys(await rows(first)).length === 4, signal)
  await first.close()

  const second = cluster.streams(stamped.build(), 'a')
  await second.start()
  expect(await rows(second)).toEqual(expected)
  await write(0, 'a', 'new')
  await until(async () => (await rows(second))['a'] === 'new', signal)
  expect(await rows(second)).toEqual(expected)
})

test('a store in memory is restored from its changelog', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', poem)
  const inMemory = keyValueStore('word-counts', {
    key: serdes.string,
    value: serdes.long,
    persistent: false,
  })
  const first = cluster.streams(wordCount(cluster, inMemory), 'a')
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close()
  const second = cluster.streams(wordCount(cluster, inMemory), 'a')
  await second.start()
  expect(await held(second)).toEqual(counts)
  expect(second.metrics.recordsRestored.value).toBe(10)
})

test('while one task restores, the others process and answer', async ({ signal }) => {
  await using cluster = await startedCluster(2)
  await cluster.write('lines', poem)
  const streams = cluster.streams(wordCount(cluster), 'a')
  const whileRestoring: string[] = []
  streams.on('restore', ({ phase, taskId }) => {
    whileRestoring.push(`${taskId} ${phase}`)
  })
  await streams.start()
  await until(async () => isEqual(counts, await held(streams)), signal)
  // Empty changelogs: each restore starts and ends without a batch.
  expect(whileRestoring.sort()).toEqual(['1_0 end', '1_0 start', '1_1 end', '1_1 start'])
  expect(streams.localTasks().map(({ restoring }) => restoring)).toEqual([[], [], [], []])
})
