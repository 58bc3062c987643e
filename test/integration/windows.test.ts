import { expect, test } from 'vitest'
import {
  StreamsBuilder,
  serdes,
  sessionWindows,
  timeWindows,
  topic,
  type RestoreProgress,
} from '../../src/index.ts'
import { RecentTimes, texts, writeTexts } from './joined-streams.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

async function startedCluster(): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('clicks', 1)
  await cluster.createTopic('out', 1)
  return cluster
}

test('windows that emit on close do so once, also when another instance goes on', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const times = new RecentTimes()
  // Windows of this length begin at multiples of it.
  const size = 10_000
  const zero = Math.floor(times.at(0) / size) * size
  const key = serdes.timeWindowed(serdes.string, size)
  const builder = new StreamsBuilder()
  builder
    .stream(texts(cluster, 'clicks'))
    .groupByKey()
    .windowedBy(timeWindows({ size, grace: 0 }))
    .emitStrategy('on-window-close')
    .count({ store: 'counts', retention: 10 * size })
    .toStream()
    .to(topic(cluster.name('out'), { key, value: serdes.long }))
  const emitted = async (): Promise<string[]> => {
    const records = await cluster.read('out')
    return records.map((record) => {
      const windowed = key.deserialize(record.key ?? Buffer.alloc(0))
      const window = (windowed.window.start - zero) / size
      return `${windowed.key}@${window}=${serdes.long.deserialize(record.value ?? Buffer.alloc(0))}`
    })
  }
  const clickUntil = async (name: string, time: number, count: number): Promise<void> => {
    // Closed windows are looked for with a record, once a second.
    await until(async () => {
      await writeTexts(cluster, 'clicks', [[name, 'v', time]])
      return (await emitted()).length >= count
    }, signal)
  }

  const first = cluster.streams(builder.build(), 'a')
  await first.start()
  await writeTexts(cluster, 'clicks', [
    ['a', 'v', zero + 1],
    ['a', 'v', zero + 2],
  ])
  await clickUntil('b', zero + size, 1)
  await first.close()
  const second = cluster.streams(builder.build(), 'b')
  await second.start()
  await clickUntil('c', zero + 2 * size, 2)
  await second.close()

  const [one, other, ...more] = await emitted()
  expect(one).toBe('a@0=2')
  expect(other).toMatch(/^b@1=\d+$/)
  expect(more).toEqual([])
}, 30_000)

test('what a suppression holds back comes back from its changelog, on another instance', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const times = new RecentTimes()
  const key = serdes.sessionWindowed(serdes.string)
  const builder = new StreamsBuilder()
  builder
    .stream(texts(cluster, 'clicks'))
    .groupByKey()
    .windowedBy(sessionWindows({ gap: 1000, grace: 0 }))
    .count({ store: 'visits' })
    .suppress({ until: 'window-closes', buffer: 'unbounded', name: 'final' })
    .toStream()
    .to(topic(cluster.name('out'), { key, value: serdes.long }))
  const first = cluster.streams(builder.build(), 'a')
  await first.start()
  await writeTexts(cluster, 'clicks', [
    ['a', 'v', times.at(0)],
    ['a', 'v', times.at(500)],
    ['b', 'v', times.at(700)],
  ])
  await until(() => first.metrics.recordsProcessed.value >= 3, signal)
  await first.close()
  expect(await cluster.read('out')).toEqual([])

  const restored: RestoreProgress[] = []
  const second = cluster.streams(builder.build(), 'b').on('restore', (one) => restored.push(one))
  await second.start()
  expect(restored.map(({ store }) => store)).toContain('final-store')
  await writeTexts(cluster, 'clicks', [['c', 'v', times.at(5000)]])
  await until(async () => (await cluster.read('out')).length >= 2, signal)
  await second.close()

  const out = await cluster.read('out')
  expect(
    out.map((record) => [
      key.deserialize(record.key ?? Buffer.alloc(0)).key,
      serdes.long.deserialize(record.value ?? Buffer.alloc(0)),
      record.timestamp,
    ]),
  ).toEqual([
    ['a', 2, times.at(500)],
    ['b', 1, times.at(700)],
  ])
})
