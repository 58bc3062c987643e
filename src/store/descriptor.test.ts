import { describe, expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from './descriptor.ts'

/** As a program in JavaScript calls it, which no compiler has read. */
const untyped = keyValueStore as unknown as (...args: unknown[]) => unknown

const both = { key: serdes.string, value: serdes.long }

/** `serdes.json` where `serdes.json()` was meant. */
const { json: uncalled } = serdes as unknown as Record<string, unknown>

const refused = (code: string, message: string): unknown =>
  expect.objectContaining({ code, message: expect.stringContaining(message) })

describe('keyValueStore', () => {
  test('is its name, its serdes and its options', () => {
    expect(keyValueStore('counts', { ...both, persistent: false })).toEqual({
      kind: 'key-value',
      name: 'counts',
      key: serdes.string,
      value: serdes.long,
      persistent: false,
    })
  })

  test.each(['a', 'A.b_c-9', '-', '...', 'x'.repeat(249)])('%s is a name', (name) => {
    expect(keyValueStore(name, both).name).toBe(name)
  })

  // Java's rules are those of Named.validate; it checks them in Materialized.as.
  test.each([
    [[], 'the name undefined of a store is not allowed: it must be a string'],
    [[both], 'it must be a string'],
    [['', both], 'it is empty'],
    [['.', both], 'it stands for a directory'],
    [['..', both], 'it stands for a directory'],
    [['x'.repeat(250), both], 'it is longer than 249 characters'],
    [['word counts', both], 'only letters, digits'],
    [['wörter', both], 'only letters, digits'],
    [['a/b', both], 'only letters, digits'],
    [['a', 'string'], 'the options of the store a must be an object, not "string"'],
    [['a', { ...both, value: uncalled }], 'the value serde of the store a is a function: call it'],
    [['a', { ...both, key: 7 }], 'the key serde of the store a is no serde but 7'],
  ])('%j is refused', (args, message) => {
    expect(() => untyped(...args)).toThrowError(refused('TOPOLOGY_INVALID', message))
  })

  test.each([
    [['a'], 'key'],
    [['a', null], 'key'],
    [['a', {}], 'key'],
    [['a', { value: serdes.long }], 'key'],
    [['a', { key: serdes.string }], 'value'],
  ])('%j lacks a serde', (args, part) => {
    expect(() => untyped(...args)).toThrowError(
      refused('SERDE_MISSING', `No ${part} serde is known for the store a. State it`),
    )
  })
})
