import { expect, test } from 'vitest'
import { isSampled, rowsPerSampled } from './row-sample.ts'

function sampled(keys: readonly Buffer[]): number {
  return keys.filter(isSampled).length * rowsPerSampled
}

const numbers = Array.from({ length: 100_000 }, (_, index) => index)

test.each<[string, (index: number) => Buffer]>([
  ['words with a number', (index) => Buffer.from(`user-${index}`)],
  ['numbers of four bytes', (index) => Buffer.from(Uint32Array.of(index).buffer).reverse()],
  [
    'windows: a word, a time that grows by a minute, and four zero bytes',
    (index) => {
      const key = Buffer.alloc(15)
      key.write(`k${index % 7}`)
      key.writeBigInt64BE(1_700_000_000_000n + 60_000n * BigInt(index), 3)
      return key
    },
  ],
  ['long keys with the same beginning', (index) => Buffer.from('x'.repeat(300) + index)],
])('the sample tells how many rows there are: %s', (_name, key) => {
  const estimate = sampled(numbers.map(key))
  expect(estimate).toBeGreaterThan(94_000)
  expect(estimate).toBeLessThan(106_000)
})

test('a key is in the sample or not, wherever its bytes lie', () => {
  const parent = Buffer.from('..user-17..')
  expect(isSampled(parent.subarray(2, 9))).toBe(isSampled(Buffer.from('user-17')))
  expect(typeof isSampled(Buffer.alloc(0))).toBe('boolean')
})
