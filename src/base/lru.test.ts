import { expect, test } from 'vitest'
import { LruList, type LruNode } from './lru.ts'

class Entry implements LruNode<Entry> {
  readonly name: string
  older: Entry | undefined = undefined
  newer: Entry | undefined = undefined

  constructor(name: string) {
    this.name = name
  }
}

/** From oldest to newest, read in both directions. */
function order(list: LruList<Entry>): string {
  let forwards = ''
  for (let entry = list.oldest; entry !== undefined; entry = entry.newer) forwards += entry.name
  let backwards = ''
  for (let entry = list.newest; entry !== undefined; entry = entry.older) {
    backwards = entry.name + backwards
  }
  expect(backwards).toBe(forwards)
  expect(list.size).toBe(forwards.length)
  return forwards
}

const filled = (): { list: LruList<Entry>; a: Entry; b: Entry; c: Entry } => {
  const list = new LruList<Entry>()
  const [a, b, c] = [new Entry('a'), new Entry('b'), new Entry('c')]
  for (const entry of [a, b, c]) list.add(entry)
  return { list, a, b, c }
}

test('what is added last is the newest', () => {
  expect(order(filled().list)).toBe('abc')
})

test('what is touched becomes the newest, from the start, the middle and the end', () => {
  const { list, a, b } = filled()
  list.touch(a)
  expect(order(list)).toBe('bca')
  list.touch(a)
  expect(order(list)).toBe('bca')
  list.touch(b)
  expect(order(list)).toBe('cab')
})

test('what is removed leaves the others in order and keeps none alive', () => {
  const { list, a, b, c } = filled()
  list.remove(b)
  expect(order(list)).toBe('ac')
  expect([b.older, b.newer]).toEqual([undefined, undefined])
  list.remove(c)
  expect(order(list)).toBe('a')
  list.remove(a)
  expect(order(list)).toBe('')
  list.add(b)
  expect(order(list)).toBe('b')
})

test('a cleared list is empty and its entries are free', () => {
  const { list, a, c } = filled()
  list.clear()
  expect(order(list)).toBe('')
  expect([a.newer, c.older]).toEqual([undefined, undefined])
})
