/** The reset of an application, on both brokers; the command has a test of its own. */
import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { StreamsError } from '../../src/errors.ts'
import {
  StreamsBuilder,
  joinWindows,
  keyValueStore,
  serdes,
  sessionStore,
  sessionWindows,
  timeWindows,
  versionedStore,
  windowStore,
  type Topology,
} from '../../src/index.ts'
import {
  executeReset,
  planReset,
  type ResetOptions,
  type ResetPlan,
} from '../../src/runtime/application-reset.ts'
import { texts } from './joined-streams.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'
import { counts, held, isEqual, poem, startedCluster, wordCount } from './word-count.ts'

const plan = (cluster: TestCluster, options: Partial<ResetOptions> = {}): Promise<ResetPlan> =>
  planReset(cluster.client, {
    applicationId: cluster.name('word-count'),
    inputTopics: [cluster.name('lines')],
    intermediateTopics: [],
    internalTopics: [],
    position: { kind: 'earliest' },
    force: false,
    ...options,
  })

/** `partition: from -> to` of each, in order. */
const moves = ({ offsets }: ResetPlan): string[] =>
  offsets.map(({ partition, from, to }) => `${partition}: ${from ?? 'none'} -> ${to}`)

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    return error instanceof StreamsError ? error.code : String(error)
  }
  return 'no error'
}

const repartition = 'word-count-word-counts-repartition'
const changelog = 'word-count-word-counts-changelog'

test.each(['classic', 'streams'] as const)(
  'a reset application counts everything again, from nothing (%s protocol)',
  async (groupProtocol) => {
    await using cluster = await startedCluster(2)
    await cluster.write('lines', poem)
    const first = cluster.streams(wordCount(cluster), 'a', { groupProtocol })
    await first.start()
    await until(async () => isEqual(counts, await held(first)))
    expect(await codeOf(plan(cluster))).toBe('APPLICATION_RUNNING')
    await first.close()

    const planned = await plan(cluster)
    expect(moves(planned)).toEqual(['0: 2 -> 0', '1: 1 -> 0'])
    expect(cluster.own(planned.deletedTopics)).toEqual([changelog, repartition])
    expect([planned.missingTopics, planned.removedMembers]).toEqual([[], []])
    // Nothing was changed by that.
    expect(cluster.own((await new Admin(cluster.client).listTopics()).keys())).toContain(changelog)

    await executeReset(cluster.client, planned)
    expect(cluster.own((await new Admin(cluster.client).listTopics()).keys())).toEqual(['lines'])
    const second = cluster.streams(wordCount(cluster), 'a', { groupProtocol })
    second.cleanUp()
    await second.start()
    await until(async () => isEqual(counts, await held(second)))
  },
)

/** A program with an internal topic of each kind: changelogs of all stores, repartitions, foreign keys. */
function ofAllKinds(cluster: TestCluster): Topology {
  const builder = new StreamsBuilder()
  const text = { key: serdes.string, value: serdes.string }
  const counts = { key: serdes.string, value: serdes.long, retention: 60_000 }
  const lines = builder.stream(texts(cluster, 'lines'))
  const words = lines.map((value) => [value, value], text)
  const grouped = words.groupByKey({ name: 'grouped' })
  grouped
    .windowedBy(timeWindows({ size: 1000, grace: 0 }))
    .count({ store: windowStore('windows', { ...counts, windowSize: 1000 }) })
    .suppress({ until: 'window-closes', buffer: 'unbounded', name: 'final' })
  grouped
    .windowedBy(sessionWindows({ gap: 1000, grace: 0 }))
    .count({ store: sessionStore('sessions', counts) })
  const prices = words.repartition({ name: 'explicit', ...text }).toTable({
    store: versionedStore('prices', { ...text, historyRetention: 60_000 }),
  })
  words.leftJoin(prices, (word, price) => `${word} ${price}`, { grace: 50, name: 'waiting' })
  const others = builder.stream(texts(cluster, 'others'))
  lines.outerJoin(others, (line, other) => `${line} ${other}`, {
    windows: joinWindows({ difference: 100, grace: 0 }),
    storeName: 'pairs',
  })
  const orders = builder.table(texts(cluster, 'orders'), { store: keyValueStore('orders', text) })
  const customers = builder.table(texts(cluster, 'customers'))
  for (const name of ['named', undefined]) {
    orders.join(customers, (order, customer) => order + customer, {
      foreignKey: (order) => order,
      ...(name === undefined ? {} : { name }),
    })
  }
  return builder.build()
}

test.each(['classic', 'streams'] as const)(
  'internal topics of all kinds are deleted, and made again (%s protocol)',
  { timeout: 60_000 },
  async (groupProtocol) => {
    await using cluster = await TestCluster.start()
    const inputs = ['customers', 'lines', 'orders', 'others']
    for (const name of inputs) await cluster.createTopic(name, 1)
    // Of this application by their beginning, of others by their ends, and no one's.
    const kept = ['word-count-out', 'word-counts-x-changelog', 'x-changelog']
    for (const name of kept) await cluster.createTopic(name, 1)
    const first = cluster.streams(ofAllKinds(cluster), 'a', { groupProtocol })
    await first.start()
    await first.close()

    const inputTopics = inputs.map((name) => cluster.name(name))
    const planned = await plan(cluster, { inputTopics })
    const internal = cluster.own(planned.deletedTopics)
    // As Java names them.
    expect(internal).toEqual(
      [
        'word-count-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000043-topic',
        'word-count-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000051-topic',
        'word-count-KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000047-changelog',
        `word-count-${cluster.name('customers')}-STATE-STORE-0000000026-changelog`,
        'word-count-explicit-repartition',
        'word-count-final-store-changelog',
        'word-count-grouped-repartition',
        'word-count-named-subscription-registration-topic',
        'word-count-named-subscription-response-topic',
        'word-count-named-subscription-store-changelog',
        'word-count-orders-changelog',
        'word-count-pairs-outer-other-join-store-changelog',
        'word-count-pairs-outer-shared-join-store-changelog',
        'word-count-pairs-outer-this-join-store-changelog',
        'word-count-prices-changelog',
        'word-count-sessions-changelog',
        'word-count-waiting-Buffer-changelog',
        'word-count-waiting-repartition',
        'word-count-windows-changelog',
      ].sort(),
    )
    await executeReset(cluster.client, planned)
    const topics = async (): Promise<string[]> =>
      cluster.own((await new Admin(cluster.client).listTopics()).keys())
    expect(await topics()).toEqual([...inputs, ...kept].sort())

    const second = cluster.streams(ofAllKinds(cluster), 'a', { groupProtocol })
    second.cleanUp()
    await second.start()
    expect(await topics()).toEqual([...inputs, ...kept, ...internal].sort())
  },
)

test('members that have not left are taken out by force only', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', poem)
  const config = { groupInstanceId: 'i', sessionTimeout: 60_000 }
  const first = cluster.streams(wordCount(cluster), 'a', config)
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close({ leaveGroup: false })
  expect(await codeOf(plan(cluster))).toBe('APPLICATION_RUNNING')
  const forced = await plan(cluster, { force: true })
  expect(forced.removedMembers.map(({ instanceId }) => instanceId)).toEqual(['i'])
  await executeReset(cluster.client, forced)
  expect(moves(await plan(cluster))).toEqual(['0: 0 -> 0'])
})

test('members of the streams protocol are named, and taken out by force', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', poem)
  const first = cluster.streams(wordCount(cluster), 'a', { groupProtocol: 'streams' })
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close({ leaveGroup: false })
  await expect(plan(cluster)).rejects.toThrow(cluster.name('word-count'))
  expect(await codeOf(plan(cluster))).toBe('APPLICATION_RUNNING')
  const forced = await plan(cluster, { force: true })
  expect(forced.removedMembers).toHaveLength(1)
  await executeReset(cluster.client, forced)
  expect(moves(await plan(cluster))).toEqual(['0: 0 -> 0'])
})

test('an application that has started meanwhile keeps its topics and offsets', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  await cluster.write('lines', poem)
  const first = cluster.streams(wordCount(cluster), 'a')
  await first.start()
  await until(async () => isEqual(counts, await held(first)), signal)
  await first.close()
  const planned = await plan(cluster)
  const second = cluster.streams(wordCount(cluster), 'a')
  await second.start()
  expect(await codeOf(executeReset(cluster.client, planned))).toBe('APPLICATION_RUNNING')
  await cluster.write('lines', ['to be'])
  await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await held(second)), signal)
})

test('positions are found in the log, and one outside of it becomes its closer end', async () => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('lines', 2)
  await cluster.createTopic('between', 1)
  const time = Date.now() - 100_000
  for (const [index, partition] of [0, 0, 0, 1].entries())
    cluster.producer.send(
      cluster.name('lines'),
      partition,
      null,
      Buffer.from('x'),
      time + index * 1_000,
      [],
    )
  cluster.producer.send(cluster.name('between'), 0, null, Buffer.from('x'), time, [])
  await cluster.producer.flush()
  const moved = async (position: ResetOptions['position']): Promise<string[]> =>
    moves(await plan(cluster, { position }))
  expect(await moved({ kind: 'latest' })).toEqual(['0: none -> 3', '1: none -> 1'])
  expect(await moved({ kind: 'offset', offset: 2 })).toEqual(['0: none -> 2', '1: none -> 1'])
  expect(await moved({ kind: 'time', timestamp: time + 1_500 })).toEqual([
    '0: none -> 2',
    '1: none -> 0',
  ])
  expect(await moved({ kind: 'time', timestamp: time + 90_000 })).toEqual([
    '0: none -> 3',
    '1: none -> 1',
  ])
  const offsets = new Map([[`${cluster.name('lines')}-1` as const, 7]])
  const planned = await plan(cluster, {
    position: { kind: 'plan', offsets },
    intermediateTopics: [cluster.name('between')],
  })
  expect(moves(planned)).toEqual(['1: none -> 1', '0: none -> 1'])
  expect(planned.offsets[0]?.asked).toBe(7)
  await executeReset(
    cluster.client,
    await plan(cluster, { position: { kind: 'offset', offset: 2 } }),
  )
  expect(await moved({ kind: 'shift', by: -1 })).toEqual(['0: 2 -> 1', '1: 1 -> 0'])
  expect(await moved({ kind: 'shift', by: -5 })).toEqual(['0: 2 -> 0', '1: 1 -> 0'])
})

test('topics that are missing are told, and only internal topics are deleted', async () => {
  await using cluster = await TestCluster.start()
  for (const name of [
    'lines',
    'app-a-changelog',
    'app-b-repartition',
    'app-out',
    'app-2-c-changelog',
  ])
    await cluster.createTopic(name, 1)
  const applicationId = cluster.name('app')
  const inputTopics = [cluster.name('lines'), cluster.name('nowhere')]
  // Another application, whose name begins alike, has committed something.
  const { offsets } = await plan(cluster, { applicationId: cluster.name('app-2'), inputTopics })
  expect(offsets.length).toBe(1)
  await executeReset(cluster.client, {
    applicationId: cluster.name('app-2'),
    isKnown: true,
    offsets,
    deletedTopics: [],
    missingTopics: [],
    removedMembers: [],
    groupProtocol: 'classic',
  })
  const planned = await plan(cluster, { applicationId, inputTopics })
  expect(cluster.own(planned.missingTopics)).toEqual(['nowhere'])
  expect(cluster.own(planned.deletedTopics)).toEqual(['app-a-changelog', 'app-b-repartition'])
  const kept = await plan(cluster, {
    applicationId,
    inputTopics: [cluster.name('app-a-changelog')],
  })
  expect(cluster.own(kept.deletedTopics)).toEqual(['app-b-repartition'])
  const internalTopics = [cluster.name('app-b-repartition')]
  const one = await plan(cluster, { applicationId, inputTopics: [], internalTopics })
  expect(cluster.own(one.deletedTopics)).toEqual(['app-b-repartition'])
  const wrong = plan(cluster, { applicationId, internalTopics: [cluster.name('app-out')] })
  expect(await codeOf(wrong)).toBe('CONFIG_INVALID')
})

test('without input topics the internal topics alone are deleted', async () => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('app-a-changelog', 1)
  const applicationId = cluster.name('app')
  const planned = await plan(cluster, { applicationId, inputTopics: [] })
  await executeReset(cluster.client, planned)
  expect(cluster.own((await new Admin(cluster.client).listTopics()).keys())).toEqual([])
})
