import { expect, test } from 'vitest'
import { TransactionalLog } from '../../test/peers/transactional-log.ts'
import { committedRuns, type AbortedTransaction } from './committed-runs.ts'

/** The runs of all of a log, as first offset and next offset of each. */
function runsOf(
  log: TransactionalLog,
  aborted: readonly AbortedTransaction[] = log.aborted(0, log.read(0, Infinity)),
): number[][] {
  const bytes = log.read(0, Infinity)
  return committedRuns(bytes, aborted, 0).map(({ start, end, startOffset }) => {
    const first = bytes.readInt32BE(start + 4)
    return [first, end - start > 0 ? startOffset : -1]
  })
}

test('what nobody aborted is one run', () => {
  const log = new TransactionalLog()
  log.write(-1, ['a'])
  log.write(7, ['b', 'c'])
  log.finish(7, 'commit')
  expect(runsOf(log)).toEqual([[0, 0]])
})

test('a run begins after the batches that were aborted, with the offset after them', () => {
  const log = new TransactionalLog()
  log.write(7, ['x', 'x', 'x'])
  log.write(8, ['a'])
  log.write(7, ['x'])
  log.finish(7, 'abort')
  log.finish(8, 'commit')
  expect(runsOf(log)).toEqual([
    [3, 3],
    [5, 5],
  ])
})

test('a producer that aborts twice commits in between', () => {
  const log = new TransactionalLog()
  for (const type of ['abort', 'commit', 'abort', 'commit'] as const) {
    log.write(7, ['one', 'two'])
    log.finish(7, type)
  }
  expect(runsOf(log)).toEqual([
    [2, 2],
    [8, 8],
  ])
})

test('what a producer wrote outside of its aborted transaction is kept', () => {
  const log = new TransactionalLog()
  log.write(7, ['a'])
  log.finish(7, 'commit')
  log.write(7, ['x'])
  log.finish(7, 'abort')
  log.write(7, ['b'])
  log.finish(7, 'commit')
  expect(runsOf(log)).toEqual([
    [0, 0],
    [3, 3],
  ])
})

test('all of it may be aborted, before its marker has come', () => {
  const log = new TransactionalLog()
  log.write(7, ['x'])
  log.write(7, ['x'])
  expect(runsOf(log, [{ producerId: 7, firstOffset: 0 }])).toEqual([])
})

test('the transactions are told in any order', () => {
  const log = new TransactionalLog()
  log.write(7, ['x'])
  log.finish(7, 'abort')
  log.write(8, ['x'])
  log.write(7, ['x'])
  log.finish(8, 'abort')
  log.finish(7, 'abort')
  const aborted = [
    { producerId: 7, firstOffset: 3 },
    { producerId: 8, firstOffset: 2 },
    { producerId: 7, firstOffset: 0 },
  ]
  expect(runsOf(log, aborted)).toEqual([
    [1, 1],
    [4, 4],
  ])
})
