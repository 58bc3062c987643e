/**
 * Kafka Streams as a member of a streams group (KIP-1071), and Millpond in its place: the group keeps
 * the topology that the first of them sent and refuses every other one, so that both must send the same
 * to the last byte.
 */
import { describe, expect, test } from 'vitest'
import { StreamsGroupCoordinator } from '../../src/client/streams-group-coordinator.ts'
import { TestCluster } from '../integration/test-cluster.ts'
import { Tally, rowsOf, type Amount, type Line } from './tally.ts'
import { topicSettings } from './topic-settings.ts'

/** Java programs start slowly, and hear of the group every five seconds. */
const slow = { timeout: 180_000 }

const lines: Line[] = [
  ['to be or not to be', 5_000],
  ['that is the question', 4_000],
]
const amounts: Amount[] = [
  ['ann', 5, 1_000],
  ['bob', 7, 2_000],
  ['ann', -2, 900],
]
const rows = [
  'histories\tann\t5;-2;\t1000',
  'histories\tbob\t7;\t2000',
  'sums\tann\t3\t1000',
  'sums\tbob\t7\t2000',
  'word-counts\tbe\t2\t5000',
  'word-counts\tis\t1\t4000',
  'word-counts\tnot\t1\t5000',
  'word-counts\tor\t1\t5000',
  'word-counts\tquestion\t1\t4000',
  'word-counts\tthat\t1\t4000',
  'word-counts\tthe\t1\t4000',
  'word-counts\tto\t2\t5000',
]

/** What the group says of the topology. */
async function topologyOf(tally: Tally): Promise<unknown> {
  await using group = new StreamsGroupCoordinator(tally.cluster.client, tally.applicationId)
  const { topology } = await group.describe({ timeoutMs: 10_000 })
  return topology
}

describe.each([
  { broker: 'Apache Kafka', start: () => TestCluster.start() },
  { broker: 'the dev broker', start: () => TestCluster.onDevBroker() },
])('on $broker', ({ start }) => {
  test('one goes on where the other stopped, in the same group', slow, async ({ signal }) => {
    await using cluster = await start()
    await Tally.createInput(cluster)
    const tally = new Tally(cluster, 'tally', 0, 'streams')
    await tally.write(lines, amounts)
    expect(await tally.runJava('java', signal)).toEqual(rows)
    const topology = await topologyOf(tally)

    const millpond = tally.millpond('millpond')
    await millpond.start()
    expect(rowsOf(millpond)).toEqual(rows)
    expect(millpond.metrics.recordsProcessed.value).toBe(0)
    expect(await topologyOf(tally)).toEqual(topology)
    await tally.write([['to be', 6_000]], [])
    await tally.processed(signal)
    await millpond.close()

    const more = rows.map((row) =>
      row
        .replace('word-counts\tto\t2\t5000', 'word-counts\tto\t3\t6000')
        .replace('word-counts\tbe\t2\t5000', 'word-counts\tbe\t3\t6000'),
    )
    expect(await tally.runJava('java', signal)).toEqual(more)
  })

  test('the coordinator makes the topics that a leader makes', slow, async ({ signal }) => {
    await using cluster = await start()
    await Tally.createInput(cluster)
    const [classic, streams] = [
      new Tally(cluster, 'classic', 0, 'classic'),
      new Tally(cluster, 'streams', 0, 'streams'),
    ]
    await classic.write(lines, amounts)
    for (const tally of [classic, streams]) {
      const instance = tally.millpond(tally.applicationId)
      await instance.start()
      await tally.processed(signal)
      expect(rowsOf(instance)).toEqual(rows)
    }
    expect(await topicSettings(cluster, streams.applicationId)).toEqual(
      await topicSettings(cluster, classic.applicationId),
    )
  })
})
