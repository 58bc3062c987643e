/** The reset of an application, on both brokers; the command has a test of its own. */
import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { StreamsError } from '../../src/errors.ts'
import {
  executeReset,
  planReset,
  type ResetOptions,
  type ResetPlan,
} from '../../src/runtime/application-reset.ts'
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
