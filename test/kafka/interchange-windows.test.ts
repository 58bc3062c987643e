/**
 * An application of windows changes hands between Kafka Streams and Millpond: windows and sessions grow
 * that the other one has begun, what has closed is told of once, and a visit waits for its purchase.
 */
import { describe, expect, test } from 'vitest'
import { TestCluster } from '../integration/test-cluster.ts'
import { topicSettings } from './topic-settings.ts'
import { Visits, rowsOfVisits, type Visit } from './visits.ts'

/** Java programs start slowly, and wait for the group. */
const slow = { timeout: 120_000 }

const kafka = { broker: 'Apache Kafka', start: () => TestCluster.start() }
const devBroker = { broker: 'the dev broker', start: () => TestCluster.onDevBroker() }

/** Time goes on in both partitions. */
const clockTo = (time: number): Visit[] => [
  ['clock 0', 'tick', time],
  ['clock 1', 'tick', time],
]

async function writeFirst(visits: Visits): Promise<void> {
  await visits.write('visits', [
    ['ann', 'home', 1],
    ['ann', 'shop', 4],
    ['max', 'home', 2],
    ['ann', 'cart', 9],
  ])
  await visits.write('purchases', [['ann', 'book', 5]])
}

async function writeSecond(visits: Visits): Promise<void> {
  await visits.write('visits', [
    // Into windows that the first turn began, and into the gap between its sessions.
    ['ann', 'help', 6.5],
    ['max', 'shop', 101],
    ['ann', 'home', 104],
  ])
  await visits.write('purchases', [['max', 'pen', 102]])
}

async function writeThird(visits: Visits): Promise<void> {
  await visits.write('visits', [
    ['max', 'cart', 103.5],
    ['ann', 'shop', 108],
  ])
  await visits.write('purchases', [['clock 0', 'bell', 201]])
}

const afterFirst = [
  'in-session\tann\t1\t4\thome;shop;',
  'in-session\tann\t9\t9\tcart;',
  'in-session\tmax\t2\t2\thome;',
  'in-window\tann\t-5\t5\t2\t4',
  'in-window\tann\t0\t10\t3\t9',
  'in-window\tann\t5\t15\t1\t9',
  'in-window\tmax\t-5\t5\t1\t2',
  'in-window\tmax\t0\t10\t1\t2',
]
const afterSecond = [
  'in-session\tann\t1\t9\thome;shop;cart;help;',
  'in-session\tann\t104\t104\thome;',
  'in-session\tclock 0\t100\t100\ttick;',
  'in-session\tclock 1\t100\t100\ttick;',
  'in-session\tmax\t101\t101\tshop;',
  'in-session\tmax\t2\t2\thome;',
  'in-window\tann\t-5\t5\t2\t4',
  'in-window\tann\t0\t10\t4\t9',
  'in-window\tann\t100\t110\t1\t104',
  'in-window\tann\t5\t15\t2\t9',
  'in-window\tann\t95\t105\t1\t104',
  'in-window\tclock 0\t100\t110\t1\t100',
  'in-window\tclock 0\t95\t105\t1\t100',
  'in-window\tclock 1\t100\t110\t1\t100',
  'in-window\tclock 1\t95\t105\t1\t100',
  'in-window\tmax\t-5\t5\t1\t2',
  'in-window\tmax\t0\t10\t1\t2',
  'in-window\tmax\t100\t110\t1\t101',
  'in-window\tmax\t95\t105\t1\t101',
]
const afterThird = [
  'in-session\tann\t1\t9\thome;shop;cart;help;',
  'in-session\tann\t104\t104\thome;',
  'in-session\tann\t108\t108\tshop;',
  'in-session\tclock 0\t100\t100\ttick;',
  'in-session\tclock 0\t200\t200\ttick;',
  'in-session\tclock 1\t100\t100\ttick;',
  'in-session\tclock 1\t200\t200\ttick;',
  'in-session\tmax\t101\t103.5\tshop;cart;',
  'in-session\tmax\t2\t2\thome;',
  'in-window\tann\t-5\t5\t2\t4',
  'in-window\tann\t0\t10\t4\t9',
  'in-window\tann\t100\t110\t2\t108',
  'in-window\tann\t105\t115\t1\t108',
  'in-window\tann\t5\t15\t2\t9',
  'in-window\tann\t95\t105\t1\t104',
  'in-window\tclock 0\t100\t110\t1\t100',
  'in-window\tclock 0\t195\t205\t1\t200',
  'in-window\tclock 0\t200\t210\t1\t200',
  'in-window\tclock 0\t95\t105\t1\t100',
  'in-window\tclock 1\t100\t110\t1\t100',
  'in-window\tclock 1\t195\t205\t1\t200',
  'in-window\tclock 1\t200\t210\t1\t200',
  'in-window\tclock 1\t95\t105\t1\t100',
  'in-window\tmax\t-5\t5\t1\t2',
  'in-window\tmax\t0\t10\t1\t2',
  'in-window\tmax\t100\t110\t2\t103.5',
  'in-window\tmax\t95\t105\t2\t103.5',
]

/** The first turn's windows, closed in the second turn. */
const firstCounts = ['ann@0\t3\t9', 'max@0\t1\t2']
const firstPairs = [
  'ann\tcart null\t9',
  'ann\thome null\t1',
  'ann\tshop book\t5',
  'max\thome null\t2',
]
/** Closed in the third turn and, those of the clocks at 200, in the last one. */
const allCounts = [
  'ann@0\t3\t9',
  'ann@100\t1\t104',
  'clock 0@100\t1\t100',
  'clock 0@200\t1\t200',
  'clock 1@100\t1\t100',
  'clock 1@200\t1\t200',
  'max@0\t1\t2',
  'max@100\t1\t101',
]
const allPairs = [
  'ann\tcart null\t9',
  'ann\thelp book\t6.5',
  'ann\thome null\t1',
  'ann\thome null\t104',
  'ann\tshop book\t5',
  'ann\tshop null\t108',
  'clock 0\ttick bell\t201',
  'clock 0\ttick null\t100',
  'clock 1\ttick null\t100',
  'clock 1\ttick null\t200',
  'max\tcart pen\t103.5',
  'max\thome null\t2',
  'max\tshop pen\t102',
]

const withoutTimestamps = (rows: readonly string[]): string[] =>
  rows.map((row) => row.split('\t').slice(0, 5).join('\t'))

describe.concurrent.each([kafka, devBroker])('on $broker', ({ start }) => {
  test.for([
    { cache: 'cached', cacheBytes: 10 * 1024 * 1024 },
    { cache: 'uncached', cacheBytes: 0 },
  ])(
    'Millpond and Kafka Streams take turns at windows, $cache',
    slow,
    async ({ cacheBytes }, { signal }) => {
      await using cluster = await start()
      await Visits.createTopics(cluster)
      const visits = new Visits(cluster, 'visits-app', cacheBytes)
      await writeFirst(visits)
      expect(await visits.runJava('java', signal)).toEqual(afterFirst)

      const millpond = visits.millpond('millpond')
      await millpond.start()
      expect(await rowsOfVisits(millpond)).toEqual(withoutTimestamps(afterFirst))
      await visits.write('visits', clockTo(100))
      await visits.processed(signal)
      expect(await Visits.written(cluster, 'counts')).toEqual(firstCounts)
      expect(await Visits.written(cluster, 'pairs')).toEqual(firstPairs)
      await writeSecond(visits)
      await visits.processed(signal)
      expect(await rowsOfVisits(millpond)).toEqual(withoutTimestamps(afterSecond))
      await millpond.close()

      expect(await visits.runJava('java', signal)).toEqual(afterSecond)
      await visits.write('visits', clockTo(200))
      await visits.runJava('java', signal)
      await writeThird(visits)
      // From a directory of its own that is behind, and from an empty one.
      expect(await visits.runJava('java', signal)).toEqual(afterThird)
      expect(await visits.runJava('java again', signal)).toEqual(afterThird)

      const again = visits.millpond('millpond')
      await again.start()
      expect(await rowsOfVisits(again)).toEqual(withoutTimestamps(afterThird))
      await visits.write('visits', clockTo(300))
      await visits.processed(signal)
      expect(await Visits.written(cluster, 'counts')).toEqual(allCounts)
      expect(await Visits.written(cluster, 'pairs')).toEqual(allPairs)
    },
  )

  test('both make the same topics and changelogs of windows', slow, async ({ signal }) => {
    await using cluster = await start()
    await Visits.createTopics(cluster)
    const [java, other] = [new Visits(cluster, 'java', 0), new Visits(cluster, 'other', 0)]
    const millpond = other.millpond('millpond')
    await millpond.start()
    await writeFirst(java)
    await other.processed(signal)
    expect(await java.runJava('java', signal)).toEqual(afterFirst)
    expect(await rowsOfVisits(millpond)).toEqual(withoutTimestamps(afterFirst))

    expect(await topicSettings(cluster, other.applicationId)).toEqual(
      await topicSettings(cluster, java.applicationId),
    )
    const stores = ['in-window', 'in-session', 'closed', 'bought-this-join-store']
    for (const store of stores)
      expect([store, await other.changelog(store)]).toEqual([store, await java.changelog(store)])
  })
})
