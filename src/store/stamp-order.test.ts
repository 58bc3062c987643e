import { expect, test } from 'vitest'
import { EvictionOrder, sortedByStamp } from './stamp-order.ts'

interface Item {
  name: string
  usedAt: number
}

const items = (text: string): Item[] =>
  text.split(' ').map((part) => {
    const [name = '', usedAt] = part.split(':')
    return { name, usedAt: Number(usedAt) }
  })
const names = (sorted: readonly Item[]): string => sorted.map(({ name }) => name).join(' ')

test('items are sorted by their stamps, those that are in order already too', () => {
  expect(names(sortedByStamp(items('a:5 b:1073741823 c:2 d:7'), ({ usedAt }) => usedAt))).toBe(
    'c a d b',
  )
  expect(names(sortedByStamp(items('a:1 b:2 c:3'), ({ usedAt }) => usedAt))).toBe('a b c')
  expect(sortedByStamp([], () => 0)).toEqual([])
})

test('entries leave in the order of their last use, also when some are used in between', () => {
  const entries = new Map(items('a:3 b:1 c:2 d:4').map((item) => [item.name, item]))
  const order = new EvictionOrder<Item>()
  const evict = (): string | undefined => {
    const oldest = order.oldest(entries)
    if (oldest === undefined) return undefined
    entries.delete(oldest.name)
    oldest.usedAt = -1
    return oldest.name
  }
  const use = (name: string, usedAt: number): void => {
    entries.set(name, Object.assign(entries.get(name) ?? { name, usedAt }, { usedAt }))
  }
  expect(order.oldest(entries)?.name).toBe('b')
  expect(order.oldest(entries)?.name).toBe('b')
  expect(evict()).toBe('b')
  use('c', 5)
  use('e', 6)
  expect(evict()).toBe('a')
  use('e', 7)
  expect(evict()).toBe('d')
  expect(evict()).toBe('c')
  use('e', 8)
  expect(evict()).toBe('e')
  expect(evict()).toBeUndefined()
})
