import { expect, test } from 'vitest'
import { serdes } from './serdes.ts'

test.each([
  ['', ''],
  ['616263', 'abc'],
  ['6772c3bcc39f', 'grüß'],
  ['30313233343536373839616263646566676869', '0123456789abcdefghi'],
  ['f09f9880', '😀'],
  // Java reads an encoded surrogate as one replacement character.
  ['61eda08062', 'a\ufffdb'],
  ['c3', '\ufffd'],
])('a string is read from the middle of other bytes: %s', (hex, text) => {
  const part = Buffer.from(hex, 'hex')
  const bytes = Buffer.concat([Buffer.from('xé'), part, Buffer.from('éx')])

  expect(serdes.string.deserializeSlice?.(bytes, 3, 3 + part.length)).toBe(text)
  expect(serdes.string.deserialize(part)).toBe(text)
})
