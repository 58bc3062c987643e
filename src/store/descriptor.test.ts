import { describe, expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import {
  keyValueStore,
  sessionStore,
  sessionStoreOf,
  versionedStore,
  windowStore,
  windowStoreOf,
} from './descriptor.ts'

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

/** Every other kind, as a program in JavaScript makes it. */
const kinds: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
  windowStore: windowStore as never,
  sessionStore: sessionStore as never,
  versionedStore: versionedStore as never,
}

describe.each(Object.keys(kinds))('%s', (kind) => {
  const make = (...args: unknown[]): unknown => kinds[kind]?.(...args)

  test('checks its name and its serdes as keyValueStore does', () => {
    const full = { ...both, historyRetention: 5 }
    expect(make('a', full)).toMatchObject({ name: 'a', ...both })
    expect(() => make()).toThrowError(refused('TOPOLOGY_INVALID', 'it must be a string'))
    expect(() => make('a b', full)).toThrowError(refused('TOPOLOGY_INVALID', 'only letters'))
    expect(() => make('a')).toThrowError(refused('SERDE_MISSING', 'the store a'))
    expect(() => make('a', { ...full, value: uncalled })).toThrowError(
      refused('TOPOLOGY_INVALID', 'is a function'),
    )
  })
})

test.each([
  ['windowStore', { retention: -1 }, 'the retention of the store a must be a whole number of'],
  ['windowStore', { windowSize: 1.5 }, 'milliseconds from 0, not 1.5'],
  ['windowStore', { windowSize: '5m' }, 'the windowSize of the store a must be'],
  ['windowStore', { windowSize: 10, retention: 9 }, 'windows of 10 ms for only 9 ms'],
  ['windowStore', { retention: 2 ** 53 }, 'the retention of the store a must be a whole number of'],
  ['windowStore', { windowSize: 2 ** 53 }, 'from 0 to 2^53 - 1, not 9007199254740992'],
  ['sessionStore', { retention: 2 ** 53 }, 'from 0 to 2^53 - 1, not 9007199254740992'],
  ['sessionStore', { retention: Number.NaN }, 'milliseconds from 0, not NaN'],
  ['versionedStore', {}, 'the historyRetention of the store a must be'],
  ['versionedStore', { historyRetention: null }, 'milliseconds from 0 to 2^53 - 1, not null'],
  ['versionedStore', { historyRetention: 2 ** 53 }, 'from 0 to 2^53 - 1, not 9007199254740992'],
  [
    'versionedStore',
    { historyRetention: 5, segmentInterval: 0 },
    'milliseconds from 1 to 2^53 - 1, not 0',
  ],
])('%s with %j is refused', (kind, options, message) => {
  expect(() => kinds[kind]?.('a', { ...both, ...options })).toThrowError(
    refused('TOPOLOGY_INVALID', message),
  )
})

test.each([Number.MAX_SAFE_INTEGER, Infinity])('%d is a length of time', (most) => {
  expect(windowStore('a', { ...both, retention: most })).toMatchObject({ retention: most })
  expect(sessionStore('a', { ...both, retention: most })).toMatchObject({ retention: most })
  // What a windowed operator needs may be more: the sum of a size and the longest grace.
  const sum = { ...both, retention: most + 5 }
  expect(windowStoreOf('a', sum)).toMatchObject({ retention: most + 5 })
  expect(sessionStoreOf('a', sum)).toMatchObject({ retention: most + 5 })
  expect(versionedStore('a', { ...both, historyRetention: most })).toMatchObject({
    historyRetention: most,
  })
})

test('lengths of time at their least are taken', () => {
  expect(windowStore('a', { ...both, windowSize: 0, retention: 0 })).toMatchObject({ retention: 0 })
  expect(versionedStore('a', { ...both, historyRetention: 0, segmentInterval: 1 })).toMatchObject({
    kind: 'versioned',
  })
})
