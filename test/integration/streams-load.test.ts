import { expect, test } from 'vitest'
import { StreamsBuilder, keyValueStore, serdes, topic, type KafkaStreams } from '../../src/index.ts'
import { seededRandom, randomInteger } from '../../src/base/random.ts'
import { until } from './until.ts'
import { heldByAll, isEqual, startedCluster, taskIds, wordCount } from './word-count.ts'

const words = Array.from({ length: 500 }, (_, index) => `w${index}`)
const random = seededRandom(42)

/** Lines of five words, and how often each word is in them. */
function text(lineCount: number): { lines: string[]; counts: Record<string, number> } {
  const counts: Record<string, number> = {}
  const lines = Array.from({ length: lineCount }, () => {
    const line = Array.from({ length: 5 }, () => words[randomInteger(random, words.length)] ?? '')
    for (const word of line) counts[word] = (counts[word] ?? 0) + 1
    return line.join(' ')
  })
  return { lines, counts }
}

test('instances come and go under load, and every word is counted exactly once', async ({
  signal,
}) => {
  await using cluster = await startedCluster(6)
  const { lines, counts } = text(10_000)
  // A busy machine must not look like a dead instance: what that one did would be done again.
  const options = { commitInterval: 50, bufferedRecordsPerPartition: 200, sessionTimeout: 30_000 }
  const running: KafkaStreams[] = [cluster.streams(wordCount(cluster), 'i0', options)]
  await running[0]?.start()
  const isShared = (): boolean =>
    running.flatMap((one) => taskIds(one)).length === 12 &&
    running.every((one) => one.state === 'running' && one.localTasks().length > 0)

  const written = (async () => {
    for (let index = 0; index < lines.length; index += 250)
      await cluster.write('lines', lines.slice(index, index + 250))
  })()
  for (const name of ['i1', 'i2']) {
    const added = cluster.streams(wordCount(cluster), name, options)
    running.push(added)
    await added.start()
    await until(isShared, signal)
  }
  await running.shift()?.close()
  await until(isShared, signal)
  running.push(cluster.streams(wordCount(cluster), 'i0', options))
  await running.at(-1)?.start()
  await until(isShared, signal)
  await running.shift()?.close()
  await written
  await until(async () => isEqual(counts, await heldByAll(...running)), signal)
  expect(running.map((one) => one.state)).toEqual(['running', 'running'])
}, 60_000)

test('without a cache, and with state in memory, the counts are the same', async ({ signal }) => {
  await using cluster = await startedCluster(3)
  const { lines, counts } = text(5_000)
  const inMemory = keyValueStore('word-counts', {
    key: serdes.string,
    value: serdes.long,
    persistent: false,
    caching: false,
  })
  const streams = cluster.streams(wordCount(cluster, inMemory), 'a')
  await streams.start()
  await cluster.write('lines', lines)
  await until(async () => isEqual(counts, await heldByAll(streams)), signal)
  expect(streams.metrics.recordsProcessed.value).toBe(5_000 + 25_000)
})

test('what is not committed is bounded, however long the interval of commits', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  const text = topic(cluster.name('lines'), { key: serdes.string, value: serdes.string })
  const store = keyValueStore('texts', { key: serdes.string, value: serdes.string })
  const builder = new StreamsBuilder()
  builder.table(text, { store })
  const streams = cluster.streams(builder.build(), 'a', { cacheBytes: 0, commitInterval: 600_000 })
  await streams.start()
  const value = Buffer.alloc(100_000, 'v')
  for (let key = 0; key < 400; key += 1) {
    cluster.producer.send(cluster.name('lines'), 0, Buffer.from(`k${key}`), value, Date.now(), [])
  }
  await cluster.producer.flush()

  expect(await until(() => streams.metrics.commits.value, signal)).toBeGreaterThan(0)
}, 60_000)
