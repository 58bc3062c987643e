import { assert, double, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { orderedNumberSerde as serde } from './ordered-number-serde.ts'
import { voidSerde } from './void-serde.ts'

const hexOf = (value: number): string => Buffer.from(serde.serialize(value)).toString('hex')

describe('ordered numbers', () => {
  test.each([
    [-Infinity, '000fffffffffffff'],
    [-1, '400fffffffffffff'],
    [0, '8000000000000000'],
    [-0, '8000000000000000'],
    [1, 'bff0000000000000'],
    [Infinity, 'fff0000000000000'],
  ])('%d has the bytes %s', (value, hex) => {
    expect(hexOf(value)).toBe(hex)
    expect(serde.deserialize(Buffer.from(hex, 'hex'))).toBe(value + 0)
  })

  test('bytes sort as the numbers do, and come back as they were', () => {
    const anyNumber = double({ noNaN: true })
    assert(
      property(anyNumber, anyNumber, (left, right) => {
        const order = Buffer.compare(serde.serialize(left), serde.serialize(right))
        expect(order).toBe(left < right ? -1 : left > right ? 1 : 0)
        expect(serde.deserialize(serde.serialize(left))).toBe(left + 0)
      }),
    )
  })

  test.each([['NaN'], ['']])('the text %j is no number', (text) => {
    expect(() => serde.text?.parse(text)).toThrow('is not a number')
  })

  test('NaN, bytes of another length and bytes of NaN are refused', () => {
    const refused = expect.objectContaining({ code: 'SERDE_FAILED' })
    expect(() => serde.serialize(NaN)).toThrow(refused)
    expect(() => serde.deserialize(Buffer.alloc(4))).toThrow(refused)
    expect(() => serde.deserialize(Buffer.alloc(8, 0xff))).toThrow(refused)
  })
})

describe('void', () => {
  test('nothing but null is taken, in both directions', () => {
    const refused = expect.objectContaining({ code: 'SERDE_FAILED' })
    expect(() => voidSerde.serialize('x' as unknown as null)).toThrow(refused)
    expect(() => voidSerde.deserialize(Buffer.alloc(0))).toThrow(refused)
  })
})
