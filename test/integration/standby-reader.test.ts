import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { Admin } from '../../src/client/admin.ts'
import { Producer } from '../../src/client/producer.ts'
import { TransactionManager } from '../../src/client/transaction-manager.ts'
import type { Isolation } from '../../src/client/isolation.ts'
import { StandbyReader, type StandbyUpdate } from '../../src/runtime/standby-reader.ts'
import { StreamsMetrics } from '../../src/metrics/streams-metrics.ts'
import { memoryEngine } from '../../src/kv/memory-engine.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { keyValueStore } from '../../src/store/descriptor.ts'
import { StandbyTask } from '../../src/task/standby-task.ts'
import { StateManager } from '../../src/task/state-manager.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

const counts = keyValueStore('counts', {
  key: serdes.string,
  value: serdes.long,
  persistent: false,
})

/** A standby of partition 0 of one store; `sourceTopic`: it is its changelog. */
function standbyOf(cluster: TestCluster, sourceTopic?: string): StandbyTask {
  const metrics = new StreamsMetrics()
  const engine = memoryEngine('')
  const state = new StateManager({
    task: '0_0',
    applicationId: cluster.name('app'),
    stores: [{ descriptor: counts, timestamped: true, sourceTopic }],
    metrics,
    engines: { engine: () => engine, close: () => engine.close() },
    cacheBytesMax: 0,
  })
  const standby = new StandbyTask({ id: '0_0', state, metrics })
  standby.initialize()
  return standby
}

class Following implements AsyncDisposable {
  readonly updates: StandbyUpdate[] = []
  readonly reader: StandbyReader
  readonly standby: StandbyTask

  constructor(
    cluster: TestCluster,
    standby: StandbyTask,
    isolation: Isolation = 'read_uncommitted',
  ) {
    this.standby = standby
    this.reader = new StandbyReader({
      client: cluster.client,
      isolation,
      clock: systemClock,
      onUpdate: (update) => this.updates.push(update),
    })
    this.reader.add(standby)
  }

  get position(): number | undefined {
    return this.standby.changelogs[0]?.position
  }

  /** Works as a worker does until the condition holds. */
  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    await until(() => {
      this.reader.step(Infinity)
      return condition()
    }, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reader.close()
    this.standby.close({ clean: true })
  }
}

const changelog = 'app-counts-changelog'

async function write(cluster: TestCluster, topic: string, ...keys: string[]): Promise<void> {
  const now = systemClock.now()
  for (const key of keys) {
    const value = Buffer.from(serdes.long.serialize(1))
    cluster.producer.send(cluster.name(topic), 0, Buffer.from(key), value, now, [])
  }
  await cluster.producer.flush()
}

test('it follows what comes, and says how far it is behind', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic(changelog, 1)
  await write(cluster, changelog, 'a', 'b', 'c')
  await using following = new Following(cluster, standbyOf(cluster))
  const { reader, updates } = following
  expect(reader.lags('0_0')).toEqual([{ store: 'counts', offset: 0, endOffset: undefined }])

  await following.until(() => following.position === 3, signal)
  expect(reader.lags('0_0')).toEqual([{ store: 'counts', offset: 3, endOffset: 3 }])
  await write(cluster, changelog, 'd')
  await following.until(() => following.position === 4, signal)
  expect(reader.lag()).toBe(0)

  reader.remove('0_0', 'promoted')
  expect(reader.isIdle).toBe(true)
  expect(updates.map(({ phase, offset, records }) => [phase, offset, records])).toEqual([
    ['start', 0, 0],
    ['batch', 3, 3],
    ['batch', 4, 1],
    ['suspended', 4, 0],
  ])
  expect(updates.at(-1)).toMatchObject({ store: 'counts', endOffset: 4, reason: 'promoted' })
})

function keysOf(standby: StandbyTask): unknown[] {
  const rows = standby.store('counts')
  if (rows === undefined || !('range' in rows)) throw new Error('the store is open')
  return [...rows.range()].map(([key]) => key)
}

/** Rows with these keys in one transaction, which is committed, aborted, or left open. */
async function transact(
  cluster: TestCluster,
  end: 'commit' | 'abort' | 'leave',
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
  if (end !== 'leave') await session.close()
  await producer.close()
}

test('of transactions it takes those that were committed, up to the first that is open', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic(changelog, 1)
  await cluster.client.topicMetadata([cluster.name(changelog)])
  await transact(cluster, 'commit', 'a', 'b')
  await transact(cluster, 'abort', 'b', 'c')
  await using following = new Following(cluster, standbyOf(cluster), 'read_committed')
  const { reader, standby } = following
  // Two records and a marker, twice.
  await following.until(() => following.position === 6, signal)
  expect(reader.lags('0_0')).toEqual([{ store: 'counts', offset: 6, endOffset: 6 }])

  await transact(cluster, 'leave', 'd')
  await write(cluster, changelog, 'e')
  await using all = new Following(cluster, standbyOf(cluster))
  await all.until(() => all.position === 8, signal)
  reader.step(Infinity)
  expect([following.position, reader.lag()]).toEqual([6, 0])
  expect(keysOf(standby)).toEqual(['a', 'b'])
})

test('it waits while others restore', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic(changelog, 1)
  await write(cluster, changelog, 'a')
  await using following = new Following(cluster, standbyOf(cluster))
  const { reader } = following
  await following.until(() => following.position === 1, signal)
  reader.pause(true)
  await write(cluster, changelog, 'b')
  expect(reader.step(Infinity)).toBe(false)
  await reader.wait(50, signal)
  expect(reader.step(Infinity)).toBe(false)
  expect(following.position).toBe(1)
  // It does not seem to be as near as it was.
  await following.until(() => reader.lag() === 1, signal)
  await write(cluster, changelog, 'c', 'd')
  await following.until(() => reader.lag() === 3, signal)
  expect(following.position).toBe(1)
  reader.pause(false)
  await following.until(() => following.position === 4, signal)
})

test('a topic that is an input as well is followed as far as was committed', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('table', 1)
  await write(cluster, 'table', 'a', 'b', 'c')
  const standby = standbyOf(cluster, cluster.name('table'))
  await using following = new Following(cluster, standby)
  const { reader } = following
  reader.step(Infinity)
  standby.limit(cluster.name('table'), 2)
  await following.until(() => following.position === 2, signal)
  reader.step(Infinity)
  expect(following.position).toBe(2)
  expect(reader.lags('0_0')).toEqual([{ store: 'counts', offset: 2, endOffset: 3 }])
  standby.limit(cluster.name('table'), 3)
  await following.until(() => following.position === 3, signal)
  expect(reader.lag()).toBe(0)
  await write(cluster, 'table', 'd', 'e')
  await following.until(() => reader.lag() === 2, signal)
  expect(following.position).toBe(3)
})

test('what was beyond a limit is read also when the limit moves at once', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic(changelog, 1)
  const topic = cluster.name(changelog)
  await cluster.client.topicMetadata([topic])
  // What was aborted divides what is fetched into two parts, of which one step applies the first.
  await transact(cluster, 'commit', 'a', 'b')
  await transact(cluster, 'abort', 'x')
  await transact(cluster, 'commit', 'c')
  const standby = standbyOf(cluster, topic)
  await using following = new Following(cluster, standby, 'read_committed')
  standby.limit(topic, 1)
  await until(() => {
    following.reader.step(0)
    return following.position === 1
  }, signal)
  standby.limit(topic, 7)
  await following.until(() => following.position === 7, signal)
  expect(keysOf(standby)).toEqual(['a', 'b', 'c'])
})

test('a changelog of which nothing is left is no lag', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic(changelog, 1, { 'cleanup.policy': 'delete' })
  await write(cluster, changelog, 'a', 'b', 'c')
  const topic = cluster.name(changelog)
  await new Admin(cluster.client).deleteRecords([{ topic, partition: 0, offset: 3 }])
  await using following = new Following(cluster, standbyOf(cluster))
  await following.until(() => following.position === 3, signal)
  await write(cluster, changelog, 'd')
  await following.until(() => following.position === 4, signal)
  expect(following.reader.lag()).toBe(0)
})

test('a standby that has missed what was deleted meanwhile is corrupted', async ({ signal }) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic(changelog, 1, { 'cleanup.policy': 'delete' })
  await write(cluster, changelog, 'a', 'b')
  const standby = standbyOf(cluster)
  {
    const following = new Following(cluster, standby)
    await following.until(() => following.position === 2, signal)
    await following.reader.close()
  }
  await write(cluster, changelog, 'c', 'd')
  const topic = cluster.name(changelog)
  await new Admin(cluster.client).deleteRecords([{ topic, partition: 0, offset: 3 }])
  await using following = new Following(cluster, standby)
  let failure: unknown
  await until(() => {
    try {
      following.reader.step(Infinity)
      return false
    } catch (error) {
      failure = error
      return true
    }
  }, signal)
  expect(failure).toMatchObject({ code: 'TASK_CORRUPTED', context: { task: '0_0' } })
})
