import { expect, test } from 'vitest'
import { ClosingIndex } from './closing-index.ts'

function indexOf(rows: readonly (readonly [time: number, key: string])[], floor = 0): ClosingIndex {
  const index = new ClosingIndex(floor)
  for (const [time, key] of rows) index.add(time, Buffer.from(key), key)
  return index
}

const taken = (index: ClosingIndex, to: number): string[] => index.take(to).map(String)

test('rows come once, by time, when they are asked for', () => {
  const index = indexOf([
    [5, 'c'],
    [1, 'a'],
    [3, 'b'],
    [3, 'bb'],
    [9, 'd'],
  ])

  expect(taken(index, 0)).toEqual([])
  expect(taken(index, 4)).toEqual(['a', 'b', 'bb'])
  expect(taken(index, 4)).toEqual([])
  expect(taken(index, 9)).toEqual(['c', 'd'])
})

test('a row that is put again is one row, and one that is deleted is none', () => {
  const index = indexOf([
    [1, 'a'],
    [1, 'a'],
    [1, 'b'],
  ])
  index.delete(1, 'b')
  index.delete(2, 'never')

  expect(taken(index, 1)).toEqual(['a'])
})

test('a time that was emptied can be filled again', () => {
  const index = indexOf([[1, 'a']])
  index.delete(1, 'a')
  index.add(1, Buffer.from('b'), 'b')

  expect(taken(index, 1)).toEqual(['b'])
})

test('what was asked for already is not taken in any more', () => {
  const index = indexOf(
    [
      [1, 'before'],
      [2, 'a'],
    ],
    2,
  )
  expect([index.floor, taken(index, 4), index.floor]).toEqual([2, ['a'], 5])

  index.add(4, Buffer.from('late'), 'late')
  index.add(5, Buffer.from('in time'), 'in time')
  expect(taken(index, 3)).toEqual([])
  expect(index.floor).toBe(5)
  expect(taken(index, 9)).toEqual(['in time'])
})

test('a time may have more rows than a call may have arguments', () => {
  const rows = 200_000
  const index = new ClosingIndex(0)
  for (let row = 0; row < rows; row += 1) index.add(7, Buffer.from(String(row)), String(row))
  index.add(8, Buffer.from('later'), 'later')

  const keys = index.take(7)
  expect([keys.length, String(keys[0]), String(keys.at(-1))]).toEqual([rows, '0', '199999'])
  expect(taken(index, 7)).toEqual([])
  expect(taken(index, 8)).toEqual(['later'])
})
