import { describe, expect, test } from 'vitest'
import { LogTransactions } from './log-transactions.ts'

const marker = (producerId: number, type: 'commit' | 'abort') => ({
  type,
  producerId,
  producerEpoch: 0,
  coordinatorEpoch: 0,
})

describe('LogTransactions', () => {
  test('the oldest open transaction is the first that is unstable', () => {
    const transactions = new LogTransactions()
    expect(transactions.firstUnstableOffset).toBe(undefined)
    transactions.add(1, 10)
    transactions.add(2, 11)
    transactions.add(1, 12)
    expect(transactions.firstUnstableOffset).toBe(10)
    transactions.end(marker(1, 'commit'), 13)
    expect(transactions.firstUnstableOffset).toBe(11)
    transactions.add(1, 14)
    transactions.end(marker(2, 'abort'), 15)
    expect([...transactions.open]).toEqual([[1, 14]])
  })

  test('a marker that ends nothing is no aborted transaction', () => {
    const transactions = new LogTransactions()
    transactions.end(marker(1, 'abort'), 0)
    expect(transactions.aborted).toEqual([])
  })

  test('the aborted transactions of a range are those with batches in it', () => {
    const transactions = new LogTransactions()
    // Producer 1: 0 to 9; producer 2: 3 to 6; producer 3: 20 to 25.
    transactions.add(1, 0)
    transactions.add(2, 3)
    transactions.end(marker(2, 'abort'), 6)
    transactions.end(marker(1, 'abort'), 9)
    transactions.add(3, 20)
    transactions.end(marker(3, 'abort'), 25)
    const found = (from: number, to: number): number[] =>
      transactions.abortedIn(from, to).map(({ producerId }) => producerId)
    expect(found(0, 30)).toEqual([2, 1, 3])
    expect(found(0, 3)).toEqual([1])
    expect(found(6, 7)).toEqual([2, 1])
    expect(found(7, 20)).toEqual([1])
    expect(found(10, 20)).toEqual([])
    expect(found(25, 26)).toEqual([3])
    expect(found(26, 30)).toEqual([])
    expect(found(0, 0)).toEqual([])
  })

  test('what ended before the start of the log is forgotten', () => {
    const transactions = new LogTransactions()
    for (const producerId of [1, 2, 3]) {
      transactions.add(producerId, producerId * 10)
      transactions.end(marker(producerId, 'abort'), producerId * 10 + 5)
    }
    transactions.forgetBefore(25)
    expect(transactions.aborted.map(({ producerId }) => producerId)).toEqual([2, 3])
    transactions.forgetBefore(26)
    expect(transactions.aborted.map(({ producerId }) => producerId)).toEqual([3])
  })
})
