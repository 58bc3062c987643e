import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import {
  StreamsBuilder,
  keyValueStore,
  nullable,
  serdes,
  topic,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

const joined = keyValueStore('joined', { key: serdes.string, value: serdes.string })
const text = nullable(serdes.string)
const orderPartitions = 4
const customerPartitions = 3

/** Orders are texts `<customer> <what>`; a customer is a name. */
function ordersWithNames(cluster: TestCluster, kind: 'inner' | 'left'): Topology {
  const builder = new StreamsBuilder()
  const orders = builder.table(topic(cluster.name('orders'), { key: serdes.string, value: text }))
  const customers = builder.table(
    topic(cluster.name('customers'), { key: serdes.string, value: text }),
  )
  const options = {
    foreignKey: (order: string) => order.split(' ')[0] ?? null,
    name: 'naming',
    store: joined,
  }
  if (kind === 'inner') orders.join(customers, (order, name) => `${order} for ${name}`, options)
  else orders.leftJoin(customers, (order, name) => `${order} for ${name ?? 'nobody'}`, options)
  return builder.build()
}

async function startedCluster(): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('orders', orderPartitions)
  await cluster.createTopic('customers', customerPartitions)
  return cluster
}

/** Writes rows; those of orders to partitions that Kafka's partitioner would not choose. */
async function write(
  cluster: TestCluster,
  short: 'orders' | 'customers',
  rows: Readonly<Record<string, string | null>>,
): Promise<void> {
  const name = cluster.name(short)
  const now = Date.now()
  for (const [key, value] of Object.entries(rows)) {
    const bytes = value === null ? null : Buffer.from(value)
    const partition =
      short === 'orders' ? Number(key.slice('order-'.length)) % orderPartitions : partitionOf(key)
    cluster.producer.send(name, partition, Buffer.from(key), bytes, now, [])
  }
  await cluster.producer.flush()
}

/** Kafka's partition of these keys, of three. */
function partitionOf(customer: string): number {
  return ['alice', 'dave', 'carol'].indexOf(customer)
}

async function rowsOf(...instances: KafkaStreams[]): Promise<Record<string, string>> {
  const rows: Record<string, string> = {}
  for (const streams of instances) {
    for await (const [order, row] of streams.store(joined).range()) rows[order] = row
  }
  return rows
}

/** The rows as soon as they are as expected; else as they are when the test has no more time. */
async function rowsUntil(
  expected: Readonly<Record<string, string>>,
  signal: AbortSignal,
  ...instances: KafkaStreams[]
): Promise<Record<string, string>> {
  let rows: Record<string, string> = {}
  await until(async () => {
    rows = await rowsOf(...instances)
    return JSON.stringify(sorted(rows)) === JSON.stringify(sorted(expected))
  }, signal).catch(() => undefined)
  return rows
}

/** Waits for a commit that has flushed these joined rows, and with them what they were made of. */
async function untilCommitted(
  cluster: TestCluster,
  orders: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  await until(async () => {
    const flushed = await cluster.read('word-count-joined-changelog')
    const keys = new Set(flushed.map(({ key }) => String(key)))
    return orders.every((order) => keys.has(order))
  }, signal)
}

function sorted(rows: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(rows).sort(([left], [right]) => (left < right ? -1 : 1))
}

test('rows are joined with what they refer to, wherever both are', async ({ signal }) => {
  await using cluster = await startedCluster()
  await write(cluster, 'customers', { alice: 'Alice', carol: 'Carol' })
  await write(cluster, 'orders', {
    'order-0': 'alice pen',
    'order-1': 'alice ink',
    'order-4': 'carol pad',
    'order-7': 'dave cup',
    'order-11': 'carol mug',
  })
  const streams = cluster.streams(ordersWithNames(cluster, 'inner'), 'a')
  await streams.start()
  const first = {
    'order-0': 'alice pen for Alice',
    'order-1': 'alice ink for Alice',
    'order-4': 'carol pad for Carol',
    'order-11': 'carol mug for Carol',
  }
  expect(await rowsUntil(first, signal, streams)).toEqual(first)
  // A customer that came and went between two commits would leave nothing to tell.
  await untilCommitted(cluster, Object.keys(first), signal)

  await write(cluster, 'customers', { alice: 'A.', dave: 'Dave', carol: null })
  await write(cluster, 'orders', { 'order-1': 'dave ink', 'order-2': 'alice mat' })
  const second = {
    'order-0': 'alice pen for A.',
    'order-1': 'dave ink for Dave',
    'order-2': 'alice mat for A.',
    'order-7': 'dave cup for Dave',
  }
  expect(await rowsUntil(second, signal, streams)).toEqual(second)

  await write(cluster, 'orders', { 'order-0': null, 'order-7': 'nobody cup' })
  const { 'order-1': ink, 'order-2': mat } = second
  expect(await rowsUntil({ 'order-1': ink, 'order-2': mat }, signal, streams)).toEqual({
    'order-1': ink,
    'order-2': mat,
  })
})

test('the result lies where the rows lie, also against the partitioner', async ({ signal }) => {
  await using cluster = await startedCluster()
  await write(cluster, 'customers', { alice: 'Alice' })
  const orders = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`order-${index}`, 'alice pen']),
  )
  await write(cluster, 'orders', orders)
  const streams = cluster.streams(ordersWithNames(cluster, 'left'), 'a')
  await streams.start()
  const expected = Object.fromEntries(
    Object.keys(orders).map((order) => [order, 'alice pen for Alice']),
  )
  expect(await rowsUntil(expected, signal, streams)).toEqual(expected)
  await streams.close()

  const last = new Map<string, number>()
  for (const { key, partition } of await cluster.read('word-count-joined-changelog')) {
    last.set(String(key), partition)
  }
  const partitions = Object.keys(orders).map((order) => last.get(order))
  expect(partitions).toEqual([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3])
})

test('internal topics have as many partitions as what they travel to', async () => {
  await using cluster = await startedCluster()
  await cluster.streams(ordersWithNames(cluster, 'inner'), 'a').start()
  const names = {
    'naming-subscription-registration-topic': customerPartitions,
    'naming-subscription-store-changelog': customerPartitions,
    'naming-subscription-response-topic': orderPartitions,
    'joined-changelog': orderPartitions,
  }
  const full = Object.keys(names).map((name) => cluster.name(`word-count-${name}`))
  const topics = await new Admin(cluster.client).describeTopics(full)
  expect(full.map((name) => topics.get(name)?.partitions.length)).toEqual(Object.values(names))
})

test('an instance without state remembers who refers to whom', async ({ signal }) => {
  await using cluster = await startedCluster()
  await write(cluster, 'customers', { alice: 'Alice' })
  await write(cluster, 'orders', { 'order-1': 'alice pen', 'order-2': 'dave pad' })
  const before = cluster.streams(ordersWithNames(cluster, 'left'), 'a')
  await before.start()
  const first = { 'order-1': 'alice pen for Alice', 'order-2': 'dave pad for nobody' }
  expect(await rowsUntil(first, signal, before)).toEqual(first)
  await before.close()

  const after = cluster.streams(ordersWithNames(cluster, 'left'), 'elsewhere')
  await after.start()
  await write(cluster, 'customers', { alice: null, dave: 'Dave' })
  const second = { 'order-1': 'alice pen for nobody', 'order-2': 'dave pad for Dave' }
  expect(await rowsUntil(second, signal, after)).toEqual(second)
})

test('two instances join across each other', async ({ signal }) => {
  await using cluster = await startedCluster()
  const topology = ordersWithNames(cluster, 'inner')
  const a = cluster.streams(topology, 'a')
  const b = cluster.streams(topology, 'b')
  await Promise.all([a.start(), b.start()])
  const customers = { alice: 'Alice', dave: 'Dave', carol: 'Carol' }
  const names = Object.keys(customers)
  const orders = Array.from({ length: 24 }, (_, index) => {
    const customer = names[index % names.length]
    return [`order-${index}`, `${customer} pen`] as const
  })
  await write(cluster, 'orders', Object.fromEntries(orders))
  await write(cluster, 'customers', customers)
  const expected = Object.fromEntries(
    orders.map(([order, value]) => {
      const customer = value.slice(0, -' pen'.length) as keyof typeof customers
      return [order, `${value} for ${customers[customer]}`]
    }),
  )
  expect(await rowsUntil(expected, signal, a, b)).toEqual(expected)
  expect(a.localTasks().length).toBeGreaterThan(0)
  expect(b.localTasks().length).toBeGreaterThan(0)
})
