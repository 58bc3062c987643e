import { expect, test } from 'vitest'
import { ClosingIndex } from './closing-index.ts'

function indexOf(rows: readonly (readonly [time: number, id: string])[]) {
  const index = new ClosingIndex<string, string>()
  for (const [time, id] of rows) index.add(time, id, `row ${id}`)
  return index
}

test('rows come once, by time, when they are asked for', () => {
  const index = indexOf([
    [5, 'c'],
    [1, 'a'],
    [3, 'b'],
    [3, 'bb'],
    [9, 'd'],
  ])

  expect(index.take(0)).toEqual([])
  expect(index.take(4)).toEqual(['row a', 'row b', 'row bb'])
  expect(index.take(4)).toEqual([])
  expect(index.take(9)).toEqual(['row c', 'row d'])
})

test('a row that is put again is one row, the last, and one that is deleted is none', () => {
  const index = indexOf([
    [1, 'a'],
    [1, 'b'],
  ])
  index.add(1, 'a', 'another row a')
  index.delete(1, 'b')
  index.delete(2, 'never')

  expect(index.take(1)).toEqual(['another row a'])
})

test('a time that was emptied can be filled again, and comes once', () => {
  const index = indexOf([[1, 'a']])
  for (let turn = 0; turn < 3; turn += 1) {
    index.delete(1, 'a')
    index.add(1, 'a', 'again')
  }

  expect(index.take(1)).toEqual(['again'])
  expect(index.take(2)).toEqual([])
})

test('what was asked for already is not taken in any more', () => {
  const index = indexOf([[2, 'a']])
  expect([index.floor, index.take(4), index.floor]).toEqual([0, ['row a'], 5])

  index.add(4, 'late', 'late')
  index.add(5, 'in time', 'in time')
  expect(index.take(3)).toEqual([])
  expect(index.floor).toBe(5)
  expect(index.take(9)).toEqual(['in time'])
})

test('a time may have more rows than a call may have arguments', () => {
  const rows = 200_000
  const index = new ClosingIndex<number, number>()
  for (let row = 0; row < rows; row += 1) index.add(7, row, row)
  index.add(8, -1, -1)

  const taken = index.take(7)
  expect([taken.length, taken[0], taken.at(-1)]).toEqual([rows, 0, 199_999])
  expect(index.take(7)).toEqual([])
  expect(index.take(8)).toEqual([-1])
})

test('nothing is left when it is cleared', () => {
  const index = indexOf([[1, 'a']])
  index.clear()
  expect(index.take(9)).toEqual([])
})

test('what is forgotten does not come, and what is asked for may begin before it', () => {
  const index = indexOf([
    [1, 'a'],
    [2, 'b'],
    [3, 'c'],
  ])
  index.forget(2)
  expect([index.floor, index.take(9)]).toEqual([0, ['row b', 'row c']])
})
