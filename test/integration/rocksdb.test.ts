/** Word count with its state in RocksDB. */
import { expect, test } from 'vitest'
import { systemPorts } from '../../src/config.ts'
import type { RestoreProgress, StreamsConfig } from '../../src/index.ts'
import { rocksdbStateEngine } from '../../src/kv/rocksdb-state-engine.ts'
import { hasRocksdb, rocksdbFrom } from '../peers/rocksdb.ts'
import { CutTransport } from './cut-transport.ts'
import { until } from './until.ts'
import { counts, held, isEqual, poem, startedCluster, wordCount } from './word-count.ts'

const options = {
  options: { cacheBytes: 1024 * 1024, writeBufferBytes: 1024 * 1024 },
  from: rocksdbFrom,
}
const config: Partial<StreamsConfig> = { engine: rocksdbStateEngine(options) }

test.runIf(hasRocksdb)(
  'a restart after a clean stop replays nothing, and shows how RocksDB is',
  async ({ signal }) => {
    await using cluster = await startedCluster()
    await cluster.write('lines', poem)
    const first = cluster.streams(wordCount(cluster), 'a', { ...config, commitInterval: 60_000 })
    await first.start()
    await until(async () => isEqual(counts, await held(first)), signal)
    const gauges = first.metrics.registry.families().filter(({ name }) => name.includes('rocksdb'))
    expect(gauges).toHaveLength(22)
    expect(gauges[0]?.series.map(({ labels }) => labels['task']).sort()).toEqual([
      '1_0',
      '1_1',
      '1_2',
      '1_3',
    ])
    await first.close()

    const restored: RestoreProgress[] = []
    const second = cluster.streams(wordCount(cluster), 'a', config)
    second.on('restore', (one) => restored.push(one))
    await second.start()
    expect(restored.filter(({ phase }) => phase === 'batch')).toEqual([])
    expect(await held(second)).toEqual(counts)
    expect(second.metrics.recordsProcessed.value).toBe(0)
    await cluster.write('lines', ['to be'])
    await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await held(second)), signal)
    await second.close()

    // With LMDB it does not go on as if nothing had been counted.
    const third = cluster.streams(wordCount(cluster), 'a')
    await expect(third.start()).rejects.toMatchObject({ code: 'STATE_ENGINE_DIFFERS' })
    await third.close()
    third.cleanUp()
    const fourth = cluster.streams(wordCount(cluster), 'a')
    await fourth.start()
    await until(async () => isEqual({ ...counts, to: 5, be: 3 }, await held(fourth)), signal)
  },
  60_000,
)

test.runIf(hasRocksdb)(
  'a restart after a crash on the same directory loses nothing',
  async ({ signal }) => {
    await using cluster = await startedCluster()
    const network = new CutTransport()
    const ports = { ...systemPorts, transport: network }
    const first = cluster.streams(wordCount(cluster), 'a', config, ports)
    await first.start()
    await cluster.write('lines', poem)
    await until(async () => isEqual(counts, await held(first)), signal)
    await until(() => first.metrics.commits.value > 0, signal)
    network.cut()
    await first.close({ timeout: 0 })
    await cluster.write('lines', ['to be'])

    const second = cluster.streams(wordCount(cluster), 'a', config)
    await second.start()
    const atLeast = { ...counts, to: 5, be: 3 }
    await until(async () => {
      const rows = await held(second)
      return Object.entries(atLeast).every(([word, count]) => (rows[word] ?? 0) >= count)
    }, signal)
    expect(Object.keys(await held(second)).sort()).toEqual(Object.keys(atLeast).sort())
  },
  60_000,
)
