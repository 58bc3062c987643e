import { describe, expect, test } from 'vitest'
import { settled } from '../../test/peers/scripted-appends.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { ScriptedCoordinator } from '../../test/peers/scripted-transactions.ts'
import { Producer } from '../client/producer.ts'
import { TransactionManager } from '../client/transaction-manager.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { produce } from '../protocol/messages/0-produce.ts'
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
async function setup(guarantee: 'at-least-once' | 'exactly-once' = 'at-least-once') {
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
  const isExactlyOnce = guarantee === 'exactly-once'
  const coordinator = new ScriptedCoordinator(cluster.brokers, 2)
  const transactions = isExactlyOnce
    ? new TransactionManager(client, { transactionalId: 'id', timeoutMs: 10_000 })
    : undefined
  const tasks = tasksWithWork(cluster)
  let generation: number | undefined = identity.generation
  const commit = new WorkerCommit({
    client,
    clock: cluster.clock,
    membership: {
      start: () => undefined,
      identity: () => (generation === undefined ? undefined : { ...identity, generation }),
      taskMigrated: () => undefined,
      stop: () => Promise.resolve(),
    },
    metrics: new StreamsMetrics(),
    intervalMs: 1000,
  })
  const producer = new Producer(client, transactions && { session: transactions })
  const parts = { tasks, producer, transactions }
  if (transactions) await settled(cluster.clock, transactions.initialize())
  return {
    cluster,
    client,
    coordinator,
    tasks,
    commit,
    parts,
    setGeneration: (now: number | undefined) => {
      generation = now
    },
    run: () => settled(cluster.clock, commit.run(parts)),
    /** The topics of each commit that the coordinator received. */
    sent: () =>
      cluster
        .node(1)
        .received(offsetCommit)
        .map(({ topics }) => topics.map(({ name }) => name)),
    [Symbol.asyncDispose]: async () => {
      await producer.close()
      await transactions?.close()
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

function oneRecord(baseOffset = 0): Buffer {
  const builder = new RecordBatchBuilder()
  builder.append(Buffer.from('k'), Buffer.from('v'), 1)
  return builder.build({ baseOffset, producerId: -1, producerEpoch: -1, baseSequence: -1 })
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

describe('exactly once', () => {
  test('offsets and end are of one transaction, in the name of the member', async () => {
    await using worker = await setup('exactly-once')
    expect(await worker.run()).toBe('done')
    expect(worker.coordinator.done).toEqual([
      'init',
      'offsets left-0@1 right-0@1 of m-1/3',
      'commit',
    ])
    expect(worker.sent()).toEqual([])
    expect(worker.tasks.commitNeeded).toBe(false)
    expect(worker.commit.isDue(worker.parts)).toBe(false)
  })

  test('nobody is told of a commit that may not have been: its end is asked for again', async () => {
    await using worker = await setup('exactly-once')
    const { coordinator, tasks } = worker
    coordinator.fail('EndTxn', ...Array<'lose the answer'>(200).fill('lose the answer'))
    expect(await worker.run()).toBe('later')
    expect(tasks.commitNeeded).toBe(true)
    expect(worker.commit.isPending).toBe(true)
    // The transaction has its offsets: whatever becomes of the group, its end counts.
    worker.setGeneration(undefined)
    coordinator.faults.clear()
    expect(await worker.run()).toBe('done')
    expect(coordinator.done).toEqual(['init', 'offsets left-0@1 right-0@1 of m-1/3', 'commit'])
    expect(tasks.commitNeeded).toBe(false)
  })

  test('settles what is pending and nothing else', async () => {
    await using worker = await setup('exactly-once')
    const { cluster, coordinator, commit, parts } = worker
    expect(await settled(cluster.clock, commit.settle(parts))).toBe('done')
    expect(coordinator.done).toEqual(['init'])
    coordinator.fail('EndTxn', ...Array<'lose the answer'>(200).fill('lose the answer'))
    expect(await worker.run()).toBe('later')
    expect(await settled(cluster.clock, commit.settle(parts))).toBe('later')
    coordinator.faults.clear()
    expect(await settled(cluster.clock, commit.settle(parts))).toBe('done')
    expect(commit.isPending).toBe(false)
    expect(coordinator.done).toEqual(['init', 'offsets left-0@1 right-0@1 of m-1/3', 'commit'])
  })

  test('what is written while only its end is not known belongs to the next commit', async () => {
    await using worker = await setup('exactly-once')
    const { cluster, coordinator, parts } = worker
    cluster.node(1).on(produce, () => {
      coordinator.written()
      coordinator.done.push('write')
      const partitionResponses = [{ index: 0, errorCode: 0, baseOffset: 0 }]
      return { responses: [{ name: 'left', partitionResponses }] }
    })
    coordinator.fail('EndTxn', ...Array<'lose the answer'>(200).fill('lose the answer'))
    expect(await worker.run()).toBe('later')
    parts.producer.send('left', 0, null, Buffer.from('late'), 1, [])
    coordinator.faults.clear()
    expect(await worker.run()).toBe('done')
    expect(await worker.run()).toBe('done')
    expect(coordinator.done).toEqual([
      'init',
      'offsets left-0@1 right-0@1 of m-1/3',
      'commit',
      'write',
      'commit',
    ])
  })

  test('waits while the group is between two generations, and goes on in the next', async () => {
    await using worker = await setup('exactly-once')
    worker.setGeneration(undefined)
    expect(await worker.run()).toBe('later')
    worker.setGeneration(4)
    expect(await worker.run()).toBe('done')
    expect(worker.coordinator.done).toEqual([
      'init',
      'offsets left-0@1 right-0@1 of m-1/4',
      'commit',
    ])
  })

  test('is made in the last generation while the next is not agreed on', async () => {
    await using worker = await setup('exactly-once')
    const { coordinator, tasks } = worker
    expect(await worker.run()).toBe('done')
    worker.setGeneration(undefined)
    for (const topic of ['left', 'right']) tasks.addRecords(topic, 0, oneRecord(1), 1)
    tasks.process(Infinity)
    coordinator.fail('TxnOffsetCommit', { code: errorCode.ILLEGAL_GENERATION })
    expect(await worker.run()).toBe('later')
    expect(await worker.run()).toBe('done')
    expect(coordinator.done.slice(-2)).toEqual(['offsets left-0@2 right-0@2 of m-1/3', 'commit'])
  })

  test('a refusal that a rebalance has overtaken is no loss', async () => {
    await using worker = await setup('exactly-once')
    worker.coordinator.fail('TxnOffsetCommit', {
      code: errorCode.ILLEGAL_GENERATION,
      meanwhile: () => worker.setGeneration(4),
    })
    expect(await worker.run()).toBe('later')
    expect(await worker.run()).toBe('done')
    expect(worker.coordinator.done.at(-2)).toBe('offsets left-0@1 right-0@1 of m-1/4')
  })

  test.each([
    ['TxnOffsetCommit', 'UNKNOWN_MEMBER_ID', 'TASK_MIGRATED'],
    ['TxnOffsetCommit', 'INVALID_PRODUCER_EPOCH', 'TASK_MIGRATED'],
    ['EndTxn', 'PRODUCER_FENCED', 'TASK_MIGRATED'],
    ['EndTxn', 'TRANSACTION_ABORTABLE', 'TRANSACTION_ABORTED'],
  ] as const)('%s that is refused with %s ends in %s', async (api, name, code) => {
    await using worker = await setup('exactly-once')
    worker.coordinator.fail(api, { code: errorCode[name] })
    await expect(worker.run()).rejects.toMatchObject({ code })
    expect(worker.tasks.commitNeeded).toBe(true)
  })

  test('a transaction that only has records is committed when it is time', async () => {
    await using worker = await setup('exactly-once')
    expect(await worker.run()).toBe('done')
    const { cluster, commit, parts } = worker
    cluster.node(1).on(produce, () => {
      worker.coordinator.written()
      const partitionResponses = [{ index: 0, errorCode: 0, baseOffset: 0 }]
      return { responses: [{ name: 'left', partitionResponses }] }
    })
    parts.producer.send('left', 0, null, Buffer.from('letter'), 1, [])
    await settled(cluster.clock, parts.producer.flush())
    expect(commit.isDue(parts)).toBe(false)
    await cluster.clock.run(1000)
    expect(commit.isDue(parts)).toBe(true)
    expect(await worker.run()).toBe('done')
    expect(worker.coordinator.done.at(-1)).toBe('commit')
    expect(commit.isDue(parts)).toBe(false)
  })

  test('the offset of a topic that was deleted is left out, in the same transaction', async () => {
    await using worker = await setup('exactly-once')
    const { cluster, coordinator } = worker
    coordinator.fail('TxnOffsetCommit', { code: errorCode.UNKNOWN_TOPIC_OR_PARTITION })
    cluster.leaders.delete('left')
    expect(await worker.run()).toBe('done')
    expect(coordinator.done).toEqual(['init', 'offsets right-0@1 of m-1/3', 'commit'])
  })
})
