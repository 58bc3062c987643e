/** Commits say in which leader epoch the records were read, as Java's do. */
import { expect, test } from 'vitest'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import { serdes, StreamsBuilder, topic, type Topology } from '../../src/index.ts'
import { devBrokerOnly, TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

function listening(cluster: TestCluster, seen: string[]): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(cluster.name('in'), { value: serdes.string }))
    .forEach((value) => void seen.push(value))
  return builder.build()
}

/** Offset and leader epoch that the group has committed. */
async function committed(cluster: TestCluster): Promise<(number | undefined)[]> {
  const inputs = [{ topic: cluster.name('in'), partition: 0 }]
  const offsets = await fetchCommittedOffsets(cluster.client, cluster.name('epochs'), inputs)
  const [commit] = offsets.values()
  return [commit?.offset, commit?.leaderEpoch]
}

const config = (cluster: TestCluster) => ({ applicationId: cluster.name('epochs') })

test('the epoch of the records is committed beside the offset', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('in', 1)
  await cluster.write('in', ['a', 'b'])
  const seen: string[] = []
  const streams = cluster.streams(listening(cluster, seen), 'a', config(cluster))
  await streams.start()
  await until(() => seen.length === 2, signal)
  await streams.close()
  expect(await committed(cluster)).toEqual([2, 0])
})

test(
  'after its broker has come back an instance goes on, in the new epoch',
  devBrokerOnly,
  async ({ signal }) => {
    await using cluster = await TestCluster.start()
    await cluster.createTopic('in', 1)
    await cluster.write('in', ['a', 'b'])
    const seen: string[] = []
    const streams = cluster.streams(listening(cluster, seen), 'a', config(cluster))
    await streams.start()
    // The group is gone with the broker, and with it what was not committed.
    await until(async () => (await committed(cluster))[0] === 2, signal)
    await cluster.restartBroker()
    await cluster.write('in', ['c'])
    await until(async () => (await committed(cluster))[0] === 3, signal)
    await streams.close()
    expect([...new Set(seen)]).toEqual(['a', 'b', 'c'])
    expect(await committed(cluster)).toEqual([3, 1])

    // One that begins now asks whether the log still has what was read, and is told that it has.
    await cluster.restartBroker()
    const later: string[] = []
    const next = cluster.streams(listening(cluster, later), 'b', config(cluster))
    await next.start()
    await cluster.write('in', ['d'])
    await until(() => later.length > 0, signal)
    await next.close()
    expect(later).toEqual(['d'])
    expect(await committed(cluster)).toEqual([4, 2])
  },
)
