import { describe, expect, test } from 'vitest'
import { Producer } from '../../src/client/producer.ts'
import { TransactionManager } from '../../src/client/transaction-manager.ts'
import { systemPorts, type StreamsConfig } from '../../src/config.ts'
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import { CutTransport } from './cut-transport.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

const strings = { key: serdes.string, value: serdes.string }
const exactlyOnce = { processingGuarantee: 'exactly-once' } satisfies Partial<StreamsConfig>

const stores = {
  'on disk': keyValueStore('counts', { key: serdes.string, value: serdes.long }),
  'in memory': keyValueStore('counts', {
    key: serdes.string,
    value: serdes.long,
    persistent: false,
  }),
}

/** Counts `words` by their key, behind a step that may fail, and tells each count in `told`. */
function tellingCounts(
  cluster: TestCluster,
  options: { store?: (typeof stores)['on disk']; step?: (word: string) => string } = {},
): Topology {
  const { store = stores['on disk'], step = (word) => word } = options
  const builder = new StreamsBuilder()
  const words = builder.stream(topic(cluster.name('words'), strings))
  words
    .groupByKey()
    .count({ store })
    .toStream()
    .mapValues((count) => `${count}`)
    .to(topic(cluster.name('told'), strings))
  // After the count: what fails here is in the store already.
  words.mapValues((word) => step(word)).to(topic(cluster.name('copies'), strings))
  return builder.build()
}

async function started(): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  for (const short of ['words', 'told', 'copies', 'letters']) await cluster.createTopic(short, 2)
  return cluster
}

/** Each word with a key of its own choice: the first letter. */
async function write(cluster: TestCluster, words: readonly string[]): Promise<void> {
  const { producer } = cluster
  for (const word of words) {
    const key = Buffer.from(word.slice(0, 1))
    const partition = producer.partitionFor(key, cluster.name('words'))
    const now = cluster.client.clock.now()
    producer.send(cluster.name('words'), partition, key, Buffer.from(word), now, [])
  }
  await producer.flush()
}

/** What was committed to a topic: values by key, in order. */
async function committed(cluster: TestCluster, short: string): Promise<Record<string, string[]>> {
  const values: Record<string, string[]> = {}
  for (const { key, value } of await cluster.read(short, 'read_committed')) {
    const list = (values[String(key)] ??= [])
    list.push(String(value))
  }
  return values
}

/** Kafka ends a transaction partition by partition: one that is seen in a topic may not be in others yet. */
async function committedCount(cluster: TestCluster, short: string): Promise<number> {
  return (await cluster.read(short, 'read_committed')).length
}

async function countsOf(streams: KafkaStreams): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for await (const [key, count] of streams.store(stores['on disk']).range()) rows[key] = count
  return rows
}

describe.each(['on disk', 'in memory'] as const)('with a store %s', (kind) => {
  const store = stores[kind]

  test('what a failed worker did leaves no trace, and is done once', async ({ signal }) => {
    await using cluster = await started()
    let failures = 0
    const step = (word: string): string => {
      if (word !== 'a-poison' || failures === 2) return word
      failures += 1
      throw new Error('poison')
    }
    const streams = cluster.streams(tellingCounts(cluster, { store, step }), 'a', {
      ...exactlyOnce,
      cacheBytes: 0,
      // Only what the program asks for, or a close: so that the failure meets much that is not committed.
      commitInterval: 2000,
      onUncaughtError: 'replace-worker',
    })
    await streams.start()
    await write(cluster, ['a1', 'b1', 'a2', 'b2', 'a3', 'a-poison', 'a4', 'b3'])
    await until(async () => (await committedCount(cluster, 'copies')) === 8, signal)
    await until(async () => (await committedCount(cluster, 'told')) === 8, signal)
    expect(failures).toBe(2)
    expect(await committed(cluster, 'told')).toEqual({
      a: ['1', '2', '3', '4', '5'],
      b: ['1', '2', '3'],
    })
    expect(await committed(cluster, 'copies')).toEqual({
      a: ['a1', 'a2', 'a3', 'a-poison', 'a4'],
      b: ['b1', 'b2', 'b3'],
    })
    await until(async () => (await countsOf(streams))['a'] === 5, signal)
  })

  test('an instance that was cut off can commit nothing, and goes on later', async ({ signal }) => {
    await using cluster = await started()
    const network = new CutTransport()
    const config = { ...exactlyOnce, cacheBytes: 0 }
    const ports = { ...systemPorts, transport: network }
    const cut = cluster.streams(tellingCounts(cluster, { store }), 'a', config, ports)
    await cut.start()
    await write(cluster, ['a1', 'b1', 'c1', 'd1'])
    await until(async () => (await committed(cluster, 'copies'))['d']?.length === 1, signal)
    await write(cluster, ['a2', 'b2', 'c2', 'd2'])
    network.cut()
    await write(cluster, ['a3', 'b3', 'c3', 'd3'])
    const other = cluster.streams(tellingCounts(cluster, { store }), 'b', config)
    await other.start()
    await until(async () => (await committed(cluster, 'copies'))['d']?.length === 3, signal)
    network.heal()
    await until(() => cut.state === 'running' && cut.localTasks().length > 0, signal)
    await write(cluster, ['a4', 'b4', 'c4', 'd4'])
    await until(async () => (await committed(cluster, 'copies'))['d']?.length === 4, signal)
    const four = ['1', '2', '3', '4']
    await until(
      async () => Object.values(await committed(cluster, 'told')).every((all) => all.length === 4),
      signal,
    )
    expect(await committed(cluster, 'told')).toEqual({ a: four, b: four, c: four, d: four })
    // Either may have all of the tasks by now, and the other one nothing to ask; or tasks still move.
    await until(async () => {
      const held = await Promise.all([cut, other].map((one) => countsOf(one).catch(() => ({}))))
      const rows = Object.assign({}, ...held) as Record<string, number>
      return ['a', 'b', 'c', 'd'].every((word) => rows[word] === 4)
    }, signal)
  })
})

test('what a dead instance has left open is ended by who takes over, not by its timeout', async ({
  signal,
}) => {
  await using cluster = await started()
  const network = new CutTransport()
  // Nothing is committed, and nothing times out, before the test is over.
  const config = {
    ...exactlyOnce,
    cacheBytes: 0,
    commitInterval: 300_000,
    transactionTimeout: 600_000,
  }
  const ports = { ...systemPorts, transport: network }
  const dead = cluster.streams(tellingCounts(cluster), 'a', config, ports)
  await dead.start()
  await write(cluster, ['a1', 'b1', 'c1', 'd1'])
  await until(async () => (await cluster.read('copies')).length === 4, signal)
  network.cut()
  const next = cluster.streams(tellingCounts(cluster), 'b', {
    ...config,
    commitInterval: 100,
  })
  await next.start()
  await until(async () => (await committedCount(cluster, 'told')) === 4, signal)
  expect(await committed(cluster, 'told')).toEqual({ a: ['1'], b: ['1'], c: ['1'], d: ['1'] })
  expect(await countsOf(next)).toEqual({ a: 1, b: 1, c: 1, d: 1 })
})

test('instances come and go, and each word counts once', async ({ signal }) => {
  await using cluster = await started()
  const config = { ...exactlyOnce, cacheBytes: 0 }
  const first = cluster.streams(tellingCounts(cluster), 'a', config)
  await first.start()
  await write(cluster, ['a1', 'b1'])
  const second = cluster.streams(tellingCounts(cluster), 'b', config)
  await second.start()
  await until(() => second.localTasks().length > 0, signal)
  await write(cluster, ['a2', 'b2'])
  await first.close()
  await write(cluster, ['a3', 'b3'])
  await until(async () => (await committedCount(cluster, 'told')) === 6, signal)
  expect(await committed(cluster, 'told')).toEqual({ a: ['1', '2', '3'], b: ['1', '2', '3'] })
})

test('the guarantee can be changed with a restart, both ways, with the same state', async ({
  signal,
}) => {
  await using cluster = await started()
  for (const [round, processingGuarantee] of (
    ['exactly-once', 'at-least-once', 'exactly-once'] as const
  ).entries()) {
    const streams = cluster.streams(tellingCounts(cluster), 'a', {
      processingGuarantee,
      commitInterval: 50,
    })
    await streams.start()
    await write(cluster, [`a${round}`, `b${round}`])
    await until(async () => (await countsOf(streams))['a'] === round + 1, signal)
    await until(async () => (await countsOf(streams))['b'] === round + 1, signal)
    expect(await countsOf(streams)).toEqual({ a: round + 1, b: round + 1 })
    await streams.close()
  }
})

describe('dead letters', () => {
  const options = (cluster: TestCluster): Partial<StreamsConfig> => ({
    ...exactlyOnce,
    deadLetterQueueTopic: cluster.name('letters'),
  })
  const failing = (word: string): string => {
    if (word.includes('bad')) throw new Error('bad')
    return word
  }

  test('count with the commit, once, when the program goes on', async ({ signal }) => {
    await using cluster = await started()
    const topology = tellingCounts(cluster, { step: failing })
    const streams = cluster.streams(topology, 'a', {
      ...options(cluster),
      onProcessingError: 'continue',
    })
    await streams.start()
    await write(cluster, ['a1', 'a-bad', 'a2'])
    await until(async () => (await committed(cluster, 'copies'))['a']?.includes('a2'), signal)
    await until(async () => (await committedCount(cluster, 'letters')) > 0, signal)
    expect(await committed(cluster, 'letters')).toEqual({ a: ['a-bad'] })
  })

  test('are given up with the transaction when the program fails', async ({ signal }) => {
    await using cluster = await started()
    const topology = tellingCounts(cluster, { step: failing })
    const streams = cluster.streams(topology, 'a', { ...options(cluster), commitInterval: 2000 })
    await streams.start()
    await write(cluster, ['a1', 'a-bad'])
    await until(() => streams.state === 'error', signal)
    expect(await committed(cluster, 'letters')).toEqual({})
    expect(await committed(cluster, 'copies')).toEqual({})
  })
})

test('what others gave up is neither processed nor in global tables', async ({ signal }) => {
  await using cluster = await started()
  const countries = keyValueStore('countries', strings)
  const builder = new StreamsBuilder()
  const letters = topic(cluster.name('letters'), strings)
  builder.globalTable(letters, { store: countries })
  builder.stream(topic(cluster.name('words'), strings)).to(topic(cluster.name('copies'), strings))
  const write = async (producer: Producer, value: string): Promise<void> => {
    const now = cluster.client.clock.now()
    for (const short of ['words', 'letters'])
      producer.send(cluster.name(short), 0, Buffer.from('key'), Buffer.from(value), now, [])
    await producer.flush()
  }
  const giveUp = async (): Promise<void> => {
    const transactionalId = cluster.name('others')
    await using transactions = new TransactionManager(cluster.client, {
      transactionalId,
      timeoutMs: 10_000,
    })
    await using producer = new Producer(cluster.client, { session: transactions })
    await write(producer, 'given up')
  }
  await write(cluster.producer, 'first')
  await giveUp()
  const streams = cluster.streams(builder.build(), 'a', exactlyOnce)
  await streams.start()
  const held = (): Promise<string | undefined> => streams.store(countries).get('key')
  expect(await held()).toBe('first')
  await giveUp()
  await write(cluster.producer, 'second')
  await until(async () => (await held()) === 'second', signal)
  await until(async () => (await committed(cluster, 'copies'))['key']?.length === 2, signal)
  expect(await committed(cluster, 'copies')).toEqual({ key: ['first', 'second'] })
})

test('a task is not restored before the last commit of its owner is in its changelog', async ({
  signal,
}) => {
  await using cluster = await started()
  const first = cluster.streams(tellingCounts(cluster), 'a', exactlyOnce)
  await first.start()
  await first.close()
  // A commit is valid for the offsets of a task a moment before it is for its changelog: here, for long.
  const changelog = `${cluster.name('word-count')}-counts-changelog`
  await cluster.client.topicMetadata([changelog])
  await using owner = new TransactionManager(cluster.client, {
    transactionalId: cluster.name('owner'),
    timeoutMs: 30_000,
  })
  await using producer = new Producer(cluster.client, { session: owner })
  const key = Buffer.from('z')
  const value = serdes.long.serialize(7)
  const partition = producer.partitionFor(key, changelog)
  producer.send(changelog, partition, key, value, cluster.client.clock.now(), [])
  await producer.flush()
  const next = cluster.streams(tellingCounts(cluster), 'b', exactlyOnce)
  let isBehind = false
  next.on('restore', ({ phase, offset, endOffset }) => {
    if (phase === 'start' && offset < endOffset) isBehind = true
  })
  const running = next.start()
  await until(() => isBehind, signal)
  expect(next.state).not.toBe('running')
  await owner.commit()
  await running
  expect(await countsOf(next)).toEqual({ z: 7 })
})
