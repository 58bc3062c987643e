import { expect, test } from 'vitest'
import {
  asBuffer,
  compareBytes,
  concatBytes,
  emptyBytes,
  equalBytes,
  prefixEnd,
  toHex,
} from './bytes.ts'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

test('bytes are seen as a Buffer without a copy', () => {
  const whole = bytes(1, 2, 3, 4)
  const view = asBuffer(whole.subarray(1, 3))
  whole[1] = 9
  expect(view).toEqual(Buffer.from([9, 3]))
  expect(asBuffer(view)).toBe(view)
})

test('bytes compare as unsigned, a prefix first', () => {
  const sorted = [bytes(0x80), bytes(1, 2), bytes(0x7f), bytes(), bytes(1), bytes(0xff, 0)].sort(
    compareBytes,
  )
  expect(sorted.map(toHex)).toEqual(['', '01', '0102', '7f', '80', 'ff00'])
})

test('long bytes compare by their first difference, wherever it is, and then by length', () => {
  const long = Buffer.alloc(100, 0x80)
  for (const position of [0, 31, 32, 33, 99]) {
    const greater = Buffer.from(long)
    greater[position] = 0x81
    expect(Math.sign(compareBytes(long, greater))).toBe(-1)
    expect(Math.sign(compareBytes(greater, long.subarray(0, 99)))).toBe(1)
  }
  expect(compareBytes(long, Buffer.from(long))).toBe(0)
  for (const length of [0, 31, 32, 33, 99]) {
    expect(Math.sign(compareBytes(long.subarray(0, length), long))).toBe(-1)
  }
})

test('bytes are equal when length and content are, short and long', () => {
  for (const length of [0, 1, 31, 32, 33, 500]) {
    const a = new Uint8Array(length).fill(7)
    const b = Buffer.alloc(length, 7)
    expect(equalBytes(a, b)).toBe(true)
    expect(equalBytes(a, Buffer.alloc(length + 1, 7))).toBe(false)
    if (length === 0) continue
    b[length - 1] = 8
    expect(equalBytes(a, b)).toBe(false)
  }
})

test('parts are joined into a Buffer of its own', () => {
  const part = bytes(1, 2)
  const joined = concatBytes([part, emptyBytes, bytes(3)])
  part[0] = 9
  expect(toHex(joined)).toBe('010203')
})

test('the end of a prefix is the next key that does not have it', () => {
  const end = (...values: number[]): string | undefined => {
    const found = prefixEnd(bytes(...values))
    return found && toHex(found)
  }
  expect(end(0x61)).toBe('62')
  expect(end(0x61, 0x00)).toBe('6101')
  expect(end(0x61, 0xff)).toBe('62')
  expect(end(0x61, 0xff, 0xff)).toBe('62')
  expect(end(0xff, 0x00, 0xff)).toBe('ff01')
})

test('a prefix that is empty or all 0xFF has no end', () => {
  expect(prefixEnd(bytes())).toBeUndefined()
  expect(prefixEnd(bytes(0xff))).toBeUndefined()
  expect(prefixEnd(bytes(0xff, 0xff))).toBeUndefined()
})

test('the end of a prefix leaves the prefix as it was', () => {
  const prefix = Buffer.from('ab')
  prefixEnd(prefix)
  expect(prefix.toString()).toBe('ab')
})

test('hexadecimal of a view shows the view alone', () => {
  expect(toHex(Buffer.from([1, 0xab, 0xff]).subarray(1))).toBe('abff')
})
