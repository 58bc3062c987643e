/** The streams protocol (KIP-1071): what is other than with the classic one. */
import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { GroupCoordinator } from '../../src/client/group-coordinator.ts'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import { StreamsGroupCoordinator } from '../../src/client/streams-group-coordinator.ts'
import type { StreamsConfig } from '../../src/config.ts'
import { StreamsBuilder, keyValueStore, serdes, type KafkaStreams } from '../../src/index.ts'
import { TestCluster, devBrokerOnly, staticMembers } from './test-cluster.ts'
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
} from './word-count.ts'

function instance(
  cluster: TestCluster,
  name: string,
  config: Partial<StreamsConfig> = {},
): KafkaStreams {
  const streams = cluster.streams(wordCount(cluster), name, { groupProtocol: 'streams', ...config })
  streams.closed.catch(() => undefined)
  return streams
}

async function describeGroup(cluster: TestCluster) {
  await using coordinator = new StreamsGroupCoordinator(cluster.client, cluster.name('word-count'))
  return await coordinator.describe({ timeoutMs: 10_000 })
}

/** Records that the group has done with. */
async function committed(cluster: TestCluster, short = 'lines'): Promise<number> {
  const inputs = [0, 1, 2, 3].map((partition) => ({ topic: cluster.name(short), partition }))
  const offsets = await fetchCommittedOffsets(cluster.client, cluster.name('word-count'), inputs)
  return [...offsets.values()].reduce((sum, { offset }) => sum + offset, 0)
}

test('the group is one of streams, with the topology, the tasks and the topics', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const streams = instance(cluster, 'a', { endpoint: { host: 'a', port: 7 } })
  await streams.start()
  await until(async () => isEqual(counts, await held(streams)), signal)
  expect(taskIds(streams)).toEqual(allTasks)
  const repartition = cluster.name('word-count-word-counts-repartition')
  const changelog = cluster.name('word-count-word-counts-changelog')
  await until(async () => (await describeGroup(cluster)).groupState === 'Stable', signal)
  const group = await describeGroup(cluster)
  const topic = (name: string) => expect.objectContaining({ name, partitions: 4 }) as unknown
  expect(group.topology?.subtopologies).toMatchObject([
    {
      subtopologyId: '0',
      sourceTopics: [cluster.name('lines')],
      repartitionSinkTopics: [repartition],
      stateChangelogTopics: [],
      repartitionSourceTopics: [],
    },
    {
      subtopologyId: '1',
      sourceTopics: [],
      repartitionSinkTopics: [],
      stateChangelogTopics: [topic(changelog)],
      repartitionSourceTopics: [topic(repartition)],
    },
  ])
  expect(group.members).toMatchObject([
    {
      memberEpoch: group.groupEpoch,
      userEndpoint: { host: 'a', port: 7 },
      assignment: {
        activeTasks: expect.arrayContaining([
          { subtopologyId: '0', partitions: [0, 1, 2, 3] },
          { subtopologyId: '1', partitions: [0, 1, 2, 3] },
        ]) as unknown,
      },
      isClassic: false,
    },
  ])
  const groups = await new Admin(cluster.client).listGroups()
  expect(groups.find(({ groupId }) => groupId === cluster.name('word-count'))).toMatchObject({
    protocolType: 'streams',
  })
})

test('from classic to streams and back is a restart: tasks, topics, offsets and state go on', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const expected: Record<string, number> = {}
  const topics: string[][] = []
  for (const groupProtocol of ['classic', 'streams', 'classic', 'streams'] as const) {
    const streams = instance(cluster, 'a', { groupProtocol })
    await streams.start()
    expect(taskIds(streams)).toEqual(allTasks)
    await cluster.write('lines', poem)
    for (const [word, count] of Object.entries(counts))
      expected[word] = (expected[word] ?? 0) + count
    await until(async () => isEqual(expected, await held(streams)), signal)
    await streams.close()
    topics.push(cluster.own((await new Admin(cluster.client).listTopics()).keys()))
  }
  expect(new Set(topics.map((names) => names.join()))).toEqual(
    new Set(['lines,word-count-word-counts-changelog,word-count-word-counts-repartition']),
  )
  expect(await committed(cluster)).toBe(4 * poem.length)
})

test('a program with another topology is told what to do, and then can go on', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const first = instance(cluster, 'a')
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close()

  const builder = new StreamsBuilder()
  const lengths = keyValueStore('lengths', { key: serdes.int, value: serdes.long })
  builder
    .stream(linesOf(cluster))
    .groupBy((line) => line.length, { key: serdes.int, value: serdes.string })
    .count({ store: lengths })
  const other = (name: string, groupProtocol: 'classic' | 'streams'): KafkaStreams => {
    const streams = cluster.streams(builder.build(), name, { groupProtocol })
    streams.closed.catch(() => undefined)
    return streams
  }
  await expect(other('b', 'streams').start()).rejects.toMatchObject({ code: 'TOPOLOGY_CHANGED' })

  const between = other('c', 'classic')
  await between.start()
  await between.close()
  const second = other('d', 'streams')
  await second.start()
  // What was committed is still known: only the new line is read.
  await cluster.write('lines', ['new'])
  await until(async () => (await second.store(lengths).get(3)) === 1, signal)
  expect(await committed(cluster)).toBeGreaterThanOrEqual(poem.length)
})

test('members of the two protocols do not mix', async () => {
  await using cluster = await startedCluster()
  const streams = instance(cluster, 'a')
  await streams.start()
  const classic = instance(cluster, 'b', { groupProtocol: 'classic' })
  await expect(classic.start()).rejects.toThrow('groupProtocol')
  await streams.close()
  const again = instance(cluster, 'c', { groupProtocol: 'classic' })
  await again.start()
  const late = instance(cluster, 'd')
  await expect(late.start()).rejects.toThrow('classic protocol')
})

test(
  'a static instance that is restarted gets its tasks back, and nothing moves',
  staticMembers,
  async ({ signal }) => {
    await using cluster = await startedCluster()
    const patient = { sessionTimeout: 10_000 }
    const a = instance(cluster, 'a', { ...patient, groupInstanceId: 'i-a' })
    await a.start()
    let b = instance(cluster, 'b', { ...patient, groupInstanceId: 'i-b' })
    await b.start()
    await until(() => taskIds(a).length === 4 && taskIds(b).length === 4, signal)
    const [ofA, ofB] = [taskIds(a), taskIds(b)]
    const states: string[] = []
    a.on('stateChange', (now) => states.push(now))
    for (let round = 0; round < 2; round += 1) {
      await b.close()
      b = instance(cluster, 'b', { ...patient, groupInstanceId: 'i-b' })
      await b.start()
      await until(() => taskIds(b).length === 4, signal)
      expect(taskIds(b)).toEqual(ofB)
    }
    expect(taskIds(a)).toEqual(ofA)
    expect(states).toEqual([])
  },
)

test('an instance that leaves is replaced at once, its counts go on elsewhere', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await cluster.write('lines', poem)
  const a = instance(cluster, 'a')
  const b = instance(cluster, 'b')
  await a.start()
  await b.start()
  await until(() => taskIds(a).length === 4 && taskIds(b).length === 4, signal)
  await until(async () => isEqual(counts, await heldByAll(a, b)), signal)
  await a.close()
  await until(() => taskIds(b).length === 8 && b.state === 'running', signal)
  await until(async () => isEqual(counts, await held(b)), signal)
  expect(taskIds(b)).toEqual(allTasks)
})

test('options that this protocol leaves to the brokers are set for the group', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const streams = instance(cluster, 'a', { sessionTimeout: 9000, heartbeatInterval: 1500 })
  await streams.start()
  const values = await until(async () => {
    const [entries = []] = await new Admin(cluster.client).describeConfigs([
      { type: 'group', name: cluster.name('word-count') },
    ])
    const found = Object.fromEntries(entries.map(({ name, value }) => [name, value]))
    return found['streams.session.timeout.ms'] === '9000' ? found : undefined
  }, signal)
  expect(values).toMatchObject({
    'streams.session.timeout.ms': '9000',
    'streams.heartbeat.interval.ms': '1500',
  })
})

test('an application that is stopped by one instance stops everywhere', async ({ signal }) => {
  await using cluster = await startedCluster()
  const builder = new StreamsBuilder()
  builder.stream(linesOf(cluster)).forEach((line) => {
    if (line === 'bad') throw new Error('I do not like this line')
  })
  const topology = builder.build()
  const all = ['a', 'b', 'c'].map((name) => {
    const streams = cluster.streams(topology, name, {
      groupProtocol: 'streams',
      onUncaughtError: 'stop-application',
    })
    streams.closed.catch(() => undefined)
    return streams
  })
  for (const streams of all) await streams.start()
  // Who has how many is for the broker to say: on the dev broker one has none.
  const countOf = (): number => all.reduce((sum, streams) => sum + taskIds(streams).length, 0)
  await until(() => countOf() === 4, signal)
  await cluster.write('lines', ['bad'])
  const outcomes = await Promise.allSettled(all.map(({ closed }) => closed))
  const codes = outcomes.map((outcome) =>
    outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'closed',
  )
  expect(codes.sort()).toEqual(['APPLICATION_STOPPED', 'APPLICATION_STOPPED', 'PROCESSING_FAILED'])
})

test(
  'members find their places again after the broker has forgotten the group',
  devBrokerOnly,
  async ({ signal }) => {
    await using cluster = await startedCluster()
    await cluster.write('lines', poem)
    const states: string[] = []
    const streams = instance(cluster, 'a').on('stateChange', (now) => states.push(now))
    await streams.start()
    await until(async () => isEqual(counts, await held(streams)), signal)
    // What is not committed would be counted twice.
    const words = Object.values(counts).reduce((sum, count) => sum + count, 0)
    const repartition = 'word-count-word-counts-repartition'
    await until(async () => (await committed(cluster, repartition)) === words, signal)
    expect(await committed(cluster)).toBe(poem.length)
    await cluster.restartBroker()
    await until(() => states.length === 4, signal)
    expect(states).toEqual(['rebalancing', 'running', 'rebalancing', 'running'])
    await cluster.write('lines', ['to be'])
    await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await held(streams)), signal)
    // Settings of groups are kept, as Kafka keeps them.
    const [entries = []] = await new Admin(cluster.client).describeConfigs([
      { type: 'group', name: cluster.name('word-count') },
    ])
    expect(entries.find(({ name }) => name === 'streams.session.timeout.ms')?.value).toBe('1500')
  },
)

test('patterns of topics need the classic protocol', async () => {
  await using cluster = await TestCluster.start()
  const builder = new StreamsBuilder()
  builder.stream(/^lines-.*/, { value: serdes.string }).forEach(() => undefined)
  expect(() => cluster.streams(builder.build(), 'a', { groupProtocol: 'streams' })).toThrow(
    'The option groupProtocol is not valid',
  )
})

test('a foreign member of the classic protocol is kept out of a group that is at work', async () => {
  await using cluster = await startedCluster()
  await instance(cluster, 'a').start()
  await using foreign = new GroupCoordinator(cluster.client, cluster.name('word-count'))
  const joined = await foreign.joinGroup({
    memberId: '',
    instanceId: null,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    protocolType: 'consumer',
    protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
  })
  expect(joined.error).toBe('INCONSISTENT_GROUP_PROTOCOL')
})
