/** What users' processors do with stores, topics and times on a broker. */
import { expect, test } from 'vitest'
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type RawKey,
  type StreamRecord,
  type Topology,
} from '../../src/index.ts'
import { startedCluster } from './word-count.ts'
import type { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

const totals = keyValueStore('totals', { key: serdes.string, value: serdes.long })

/** Sums the lengths of all lines of a partition, and writes them to topics named by the lines. */
function running(cluster: TestCluster): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(cluster.name('lines'), { value: serdes.string }))
    .process<string, string, { totals: typeof totals }>(
      ({ stores, forward, commit }) =>
        ({ value, timestamp }: StreamRecord<RawKey, string>) => {
          const total = (stores.totals.get('all') ?? 0) + value.length
          stores.totals.put('all', total)
          forward({ key: value, value: String(total), timestamp, headers: [] })
          commit()
        },
      { stores: { totals }, key: serdes.string, value: serdes.string },
    )
    .to((_value, key) => cluster.name(`of-${key}`), { key: serdes.string, value: serdes.string })
  return builder.build()
}

async function written(cluster: TestCluster, short: string): Promise<string[]> {
  return (await cluster.read(short)).map(({ value }) => String(value))
}

test('a store that a processor keeps is restored, and records go to topics that they name', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  for (const name of ['of-a', 'of-bb', 'of-ccc']) await cluster.createTopic(name, 1)
  // Long enough that only the processor asks for commits.
  const config = { commitInterval: 600_000 }
  const first = cluster.streams(running(cluster), 'a', config)
  await first.start()
  await cluster.write('lines', ['a', 'bb', 'a'])
  await until(async () => (await written(cluster, 'of-a')).length === 2, signal)
  expect(await written(cluster, 'of-a')).toEqual(['1', '4'])
  expect(await written(cluster, 'of-bb')).toEqual(['3'])
  await first.close()

  const second = cluster.streams(running(cluster), 'b', config)
  await second.start()
  await cluster.write('lines', ['ccc'])
  await until(async () => (await written(cluster, 'of-ccc')).length === 1, signal)
  expect(await written(cluster, 'of-ccc')).toEqual(['7'])
})

test('a topic that a record names and that is not there stops the instance', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  const streams = cluster.streams(running(cluster), 'a')
  const failed = new Promise((resolve) => streams.on('error', resolve))
  await streams.start()
  await cluster.write('lines', ['nowhere'])
  await until(() => streams.state !== 'running', signal)

  expect(await failed).toMatchObject({
    code: 'SINK_TOPIC_MISSING',
    message: expect.stringContaining(cluster.name('of-nowhere')) as string,
  })
})
