import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { BinaryHeap } from './heap.ts'

const ascending = (a: number, b: number): number => a - b

test('items leave in ascending order', () => {
  const heap = new BinaryHeap<number>(ascending)
  for (const item of [5, 1, 4, 1, 3]) heap.push(item)
  expect(heap.size).toBe(5)
  expect(heap.peek()).toBe(1)
  expect(Array.from({ length: 6 }, () => heap.pop())).toEqual([1, 1, 3, 4, 5, undefined])
  expect(heap.size).toBe(0)
  expect(heap.peek()).toBeUndefined()
})

test('equal items leave in the order of java.util.PriorityQueue', () => {
  // Made with JDK 17: offer each, then poll all, compared by the number alone.
  const heap = new BinaryHeap<string>((a, b) => Number(a[1]) - Number(b[1]))
  for (const item of ['a1', 'b0', 'c1', 'd0', 'e1', 'f0', 'g1', 'h0']) heap.push(item)
  const order: (string | undefined)[] = []
  while (heap.size > 0) order.push(heap.pop())
  expect(order.join(' ')).toBe('b0 d0 h0 f0 e1 a1 c1 g1')

  for (const item of ['a0', 'b0', 'c0', 'd0', 'e0', 'f0', 'g0']) heap.push(item)
  heap.remove('b0')
  order.length = 0
  while (heap.size > 0) order.push(heap.pop())
  expect(order.join(' ')).toBe('a0 f0 e0 d0 c0 g0')
})

test('an item is taken out from anywhere', () => {
  const heap = new BinaryHeap<number>(ascending)
  for (const item of [1, 10, 2, 11, 12, 3, 4]) heap.push(item)
  expect(heap.remove(11)).toBe(true)
  expect(heap.remove(11)).toBe(false)
  expect(heap.remove(1)).toBe(true)
  expect(heap.remove(4)).toBe(true)
  expect([...heap.values()].sort(ascending)).toEqual([2, 3, 10, 12])
  expect(Array.from({ length: 4 }, () => heap.pop())).toEqual([2, 3, 10, 12])
})

test('a cleared heap is empty and usable', () => {
  const heap = new BinaryHeap<number>(ascending)
  heap.push(1)
  heap.clear()
  expect(heap.pop()).toBeUndefined()
  heap.push(2)
  expect(heap.pop()).toBe(2)
})

test('whatever is pushed and removed, the rest leaves in order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.array(fc.nat(20)), (pushed, removed) => {
      const heap = new BinaryHeap<number>(ascending)
      const rest = [...pushed]
      for (const item of pushed) heap.push(item)
      for (const item of removed) {
        const index = rest.indexOf(item)
        expect(heap.remove(item)).toBe(index >= 0)
        if (index >= 0) rest.splice(index, 1)
      }
      expect(rest.map(() => heap.pop())).toEqual(rest.sort(ascending))
    }),
    { seed: 1 },
  )
})

test('an item at the top that has grown goes to its place', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.nat(9), { minLength: 1 })), (lists) => {
      const sources = lists.map((list) => list.toSorted(ascending))
      const heap = new BinaryHeap<number[]>((a, b) => (a[0] ?? 0) - (b[0] ?? 0))
      for (const source of sources) heap.push([...source])
      const merged: number[] = []
      for (let first = heap.peek(); first !== undefined; first = heap.peek()) {
        merged.push(first.shift() ?? -1)
        if (first.length === 0) heap.pop()
        else heap.topChanged()
      }
      expect(merged).toEqual(sources.flat().toSorted(ascending))
    }),
    { seed: 1 },
  )
})
