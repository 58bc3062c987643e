/**
 * An application with a store of nearly every kind changes hands between Kafka Streams and Millpond, in the
 * middle of its windows, joins and suppressions. What it comes to is what Kafka Streams alone makes of the
 * same input: results, the rows of all stores, and all changelogs to the last byte.
 */
import { beforeAll, describe, test } from 'vitest'
import { TestCluster } from '../integration/test-cluster.ts'
import { Market, type MarketRecord } from './market.ts'
import { topicSettings } from './topic-settings.ts'

/** Java programs start slowly, and wait for the group. */
const slow = { timeout: 300_000 }

/** Time goes on in both partitions. */
const clocks = (time: number): MarketRecord[] => [
  ['clock 0', 'tick 0', time],
  ['clock 1', 'tick 0', time],
]

/**
 * What is written before each turn. Times of topics that are read together differ, so that there is one order
 * in which they are taken.
 */
const turns: Parameters<Market['write']>[0][] = [
  {
    people: [
      ['ann', 'Ann', 0],
      ['bob', 'Bob', 0],
      ['max', 'Max', 0],
    ],
    sellers: [
      ['s1', 'Sam', 0.2],
      ['s2', 'Sue', 0.2],
    ],
    lots: [
      ['l1', 's1 vase', 1.1],
      ['l2', 's2 lamp', 2.1],
      ['l3', 's3 book', 3.1],
    ],
    prices: [
      ['ann', '10', 1.6],
      ['bob', '20', 2.6],
      ['ann', '11', 5.6],
    ],
    bids: [
      ['ann', 'red 1', 1],
      ['bob', 'blue 2', 2],
      ['ann', 'red 3', 4],
      ['max', 'red 5', 6],
      ['ann', 'blue 6', 9],
    ],
    asks: [
      ['ann', 'a1', 3.3],
      ['max', 'a2', 6.3],
      ['eve', 'a3', 9.3],
    ],
  },
  {
    // Into windows that are open, and late ones.
    people: [['bob', 'Rob', 10]],
    sellers: [
      ['s1', 'Sim', 10.2],
      ['s3', 'Sid', 10.2],
    ],
    lots: [
      ['l1', null, 10.1],
      ['l2', 's1 lamp', 12.1],
      ['l4', 's2 cup', 12.1],
    ],
    prices: [
      ['ann', '12', 8.6],
      ['bob', null, 10.6],
      ['max', '30', 5.9],
    ],
    bids: [
      ['ann', 'red 2', 9.5],
      ['max', 'red 4', 8],
      ['ann', 'red x', 10],
      ['bob', 'blue 7', 11],
      ['ann', 'blue 6', 8.5],
    ],
    asks: [
      ['ann', 'a4', 10.3],
      ['bob', 'a5', 11.3],
    ],
  },
  {
    people: [
      ['bob', null, 20],
      ['eve', 'Eve', 20],
    ],
    sellers: [['s2', null, 20.2]],
    lots: [
      ['l3', 's1 book', 16.1],
      ['l5', 's3 mat', 21.1],
      ['l1', 's2 vase', 22.1],
    ],
    prices: [
      ['ann', '13', 11.6],
      ['bob', '21', 20.6],
      ['ann', null, 23.6],
    ],
    bids: [
      ['ann', 'red 8', 12.5],
      ['bob', 'blue 9', 14],
      ['ann', 'red 9', 21],
      ['max', 'red x', 22],
      ['ann', 'blue 1', 22.5],
      ['max', 'red 6', 23],
      ['eve', 'red 1', 24],
    ],
    asks: [
      ['max', 'a6', 13.3],
      ['ann', 'a7', 21.3],
      ['eve', 'a8', 24.3],
    ],
  },
  // All that is open closes. A join looks for that at once at the beginning, and then once a second.
  {
    sellers: [['s2', 'Sal', 30.2]],
    lots: clocks(1_000.1),
    prices: clocks(1_000.6),
    bids: clocks(1_000),
    asks: clocks(1_000.3),
  },
]

/**
 * What waited for late prices, which Kafka Streams alone does not tell: it forgets what it has to restore of
 * that, and leaves it in the changelog, from which Millpond tells it.
 */
const priced = [
  '0\tann\tblue 1 of 13\t22.5\tof=bids 22.5',
  '0\tann\tblue 6 of 11\t8.5\tof=bids 8.5',
  '0\tann\tblue 6 of 12\t9\tof=bids 9',
  '0\tann\tred 2 of 12\t9.5\tof=bids 9.5',
  '0\tann\tred 3 of 10\t4\tof=bids 4',
  '0\tann\tred 8 of 13\t12.5\tof=bids 12.5',
  '0\tann\tred 9 of 13\t21\tof=bids 21',
  '0\tann\tred x of 12\t10\tof=bids 10',
  '1\tmax\tred 4 of 30\t8\tof=bids 8',
  '1\tmax\tred 5 of 30\t6\tof=bids 6',
  '1\tmax\tred 6 of 30\t23\tof=bids 23',
  '1\tmax\tred x of 30\t22\tof=bids 22',
]

interface Outcome {
  readonly rows: string[][]
  readonly results: Record<string, string[]>
  readonly changelogs: Record<string, string[]>
  readonly topics: unknown
  readonly committed: Record<string, unknown>
}

/** Who has which turn. */
type Hands = readonly ('java' | 'millpond')[]

async function play(market: Market, hands: Hands, signal: AbortSignal): Promise<Outcome> {
  await market.createTopics()
  const rows: string[][] = []
  for (const [turn, hand] of hands.entries()) {
    await market.write(turns[turn] ?? {})
    // Kafka Streams finds old versions only after a restore, not in a directory that it left.
    const run =
      hand === 'java'
        ? market.runJava(`java ${turn}`, signal)
        : market.runMillpond('millpond', signal)
    rows.push(await run)
  }
  return {
    rows,
    results: await market.results(),
    changelogs: await market.changelogs(),
    topics: await topicSettings(market.cluster, market.applicationId),
    committed: await market.committed(),
  }
}

const atLeastOnce = { guarantee: 'at-least-once' } as const
const exactlyOnce = { guarantee: 'exactly-once' } as const
const classic = { groupProtocol: 'classic' } as const
const streams = { groupProtocol: 'streams' } as const
const javaFirst: Hands = ['java', 'millpond', 'java', 'millpond']
const millpondFirst: Hands = ['millpond', 'java', 'millpond', 'millpond']

let java: Outcome

beforeAll(async () => {
  await using cluster = await TestCluster.start()
  const hands = ['java', 'java', 'java', 'java'] as const
  const signal = AbortSignal.timeout(280_000)
  java = await play(new Market(cluster, { ...classic, ...atLeastOnce }), hands, signal)
}, 300_000)

describe.concurrent.each([
  { ...classic, ...atLeastOnce, hands: millpondFirst },
  { ...classic, ...exactlyOnce, hands: javaFirst },
  { ...streams, ...atLeastOnce, hands: javaFirst },
  { ...streams, ...exactlyOnce, hands: millpondFirst },
])('$groupProtocol, $guarantee, $hands', ({ hands, ...options }) => {
  test('comes to what Kafka Streams alone makes', slow, async ({ signal, expect }) => {
    await using cluster = await TestCluster.start()
    const outcome = await play(new Market(cluster, options), hands, signal)
    expect.soft(outcome.rows).toEqual(java.rows)
    const { results, changelogs } = java
    expect.soft(outcome.results).toEqual({ ...results, priced })
    const waiting = outcome.changelogs['priced-Buffer']
    expect.soft(waiting?.length).toBe(2)
    expect.soft(outcome.changelogs).toEqual({ ...changelogs, 'priced-Buffer': waiting })
    expect.soft(outcome.topics).toEqual(java.topics)
    expect.soft(outcome.committed).toEqual(java.committed)
  })
})
