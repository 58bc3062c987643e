import { expect, test } from 'vitest'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { Producer } from '../client/producer.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { offsetCommit } from '../protocol/messages/8-offset-commit.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { TaskManager } from '../task/task-manager.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import { WorkerCommit } from './worker-commit.ts'

const identity = { groupId: 'app', memberId: 'm-1', instanceId: null, generation: 3 }

/**
 * Tasks that have read one record of the topics `left` and `right` each. The coordinator refuses
 * offsets of a topic that the cluster does not have.
 */
async function setup() {
  const cluster = await ScriptedCluster.start({ topics: { left: 1, right: 1 } })
  cluster.node(1).on(offsetCommit, ({ body }) => ({
    topics: body.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode: cluster.leaders.has(name) ? 0 : errorCode.UNKNOWN_TOPIC_OR_PARTITION,
      })),
    })),
  }))
  const client = cluster.client()
  await client.topicMetadata(['left', 'right'])
  const tasks = tasksWithWork(cluster)
  const commit = new WorkerCommit({
    client,
    clock: cluster.clock,
    membership: {
      start: () => undefined,
      identity: () => identity,
      taskMigrated: () => undefined,
      stop: () => Promise.resolve(),
    },
    metrics: new StreamsMetrics(),
    intervalMs: 100,
  })
  const producer = new Producer(client)
  return {
    cluster,
    client,
    tasks,
    run: () => commit.run({ tasks, producer }),
    /** The topics of each commit that the coordinator received. */
    sent: () =>
      cluster
        .node(1)
        .received(offsetCommit)
        .map(({ topics }) => topics.map(({ name }) => name)),
    [Symbol.asyncDispose]: async () => {
      await producer.close()
      await client.close()
    },
  }
}

function tasksWithWork({ clock }: ScriptedCluster): TaskManager {
  const string = serdes.string as Serde<unknown>
  const builder = new InternalTopologyBuilder()
  for (const topic of ['left', 'right']) {
    const process = () => undefined
    builder
      .addSource(topic, { topics: [topic], key: string, value: string })
      .addProcessor(`${topic}-node`, () => ({ process }), [topic])
  }
  const tasks = new TaskManager({
    topology: builder.build(),
    applicationId: 'app',
    clock,
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
  for (const id of ['0_0', '1_0'] as const) {
    tasks.create(id)
    tasks.initialize(id, [])
    tasks.completeRestoration(id)
  }
  for (const topic of ['left', 'right']) tasks.addRecords(topic, 0, oneRecord(), 0)
  tasks.process(Infinity)
  return tasks
}

function oneRecord(): Buffer {
  const builder = new RecordBatchBuilder()
  builder.append(Buffer.from('k'), Buffer.from('v'), 1)
  return builder.build({ baseOffset: 0, producerId: -1, producerEpoch: -1, baseSequence: -1 })
}

/** Lets the client ask once while the cluster does not have the topic. */
async function forget(
  { cluster, client }: Awaited<ReturnType<typeof setup>>,
  topic: string,
): Promise<void> {
  const leaders = cluster.leaders.get(topic) ?? []
  cluster.leaders.delete(topic)
  await client.refreshMetadata()
  expect(client.partitionCount(topic)).toBeUndefined()
  cluster.leaders.set(topic, leaders)
}

test('the offset of a topic that one answer did not know is committed', async () => {
  await using worker = await setup()
  await forget(worker, 'left')
  expect(await worker.run()).toBe('done')
  expect(worker.sent()).toEqual([['left', 'right']])
  expect(worker.tasks.commitNeeded).toBe(false)
})

test('the offset of a topic that was deleted is left out, in the same commit', async () => {
  await using worker = await setup()
  worker.cluster.leaders.delete('left')
  expect(await worker.run()).toBe('done')
  expect(worker.sent()).toEqual([['left', 'right'], ['right']])
  expect(worker.tasks.commitNeeded).toBe(false)
})

test('the commit waits while only its coordinator does not know the topic', async () => {
  await using worker = await setup()
  const { cluster, tasks } = worker
  const refused = { partitionIndex: 0, errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION }
  let isBehind = true
  cluster.node(1).on(offsetCommit, ({ body }) => ({
    topics: body.topics.map(({ name }) => ({
      name,
      partitions: [isBehind && name === 'left' ? refused : { ...refused, errorCode: 0 }],
    })),
  }))
  expect(await worker.run()).toBe('later')
  expect(tasks.commitNeeded).toBe(true)
  isBehind = false
  expect(await worker.run()).toBe('done')
  expect(worker.sent()).toEqual([
    ['left', 'right'],
    ['left', 'right'],
  ])
  expect(tasks.commitNeeded).toBe(false)
})
