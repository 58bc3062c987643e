import { describe, expect, test } from 'vitest'
import { settled } from '../../test/peers/scripted-appends.ts'
import { startTransactions, type TransactionApi } from '../../test/peers/scripted-transactions.ts'
import { errorCode, type KafkaErrorName } from '../protocol/error-codes.ts'
import { produce } from '../protocol/messages/0-produce.ts'
import { findCoordinator } from '../protocol/messages/10-find-coordinator.ts'
import { initProducerId } from '../protocol/messages/22-init-producer-id.ts'

const member = { groupId: 'group', memberId: 'm-1', instanceId: null, generation: 3 }
const offset = { topic: 'in', partition: 0, offset: 7 }

type SetUp = Awaited<ReturnType<typeof startTransactions>>

/** One whole transaction. */
async function transact({ clock, producer, transactions, send }: SetUp, value: string) {
  await settled(clock, transactions.initialize())
  send(value)
  await settled(clock, producer.flush())
  await settled(clock, transactions.commitOffsets(member, [offset]))
  await settled(clock, transactions.commit())
}

describe('a transaction', () => {
  test('of the first protocol adds partitions and group before it is written', async () => {
    const setUp = await startTransactions({ version: 1, partitions: 3 })
    const { clock, coordinator, cluster, producer, transactions, logs, send, end } = setUp
    await settled(clock, transactions.initialize())
    send('a', 0)
    send('b', 2)
    await settled(clock, producer.flush())
    await settled(clock, transactions.commitOffsets(member, [offset]))
    expect(logs.map(({ values }) => values)).toEqual([['a'], [], ['b']])
    await settled(clock, transactions.commit())
    expect(coordinator.done).toEqual([
      'init',
      'add t-0 t-2',
      'add group group',
      'offsets in-0@7 of m-1/3',
      'commit',
    ])
    const [asked] = cluster.node(1).received(initProducerId)
    expect(asked).toMatchObject({
      transactionalId: 'id',
      transactionTimeoutMs: 10_000,
      producerId: -1,
    })
    expect(cluster.node(1).received(findCoordinator)).toContainEqual(
      expect.objectContaining({ key: 'id', keyType: 1 }),
    )
    const requests = cluster.node(1).requests.filter(({ api }) => api === produce.name)
    expect(requests.map(({ version }) => version)).toEqual([11])
    expect(requests[0]?.body).toMatchObject({ transactionalId: 'id' })
    await end()
  })

  test('of the second protocol leaves that to the brokers', async () => {
    const setUp = await startTransactions({ version: 2 })
    await transact(setUp, 'a')
    expect(setUp.coordinator.done).toEqual(['init', 'offsets in-0@7 of m-1/3', 'commit'])
    const requests = setUp.cluster.node(1).requests.filter(({ api }) => api === produce.name)
    expect(requests.map(({ version }) => version)).toEqual([12])
    await setUp.end()
  })

  test('marks its batches, and they are counted on in the first protocol', async () => {
    const setUp = await startTransactions({ version: 1 })
    for (const value of ['a', 'b', 'c']) await transact(setUp, value)
    expect(setUp.logs[0]?.batches).toEqual([
      { epoch: 0, sequence: 0, count: 1, offset: 0 },
      { epoch: 0, sequence: 1, count: 1, offset: 1 },
      { epoch: 0, sequence: 2, count: 1, offset: 2 },
    ])
    const [request] = setUp.cluster.node(1).received(produce)
    const attributes = request?.topicData[0]?.partitionData[0]?.records?.readInt16BE(21) ?? 0
    expect(attributes & 0x10).toBe(0x10)
    await setUp.end()
  })

  test('has an epoch of its own in the second, in which all is counted from 0', async () => {
    const setUp = await startTransactions({ version: 2 })
    for (const value of ['a', 'b', 'c']) await transact(setUp, value)
    expect(setUp.logs[0]?.batches).toEqual([
      { epoch: 0, sequence: 0, count: 1, offset: 0 },
      { epoch: 1, sequence: 0, count: 1, offset: 1 },
      { epoch: 2, sequence: 0, count: 1, offset: 2 },
    ])
    await setUp.end()
  })

  test('ends after the partitions that are being added to it, which the next one adds anew', async () => {
    const { clock, coordinator, transactions, producer, send, end } = await startTransactions({
      version: 1,
    })
    await settled(clock, transactions.initialize())
    // The record that wanted it is given up meanwhile.
    expect(transactions.mayWriteTo({ topic: 't', partition: 0 })).toBe(false)
    await settled(clock, transactions.commit())
    send('a')
    await settled(clock, producer.flush())
    await settled(clock, transactions.commit())
    expect(coordinator.done).toEqual(['init', 'add t-0', 'commit', 'add t-0', 'commit'])
    await end()
  })

  test('that has nothing in it is not committed', async () => {
    const { clock, coordinator, transactions, producer, end } = await startTransactions()
    await settled(clock, transactions.initialize())
    expect(transactions.isOpen).toBe(false)
    await settled(clock, producer.flush())
    await settled(clock, transactions.commit())
    expect(coordinator.done).toEqual(['init'])
    await end()
  })

  test('that has nothing in it is not committed, also when nobody has initialized', async () => {
    const { clock, coordinator, transactions, end } = await startTransactions()
    await settled(clock, transactions.commit())
    expect(coordinator.done).toEqual([])
    await end()
  })

  test('begins with the first batch, also when nobody has initialized', async () => {
    const { clock, coordinator, producer, transactions, send, end } = await startTransactions({
      version: 1,
    })
    send('a')
    await settled(clock, producer.flush())
    expect(transactions.isOpen).toBe(true)
    await settled(clock, transactions.commit())
    expect(coordinator.done).toEqual(['init', 'add t-0', 'commit'])
    expect(transactions.isOpen).toBe(false)
    await end()
  })

  test('that is left open is aborted by close, one that was committed is not touched', async () => {
    const { clock, coordinator, producer, transactions, send, end } = await startTransactions()
    send('a')
    await settled(clock, producer.flush())
    await settled(clock, transactions.commit())
    send('b')
    await settled(clock, producer.flush())
    await producer.close()
    await settled(clock, transactions.close())
    expect(coordinator.done).toEqual(['init', 'commit', 'abort'])
    await end()
    expect(coordinator.done).toHaveLength(3)
  })

  test('of an earlier life is aborted when its transactional id is taken over', async () => {
    const { clock, coordinator, producer, transactions, another, send, end } =
      await startTransactions()
    send('a')
    await settled(clock, producer.flush())
    await settled(clock, another().initialize())
    expect(coordinator.done).toEqual(['init', 'abort'])
    const failure = { code: 'TASK_MIGRATED', context: { error: 'PRODUCER_FENCED' } }
    await expect(settled(clock, transactions.commit())).rejects.toMatchObject(failure)
    // From then on all of it fails, and close leaves the successor alone.
    await expect(transactions.commitOffsets(member, [offset])).rejects.toMatchObject(failure)
    await expect(settled(clock, producer.flush())).resolves.toBeUndefined()
    send('b')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      cause: failure,
    })
    await end()
    expect(coordinator.done).toEqual(['init', 'abort'])
  })
})

describe.each([1, 2] as const)('in protocol %i, a request', (version) => {
  const apis: readonly TransactionApi[] =
    version === 1
      ? ['InitProducerId', 'AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn']
      : ['InitProducerId', 'TxnOffsetCommit', 'EndTxn']

  test.each(apis)('%s is sent again when it or its answer is lost', async (api) => {
    for (const fault of ['lose the request', 'lose the answer'] as const) {
      const setUp = await startTransactions({ version })
      setUp.coordinator.fail(api, fault, fault)
      await transact(setUp, 'a')
      await transact(setUp, 'b')
      expect(setUp.logs[0]?.values).toEqual(['a', 'b'])
      expect(setUp.coordinator.done.filter((step) => step === 'commit')).toHaveLength(2)
      await setUp.end()
    }
  })

  const passing: readonly KafkaErrorName[] = [
    'COORDINATOR_LOAD_IN_PROGRESS',
    'COORDINATOR_NOT_AVAILABLE',
    'NOT_COORDINATOR',
    'CONCURRENT_TRANSACTIONS',
    'REQUEST_TIMED_OUT',
  ]
  test.each(apis)('%s is tried again, soon, after an answer that passes', async (api) => {
    for (const name of passing) {
      const setUp = await startTransactions({ version })
      setUp.coordinator.fail(api, { code: errorCode[name] }, { code: errorCode[name] })
      const before = setUp.clock.monotonic()
      await transact(setUp, 'a')
      expect(setUp.clock.monotonic() - before).toBeLessThan(400)
      expect(setUp.coordinator.done.at(-1)).toBe('commit')
      await setUp.end()
    }
  })

  const ends: readonly (readonly [KafkaErrorName, string])[] = [
    ['PRODUCER_FENCED', 'TASK_MIGRATED'],
    ['INVALID_PRODUCER_EPOCH', 'TASK_MIGRATED'],
    ['INVALID_PRODUCER_ID_MAPPING', 'TASK_MIGRATED'],
    ['TRANSACTION_COORDINATOR_FENCED', 'TASK_MIGRATED'],
    ['TRANSACTION_ABORTABLE', 'TRANSACTION_ABORTED'],
    ['INVALID_TXN_STATE', 'TRANSACTION_ABORTED'],
    ['UNKNOWN_PRODUCER_ID', 'TRANSACTION_ABORTED'],
    ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'KAFKA_ERROR'],
    ['GROUP_AUTHORIZATION_FAILED', 'KAFKA_ERROR'],
  ]
  test.each(ends)('that is refused with %s ends in %s', async (name, code) => {
    for (const api of apis) {
      const setUp = await startTransactions({ version })
      setUp.coordinator.fail(api, { code: errorCode[name] })
      const failure = { code, context: { error: name } }
      const isBehindFlush = api === 'AddPartitionsToTxn'
      await expect(transact(setUp, 'a')).rejects.toMatchObject(
        isBehindFlush ? { code: 'DELIVERY_FAILED', cause: failure } : failure,
      )
      expect(setUp.coordinator.done).not.toContain('commit')
      await setUp.end()
    }
  })

  test.each(apis.filter((api) => api !== 'InitProducerId'))(
    '%s that is refused for good cannot be made good by a later call',
    async (api) => {
      const setUp = await startTransactions({ version })
      setUp.coordinator.fail(api, { code: errorCode.INVALID_TXN_STATE })
      await expect(transact(setUp, 'a')).rejects.toThrow('INVALID_TXN_STATE')
      await expect(setUp.transactions.commit()).rejects.toMatchObject({
        code: 'TRANSACTION_ABORTED',
        context: { api },
      })
      await setUp.end()
    },
  )
})

describe('the end of a transaction', () => {
  test.each([1, 2] as const)(
    'that nobody has told in time can be asked for again (protocol %i)',
    async (version) => {
      const setUp = await startTransactions({ version })
      const { clock, coordinator, producer, transactions, send, end } = setUp
      send('a')
      await settled(clock, producer.flush())
      coordinator.fail('EndTxn', ...Array<'lose the answer'>(40).fill('lose the answer'))
      await expect(settled(clock, transactions.commit({ timeoutMs: 1000 }))).rejects.toMatchObject({
        retriable: true,
      })
      expect(transactions.isOpen).toBe(true)
      coordinator.faults.clear()
      await settled(clock, transactions.commit())
      expect(transactions.isOpen).toBe(false)
      expect(coordinator.done.filter((step) => step === 'commit')).toHaveLength(1)
      await transact(setUp, 'b')
      expect(setUp.logs[0]?.values).toEqual(['a', 'b'])
      await end()
    },
  )

  test.each([1, 2] as const)(
    'is waited for by what is sent meanwhile, which belongs to the next (protocol %i)',
    async (version) => {
      const setUp = await startTransactions({ version })
      const { clock, coordinator, producer, transactions, logs, send, end } = setUp
      send('a')
      await settled(clock, producer.flush())
      coordinator.fail('EndTxn', ...Array<'lose the request'>(40).fill('lose the request'))
      const unknown = transactions.commit({ timeoutMs: 1000 }).catch((error: unknown) => error)
      send('b')
      await clock.run(500)
      expect(logs[0]?.values).toEqual(['a'])
      await expect(settled(clock, unknown)).resolves.toMatchObject({ retriable: true })
      send('c')
      await clock.run(500)
      expect(logs[0]?.values).toEqual(['a'])
      coordinator.faults.clear()
      await settled(clock, transactions.commit())
      await settled(clock, producer.flush())
      expect(transactions.isOpen).toBe(true)
      await settled(clock, transactions.commit())
      expect(logs[0]?.values).toEqual(['a', 'b', 'c'])
      expect(logs[0]?.batches.map(({ epoch }) => epoch)).toEqual(
        version === 1 ? [0, 0, 0] : [0, 1, 1],
      )
      expect(coordinator.done).toEqual(
        version === 1
          ? ['init', 'add t-0', 'commit', 'add t-0', 'commit']
          : ['init', 'commit', 'commit'],
      )
      await end()
    },
  )

  test('follows a coordinator that has moved', async () => {
    const { clock, cluster, coordinator, producer, transactions, send, end } =
      await startTransactions({ nodes: 2 })
    send('a')
    await settled(clock, producer.flush())
    cluster.coordinator = 2
    coordinator.fail('EndTxn', { code: errorCode.NOT_COORDINATOR })
    await settled(clock, transactions.commit())
    expect(cluster.node(2).requests.map(({ api }) => api)).toContain('EndTxn')
    await end()
  })
})

describe('offsets', () => {
  const ofMember: readonly KafkaErrorName[] = [
    'ILLEGAL_GENERATION',
    'UNKNOWN_MEMBER_ID',
    'FENCED_INSTANCE_ID',
    'STALE_MEMBER_EPOCH',
  ]
  test.each(ofMember)(
    'of a member that the group refuses with %s can be sent by its next self',
    async (name) => {
      const setUp = await startTransactions()
      const { clock, coordinator, producer, transactions, send, end } = setUp
      send('a')
      await settled(clock, producer.flush())
      coordinator.fail('TxnOffsetCommit', { code: errorCode[name] })
      await expect(
        settled(clock, transactions.commitOffsets(member, [offset])),
      ).rejects.toMatchObject({ code: 'TASK_MIGRATED', context: { error: name } })
      await settled(clock, transactions.commitOffsets({ ...member, generation: 4 }, [offset]))
      await settled(clock, transactions.commit())
      expect(coordinator.done).toEqual(['init', 'offsets in-0@7 of m-1/4', 'commit'])
      await end()
    },
  )

  test('of a topic that was deleted can be left out', async () => {
    const setUp = await startTransactions({ version: 1 })
    const { clock, coordinator, producer, transactions, send, end } = setUp
    send('a')
    await settled(clock, producer.flush())
    coordinator.fail('TxnOffsetCommit', { code: errorCode.UNKNOWN_TOPIC_OR_PARTITION })
    const before = clock.monotonic()
    await expect(
      settled(clock, transactions.commitOffsets(member, [offset])),
    ).rejects.toMatchObject({ context: { error: 'UNKNOWN_TOPIC_OR_PARTITION', subject: 'in-0' } })
    expect(clock.monotonic() - before).toBeLessThan(100)
    await settled(clock, transactions.commit())
    expect(coordinator.done.at(-1)).toBe('commit')
    await end()
  })
})

test('a timeout that the brokers do not allow names the option', async () => {
  const { clock, coordinator, transactions, end } = await startTransactions()
  coordinator.fail('InitProducerId', { code: errorCode.INVALID_TRANSACTION_TIMEOUT })
  await expect(settled(clock, transactions.initialize())).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    context: { option: 'transactionTimeout' },
  })
  await end()
})

describe('a record in a transaction', () => {
  const fencing: readonly KafkaErrorName[] = [
    'INVALID_PRODUCER_EPOCH',
    'PRODUCER_FENCED',
    'INVALID_TXN_STATE',
    'TRANSACTION_ABORTABLE',
    'UNKNOWN_PRODUCER_ID',
  ]
  test.each(fencing)('that is refused with %s fails the producer', async (name) => {
    const { clock, producer, faults, send, end } = await startTransactions()
    faults.push({ code: errorCode[name] })
    send('a')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      cause: { context: { error: name } },
    })
    await end()
  })

  test('waits briefly while the transaction before is completed', async () => {
    const { clock, producer, faults, logs, send, end } = await startTransactions()
    for (let i = 0; i < 5; i += 1) faults.push({ code: errorCode.CONCURRENT_TRANSACTIONS })
    send('a')
    const before = clock.monotonic()
    await settled(clock, producer.flush())
    expect(clock.monotonic() - before).toBeLessThan(250)
    expect(logs[0]?.values).toEqual(['a'])
    await end()
  })

  test('that the broker refuses gives its place to the next, in the same epoch', async () => {
    const refused: string[] = []
    const { clock, producer, transactions, logs, setRefusal, send, end } = await startTransactions({
      producer: {
        batchBytes: 150,
        onRefused: ({ value }) => {
          refused.push(String(value))
          return 'continue'
        },
      },
    })
    setRefusal((value) => (value.includes('bad') ? errorCode.INVALID_RECORD : errorCode.NONE))
    const sent = Array.from({ length: 60 }, (_, i) => (i % 7 === 3 ? `bad ${i}` : `value ${i}`))
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    const taken = sent.filter((value) => !value.includes('bad'))
    expect(logs[0]?.values).toEqual(taken)
    expect(refused).toHaveLength(sent.length - taken.length)
    expect(new Set(logs[0]?.batches.map(({ epoch }) => epoch))).toEqual(new Set([0]))
    await settled(clock, transactions.commit())
    send('next')
    await settled(clock, producer.flush())
    expect(logs[0]?.batches.at(-1)).toMatchObject({ epoch: 1, sequence: 0 })
    await end()
  })
})
