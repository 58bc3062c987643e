import { describe, expect, test } from 'vitest'
import {
  completed,
  endVerdict,
  fenced,
  initialized,
  isKnownProducer,
  newTransaction,
  nextIdentity,
  prepared,
  withPartitions,
  type Ending,
  type ProducerIdentity,
  type TransactionFacts,
} from './transaction.ts'

const newProducerId = (): number => 99

/** After InitProducerId of a new producer, or of one that names itself. */
function init(facts: TransactionFacts, expected?: ProducerIdentity): TransactionFacts {
  const next = initialized(facts, { timeoutMs: 60_000, expected, nowMs: 10, newProducerId })
  if (next === 'PRODUCER_FENCED') throw new Error(next)
  return next
}

const begin = (facts: TransactionFacts): TransactionFacts =>
  withPartitions(facts, [{ topic: 't', partition: 0 }], 20)

function end(
  facts: TransactionFacts,
  type: 'commit' | 'abort',
  clientVersion: number,
): TransactionFacts {
  return prepared(facts, { type, clientVersion, nowMs: 30, newProducerId })
}

const complete = (facts: TransactionFacts): TransactionFacts => completed(facts, 40)

const identityOf = ({ producerId, producerEpoch }: TransactionFacts): number[] => [
  producerId,
  producerEpoch,
]

const fresh = init(newTransaction(5, 0))

const verdictOf = (
  facts: TransactionFacts,
  type: Ending['type'],
  clientVersion: number,
  producerEpoch = facts.producerEpoch,
  producerId = facts.producerId,
): string => endVerdict(facts, { producerId, producerEpoch }, { type, clientVersion })

describe('InitProducerId', () => {
  test('begins at epoch 0, and raises the epoch for whoever comes next', () => {
    expect(identityOf(fresh)).toEqual([5, 0])
    expect(identityOf(init(fresh))).toEqual([5, 1])
    expect(identityOf(init(complete(end(begin(fresh), 'commit', 0))))).toEqual([5, 1])
  })

  test('a producer that names itself goes on, also when it repeats a request', () => {
    const next = init(fresh, { producerId: 5, producerEpoch: 0 })
    expect(identityOf(next)).toEqual([5, 1])
    expect(identityOf(init(next, { producerId: 5, producerEpoch: 0 }))).toEqual([5, 1])
    expect(identityOf(init(next, { producerId: 5, producerEpoch: 1 }))).toEqual([5, 2])
  })

  test('a producer that another one has followed is fenced', () => {
    const taken = init(init(fresh))
    const request = { timeoutMs: 1, nowMs: 0, newProducerId }
    for (const producerEpoch of [0, 1]) {
      const expected = { producerId: 5, producerEpoch }
      expect(initialized(taken, { ...request, expected })).toBe('PRODUCER_FENCED')
    }
    expect(isKnownProducer(taken, { producerId: 6, producerEpoch: 0 })).toBe(false)
  })

  test('when the epochs are used up there is a new producer id', () => {
    const last = { ...fresh, producerEpoch: 32_766 }
    expect(identityOf(init(last))).toEqual([99, 0])
    const expected = { producerId: 5, producerEpoch: 32_766 }
    const rotated = init(last, expected)
    expect(identityOf(rotated)).toEqual([99, 0])
    // The answer was lost, and the request is repeated with the old id.
    expect(isKnownProducer(rotated, expected)).toBe(true)
    expect(identityOf(init(rotated, expected))).toEqual([99, 0])
    expect(isKnownProducer(rotated, { ...expected, producerEpoch: 3 })).toBe(false)
  })
})

describe('ends', () => {
  test('in version 1 the epoch stays; a repeated end is taken for done', () => {
    const prepare = end(begin(fresh), 'commit', 0)
    expect([prepare.state, identityOf(prepare)]).toEqual(['PrepareCommit', [5, 0]])
    const done = complete(prepare)
    expect([done.state, identityOf(done), [...done.partitions]]).toEqual([
      'CompleteCommit',
      [5, 0],
      [],
    ])
    expect(verdictOf(begin(fresh), 'commit', 0)).toBe('prepare')
    expect(verdictOf(prepare, 'commit', 0)).toBe('CONCURRENT_TRANSACTIONS')
    expect(verdictOf(prepare, 'abort', 0)).toBe('INVALID_TXN_STATE')
    expect(verdictOf(done, 'commit', 0)).toBe('repeated')
    expect(verdictOf(done, 'abort', 0)).toBe('INVALID_TXN_STATE')
    expect(verdictOf(fresh, 'abort', 0)).toBe('INVALID_TXN_STATE')
    expect(verdictOf(done, 'commit', 0, 1)).toBe('PRODUCER_FENCED')
    expect(verdictOf(done, 'commit', 0, 0, 6)).toBe('INVALID_PRODUCER_ID_MAPPING')
  })

  test('in version 2 every end raises the epoch, so that a repeated one is known by its epoch', () => {
    const prepare = end(begin(fresh), 'commit', 2)
    expect([prepare.state, identityOf(prepare)]).toEqual(['PrepareCommit', [5, 1]])
    expect(verdictOf(prepare, 'commit', 2, 0)).toBe('CONCURRENT_TRANSACTIONS')
    expect(verdictOf(prepare, 'commit', 2, 1)).toBe('PRODUCER_FENCED')
    const done = complete(prepare)
    expect(verdictOf(done, 'commit', 2, 0)).toBe('repeated')
    expect(verdictOf(done, 'abort', 2, 0)).toBe('INVALID_TXN_STATE')
    expect(verdictOf(done, 'commit', 2, 1)).toBe('INVALID_TXN_STATE')
    expect(verdictOf(done, 'abort', 2, 1)).toBe('prepare')
    expect(verdictOf(done, 'abort', 2, 2)).toBe('PRODUCER_FENCED')
    expect(verdictOf(fresh, 'abort', 2)).toBe('prepare')
    expect(verdictOf(fresh, 'commit', 2)).toBe('INVALID_TXN_STATE')
  })

  test('an end with the last epoch gives a new producer id', () => {
    const prepare = end(begin({ ...fresh, producerEpoch: 32_766 }), 'abort', 2)
    // The markers have the epoch that nobody gets.
    expect([identityOf(prepare), nextIdentity(prepare)]).toEqual([
      [5, 32_767],
      { producerId: 99, producerEpoch: 0 },
    ])
    const done = complete(prepare)
    expect(identityOf(done)).toEqual([99, 0])
    expect(verdictOf(done, 'abort', 2, 32_766, 5)).toBe('repeated')
    expect(verdictOf(done, 'abort', 2, 3, 5)).toBe('INVALID_PRODUCER_ID_MAPPING')
  })

  test('a fence raises the epoch once, in both versions', () => {
    for (const clientVersion of [1, 2]) {
      const aborted = complete(fenced(begin(fresh), { clientVersion, nowMs: 30, newProducerId }))
      expect([aborted.state, identityOf(aborted)]).toEqual(['CompleteAbort', [5, 1]])
      expect(verdictOf(aborted, 'commit', clientVersion, 0)).not.toBe('prepare')
    }
  })

  test('what cannot follow is a bug', () => {
    expect(() => begin(end(begin(fresh), 'commit', 2))).toThrow('PrepareCommit is not added')
    expect(() => complete(begin(fresh))).toThrow('Ongoing is not completed')
    expect(() => end(fresh, 'commit', 0)).toThrow('Empty is not committed')
    expect(() => init(begin(fresh))).toThrow('Ongoing is not initialized')
  })
})
