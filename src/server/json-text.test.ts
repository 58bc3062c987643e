import { expect, test } from 'vitest'
import { jsonText } from './json-text.ts'

test.each([
  ['text', '"text"'],
  ['say "ä\n"', String.raw`"say \"ä\n\""`],
  [1.5, '1.5'],
  [-0, '0'],
  [true, 'true'],
  [null, 'null'],
  [undefined, 'null'],
  [2n ** 64n, '"18446744073709551616"'],
  [Number.NaN, '"NaN"'],
  [Number.NEGATIVE_INFINITY, '"-Infinity"'],
  [Buffer.from([1, 2, 255]), '"AQL/"'],
  [new Uint8Array([0]), '"AA=="'],
  [
    { n: 1n, bytes: Buffer.from('a'), list: [Number.POSITIVE_INFINITY], gone: undefined },
    '{"n":"1","bytes":"YQ==","list":["Infinity"]}',
  ],
  [new Date(0), '"1970-01-01T00:00:00.000Z"'],
])('%o is written as %s', (value, text) => {
  expect(jsonText(value)).toBe(text)
})
