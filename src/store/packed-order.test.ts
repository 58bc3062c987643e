import { array, assert, constantFrom, property } from 'fast-check'
import { expect, test } from 'vitest'
import { compareBytes } from '../base/bytes.ts'
import { keyLengthAt, sortPacked, stride } from './packed-order.ts'

function sorted(keys: readonly Buffer[]): Buffer[] {
  const rows = new Int32Array(keys.length * stride)
  let at = 0
  for (const [row, key] of keys.entries()) {
    rows[row * stride] = at
    rows[row * stride + keyLengthAt] = key.length
    at += key.length
  }
  const order = Uint32Array.from(keys.keys())
  sortPacked(order, { bytes: Buffer.concat(keys), rows })
  return [...order].map((row) => keys[row] as Buffer)
}

const distinct = (texts: readonly string[]): Buffer[] =>
  [...new Set(texts)].map((text) => Buffer.from(text, 'latin1'))

test('keys of any kind come in the order of their bytes', () => {
  const parts = constantFrom('', 'a', 'ab', '\0', 'ÿ', 'the same in many of them, and long')
  const text = array(parts, { maxLength: 6 }).map((some) => some.join(''))
  assert(
    property(array(text, { maxLength: 200 }), (texts) => {
      const keys = distinct(texts)
      expect(sorted(keys)).toEqual(keys.toSorted(compareBytes))
    }),
  )
})

test('many keys that differ in few places come in order', () => {
  const keys = distinct(
    Array.from({ length: 20_000 }, (_, index) => {
      const number = (index * 7919) % 20_000
      return `${number % 3 === 0 ? 'user-profile' : 'user-account'}-of-${number}`
    }),
  )
  const expected = keys.toSorted(compareBytes)
  expect(sorted(keys).findIndex((key, place) => key !== expected[place])).toBe(-1)
})

test('many keys that differ in zero bytes at their end alone come in order', () => {
  const keys = Array.from({ length: 60 }, (_, index) => Buffer.alloc((index * 7) % 60))
  const named = keys.map((key) => Buffer.concat([Buffer.from('key'), key]))
  for (const some of [keys, named, [...keys, ...named]]) {
    expect(sorted(some)).toEqual(some.toSorted(compareBytes))
  }
})
