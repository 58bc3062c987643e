import { describe, expect, test } from 'vitest'
import { JavaTreeSet, copiedHashSetOrder, hashSetOrder } from './java-order.ts'

describe('the order of Java collections', () => {
  test('names come out of a hash set in the order of their buckets', () => {
    // Printed by Java 17: new HashSet<>(Arrays.asList("gamma", "alpha", "beta", "orders", "payments"))
    expect(copiedHashSetOrder(['gamma', 'alpha', 'beta', 'orders', 'payments'])).toEqual([
      'alpha',
      'payments',
      'orders',
      'gamma',
      'beta',
    ])
  })

  test('names of one bucket keep the order of insertion', () => {
    // "Aa" and "BB" have the same hash code in Java.
    expect(hashSetOrder(['BB', 'Aa'])).toEqual(['BB', 'Aa'])
    expect(hashSetOrder(['Aa', 'BB'])).toEqual(['Aa', 'BB'])
  })

  test('a tree set is sorted while its order does not change', () => {
    const set = new JavaTreeSet<number>((left, right) => left - right)
    for (let i = 0; i < 200; i += 1) set.add((i * 73) % 101)

    expect(set.items()).toEqual(Array.from({ length: 101 }, (_, i) => i))
  })

  test('an element stays where it was put when the order changes later', () => {
    const rank = new Map([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
    const rankOf = (name: string): number => rank.get(name) ?? 0
    const set = new JavaTreeSet<string>((left, right) => rankOf(left) - rankOf(right))
    set.add('b')
    set.add('c')
    rank.set('b', 9)
    set.add('a')

    expect(set.items()).toEqual(['a', 'b', 'c'])
  })
})
