import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { StreamsBuilder, keyValueStore, serdes, topic } from '../../src/index.ts'
import { TestCluster, classicOnly, devBrokerOnly, staticMembers } from './test-cluster.ts'
import { until } from './until.ts'
import {
  allTasks,
  counts,
  held,
  heldByAll,
  isEqual,
  linesOf,
  poem,
  startedCluster,
  taskIds,
  wordCount,
  wordCounts,
} from './word-count.ts'

test('one instance counts the words of a topic', async ({ signal }) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const states: string[] = []
  const streams = cluster
    .streams(wordCount(cluster), 'a')
    .on('stateChange', (now) => states.push(now))
  await streams.start()
  expect(streams.state).toBe('running')
  expect(taskIds(streams)).toEqual(allTasks)
  await until(async () => isEqual(counts, await held(streams)), signal)
  expect(await streams.store(wordCounts).get('to')).toBe(4)
  expect(await streams.store(wordCounts).get('never')).toBeUndefined()
  await streams.close()
  await streams.closed
  expect(states).toEqual(['rebalancing', 'running', 'pending-shutdown', 'not-running'])
  await expect(streams.store(wordCounts).get('to')).rejects.toMatchObject({
    code: 'STREAMS_STOPPED',
  })
})

test('internal topics have the names and settings of Kafka Streams', async () => {
  await using cluster = await startedCluster(3)
  await cluster.streams(wordCount(cluster), 'a').start()
  const admin = new Admin(cluster.client)
  const names = ['word-count-word-counts-changelog', 'word-count-word-counts-repartition'].map(
    (short) => cluster.name(short),
  )
  const topics = await admin.describeTopics(names)
  expect(names.map((name) => topics.get(name)?.partitions.length)).toEqual([3, 3])
  const configs = await admin.describeConfigs(
    names.map((name) => ({ type: 'topic' as const, name })),
  )
  const [changelog, repartition] = configs.map((entries) =>
    Object.fromEntries(entries.map(({ name, value }) => [name, value])),
  )
  expect(changelog).toMatchObject({
    'cleanup.policy': 'compact',
    'message.timestamp.type': 'CreateTime',
  })
  expect(repartition).toMatchObject({
    'cleanup.policy': 'delete',
    'retention.ms': '-1',
    'segment.bytes': '52428800',
  })
})

test('two instances share the tasks, and the one that stays gets all of them', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const a = cluster.streams(wordCount(cluster), 'a', { endpoint: { host: 'a', port: 1 } })
  const b = cluster.streams(wordCount(cluster), 'b', { endpoint: { host: 'b', port: 2 } })
  await a.start()
  await until(async () => isEqual(counts, await held(a)), signal)
  await b.start()
  await until(
    () => a.state === 'running' && taskIds(a).length === 4 && taskIds(b).length === 4,
    signal,
  )
  expect([...taskIds(a), ...taskIds(b)].sort()).toEqual(allTasks)
  await until(async () => isEqual(counts, await heldByAll(a, b)), signal)

  const hosts = (): object[] =>
    a
      .allMetadata()
      .map(({ endpoint, activeTasks, stores }) => ({
        host: endpoint.host,
        tasks: [...activeTasks].sort(),
        stores,
      }))
      .sort((one, other) => (one.host < other.host ? -1 : 1))
  // With the streams protocol they come with a heartbeat.
  await until(
    () =>
      [a, b].every((one) => one.allMetadata().every(({ activeTasks }) => activeTasks.length === 4)),
    signal,
  )
  expect(hosts()).toEqual([
    { host: 'a', tasks: taskIds(a), stores: ['word-counts'] },
    { host: 'b', tasks: taskIds(b), stores: ['word-counts'] },
  ])
  const { active, partition } = a.queryMetadataForKey(wordCounts, 'to')
  expect(partition).toBe(b.queryMetadataForKey(wordCounts, 'to').partition)
  const owner = active?.host === 'a' ? a : b
  expect(await owner.store(wordCounts).get('to')).toBe(4)
  const other = owner === a ? b : a
  await expect(other.store(wordCounts).get('to')).rejects.toMatchObject({ code: 'STORE_MIGRATED' })

  await a.close()
  await until(() => taskIds(b).length === 8 && b.state === 'running', signal)
  await until(async () => isEqual(counts, await held(b)), signal)
  await cluster.write('lines', ['to be'])
  await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await held(b)), signal)
})

test('a source topic that is missing is an error with its name, for every instance', async () => {
  await using cluster = await TestCluster.start()
  const a = cluster.streams(wordCount(cluster), 'a')
  const errors: Error[] = []
  a.on('error', (error) => errors.push(error))
  const message = `The source topic ${cluster.name('lines')} does not exist. Create it, then start again.`
  await expect(a.start()).rejects.toThrow(message)
  await expect(a.closed).rejects.toThrow(message)
  expect(a.state).toBe('error')
  expect(errors.map((error) => error.message)).toEqual([message])
  await a.close()
})

test('an error of the user stops the instance and tells where it happened', async () => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', ['fine', 'bad'])
  const builder = new StreamsBuilder()
  builder.stream(linesOf(cluster)).forEach((line) => {
    if (line === 'bad') throw new Error('I do not like this line')
  })
  const streams = cluster.streams(builder.build(), 'a')
  await expect(streams.run({ signal: new AbortController().signal })).rejects.toMatchObject({
    code: 'PROCESSING_FAILED',
    context: { topic: cluster.name('lines'), partition: 0, offset: 1 },
    cause: { message: 'I do not like this line' },
  })
  expect(streams.state).toBe('error')
})

test(
  'a restart of the broker in the middle is survived',
  { ...devBrokerOnly, timeout: 30_000 },
  async ({ signal }) => {
    await using cluster = await startedCluster()
    const streams = cluster.streams(wordCount(cluster), 'a')
    await streams.start()
    await cluster.write('lines', poem)
    await until(async () => isEqual(counts, await held(streams)), signal)
    await cluster.restartBroker()
    await cluster.write('lines', ['to be'])
    await until(async () => {
      const rows = await held(streams)
      return (rows['to'] ?? 0) >= 5 && (rows['be'] ?? 0) >= 3
    }, signal)
    expect(streams.state).not.toBe('error')
    await streams.close()
  },
)

test('an internal topic with another number of partitions is refused', async () => {
  await using cluster = await startedCluster(4)
  await cluster.createTopic('word-count-word-counts-repartition', 3)
  await expect(cluster.streams(wordCount(cluster), 'a').start()).rejects.toThrow(
    `The internal topic ${cluster.name('word-count-word-counts-repartition')} has 3 partitions, expected 4. Reset the application or delete the topic.`,
  )
})

test('an output topic that is missing is an error with its name', async () => {
  await using cluster = await startedCluster(1)
  const builder = new StreamsBuilder()
  builder.stream(linesOf(cluster)).to(topic(cluster.name('nowhere'), { value: serdes.string }))
  await expect(cluster.streams(builder.build(), 'a').start()).rejects.toThrow(
    `The topic ${cluster.name('nowhere')}, to which the application writes, does not exist. Create it, then start again.`,
  )
})

test('two instances cannot share a state directory', async () => {
  await using cluster = await startedCluster(1)
  await cluster.streams(wordCount(cluster), 'a').start()
  const second = cluster.streams(wordCount(cluster), 'a')
  await expect(second.start()).rejects.toMatchObject({ code: 'STATE_DIRECTORY_LOCKED' })
  expect(second.state).toBe('error')
})

test('an instance is started once', async () => {
  await using cluster = await startedCluster(1)
  const streams = cluster.streams(wordCount(cluster), 'a')
  await streams.start()
  await expect(streams.start()).rejects.toThrow('Streams is running: start is not possible')
})

test('an abort during the start closes the instance', async () => {
  await using cluster = await startedCluster(1)
  const streams = cluster.streams(wordCount(cluster), 'a')
  const stop = new AbortController()
  const starting = streams.start({ signal: stop.signal })
  stop.abort()
  await expect(starting).rejects.toMatchObject({ code: 'ABORTED' })
  await streams.closed
  expect(streams.state).toBe('not-running')
})

test('a store is asked before the start, and one that does not exist', async () => {
  await using cluster = await startedCluster(1)
  const streams = cluster.streams(wordCount(cluster), 'a')
  await expect(streams.store(wordCounts).get('to')).rejects.toMatchObject({
    code: 'STREAMS_NOT_STARTED',
  })
  await streams.start()
  const other = keyValueStore('other', { key: serdes.string, value: serdes.long })
  await expect(streams.store(other).get('to')).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
})

test('a paused instance answers and does not process', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', ['to be'])
  const streams = cluster.streams(wordCount(cluster), 'a')
  await streams.start()
  await until(async () => isEqual({ to: 1, be: 1 }, await held(streams)), signal)
  streams.pause()
  const before = streams.metrics.recordsProcessed.value
  await cluster.write('lines', ['to be'])
  // Another instance's consumer would have read it by now: so has the client of this test.
  await until(async () => (await cluster.read('lines')).length === 2, signal)
  expect(await held(streams)).toEqual({ to: 1, be: 1 })
  expect(streams.metrics.recordsProcessed.value).toBe(before)
  streams.resume()
  await until(async () => isEqual({ to: 2, be: 2 }, await held(streams)), signal)
})

test(
  'a static member that restarts takes its tasks back without a rebalance',
  staticMembers,
  async ({ signal }) => {
    await using cluster = await startedCluster()
    const a = cluster.streams(wordCount(cluster), 'a', { groupInstanceId: 'a' })
    const b = cluster.streams(wordCount(cluster), 'b', { groupInstanceId: 'b' })
    await a.start()
    await b.start()
    await until(
      () => taskIds(a).length === 4 && taskIds(b).length === 4 && a.state === 'running',
      signal,
    )
    const before = taskIds(b)
    const states: string[] = []
    a.on('stateChange', (now) => states.push(now))
    await b.close()
    const again = cluster.streams(wordCount(cluster), 'b', { groupInstanceId: 'b' })
    await again.start()
    expect(taskIds(again)).toEqual(before)
    expect(states).toEqual([])
  },
)

test('the older of two instances with one groupInstanceId stops', classicOnly, async () => {
  await using cluster = await startedCluster(1)
  const a = cluster.streams(wordCount(cluster), 'a', { groupInstanceId: 'same' })
  await a.start()
  const b = cluster.streams(wordCount(cluster), 'b', { groupInstanceId: 'same' })
  await b.start()
  await expect(a.closed).rejects.toMatchObject({ code: 'GROUP_INSTANCE_FENCED' })
  expect(a.state).toBe('error')
  expect(b.state).toBe('running')
})
