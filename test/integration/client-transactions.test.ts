import { describe, expect, test } from 'vitest'
import { GroupCoordinator } from '../../src/client/group-coordinator.ts'
import type { KafkaClient } from '../../src/client/kafka-client.ts'
import { fetchCommittedOffsets, listOffsets } from '../../src/client/offsets.ts'
import { Producer } from '../../src/client/producer.ts'
import { TransactionManager } from '../../src/client/transaction-manager.ts'
import { produce } from '../../src/protocol/messages/0-produce.ts'
import { initProducerId } from '../../src/protocol/messages/22-init-producer-id.ts'
import { endTxn } from '../../src/protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../../src/protocol/messages/28-txn-offset-commit.ts'
import { failureOf } from '../peers/failure-of.ts'
import { LossyTransport } from './lossy-transport.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

/** A producer in transactions, closed with the test. */
class Writer implements AsyncDisposable {
  readonly transactions: TransactionManager
  readonly producer: Producer
  readonly #cluster: TestCluster

  constructor(cluster: TestCluster, client: KafkaClient = cluster.client, timeoutMs = 10_000) {
    this.#cluster = cluster
    const transactionalId = cluster.name('writer')
    this.transactions = new TransactionManager(client, { transactionalId, timeoutMs })
    this.producer = new Producer(client, { session: this.transactions })
  }

  async write(values: readonly string[]): Promise<void> {
    for (const [index, value] of values.entries()) {
      const now = this.#cluster.client.clock.now()
      this.producer.send(this.#cluster.name('words'), index % 2, null, Buffer.from(value), now, [])
    }
    await this.producer.flush()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.producer.close()
    await this.transactions.close()
  }
}

async function started(): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('words', 2)
  return cluster
}

/** What was committed, in no certain order. */
async function committedWords(cluster: TestCluster): Promise<string[]> {
  const records = await cluster.read('words', 'read_committed')
  return records.map(({ value }) => String(value)).sort()
}

/** Joins the group `readers` alone. */
async function memberOf(cluster: TestCluster) {
  const groupId = cluster.name('readers')
  const coordinator = new GroupCoordinator(cluster.client, groupId)
  const request = {
    instanceId: null,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    protocolType: 'consumer',
    protocols: [{ name: 'p', metadata: Buffer.alloc(0) }],
  }
  const { memberId } = await coordinator.joinGroup({ ...request, memberId: '' })
  const { generation } = await coordinator.joinGroup({ ...request, memberId })
  const identity = { groupId, memberId, instanceId: null, generation }
  await coordinator.syncGroup({
    ...identity,
    protocolType: 'consumer',
    protocolName: 'p',
    assignments: [],
  })
  return {
    identity,
    [Symbol.asyncDispose]: async () => {
      await coordinator.leaveGroup(identity)
      await coordinator.close()
    },
  }
}

describe('what is written', () => {
  test('can be read when it is committed, and not before', async ({ signal }) => {
    await using cluster = await started()
    await using writer = new Writer(cluster)
    const all = [0, 1].map((partition) => ({ topic: cluster.name('words'), partition }))
    for (const words of [
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]) {
      await writer.write(words)
      const ends = await listOffsets(cluster.client, all, 'latest')
      const stable = await listOffsets(cluster.client, all, 'latest', {
        isolation: 'read_committed',
      })
      for (const [key, end] of ends) expect(stable.get(key)).toBeLessThan(end)
      await writer.transactions.commit()
      await until(
        async () =>
          [
            ...(await listOffsets(cluster.client, all, 'latest', { isolation: 'read_committed' })),
          ].every(([key, end]) => end === (ends.get(key) ?? 0) + 1),
        signal,
      )
    }
    expect(await committedWords(cluster)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('is never read when it was given up, before or behind what was committed', async () => {
    await using cluster = await started()
    for (const round of ['1', '2']) {
      {
        await using abandoned = new Writer(cluster)
        await abandoned.write([`x${round}`, `y${round}`])
      }
      await using writer = new Writer(cluster)
      await writer.write([`a${round}`, `b${round}`])
      await writer.transactions.commit()
    }
    await using last = new Writer(cluster)
    await last.write(['z'])
    await last[Symbol.asyncDispose]()
    expect(await committedWords(cluster)).toEqual(['a1', 'a2', 'b1', 'b2'])
    const all = (await cluster.read('words')).map(({ value }) => String(value))
    expect(all.sort()).toEqual(['a1', 'a2', 'b1', 'b2', 'x1', 'x2', 'y1', 'y2', 'z'])
  })

  test('is given up when somebody takes over the transactional id', async () => {
    await using cluster = await started()
    await using zombie = new Writer(cluster)
    await zombie.write(['x'])
    await using writer = new Writer(cluster)
    await writer.write(['a'])
    await writer.transactions.commit()
    expect(await failureOf(zombie.transactions.commit())).toMatchObject({ code: 'TASK_MIGRATED' })
    await using another = new Writer(cluster)
    await another.transactions.initialize()
    expect(await failureOf(writer.write(['y']))).toMatchObject({ code: 'DELIVERY_FAILED' })
    expect(await committedWords(cluster)).toEqual(['a'])
  })

  test('is given up when it is open for too long', async ({ signal }) => {
    await using cluster = await started()
    await using writer = new Writer(cluster, cluster.client, 1000)
    await writer.write(['x', 'y'])
    const all = [0, 1].map((partition) => ({ topic: cluster.name('words'), partition }))
    const isStable = async (): Promise<boolean> => {
      const options = { isolation: 'read_committed' } as const
      const stable = await listOffsets(cluster.client, all, 'latest', options)
      return [...stable.values()].every((end) => end === 2)
    }
    await until(isStable, signal)
    // A broker says that the epoch is old, or that the transaction is over.
    expect(await failureOf(writer.transactions.commit())).toMatchObject({
      code: expect.stringMatching(/^(TASK_MIGRATED|TRANSACTION_ABORTED)$/),
    })
    expect(await committedWords(cluster)).toEqual([])
  })

  test.each([initProducerId, produce, txnOffsetCommit, endTxn])(
    'is written once when answers to $name are lost',
    async (api) => {
      await using cluster = await started()
      const transport = new LossyTransport()
      await using client = cluster.newClient({ transport })
      await client.topicMetadata([cluster.name('words')])
      await using member = await memberOf(cluster)
      await using writer = new Writer(cluster, client)
      const partition = { topic: cluster.name('words'), partition: 0 }
      for (let round = 0; round < 4; round += 1) {
        transport.loseAnswers(api, round === 0 || api !== initProducerId ? 1 : 0)
        await writer.write([`a${round}`, `b${round}`])
        const offset = { ...partition, offset: round + 1 }
        await writer.transactions.commitOffsets(member.identity, [offset])
        await writer.transactions.commit()
        expect(transport.isDone).toBe(true)
      }
      expect(await committedWords(cluster)).toHaveLength(8)
      expect(new Set(await committedWords(cluster)).size).toBe(8)
    },
  )
})

describe('offsets', () => {
  test('are there when the transaction is committed, and hold up who asks before', async () => {
    await using cluster = await started()
    await using member = await memberOf(cluster)
    await using writer = new Writer(cluster)
    await writer.transactions.initialize()
    const { groupId } = member.identity
    const partition = { topic: cluster.name('words'), partition: 1 }
    const committed = async (timeoutMs?: number): Promise<unknown> => {
      const options = timeoutMs === undefined ? {} : { timeoutMs }
      const offsets = await fetchCommittedOffsets(cluster.client, groupId, [partition], options)
      return [...offsets.values()].map(({ offset, metadata }) => [offset, metadata])
    }
    const offset = { ...partition, offset: 3, metadata: 'kept' }
    await writer.transactions.commitOffsets(member.identity, [offset])
    expect(await failureOf(committed(300))).toMatchObject({
      context: { error: 'UNSTABLE_OFFSET_COMMIT' },
    })
    await writer.transactions.commit()
    expect(await committed()).toEqual([[3, 'kept']])
    // Given up: the offset before counts again.
    await writer.transactions.commitOffsets(member.identity, [{ ...offset, offset: 9 }])
    await writer[Symbol.asyncDispose]()
    expect(await committed()).toEqual([[3, 'kept']])
  })

  test('of a member that was replaced are refused, and the transaction with them', async () => {
    await using cluster = await started()
    await using member = await memberOf(cluster)
    const { identity } = member
    await using writer = new Writer(cluster)
    await writer.write(['x'])
    const offset = { topic: cluster.name('words'), partition: 0, offset: 1 }
    for (const old of [
      { ...identity, generation: identity.generation - 1 },
      { ...identity, memberId: 'somebody' },
    ]) {
      expect(await failureOf(writer.transactions.commitOffsets(old, [offset]))).toMatchObject({
        code: 'TASK_MIGRATED',
      })
    }
    await writer[Symbol.asyncDispose]()
    expect(await committedWords(cluster)).toEqual([])
  })
})
