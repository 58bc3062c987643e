import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import {
  StreamsBuilder,
  joinWindows,
  keyValueStore,
  serdes,
  versionedStore,
  type KafkaStreams,
  type RestoreProgress,
} from '../../src/index.ts'
import { RecentTimes, ofTwoStreams, readTexts, texts, writeTexts } from './joined-streams.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

async function clusterOf(partitions: Readonly<Record<string, number>>): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  for (const [name, count] of Object.entries(partitions)) await cluster.createTopic(name, count)
  return cluster
}

/** The error with which the instance stops by itself. */
async function failureOf(streams: KafkaStreams): Promise<unknown> {
  await streams.start().catch(() => undefined)
  return streams.closed.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** So many records were processed since the instance began. */
async function processed(
  streams: KafkaStreams,
  records: number,
  signal: AbortSignal,
): Promise<void> {
  await until(() => streams.metrics.recordsProcessed.value >= records, signal)
}

const pair = (left: string | undefined, right: string | undefined): string => `${left}+${right}`

test('topics with different numbers of partitions are not joined', async () => {
  await using cluster = await clusterOf({ left: 2, right: 3, out: 1 })
  const builder = ofTwoStreams(cluster, (left, right) => {
    const windows = joinWindows({ difference: 10, grace: 0 })
    left.join(right, pair, { windows }).to(texts(cluster, 'out'))
  })
  const error = await failureOf(cluster.streams(builder.build(), 'a'))
  const counts = `${cluster.name('left')}: 2, ${cluster.name('right')}: 3`

  expect(error).toMatchObject({
    code: 'TOPOLOGY_INVALID',
    message: `Invalid topology: topics that are read together must have equally many partitions (${counts}).`,
  })
})

test('a repartition topic gets as many partitions as the table that it is joined with', async ({
  signal,
}) => {
  await using cluster = await clusterOf({ left: 2, right: 3, out: 1 })
  const times = new RecentTimes()
  const builder = new StreamsBuilder()
  builder
    .stream(texts(cluster, 'left'))
    .selectKey((value) => value.slice(0, 1), { key: serdes.string })
    .join(builder.table(texts(cluster, 'right')), pair, { name: 'enrich' })
    .to(texts(cluster, 'out'))
  const streams = cluster.streams(builder.build(), 'a')
  await streams.start()
  const rows = ['a', 'b', 'c', 'd'].map((key) => [key, key.toUpperCase(), times.at(0)] as const)
  await writeTexts(cluster, 'right', rows)
  await processed(streams, 4, signal)
  await writeTexts(
    cluster,
    'left',
    rows.map(([key]) => ['x', `${key}!`, times.at(1)] as const),
  )
  await until(async () => (await readTexts(cluster, 'out')).length >= 4, signal)
  const admin = new Admin(cluster.client)
  const topics = await admin.listTopics()

  expect(topics.get(cluster.name('word-count-enrich-repartition'))?.partitions).toHaveLength(3)
  expect(await readTexts(cluster, 'out')).toEqual(['a=a!+A', 'b=b!+B', 'c=c!+C', 'd=d!+D'])
})

test('S4: an outer join gives what has met nothing, in each partition by its own time', async ({
  signal,
}) => {
  await using cluster = await clusterOf({ left: 4, right: 4, out: 4 })
  const times = new RecentTimes()
  const builder = ofTwoStreams(cluster, (left, right) => {
    const windows = joinWindows({ difference: 10_000, grace: 0 })
    left
      .outerJoin(right, (one, other) => `value1=${one},value2=${other}`, { windows })
      .to(texts(cluster, 'out'))
  })
  const streams = cluster.streams(builder.build(), 'a')
  await streams.start()
  const keys = ['Key-1', 'Key-2', 'Key-3', 'Key-4', 'Key-5', 'Key-6', 'Key-7', 'Key-8']
  await writeTexts(
    cluster,
    'left',
    keys.map((key) => [key, `left-${key}a`, times.at(0)] as const),
  )
  await processed(streams, 8, signal)
  await writeTexts(
    cluster,
    'left',
    keys.map((key) => [key, `left-${key}b`, times.at(20_000)] as const),
  )
  // Who holds records back looks for those that are due once a second, when a record comes.
  let later = 20_000
  await until(async () => {
    later += 1
    await writeTexts(
      cluster,
      'left',
      keys.map((key) => [key, 'later', times.at(later)] as const),
    )
    return (await readTexts(cluster, 'out')).length >= 8
  }, signal)

  expect(await readTexts(cluster, 'out')).toEqual(
    keys.map((key) => `${key}=value1=left-${key}a,value2=undefined`),
  )
})

test('S5: duplicates of a joined stream survive a restore', async ({ signal }) => {
  await using cluster = await clusterOf({ left: 1, right: 1, out: 1 })
  const times = new RecentTimes()
  const builder = ofTwoStreams(cluster, (left, right) => {
    const windows = joinWindows({ difference: 1000, grace: 0 })
    left.join(right, pair, { windows }).to(texts(cluster, 'out'))
  })
  const first = cluster.streams(builder.build(), 'a')
  await first.start()
  const five = Array.from({ length: 5 }, () => ['k', 'same', times.at(0)] as const)
  await writeTexts(cluster, 'left', five)
  await processed(first, 5, signal)
  await first.close()
  first.cleanUp()
  const second = cluster.streams(builder.build(), 'b')
  await second.start()
  await writeTexts(cluster, 'right', [['k', 'one', times.at(1)]])
  await until(async () => (await readTexts(cluster, 'out')).length >= 5, signal)
  await processed(second, 1, signal)
  await second.close()

  expect(await readTexts(cluster, 'out')).toEqual(Array(5).fill('k=same+one'))
})

test('what a left join holds back is given by the next instance, after a restore', async ({
  signal,
}) => {
  await using cluster = await clusterOf({ left: 1, right: 1, out: 1 })
  const times = new RecentTimes()
  const builder = ofTwoStreams(cluster, (left, right) => {
    const windows = joinWindows({ difference: 10, grace: 5 })
    left.leftJoin(right, pair, { windows }).to(texts(cluster, 'out'))
  })
  const first = cluster.streams(builder.build(), 'a')
  await first.start()
  await writeTexts(cluster, 'left', [
    ['k', 'alone', times.at(0)],
    ['k', 'alone', times.at(0)],
    ['j', 'met', times.at(0)],
  ])
  await writeTexts(cluster, 'right', [['j', 'other', times.at(1)]])
  await processed(first, 4, signal)
  await first.close()
  first.cleanUp()
  const second = cluster.streams(builder.build(), 'b')
  await second.start()
  await writeTexts(cluster, 'right', [['later', 'x', times.at(100)]])
  await until(async () => (await readTexts(cluster, 'out')).length >= 3, signal)
  await processed(second, 1, signal)
  await second.close()

  expect(await readTexts(cluster, 'out')).toEqual([
    'j=met+other',
    'k=alone+undefined',
    'k=alone+undefined',
  ])
})

test('records that wait for a table wait on in the next instance, after a restore', async ({
  signal,
}) => {
  await using cluster = await clusterOf({ left: 1, right: 1, out: 1 })
  const times = new RecentTimes()
  const topology = (): ReturnType<StreamsBuilder['build']> => {
    const builder = new StreamsBuilder()
    const prices = versionedStore('prices', {
      key: serdes.string,
      value: serdes.string,
      historyRetention: 60_000,
    })
    const table = builder.table(texts(cluster, 'right'), { store: prices })
    builder
      .stream(texts(cluster, 'left'))
      .leftJoin(table, pair, { grace: 50 })
      .to(texts(cluster, 'out'))
    return builder.build()
  }
  const first = cluster.streams(topology(), 'a')
  await first.start()
  await writeTexts(cluster, 'left', [
    ['k', 'one', times.at(10)],
    ['k', 'two', times.at(10)],
  ])
  await processed(first, 2, signal)
  await first.close()
  first.cleanUp()
  const second = cluster.streams(topology(), 'b')
  await second.start()
  await writeTexts(cluster, 'right', [['k', 'late', times.at(9)]])
  await processed(second, 1, signal)
  expect(await readTexts(cluster, 'out')).toEqual([])
  await writeTexts(cluster, 'left', [['end', 'end', times.at(100)]])
  await until(async () => (await readTexts(cluster, 'out')).length >= 2, signal)

  expect(await readTexts(cluster, 'out')).toEqual(['k=one+late', 'k=two+late'])
})

test('a table whose topic is its changelog is restored as far as the group has come', async ({
  signal,
}) => {
  await using cluster = await clusterOf({ right: 2, out: 2 })
  const times = new RecentTimes()
  const rows = keyValueStore('rows', { key: serdes.string, value: serdes.string })
  const builder = new StreamsBuilder({ optimize: 'all' })
  builder
    .table(texts(cluster, 'right'), { store: rows })
    .toStream()
    .mapValues((value) => value ?? '', { value: serdes.string })
    .to(texts(cluster, 'out'))
  const first = cluster.streams(builder.build(), 'a')
  await first.start()
  await writeTexts(cluster, 'right', [
    ['a', '1', times.at(0)],
    ['b', '2', times.at(0)],
    ['a', '3', times.at(1)],
  ])
  await processed(first, 3, signal)
  await first.close()
  first.cleanUp()
  await writeTexts(cluster, 'right', [['c', '4', times.at(2)]])
  const restored: RestoreProgress[] = []
  const second = cluster.streams(builder.build(), 'b').on('restore', (one) => restored.push(one))
  await second.start()
  await processed(second, 1, signal)
  const found = new Map<string, string>()
  for await (const [key, value] of second.store(rows).range()) found.set(key, value)
  const topics = cluster.own((await new Admin(cluster.client).listTopics()).keys())

  expect(topics).toEqual(['out', 'right'])
  expect([...found].sort(([left], [right]) => left.localeCompare(right))).toEqual([
    ['a', '3'],
    ['b', '2'],
    ['c', '4'],
  ])
  const ends = restored.filter(({ phase }) => phase === 'end')
  // What came behind it was processed, not restored: it reached the output.
  expect(ends.reduce((sum, one) => sum + one.restored, 0)).toBe(3)
  await second.close()
  expect((await readTexts(cluster, 'out')).filter((text) => text.startsWith('c'))).toEqual(['c=4'])
})

test('a table whose topic is its changelog goes on from its own files', async ({ signal }) => {
  await using cluster = await clusterOf({ right: 1 })
  const times = new RecentTimes()
  const rows = keyValueStore('rows', { key: serdes.string, value: serdes.string })
  const builder = new StreamsBuilder({ optimize: ['reuse-ktable-source-topics'] })
  builder.table(texts(cluster, 'right'), { store: rows })
  const first = cluster.streams(builder.build(), 'a')
  await first.start()
  await writeTexts(cluster, 'right', [
    ['a', '1', times.at(0)],
    ['b', '2', times.at(0)],
  ])
  await processed(first, 2, signal)
  await first.close()
  const restored: RestoreProgress[] = []
  const second = cluster.streams(builder.build(), 'a').on('restore', (one) => restored.push(one))
  await second.start()

  expect(await second.store(rows).get('b')).toBe('2')
  expect(restored.filter(({ phase }) => phase === 'batch')).toEqual([])
})
