import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom } from '../base/random.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { OffsetStore } from './offset-store.ts'
import type { PartitionLog } from './partition-log.ts'
import { Topics } from './topics.ts'
import { TransactionCoordinator, offsetsPartition } from './transaction-coordinator.ts'
import { TransactionStore } from './transaction-store.ts'
import type { ProducerIdentity, TransactionFacts } from './transaction.ts'

const t0 = { topic: 't', partition: 0 }

/** A coordinator with the topic t; producer ids count from 100. */
class Stage {
  readonly clock = new ManualClock(1_000_000)
  readonly store: TransactionStore
  readonly offsets: OffsetStore
  readonly topics: Topics
  readonly coordinator: TransactionCoordinator
  #lastProducerId = 99

  constructor(disk = new MemoryDisk()) {
    const { clock } = this
    const place = { disk, clock, log: silentLog, dataDir: '/data', leaderEpoch: 0 }
    this.store = new TransactionStore(place)
    this.offsets = new OffsetStore(place)
    this.topics = new Topics({ ...place, random: seededRandom(1), defaults: new Map() })
    if (this.topics.get('t') === undefined)
      this.topics.create([{ name: 't', partitionCount: 1, configs: new Map() }])
    this.coordinator = new TransactionCoordinator({
      clock,
      log: silentLog,
      store: this.store,
      topics: this.topics,
      offsets: this.offsets,
      newProducerId: () => (this.#lastProducerId += 1),
      coordinatorEpoch: 0,
      timeoutMaxMs: 900_000,
      transactionVersion: 2,
    })
  }

  get log(): PartitionLog {
    return this.topics.partition('t', 0) as PartitionLog
  }

  init(transactionalId: string, expected?: ProducerIdentity): string {
    return shown(this.coordinator.initialize(transactionalId, { timeoutMs: 60_000, expected }))
  }

  end(transactionalId: string, by: ProducerIdentity, type: 'commit' | 'abort'): string {
    return shown(this.coordinator.end(transactionalId, by, { type, clientVersion: 2 }))
  }

  /** As if the transactional id had come so far. */
  change(transactionalId: string, change: Partial<TransactionFacts>): void {
    const facts = this.store.get(transactionalId) as TransactionFacts
    this.store.set(transactionalId, { ...facts, ...change })
  }

  write(producer: ProducerIdentity): void {
    const builder = new RecordBatchBuilder()
    builder.append(null, Buffer.from('x'), 1_000)
    const facts = { ...producer, baseSequence: 0, isTransactional: true }
    this.log.append(builder.build(facts), {
      ...facts,
      lastOffsetDelta: 0,
      recordCount: 1,
      maxTimestamp: 1_000,
      logAppendTimeMs: -1,
    })
  }
}

const shown = (answer: ProducerIdentity | string): string =>
  typeof answer === 'string' ? answer : `${answer.producerId} ${answer.producerEpoch}`

describe('TransactionCoordinator', () => {
  test('when the epochs of a producer id are used up there is another one', () => {
    const stage = new Stage()
    const last = { producerId: 100, producerEpoch: 32_766 }
    expect(stage.init('tx')).toBe('100 0')
    stage.change('tx', { producerEpoch: 32_765 })
    const before = { producerId: 100, producerEpoch: 32_765 }
    stage.coordinator.addPartitions('tx', before, [t0])
    expect(stage.end('tx', before, 'commit')).toBe('100 32766')
    stage.coordinator.addPartitions('tx', last, [t0])
    stage.write(last)
    expect(stage.end('tx', last, 'commit')).toBe('101 0')
    // The marker has the epoch that nobody is given, so that the old id is fenced on the log.
    expect(stage.log.producers.epochOf(100)).toBe(32_767)
    expect(stage.end('tx', last, 'commit')).toBe('101 0')
    expect(stage.end('tx', last, 'abort')).toBe('INVALID_TXN_STATE')
    expect(stage.coordinator.addPartitions('tx', last, [t0])).toBe('INVALID_PRODUCER_ID_MAPPING')
    expect(stage.init('tx', { producerId: 101, producerEpoch: 0 })).toBe('101 1')
    stage.change('tx', { producerEpoch: 32_766 })
    expect(stage.init('tx')).toBe('102 0')
  })

  test('a fence finds an epoch also when they are used up', () => {
    const stage = new Stage()
    stage.init('tx')
    stage.change('tx', { producerEpoch: 32_766 })
    const last = { producerId: 100, producerEpoch: 32_766 }
    stage.coordinator.addPartitions('tx', last, [t0])
    stage.write(last)
    expect(stage.init('tx')).toBe('CONCURRENT_TRANSACTIONS')
    expect(stage.log.lastStableOffset).toBe(2)
    expect(stage.log.producers.epochOf(100)).toBe(32_767)
    // The abort has given the new id already, with its epoch 0.
    expect(stage.init('tx')).toBe('101 1')
    expect(stage.end('tx', last, 'abort')).toBe('INVALID_PRODUCER_ID_MAPPING')
  })

  test('with too many transactional ids the one that was idle for longest is forgotten', () => {
    const stage = new Stage()
    stage.init('open')
    stage.coordinator.addPartitions('open', { producerId: 100, producerEpoch: 0 }, [t0])
    for (let id = 1; id < 10_000; id += 1) stage.init(`tx-${id}`)
    stage.init('tx-1')
    stage.init('one more')
    expect(stage.store.size).toBe(10_000)
    expect(stage.coordinator.get('open')?.state).toBe('Ongoing')
    expect(stage.coordinator.get('tx-2')).toBe(undefined)
    expect(stage.coordinator.get('tx-1')?.producerEpoch).toBe(1)
  })

  test('what the log says after a restart is what it stood at', () => {
    const disk = new MemoryDisk()
    const stage = new Stage(disk)
    stage.init('tx')
    const producer = { producerId: 100, producerEpoch: 0 }
    stage.coordinator.addPartitions('tx', producer, [t0, offsetsPartition])
    const before = stage.coordinator.get('tx')
    disk.crash('nothing')
    const again = new Stage(disk)
    again.coordinator.start()
    const after = again.coordinator.get('tx')
    expect({ ...after, partitions: [...(after?.partitions ?? [])] }).toEqual({
      ...before,
      partitions: [t0, offsetsPartition],
    })
    expect(again.end('tx', producer, 'commit')).toBe('100 1')
  })

  test('a closed coordinator times nothing out', () => {
    const stage = new Stage()
    stage.init('tx')
    stage.coordinator.addPartitions('tx', { producerId: 100, producerEpoch: 0 }, [t0])
    stage.coordinator.close()
    stage.clock.advance(1_000_000)
    expect(stage.coordinator.get('tx')?.state).toBe('Ongoing')
  })
})
