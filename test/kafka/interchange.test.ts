/**
 * An application changes hands between Kafka Streams and Millpond: same application id, same topics,
 * same bytes.
 */
import { describe, expect, test } from 'vitest'
import { randomInteger, seededRandom } from '../../src/base/random.ts'
import { TestCluster } from '../integration/test-cluster.ts'
import { Tally, rowsOf, type Amount, type Line } from './tally.ts'
import { topicSettings } from './topic-settings.ts'

/** Java programs start slowly, and wait for the group. */
const slow = { timeout: 120_000 }

const kafka = { broker: 'Apache Kafka', start: () => TestCluster.start() }
const devBroker = { broker: 'the dev broker', start: () => TestCluster.onDevBroker() }

const withCache = {
  how: 'cached',
  cacheBytes: 10 * 1024 * 1024,
  guarantee: 'at-least-once',
} as const
const withoutCache = { ...withCache, how: 'uncached', cacheBytes: 0 }
const exactlyOnce = { ...withCache, how: 'exactly once', guarantee: 'exactly-once' } as const

const first = {
  lines: [
    ['to be or not to be', 5_000],
    ['that is the question', 4_000],
    ['to sleep', 3_000],
  ] satisfies Line[],
  amounts: [
    ['ann', 5, 1_000],
    ['bob', 7, 2_000],
    ['ann', -2, 900],
    ['eve', 1, 1_500],
    ['eve', 0, 1_600],
    ['joe', 4, 1_700],
    ['joe', 0, 1_800],
    ['joe', 9, 100],
  ] satisfies Amount[],
}

const afterFirst = [
  'histories\tann\t5;-2;\t1000',
  'histories\tbob\t7;\t2000',
  'histories\tjoe\t9;\t100',
  'sums\tann\t3\t1000',
  'sums\tbob\t7\t2000',
  'sums\tjoe\t9\t100',
  'word-counts\tbe\t2\t5000',
  'word-counts\tis\t1\t4000',
  'word-counts\tnot\t1\t5000',
  'word-counts\tor\t1\t5000',
  'word-counts\tquestion\t1\t4000',
  'word-counts\tsleep\t1\t3000',
  'word-counts\tthat\t1\t4000',
  'word-counts\tthe\t1\t4000',
  'word-counts\tto\t3\t5000',
]

const second = {
  lines: [['to dream', 6_000]] satisfies Line[],
  amounts: [
    ['ann', 0, 3_000],
    ['bob', 1, 1_999],
    ['eve', 2, 2_500],
  ] satisfies Amount[],
}

const afterSecond = [
  'histories\tbob\t7;1;\t2000',
  'histories\teve\t2;\t2500',
  'histories\tjoe\t9;\t100',
  'sums\tbob\t8\t2000',
  'sums\teve\t2\t2500',
  'sums\tjoe\t9\t100',
  'word-counts\tbe\t2\t5000',
  'word-counts\tdream\t1\t6000',
  'word-counts\tis\t1\t4000',
  'word-counts\tnot\t1\t5000',
  'word-counts\tor\t1\t5000',
  'word-counts\tquestion\t1\t4000',
  'word-counts\tsleep\t1\t3000',
  'word-counts\tthat\t1\t4000',
  'word-counts\tthe\t1\t4000',
  'word-counts\tto\t4\t6000',
]

/** Lines of few words and amounts of few accounts, out of order; every eighth amount ends one. */
function manyOf(seed: number): { lines: Line[]; amounts: Amount[] } {
  const random = seededRandom(seed)
  const time = (index: number): number => 10_000 + index * 10 - randomInteger(random, 500)
  const word = (): string => `w${randomInteger(random, 60)}`
  return {
    lines: Array.from({ length: 1_000 }, (_, index) => [
      `${word()} ${word()} ${word()}`,
      time(index),
    ]),
    amounts: Array.from({ length: 1_000 }, (_, index) => [
      `account ${randomInteger(random, 40)}`,
      randomInteger(random, 8),
      time(index),
    ]),
  }
}

describe.concurrent.each([
  { ...kafka, ...withCache },
  { ...kafka, ...withoutCache },
  { ...kafka, ...exactlyOnce },
  { ...devBroker, ...withCache },
])('on $broker, $how', ({ start, cacheBytes, guarantee }) => {
  test(
    'Millpond goes on where Kafka Streams stopped, and Kafka Streams where Millpond did',
    slow,
    async ({ signal }) => {
      await using cluster = await start()
      await Tally.createInput(cluster)
      const tally = new Tally(cluster, 'tally', cacheBytes, 'classic', guarantee)
      await tally.write(first.lines, first.amounts)
      expect(await tally.runJava('java', signal)).toEqual(afterFirst)

      const millpond = tally.millpond('millpond')
      await millpond.start()
      expect(rowsOf(millpond)).toEqual(afterFirst)
      expect(millpond.metrics.recordsProcessed.value).toBe(0)
      await tally.write(second.lines, second.amounts)
      await tally.processed(signal)
      expect(rowsOf(millpond)).toEqual(afterSecond)
      await millpond.close()

      // Its own directory is behind, another one is empty.
      expect(await tally.runJava('java', signal)).toEqual(afterSecond)
      expect(await tally.runJava('java again', signal)).toEqual(afterSecond)
      const { lines, amounts } = manyOf(1)
      await tally.write(lines, amounts)
      const afterMany = await tally.runJava('java', signal)

      for (const directory of ['millpond', 'millpond again']) {
        const again = tally.millpond(directory)
        await again.start()
        expect(rowsOf(again)).toEqual(afterMany)
        expect(again.metrics.recordsProcessed.value).toBe(0)
        await again.close()
      }
      // Nothing was counted twice on the way: 12 words and 2 of the small texts, 3,000 of the large one.
      const total = afterMany
        .filter((row) => row.startsWith('word-counts\t'))
        .reduce((sum, row) => sum + Number(row.split('\t')[2]), 0)
      expect(total).toBe(3_014)
    },
  )

  test('Kafka Streams goes on where Millpond stopped', slow, async ({ signal }) => {
    await using cluster = await start()
    await Tally.createInput(cluster)
    const tally = new Tally(cluster, 'tally', cacheBytes, 'classic', guarantee)
    const millpond = tally.millpond('millpond')
    await millpond.start()
    await tally.write(first.lines, first.amounts)
    await tally.processed(signal)
    expect(rowsOf(millpond)).toEqual(afterFirst)
    await millpond.close()

    await tally.write(second.lines, second.amounts)
    expect(await tally.runJava('java', signal)).toEqual(afterSecond)
    const again = tally.millpond('millpond')
    await again.start()
    expect(rowsOf(again)).toEqual(afterSecond)
  })
})

describe.concurrent.each([kafka, devBroker])('on $broker', ({ start }) => {
  test('both make the same topics, changelogs and commits', slow, async ({ signal }) => {
    await using cluster = await start()
    await Tally.createInput(cluster)
    const [java, millpond] = [new Tally(cluster, 'java', 0), new Tally(cluster, 'millpond', 0)]
    const instance = millpond.millpond('millpond')
    await instance.start()
    const { lines, amounts } = manyOf(2)
    await java.write(lines, amounts)
    const rows = await java.runJava('java', signal)
    await millpond.processed(signal)
    expect(rowsOf(instance)).toEqual(rows)

    expect(await topicSettings(cluster, millpond.applicationId)).toEqual(
      await topicSettings(cluster, java.applicationId),
    )

    for (const store of ['sums', 'histories'])
      expect(await millpond.changelog(store)).toEqual(await java.changelog(store))
    // Three tasks write to one repartition topic, in an order of their own.
    expect((await millpond.changelog('word-counts')).length).toBe(3_000)
    expect((await java.changelog('word-counts')).length).toBe(3_000)

    // With the time of each partition, as Kafka Streams keeps it beside the offset.
    const commits = async (tally: Tally): Promise<unknown[]> =>
      [...(await tally.committed(['lines', 'amounts']))].map(
        ([partition, { offset, metadata }]) => [partition, offset, metadata],
      )
    expect((await commits(millpond)).length).toBe(5)
    expect(await commits(millpond)).toEqual(await commits(java))
  })
})
