import { describe, expect, test } from 'vitest'
import { assertAgreedCounts, unitedGroups } from './copartition.ts'

describe('groups of topics that are read together', () => {
  test('are one when they share a topic, however late that comes out', () => {
    expect(
      unitedGroups([
        ['a', 'b'],
        ['c', 'd'],
        ['e', 'f'],
        ['b', 'c'],
      ]),
    ).toEqual([
      ['e', 'f'],
      ['a', 'b', 'c', 'd'],
    ])
  })

  test('of one topic say nothing', () => {
    expect(unitedGroups([['a'], ['a', 'a']])).toEqual([])
  })
})

test('counts that the program states for topics of one group must be the same', () => {
  const topics = new Map([
    ['x', { name: 'x', partitionCount: 3 }],
    ['y', { name: 'y', partitionCount: 4 }],
    ['z', { name: 'z' }],
  ])
  assertAgreedCounts([['x', 'z', 'source']], topics)

  expect(() => assertAgreedCounts([['x', 'y', 'z']], topics)).toThrowError(
    expect.objectContaining({
      code: 'TOPOLOGY_INVALID',
      message:
        'Invalid topology: topics that are read together must have equally many partitions (x: 3, y: 4).',
    }),
  )
})
