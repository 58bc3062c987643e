import { expect, test } from 'vitest'
import { createPartitions } from '../../src/client/topic-admin.ts'
import { StreamsBuilder, serdes, topic, type Topology } from '../../src/index.ts'
import { simulatedCluster, type SimulatedCluster } from '../../src/testing/simulated-cluster.ts'

const first = topic('first', { key: serdes.string, value: serdes.string })
const second = topic('second', { key: serdes.string, value: serdes.string })
const copies = topic('copies', { key: serdes.string, value: serdes.string })

/** Copies what one topic or both have. */
function copying(input: typeof first | (typeof first)[]): Topology {
  const builder = new StreamsBuilder()
  builder.stream(input).to(copies)
  return builder.build()
}

async function grow(cluster: SimulatedCluster, { name }: typeof first): Promise<void> {
  await cluster.run(createPartitions(cluster.client, name, 2))
  await cluster.run(cluster.client.topicMetadata([name], { fresh: true }))
  await cluster.produce(topic(name, { key: serdes.string, value: serdes.string }), [
    { key: 'k', value: `${name} 1`, partition: 1 },
  ])
}

async function copied(cluster: SimulatedCluster): Promise<string[]> {
  const records = await cluster.read(copies)
  return records.map(({ value }) => value ?? '').sort()
}

test('a task of a partition that its instance has not heard of reads it', async () => {
  await using cluster = await simulatedCluster({ seed: 11 })
  await cluster.createTopic(first, { partitions: 1 })
  await cluster.createTopic(copies, { partitions: 1 })
  const a = cluster.instance('a', copying(first), {
    applicationId: 'app',
    groupProtocol: 'streams',
    metadataMaxAge: 600_000,
  })
  a.start()
  await cluster.until(() => a.state === 'running')
  await grow(cluster, first)
  await cluster.until(() => a.streams.localTasks().length === 2)
  await cluster.advance(5000)
  expect(await copied(cluster)).toEqual(['first 1'])
})

test.each(['classic', 'streams'] as const)(
  'a task reads a partition that one of its topics gets later (%s)',
  async (groupProtocol) => {
    await using cluster = await simulatedCluster({ seed: 12 })
    await cluster.createTopic(first, { partitions: 2 })
    await cluster.createTopic(second, { partitions: 1 })
    await cluster.createTopic(copies, { partitions: 1 })
    const a = cluster.instance('a', copying([first, second]), {
      applicationId: 'app',
      groupProtocol,
      metadataMaxAge: 3000,
    })
    a.start()
    await cluster.until(() => a.state === 'running')
    await cluster.produce(first, [{ key: 'k', value: 'first 1', partition: 1 }])
    await grow(cluster, second)
    await cluster.advance(15_000)
    expect(await copied(cluster)).toEqual(['first 1', 'second 1'])
  },
)
