/** Transactions and what may happen to the dev broker meanwhile: time, kills, disks that fail. */
import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/manual-clock.ts'
import { MemoryDisk } from '../../src/base/memory-disk.ts'
import type { Broker, BrokerOptions } from '../../src/broker/index.ts'
import { deleteTopics } from '../../src/protocol/messages/20-delete-topics.ts'
import {
  abandon,
  closeBrokers,
  connect,
  create,
  nameOf,
  start,
  type RawClient,
} from './raw-client.ts'
import { RawProducer, committedOffset, readTransactions } from './raw-transactions.ts'

afterEach(closeBrokers)

interface Place {
  readonly broker: Broker
  readonly client: RawClient
  readonly producer: RawProducer
}

/** A broker with the topic t, and a producer that has its id. */
async function setUp(options: BrokerOptions = {}): Promise<Place> {
  const broker = await start(options)
  const client = await connect(broker)
  await create(client, 't', { 'retention.ms': '-1' })
  const producer = new RawProducer(client, 'tx')
  await producer.init()
  return { broker, client, producer }
}

/** The producer as it goes on over another connection. */
function moved({ producer }: Pick<Place, 'producer'>, client: RawClient): RawProducer {
  const again = new RawProducer(client, producer.transactionalId)
  again.producerId = producer.producerId
  again.epoch = producer.epoch
  return again
}

describe('time', () => {
  test.each([1, 2] as const)(
    'a transaction that takes too long is aborted, and its producer fenced (version %i)',
    async (transactionVersion) => {
      const clock = new ManualClock(Date.now())
      const { client, producer } = await setUp({
        clock,
        transactionVersion,
        cleanIntervalMs: 1_000_000_000,
      })
      await producer.init({ timeoutMs: 5_000 })
      await producer.produce('t', ['a'])
      clock.advance(4_000)
      await producer.produce('t', ['b'])
      clock.advance(999)
      expect((await readTransactions(client, 't')).lastStableOffset).toBe(0)
      clock.advance(1)
      const read = await readTransactions(client, 't')
      expect([read.log, read.lastStableOffset]).toEqual([['0:a', '1:b', '2:abort'], 3])
      expect(read.aborted).toEqual([`${producer.producerId} from 0`])
      expect(await producer.produce('t', ['c'])).toBe('INVALID_PRODUCER_EPOCH')
      expect(await producer.add(['t-0'])).toBe('PRODUCER_FENCED')
      const successor = new RawProducer(client, 'tx')
      await successor.init()
      expect(await successor.produce('t', ['d'])).toBe('NONE')
    },
  )

  test('every transaction has its own time, from its first partition on', async () => {
    const clock = new ManualClock(Date.now())
    const { client, producer } = await setUp({ clock, cleanIntervalMs: 1_000_000_000 })
    await producer.init({ timeoutMs: 5_000 })
    await producer.produce('t', ['a'])
    clock.advance(4_999)
    expect((await producer.end('commit')).error).toBe('NONE')
    clock.advance(100_000)
    await producer.produce('t', ['b'])
    clock.advance(4_999)
    expect((await producer.end('commit')).error).toBe('NONE')
    expect((await readTransactions(client, 't')).aborted).toEqual([])
  })

  test('a reader of committed records waits until something is committed', async () => {
    const { broker, client, producer } = await setUp()
    const reader = await connect(broker)
    await producer.produce('t', ['a'])
    const waiting = readTransactions(reader, 't', { maxWaitMs: 60_000 })
    await producer.produce('t', ['b'])
    await producer.end('commit')
    expect((await waiting).log).toEqual(['0:a', '1:b', '2:commit'])
    expect((await readTransactions(client, 't')).lastStableOffset).toBe(3)
  })
})

describe('a broker that was killed', () => {
  async function again(
    place: Place,
    disk: MemoryDisk,
    options: BrokerOptions = {},
  ): Promise<Place> {
    disk.crash('nothing')
    await abandon(place.broker)
    const broker = await start({ dataDir: '/data', disk, ...options })
    const client = await connect(broker)
    return { broker, client, producer: moved(place, client) }
  }

  test('goes on with an open transaction: its records, its offsets, its epoch', async () => {
    const disk = new MemoryDisk()
    const first = await setUp({ dataDir: '/data', disk })
    await first.producer.produce('t', ['a'])
    await first.producer.commitOffset('g', 't', 1)
    const { client, producer } = await again(first, disk)
    expect((await readTransactions(client, 't')).lastStableOffset).toBe(0)
    const requireStable = true
    expect(await committedOffset(client, 'g', 't', { requireStable })).toBe(
      'UNSTABLE_OFFSET_COMMIT',
    )
    expect(await producer.produce('t', ['b'], { sequence: 1 })).toBe('NONE')
    expect((await producer.end('commit')).error).toBe('NONE')
    const read = await readTransactions(client, 't')
    expect(read.log).toEqual(['0:a', '1:b', '2:commit'])
    expect(await committedOffset(client, 'g', 't', { requireStable })).toBe(1)
  })

  test('knows who was fenced, and gives no producer id again', async () => {
    const disk = new MemoryDisk()
    const first = await setUp({ dataDir: '/data', disk })
    const rival = new RawProducer(first.client, 'tx')
    await rival.init()
    const { client, producer } = await again(first, disk)
    expect(await producer.produce('t', ['a'])).toBe('INVALID_PRODUCER_EPOCH')
    const goesOn = moved({ producer: rival }, client)
    expect(await goesOn.produce('t', ['b'])).toBe('NONE')
    const other = new RawProducer(client, 'other')
    await other.init()
    expect(other.producerId).not.toBe(rival.producerId)
  })

  test('aborts what was too old when it came back', async () => {
    const disk = new MemoryDisk()
    const clock = new ManualClock(Date.now())
    const options = { clock, cleanIntervalMs: 1_000_000_000 }
    const first = await setUp({ dataDir: '/data', disk, ...options })
    await first.producer.init({ timeoutMs: 5_000 })
    await first.producer.produce('t', ['a'])
    clock.advance(3_000)
    const second = await again(first, disk, options)
    clock.advance(1_999)
    expect((await readTransactions(second.client, 't')).lastStableOffset).toBe(0)
    clock.advance(1)
    expect((await readTransactions(second.client, 't')).log).toEqual(['0:a', '1:abort'])
    const third = await again(second, disk, options)
    expect(await third.producer.produce('t', ['b'])).toBe('INVALID_PRODUCER_EPOCH')
  })

  test.each(['commit', 'abort'] as const)(
    'completes a %s that was decided, wherever the disk stopped it',
    async (type) => {
      // The end of a transaction with two partitions and offsets is five writes: the decision, three
      // markers, and that all is done.
      for (let after = 0; after < 5; after += 1) {
        const disk = new MemoryDisk()
        const first = await setUp({ dataDir: '/data', disk })
        await create(first.client, 'u', { 'retention.ms': '-1' })
        await first.producer.produce('t', ['a'])
        await first.producer.produce('u', ['b'])
        await first.producer.commitOffset('g', 't', 1)
        disk.failWrite({ after })
        const { error } = await first.producer.end(type)
        // Without the decision on the disk nothing has happened.
        const isDecided = after > 0
        expect(error).toBe(isDecided ? 'NONE' : 'NOT_COORDINATOR')
        const { client, producer } = await again(first, disk)
        for (const topic of ['t', 'u']) {
          const { lastStableOffset, aborted } = await readTransactions(client, topic)
          expect(lastStableOffset > 1).toBe(isDecided)
          expect(aborted?.length).toBe(isDecided && type === 'abort' ? 1 : 0)
        }
        const requireStable = true
        const undecided = 'UNSTABLE_OFFSET_COMMIT'
        const decided = type === 'commit' ? 1 : -1
        expect(await committedOffset(client, 'g', 't', { requireStable })).toBe(
          isDecided ? decided : undecided,
        )
        const next = isDecided
          ? await producer.produce('t', ['c'])
          : (await producer.end(type)).error
        expect(next).toBe('NONE')
      }
    },
  )
})

describe('a disk that fails', () => {
  test('a marker that cannot be written is tried again; the producer waits meanwhile', async () => {
    const disk = new MemoryDisk()
    const clock = new ManualClock(Date.now())
    const { client, producer } = await setUp({ disk, clock, cleanIntervalMs: 1_000_000_000 })
    await producer.produce('t', ['a'])
    disk.failWrite({ after: 1 })
    expect((await producer.end('commit')).error).toBe('NONE')
    expect((await readTransactions(client, 't')).lastStableOffset).toBe(0)
    expect(await producer.produce('t', ['b'])).toBe('CONCURRENT_TRANSACTIONS')
    expect(await producer.produce('t', ['b'], { version: 11 })).toBe('NOT_ENOUGH_REPLICAS')
    expect((await producer.initOnce()).error).toBe('CONCURRENT_TRANSACTIONS')
    expect((await producer.end('commit', { epoch: producer.epoch - 1 })).error).toBe(
      'CONCURRENT_TRANSACTIONS',
    )
    clock.advance(1_000)
    expect((await readTransactions(client, 't')).log).toEqual(['0:a', '1:commit'])
    expect(await producer.produce('t', ['b'])).toBe('NONE')
  })

  test('what the coordinator cannot write down has not happened', async () => {
    const disk = new MemoryDisk()
    const { client, producer } = await setUp({ disk })
    disk.failWrite()
    expect(await producer.produce('t', ['a'])).toBe('NOT_ENOUGH_REPLICAS')
    disk.failWrite()
    expect(await producer.add(['t-0'])).toBe('NOT_COORDINATOR')
    disk.failWrite()
    expect((await producer.initOnce()).error).toBe('NOT_COORDINATOR')
    expect((await readTransactions(client, 't')).highWatermark).toBe(0)
    expect(await producer.produce('t', ['a'])).toBe('NONE')
    disk.failWrite()
    expect(await producer.commitOffset('g', 't', 1, { version: 4 })).toBe('TRANSACTION_ABORTABLE')
    expect(await producer.commitOffset('g', 't', 1)).toBe('NOT_COORDINATOR')
    expect((await producer.end('commit')).error).toBe('NONE')
    expect(await committedOffset(client, 'g', 't', { requireStable: true })).toBe(-1)
  })

  test('records whose transaction a crash of the machine took away do not block readers', async () => {
    const disk = new MemoryDisk()
    const first = await setUp({ dataDir: '/data', disk })
    await first.producer.produce('t', ['a'])
    await first.broker.close()
    disk.remove('/data/transaction-state')
    const client = await connect(await start({ dataDir: '/data', disk }))
    const read = await readTransactions(client, 't')
    expect([read.log, read.lastStableOffset]).toEqual([['0:a', '1:abort'], 2])
    expect(read.aborted).toEqual([`${first.producer.producerId} from 0`])
  })
})

test('a transaction ends also when one of its topics was deleted', async () => {
  const { client, producer } = await setUp()
  await create(client, 'u')
  await producer.produce('t', ['a'])
  await producer.produce('u', ['b'])
  const { responses } = await client.request(deleteTopics, 5, { topicNames: ['u'], timeoutMs: 1 })
  expect(nameOf(responses[0]?.errorCode)).toBe('NONE')
  expect((await producer.end('commit')).error).toBe('NONE')
  expect((await readTransactions(client, 't')).log).toEqual(['0:a', '1:commit'])
  expect(await producer.produce('t', ['c'])).toBe('NONE')
})
