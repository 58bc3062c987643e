import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareBytes } from '../base/bytes.ts'
import { decodeCursor, encodeCursor, mergeRows, type RowSource } from './page.ts'
import type { StoreRow } from './query-target.ts'

const rowOf = (key: string): StoreRow => ({
  keyBytes: Buffer.from(key),
  key,
  value: 1,
  timestamp: -1,
})

const source = (keys: string, complete = true): RowSource => ({
  rows: keys.split('').map(rowOf).values(),
  complete,
})

const merged = (
  sources: readonly RowSource[],
  options: { limit?: number; reverse?: boolean; after?: string; bytesMax?: number } = {},
): string => {
  const { limit = 100, reverse, after, bytesMax = 1000 } = options
  const { rows, more } = mergeRows(sources, {
    limit,
    reverse,
    bytesMax,
    sizeOf: () => 10,
    after: after === undefined ? undefined : Buffer.from(after),
  })
  return rows.map(({ key }) => String(key)).join('') + (more ? '…' : '')
}

test('rows of several partitions come in the order of their key bytes', () => {
  expect(merged([source('adf'), source('bc'), source(''), source('e')])).toBe('abcdef')
})

test('a reverse page is merged from its end', () => {
  expect(merged([source('fda'), source('cb')], { reverse: true })).toBe('fdcba')
})

test('a page ends at its limit and says that there is more', () => {
  expect(merged([source('adf'), source('bc')], { limit: 3 })).toBe('abc…')
  expect(merged([source('ac'), source('b')], { limit: 3 })).toBe('abc')
})

test('a page ends where a source was cut off, because what follows there is not known', () => {
  expect(merged([source('ad', false), source('bcef')])).toBe('abcd…')
  expect(merged([source('', false), source('bcef')])).toBe('…')
})

test('a page ends at its bytes, but has at least one row', () => {
  expect(merged([source('abc')], { bytesMax: 20 })).toBe('ab…')
  expect(merged([source('abc')], { bytesMax: 1 })).toBe('a…')
})

test('the row behind which a page begins is passed over', () => {
  expect(merged([source('bd'), source('ce')], { after: 'b' })).toBe('cde')
  expect(merged([source('db'), source('c')], { after: 'd', reverse: true })).toBe('cb')
})

test('pages that follow each other have each row once, whatever the limits', () => {
  const partition = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 12 })
  fc.assert(
    fc.property(
      fc.array(partition, { maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      (partitions, limit, reverse) => {
        const keys = [...new Set(partitions.flat())]
        const inOrder = (list: string[]): Buffer[] => {
          const bytes = list.map((key) => Buffer.from(key)).sort(compareBytes)
          return reverse ? bytes.reverse() : bytes
        }
        // Each key in one partition, as the hash has it.
        const owned = partitions.map((list, index) =>
          inOrder(list.filter((key) => partitions.findIndex((one) => one.includes(key)) === index)),
        )
        const seen: Buffer[] = []
        let after: Buffer | undefined
        for (let pages = 0; pages <= keys.length; pages += 1) {
          const last = after
          const from = (list: Buffer[]): Buffer[] =>
            last === undefined
              ? list
              : list.filter((key) => compareBytes(key, last) * (reverse ? -1 : 1) >= 0)
          const sources = owned.map((list) => ({
            rows: from(list)
              .map((keyBytes) => ({ keyBytes, key: '', value: 1, timestamp: -1 }))
              .values(),
            complete: true,
          }))
          const sizeOf = (): number => 1
          const page = mergeRows(sources, { limit, reverse, bytesMax: 1000, sizeOf, after })
          seen.push(...page.rows.map(({ keyBytes }) => keyBytes))
          if (!page.more) break
          after = page.rows.at(-1)?.keyBytes
        }
        expect(seen).toEqual(inOrder(keys))
      },
    ),
  )
})

test('a cursor is opaque text that leads back to its key', () => {
  expect(encodeCursor(Buffer.from('kafka'), false)).toBe('AQBrYWZrYQ')
  expect(decodeCursor('AQBrYWZrYQ', false).toString()).toBe('kafka')
  expect(decodeCursor(encodeCursor(Buffer.alloc(0), true), true)).toEqual(Buffer.alloc(0))
})

test.each(['', '!', 'AQ', 'AgBr', 'AQBrYWZrYQ=='])('the text %j is no cursor', (text) => {
  expect(() => decodeCursor(text, false)).toThrow('the cursor is not one of ours')
})

test('a cursor of a page in the other direction is refused', () => {
  expect(() => decodeCursor('AQBrYWZrYQ', true)).toThrow('the other direction')
})
