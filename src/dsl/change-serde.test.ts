import { describe, expect, test } from 'vitest'
import { Change } from '../processor/change.ts'
import { serdes } from '../serde/serdes.ts'
import { changeSerde } from './change-serde.ts'

const serde = changeSerde(serdes.string)
const hex = (change: Change): string => Buffer.from(serde.serialize(change)).toString('hex')
const read = (bytes: string): Change => serde.deserialize(Buffer.from(bytes, 'hex'))

describe('the serde of changes', () => {
  test.each([
    ['a new value alone', new Change('new', undefined), '6e657701'],
    ['an old value alone', new Change(undefined, 'old'), '6f6c6400'],
    ['both, the new one with its length', new Change('new', 'old'), '066e65776f6c6402'],
    ['an empty new value', new Change('', 'old'), '006f6c6402'],
    ['an empty old value', new Change('new', ''), '066e657702'],
    ['only an empty value', new Change('', undefined), '01'],
  ])('writes and reads %s', (_what, change, bytes) => {
    expect(hex(change)).toBe(bytes)
    expect(read(bytes)).toEqual(change)
  })

  test('writes the length of a long value as a varint of two bytes', () => {
    const change = new Change('n'.repeat(100), 'o')
    expect(hex(change)).toBe(`c801${'6e'.repeat(100)}6f02`)
    expect(read(hex(change))).toEqual(change)
  })

  test.each([
    ['an old value', '6f6c640103', new Change(undefined, 'old', true)],
    ['an old value that is late', '6f6c640003', new Change(undefined, 'old', false)],
    ['a new value', '6e65770104', new Change('new', undefined, true)],
    ['a new value that is late', '6e65770004', new Change('new', undefined, false)],
    ['both', '066e65776f6c640105', new Change('new', 'old', true)],
    ['both, late', '066e65776f6c640005', new Change('new', 'old', false)],
  ])('reads %s of a newer version, which says whether it is the latest', (_what, bytes, change) => {
    expect(read(bytes)).toEqual(change)
  })

  test('refuses a change of nothing', () => {
    expect(() => hex(new Change<unknown>(undefined, undefined))).toThrowError(
      expect.objectContaining({ code: 'SERDE_FAILED' }),
    )
  })

  test.each([
    ['no bytes', ''],
    ['an unknown kind', '6e657706'],
    ['a length beyond the end', '0e6e65776f6c6402'],
    ['a negative length', '016e65776f6c6402'],
    ['a length that never ends', 'ffffffffffff02'],
    ['only a kind that needs a length', '02'],
    ['no byte that says whether it is the latest', '04'],
    ['another byte there', '6e65770204'],
  ])('refuses %s', (_what, bytes) => {
    expect(() => read(bytes)).toThrowError(expect.objectContaining({ code: 'SERDE_FAILED' }))
  })
})
