import { describe, expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import { topic } from './topic.ts'

/** As a program in JavaScript calls it, which no compiler has read. */
const untyped = topic as unknown as (...args: unknown[]) => { name: string; key: unknown }

/** `serdes.json` where `serdes.json()` was meant. */
const { json: uncalled } = serdes as unknown as Record<string, unknown>

const refused = (code: string, message: string): unknown =>
  expect.objectContaining({ code, message: expect.stringContaining(message) })

describe('topic', () => {
  test('is its name and its serdes; without a key serde keys are bytes', () => {
    expect(topic('lines', { value: serdes.string })).toEqual({
      name: 'lines',
      key: serdes.bytes,
      value: serdes.string,
    })
    expect(topic('orders', { key: serdes.uuid, value: serdes.string }).key).toBe(serdes.uuid)
  })

  test.each([
    [[], 'the name undefined of a topic is not allowed: it must be a string'],
    [[{ value: serdes.string }], 'it must be a string'],
    [['', { value: serdes.string }], 'it is empty'],
    [['..', { value: serdes.string }], 'it stands for a directory'],
    [['x'.repeat(250), { value: serdes.string }], 'it is longer than 249 characters'],
    [['a b', { value: serdes.string }], 'only letters, digits'],
    [['a', 'string'], 'the options of the topic a must be an object'],
    [
      ['a', { value: serdes.string, timestamp: 5 }],
      'the timestamp of the topic a must be a function, it is number',
    ],
    [
      ['a', { value: serdes.string, offsetReset: 'oldest' }],
      `the offsetReset of the topic a is not valid: it must be 'earliest', 'latest', 'none' or { byDuration: milliseconds }, not "oldest"`,
    ],
    [['a', { value: serdes.string, offsetReset: { byDuration: -1 } }], 'not {"byDuration":-1}'],
    [['a', { value: serdes.string, offsetReset: { byDuration: 0.5 } }], 'not {"byDuration":0.5}'],
  ])('%j is refused', (args, message) => {
    expect(() => untyped(...args)).toThrowError(refused('TOPOLOGY_INVALID', message))
  })

  test.each([[['a']], [['a', undefined]], [['a', {}]], [['a', { key: serdes.string }]]])(
    '%j lacks the serde of its values',
    (args) => {
      expect(() => untyped(...args)).toThrowError(
        refused('SERDE_MISSING', 'No value serde is known for the topic a. State it'),
      )
    },
  )

  test.each([
    [
      { value: uncalled },
      'the value serde of the topic a is a function: call it, as in serdes.json()',
    ],
    [{ value: 'string' }, 'the value serde of the topic a is no serde but "string"'],
    [{ value: null }, 'the value serde of the topic a is no serde but null'],
    [{ value: serdes.string, key: {} }, 'the key serde of the topic a is no serde but {}'],
    [
      { value: { serialize: () => Buffer.alloc(0) } },
      'the value serde of the topic a is no serde but {}: it needs serialize and deserialize',
    ],
  ])('%j is no serde', (options, message) => {
    expect(() => untyped('a', options)).toThrowError(refused('TOPOLOGY_INVALID', message))
  })
})
