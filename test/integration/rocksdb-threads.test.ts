/** Workers in threads with their state in RocksDB. They run what was built: `npm run build` first, as `npm test` does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import {
  keyValueStore,
  serdes,
  type KafkaStreams,
  type RestoreProgress,
  type StreamsConfig,
} from '../../src/index.ts'
import { hasRocksdb, rocksdbFrom } from '../peers/rocksdb.ts'
import { TestCluster, classicOnly, devBrokerOnly, groupProtocol } from './test-cluster.ts'
import { until } from './until.ts'
import { isEqual } from './word-count.ts'

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
const program = fileURLToPath(new URL('threaded-instance.js', import.meta.url))
/** Of what group protocol and broker do not decide. */
const options = {
  timeout: 120_000,
  skip: !hasRocksdb || classicOnly.skip || devBrokerOnly.skip,
}

async function startedCluster(): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('words', 4)
  return cluster
}

function moduleOf(cluster: TestCluster, when: 'at-once' | 'busily' = 'at-once'): URL {
  const module = new URL('threaded-words.js', import.meta.url)
  module.searchParams.set('input', cluster.name('words'))
  module.searchParams.set('once', join(cluster.directory, 'once'))
  module.searchParams.set('rocksdb', rocksdbFrom)
  if (when === 'busily') module.searchParams.set('busily', '')
  return module
}

function instance(
  cluster: TestCluster,
  module: URL,
  config: Partial<StreamsConfig> = {},
): KafkaStreams {
  const streams = cluster.streams(module, 'a', { workers: 2, sessionTimeout: 10_000, ...config })
  streams.closed.catch(() => undefined)
  return streams
}

async function write(cluster: TestCluster, words: readonly string[]): Promise<void> {
  for (const [index, word] of words.entries()) {
    const bytes = Buffer.from(word)
    cluster.producer.send(cluster.name('words'), index % 4, bytes, bytes, systemClock.now(), [])
  }
  await cluster.producer.flush()
}

async function countsOf(streams: KafkaStreams): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for await (const [word, count] of streams.store(counts).range()) rows[word] = count
  return rows
}

const areCounted = async (
  expected: Record<string, number>,
  streams: KafkaStreams,
): Promise<boolean> => isEqual(expected, await countsOf(streams).catch(() => ({})))

test('a restart finds what threads have left in RocksDB', options, async ({ signal }) => {
  await using cluster = await startedCluster()
  const module = moduleOf(cluster)
  const first = instance(cluster, module)
  await first.start()
  await write(cluster, ['a', 'b', 'c', 'd'])
  await until(() => areCounted({ a: 1, b: 1, c: 1, d: 1 }, first), signal)
  await first.close()

  const restored: RestoreProgress[] = []
  const second = instance(cluster, module)
  second.on('restore', (one) => restored.push(one))
  await second.start()
  await write(cluster, ['a', 'b', 'c', 'd'])
  await until(() => areCounted({ a: 2, b: 2, c: 2, d: 2 }, second), signal)
  expect(restored.filter(({ phase }) => phase === 'batch')).toEqual([])
})

test('a thread that dies leaves its RocksDB to its successor', options, async ({ signal }) => {
  await using cluster = await startedCluster()
  const errors: Error[] = []
  const streams = instance(cluster, moduleOf(cluster), {
    processingGuarantee: 'exactly-once',
    onUncaughtError: (error) => {
      errors.push(error)
      return 'replace-worker'
    },
  })
  await streams.start()
  await write(cluster, ['a', 'b', 'c', 'd'])
  await until(() => areCounted({ a: 1, b: 1, c: 1, d: 1 }, streams), signal)
  await write(cluster, ['exit!', 'b', 'c', 'd'])
  await until(() => areCounted({ a: 1, b: 2, c: 2, d: 2, 'exit!': 1 }, streams), signal)
  expect(errors).toMatchObject([{ code: 'WORKER_DIED' }])
})

test('a thread that hangs while it writes to RocksDB is ended', options, async ({ signal }) => {
  await using cluster = await startedCluster()
  const module = moduleOf(cluster, 'busily')
  const streams = instance(cluster, module)
  await streams.start()
  await write(cluster, ['hang!'])
  for (let word = 0; !existsSync(join(cluster.directory, 'once')); word += 1000) {
    await write(
      cluster,
      Array.from({ length: 1000 }, (_, index) => `word-${word + index}`),
    )
  }
  await streams.close({ timeout: 500 })
  expect(streams.state).toBe('not-running')

  // In the same process: nothing has the files any more.
  const second = instance(cluster, module)
  await second.start()
  await until(async () => 'hang!' in (await countsOf(second)), signal)
})

test('a process whose threads have RocksDB open can exit', options, async ({ signal }) => {
  await using cluster = await startedCluster()
  const directory = join(cluster.directory, 'a')
  const names = [moduleOf(cluster).href, cluster.address, cluster.name('counts'), directory]
  const child = spawn(process.execPath, [program, ...names, groupProtocol], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true })
  child.stdout.resume()
  await write(cluster, ['a', 'b', 'c', 'd'])
  await until(async () => {
    const records = await cluster.read('counts-counts-changelog', 'read_committed')
    return records.length === 4
  }, signal)
  child.kill('SIGUSR2')
  expect(await ended).toEqual([7, null])
})
