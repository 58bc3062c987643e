import { expect, test } from 'vitest'
import { shownValue } from './shown-value.ts'

const circular: Record<string, unknown> = {}
circular['itself'] = circular

test.each([
  ['a"b', '"a\\"b"'],
  [1.5, '1.5'],
  [Number.NaN, 'NaN'],
  [10n, '10n'],
  [null, 'null'],
  [undefined, 'undefined'],
  [Symbol('s'), 'Symbol(s)'],
  [() => 1, 'a function'],
  [{ a: [1] }, '{"a":[1]}'],
  [circular, 'an object that is not JSON'],
  [{ n: 1n }, 'an object that is not JSON'],
  [Object.create(null), '{}'],
  ['x'.repeat(100), `"${'x'.repeat(79)}…`],
])('$1 stands in a sentence', (value, shown) => {
  expect(shownValue(value)).toBe(shown)
})
