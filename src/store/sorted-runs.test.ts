import { expect, test } from 'vitest'
import { SortedRuns } from './sorted-runs.ts'

function sorted(texts: readonly string[], rowsPerRun: number): string[] {
  const runs = new SortedRuns(texts.map((text) => ({ text })).values())
  while (runs.sortRun(rowsPerRun));
  const taken: string[] = []
  for (let row = runs.next(); row !== undefined; row = runs.next()) taken.push(row.text)
  return taken
}

test('runs of any size give all rows in order', () => {
  const texts = Array.from({ length: 1000 }, (_, index) => String((index * 7919) % 1000))
  const expected = [...texts].sort()
  expect(sorted(texts, 1)).toEqual(expected)
  expect(sorted(texts, 64)).toEqual(expected)
  expect(sorted(texts, 5000)).toEqual(expected)
})

test('the empty key comes first, and no rows give none', () => {
  expect(sorted(['b', '', 'a'], 2)).toEqual(['', 'a', 'b'])
  expect(sorted([], 2)).toEqual([])
})
