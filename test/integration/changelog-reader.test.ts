import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Producer } from '../../src/client/producer.ts'
import { TransactionManager } from '../../src/client/transaction-manager.ts'
import { MemoryEngine } from '../../src/kv/memory-engine.ts'
import { StreamsMetrics } from '../../src/metrics/streams-metrics.ts'
import { ChangelogReader } from '../../src/runtime/changelog-reader.ts'
import type { Serde } from '../../src/serde/serde.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { keyValueStore } from '../../src/store/descriptor.ts'
import type { StreamTask } from '../../src/task/stream-task.ts'
import { TaskManager } from '../../src/task/task-manager.ts'
import { InternalTopologyBuilder } from '../../src/topology/internal-topology-builder.ts'
import type { Topology } from '../../src/topology/topology.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

const string = serdes.string as Serde<unknown>
const changelog = 'app-counts-changelog'

function counting(): Topology {
  const key = serdes.string
  const counts = keyValueStore('counts', { key, value: serdes.long, persistent: false })
  return new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], key: string, value: string })
    .addProcessor('count', () => ({ process: () => undefined }), ['source'])
    .addStore({ descriptor: counts, timestamped: true }, ['count'])
    .build()
}

/** Tasks whose stores are in memory: who is made anew has nothing. */
function tasksOf(cluster: TestCluster): TaskManager {
  return new TaskManager({
    topology: counting(),
    applicationId: cluster.name('app'),
    clock: systemClock,
    sink: { partitionCount: () => 1, send: () => undefined, nextOffset: () => undefined },
    metrics: new StreamsMetrics(),
    engines: () => {
      const engine = new MemoryEngine()
      return { engine: () => engine, close: () => engine.close() }
    },
    cacheBytesPerTask: 0,
    partitionCount: () => 1,
    lag: () => 0,
  })
}

/** Rows with these keys in one transaction. */
async function transact(
  cluster: TestCluster,
  end: 'commit' | 'abort',
  ...keys: string[]
): Promise<void> {
  const transactionalId = cluster.name(end)
  const session = new TransactionManager(cluster.client, { transactionalId, timeoutMs: 60_000 })
  const producer = new Producer(cluster.client, { session })
  await session.initialize()
  for (const key of keys) {
    const value = Buffer.from(serdes.long.serialize(1))
    producer.send(cluster.name(changelog), 0, Buffer.from(key), value, systemClock.now(), [])
  }
  await producer.flush()
  if (end === 'commit') await session.commit()
  await session.close()
  await producer.close()
}

function positionOf(task: StreamTask): number | undefined {
  return task.changelogs[0]?.position
}

test('what was fetched for a task that went is nothing to the one that comes', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic(changelog, 1)
  await cluster.client.topicMetadata([cluster.name(changelog)])
  // What was aborted divides what is fetched into two parts, of which one step applies the first.
  await transact(cluster, 'commit', 'a', 'b')
  await transact(cluster, 'abort', 'x')
  await transact(cluster, 'commit', 'c')
  const tasks = tasksOf(cluster)
  const metrics = new StreamsMetrics()
  const reader = new ChangelogReader({
    client: cluster.client,
    clock: systemClock,
    isolation: 'read_committed',
    log: silentLog,
    remaining: metrics.restoreRemaining,
    onProgress: () => undefined,
    wake: () => undefined,
  })
  const begun = (): StreamTask => {
    const task = tasks.create('0_0')
    tasks.initialize('0_0', [])
    reader.add(task)
    return task
  }
  const gone = begun()
  await until(() => {
    reader.step(0)
    return positionOf(gone) === 3
  }, signal)
  reader.remove('0_0')
  tasks.close(['0_0'], { clean: false })

  const task = begun()
  await until(() => reader.lags('0_0')[0]?.endOffset === 7, signal)
  await until(() => reader.step(Infinity).length > 0, signal)
  const store = task.store('counts')
  if (store === undefined || !('range' in store)) throw new Error('the store is open')
  expect([...store.range()].map(([key]) => key)).toEqual(['a', 'b', 'c'])
  tasks.close(undefined, { clean: false })
  await reader.close()
})
