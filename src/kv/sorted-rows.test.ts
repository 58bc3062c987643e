import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { SortedRows, keyText, type SortedCursor, type TextRange } from './sorted-rows.ts'

interface Row {
  text: string
  value: number
}

function take(cursor: SortedCursor<Row>): string[] {
  const texts: string[] = []
  for (let row = cursor.next(); row !== undefined; row = cursor.next()) {
    texts.push(`${row.text}${row.value}`)
  }
  expect(cursor.next()).toBeUndefined()
  return texts
}

test('the text of a key orders as its bytes do', () => {
  expect(keyText(Buffer.from([0x00, 0x7f, 0x80, 0xff]))).toBe('\x00\x7f\x80\xff')
  expect(keyText(Buffer.from([0x80])) > keyText(Buffer.from([0x7f, 0xff]))).toBe(true)
})

test('rows come in order, and a later row takes the place of one with its key', () => {
  const rows = new SortedRows<Row>()
  for (const [text, value] of [
    ['b', 1],
    ['a', 2],
    ['b', 3],
    ['c', 4],
  ] as const) {
    rows.add({ text, value })
  }
  expect(take(rows.view().cursor())).toEqual(['a2', 'b3', 'c4'])
  rows.add({ text: 'c', value: 5 })
  rows.add({ text: 'aa', value: 6 })
  expect(take(rows.view().cursor({ reverse: true }))).toEqual(['c5', 'b3', 'aa6', 'a2'])
  rows.retain(({ value }) => value > 3)
  expect(take(rows.view().cursor())).toEqual(['aa6', 'c5'])
  rows.clear()
  expect(take(rows.view().cursor())).toEqual([])
})

test('a view stays as it was', () => {
  const rows = new SortedRows<Row>()
  for (let value = 0; value < 2000; value += 1) rows.add({ text: String(value), value })
  const view = rows.view()
  const before = take(view.cursor())
  for (let value = 0; value < 300; value += 1) rows.add({ text: `${value * 7}`, value: -1 })
  for (let value = 0; value < 300; value += 1) rows.add({ text: `${value * 7}x`, value: -1 })
  expect(take(rows.view().cursor()).length).toBe(2000 + 300 + 14)
  rows.retain(() => false)
  expect(take(view.cursor())).toEqual(before)
})

test('any additions and any range give what a sorted list gives', () => {
  const text = fc.string({ unit: fc.constantFrom('\0', 'a', 'b', '\xff'), maxLength: 4 })
  const additions = fc.array(fc.array(text, { maxLength: 400 }), { maxLength: 8 })
  const bounds: fc.Arbitrary<TextRange> = fc.record(
    { from: text, to: text, toExclusive: fc.boolean(), reverse: fc.boolean() },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(additions, fc.array(bounds, { minLength: 1, maxLength: 4 }), (rounds, ranges) => {
      const rows = new SortedRows<Row>()
      const model = new Map<string, number>()
      let value = 0
      for (const round of rounds) {
        for (const text of round) {
          value += 1
          rows.add({ text, value })
          model.set(text, value)
        }
        for (const range of ranges) {
          const { from, to, toExclusive, reverse } = range
          const expected = [...model]
            .filter(([text]) => from === undefined || text >= from)
            .filter(([text]) => to === undefined || (toExclusive === true ? text < to : text <= to))
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([text, value]) => `${text}${value}`)
          if (reverse === true) expected.reverse()
          expect(take(rows.view().cursor(range))).toEqual(expected)
        }
      }
    }),
    { numRuns: 100 },
  )
})
