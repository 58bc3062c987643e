import { expect, test } from 'vitest'
import { TransactionalLog } from '../../test/peers/transactional-log.ts'
import { seededRandom } from '../base/random.ts'
import { Backoff } from './backoff.ts'
import { FetchPartition } from './fetch-partition.ts'
import type { FetchedRecords } from './fetched-records.ts'

function committedReader(): FetchPartition {
  const partition = new FetchPartition({
    topic: 't',
    partition: 0,
    offsetReset: 'none',
    isolation: 'read_committed',
    backoff: new Backoff({ baseMs: 100, maxMs: 1000, random: seededRandom(1) }),
  })
  partition.seek(0)
  return partition
}

/** Takes in all of a log in one answer. */
function answer(partition: FetchPartition, log: TransactionalLog, cut = 0): number {
  const whole = log.read(0, Infinity)
  const records = whole.subarray(0, whole.length - cut)
  const fetched = {
    records,
    highWatermark: log.end,
    lastStableOffset: log.end,
    logStartOffset: 0,
    abortedTransactions: log.aborted(0, whole),
  }
  partition.add(fetched, 0)
  return records.length
}

test('what waits counts with the aborted records around it, whose memory it keeps', () => {
  const log = new TransactionalLog()
  log.write(7, ['x'.repeat(10_000)])
  log.write(8, ['a'])
  log.write(7, ['x'.repeat(10_000)])
  log.finish(7, 'abort')
  log.finish(8, 'commit')
  const partition = committedReader()
  const bytes = answer(partition, log)
  expect(bytes).toBeGreaterThan(20_000)
  expect(partition.bufferedBytes).toBe(bytes)
  const taken: FetchedRecords[] = []
  partition.take(taken)
  expect(taken.length).toBeGreaterThan(1)
  expect(partition.bufferedBytes).toBe(0)
})

test('what waits counts with the beginning of a batch that the broker cut off', () => {
  const log = new TransactionalLog()
  log.write(-1, ['a'])
  log.write(-1, ['b'.repeat(10_000)])
  const partition = committedReader()
  const bytes = answer(partition, log, 10)
  expect(partition.bufferedBytes).toBe(bytes)
})

test('aborted records of which nothing waits do not count', () => {
  const log = new TransactionalLog()
  log.write(7, ['x'])
  const partition = committedReader()
  const fetched = {
    records: log.read(0, Infinity),
    highWatermark: 2,
    lastStableOffset: 2,
    logStartOffset: 0,
    abortedTransactions: [{ producerId: 7, firstOffset: 0 }],
  }
  expect(partition.add(fetched, 0)).toBe(true)
  expect(partition.bufferedBytes).toBe(0)
  const taken: FetchedRecords[] = []
  partition.take(taken)
  expect(partition.position).toBe(1)
})
