import { expect, test } from 'vitest'
import { QuickUnion } from './quick-union.ts'

test('names that were united, also by way of others, have one root', () => {
  const sets = new QuickUnion()
  for (const name of ['a', 'b', 'c', 'd', 'e']) sets.add(name)
  sets.unite('a', 'b')
  sets.unite('c', 'd')
  sets.unite('b', 'd')

  expect(new Set(['a', 'b', 'c', 'd'].map((name) => sets.root(name))).size).toBe(1)
  expect(sets.root('e')).toBe('e')
})
