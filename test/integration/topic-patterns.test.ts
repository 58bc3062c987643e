/** Sources that read all topics whose names match a pattern. */
import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'
import { isEqual, taskIds } from './word-count.ts'

const counts = keyValueStore('order-counts', { key: serdes.string, value: serdes.long })

/** Counts the values of all topics `orders-…`, behind a topic of its own that is named by hand. */
function orderCounts(cluster: TestCluster): Topology {
  const builder = new StreamsBuilder()
  const matching = builder.stream(new RegExp(`${cluster.name('orders-')}.+`), {
    value: serdes.string,
  })
  const named = builder.stream(topic(cluster.name('returns'), { value: serdes.string }))
  matching
    .merge(named)
    .groupBy((order) => order, { key: serdes.string, value: serdes.string, name: 'by-order' })
    .count({ store: counts })
  return builder.build()
}

/** While nobody can tell. */
const nothing: Record<string, number> = {}

/** Notices topics quickly. */
const quick = { metadataMaxAge: 200, commitInterval: 100 }

async function held(streams: KafkaStreams): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for await (const [order, count] of streams.store(counts).range()) rows[order] = count
  return rows
}

/** The topics that the tasks of an instance read. */
function inputs(cluster: TestCluster, streams: KafkaStreams): string[] {
  const prefix = cluster.name('word-count-')
  const topics = streams.localTasks().flatMap((task) => task.inputs.map((input) => input.topic))
  return topics
    .map((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : cluster.own([name])[0]))
    .map((name) => name ?? '')
    .sort()
}

test('topics that match are read, also those that are made and deleted later', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('orders-eu', 1)
  await cluster.createTopic('other', 1)
  await cluster.createTopic('returns', 1)
  await cluster.write('orders-eu', ['tea', 'milk'])
  await cluster.write('other', ['nobody'])
  await cluster.write('returns', ['milk'])
  const streams = cluster.streams(orderCounts(cluster), 'a', quick)
  await streams.start()
  await until(async () => (await held(streams))['milk'] === 2, signal)
  expect(await held(streams)).toEqual({ tea: 1, milk: 2 })

  await cluster.createTopic('orders-us', 1)
  await cluster.write('orders-us', ['tea', 'coffee'])
  await until(async () => (await held(streams))['coffee'] === 1, signal)
  expect(await held(streams)).toEqual({ tea: 2, milk: 2, coffee: 1 })
  expect(inputs(cluster, streams)).toEqual([
    'by-order-repartition',
    'orders-eu',
    'orders-us',
    'returns',
  ])

  await new Admin(cluster.client).deleteTopics([cluster.name('orders-us')])
  await until(() => !inputs(cluster, streams).includes('orders-us'), signal)
  await cluster.write('orders-eu', ['water'])
  await until(async () => (await held(streams))['water'] === 1, signal)
  expect(streams.state).toBe('running')
})

test('two instances agree on the topics, and go on where the other was', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('returns', 2)
  const first = cluster.streams(orderCounts(cluster), 'a', quick)
  await first.start()
  const second = cluster.streams(orderCounts(cluster), 'b', quick)
  await second.start()
  await cluster.createTopic('orders-eu', 2)
  await cluster.write('orders-eu', ['tea', 'milk', 'tea', 'milk'])
  const all = async (): Promise<Record<string, number>> => ({
    ...(await held(first)),
    ...(await held(second)),
  })
  const areCounted = async (each: number): Promise<boolean> => {
    const { tea, milk } = await all().catch(() => nothing)
    return tea === each && milk === each
  }
  await until(() => areCounted(2), signal)
  await second.close()
  await cluster.write('orders-eu', ['tea', 'milk'])
  const isLast = async (): Promise<boolean> =>
    isEqual({ tea: 3, milk: 3 }, await held(first).catch(() => nothing))
  await until(isLast, signal)
  expect(taskIds(first)).toEqual(['0_0', '0_1', '1_0', '1_1'])
})

test('a pattern that nothing matches has no tasks, and waits', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  const builder = new StreamsBuilder()
  builder
    .stream(new RegExp(`${cluster.name('orders-')}.+`), { value: serdes.string })
    .groupBy((order) => order, { key: serdes.string, value: serdes.string })
    .count({ store: counts })
  const streams = cluster.streams(builder.build(), 'a', quick)
  await streams.start()
  expect(taskIds(streams)).toEqual([])

  await cluster.createTopic('orders-eu', 1)
  await cluster.write('orders-eu', ['tea'])
  await until(async () => (await held(streams).catch(() => nothing))['tea'] === 1, signal)
  expect(taskIds(streams)).toEqual(['0_0', '1_0'])
})

test('two patterns that match one topic stop the instance', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('orders-eu', 1)
  const builder = new StreamsBuilder()
  for (const pattern of ['.+-eu', 'orders-.+']) {
    const whole = new RegExp(`${cluster.name('')}${pattern}`)
    builder.stream(whole, { value: serdes.string }).forEach(() => undefined)
  }
  const streams = cluster.streams(builder.build(), 'a', quick)

  await expect(streams.start({ signal })).rejects.toMatchObject({
    code: 'TOPOLOGY_INVALID',
    message: expect.stringContaining('matches the patterns of two sources') as string,
  })
})

test('a topic with more partitions than the others brings more tasks', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('orders-eu', 1)
  const seen: string[] = []
  const builder = new StreamsBuilder()
  builder
    .stream(new RegExp(`${cluster.name('orders-')}.+`), { value: serdes.string })
    .forEach((order) => seen.push(order))
  const streams = cluster.streams(builder.build(), 'a', quick)
  await streams.start()
  expect(taskIds(streams)).toEqual(['0_0'])

  await cluster.createTopic('orders-us', 3)
  await cluster.write('orders-us', ['a', 'b', 'c'])
  await until(() => seen.length === 3, signal)
  expect(taskIds(streams)).toEqual(['0_0', '0_1', '0_2'])
})
