/** The runner itself: that it tells differences, makes the same cases again, and makes them small. */
import { describe, expect, test } from 'vitest'
import { generateCase } from '../../scripts/conformance/generator.ts'
import { shrink } from '../../scripts/conformance/shrink.ts'
import { isRecord, type CaseResult, type ConformanceCase } from './case.ts'
import { firstDifference } from './first-difference.ts'
import { runCase } from './run-case.ts'

const result: CaseResult = {
  describe: 'Topologies:\n   Sub-topology: 0\n',
  internalTopics: { 'app-x-changelog': { a: '1', b: '2' } },
  steps: [[['out', '61', '62', 5]], []],
  stores: { x: [['61', '62', 5]] },
  dropped: 0,
}

describe('the first difference', () => {
  test('is none between equal results, whatever the order of configs', () => {
    const internalTopics = { 'app-x-changelog': { b: '2', a: '1' } }
    expect(firstDifference(result, { ...result, internalTopics })).toBeUndefined()
  })

  test.each<[string, CaseResult, string]>([
    [
      'a line of describe()',
      { ...result, describe: 'Topologies:\n   Sub-topology: 1\n' },
      'describe(), line 2:\n  Kafka Streams:    Sub-topology: 0\n  Millpond:         Sub-topology: 1',
    ],
    [
      'an internal topic',
      { ...result, internalTopics: {} },
      'internal topic app-x-changelog:\n  Kafka Streams: a=1 b=2\n  Millpond:      does not exist',
    ],
    [
      'a record',
      { ...result, steps: [[['out', '61', '63', 5]], []] },
      'step 0 {"advanceWallClock":1}, record 1 of 1:\n  Kafka Streams: out 61(a) 62(b) 5\n  Millpond:      out 61(a) 63(c) 5',
    ],
    [
      'a record too many',
      { ...result, steps: [[['out', '61', '62', 5]], [['out', null, 'ff', 6]]] },
      'step 1, record 1 of 0:\n  Kafka Streams: nothing\n  Millpond:      out null ff 6',
    ],
    [
      'a failure',
      { failure: 'build', message: 'No.' },
      '  Kafka Streams: runs\n  Millpond:      fails at build: No.',
    ],
    [
      'a row of a store',
      { ...result, stores: { x: [] } },
      'store x, record 1 of 1:\n  Kafka Streams: 61(a) 62(b) 5\n  Millpond:      nothing',
    ],
    [
      'the dropped records',
      { ...result, dropped: 1 },
      'dropped records:\n  Kafka Streams: 0\n  Millpond:      1',
    ],
  ])('is told in words: %s', (_what, actual, text) => {
    expect(firstDifference(result, actual, [{ advanceWallClock: 1 }])?.text).toBe(text)
  })
})

describe('random cases', () => {
  test('are the same for the same seed and number', () => {
    expect(generateCase(7, 3)).toEqual(generateCase(7, 3))
    expect(generateCase(7, 3)).not.toEqual(generateCase(7, 4))
  })

  test('run, or fail with an error that is meant', () => {
    const failures = Array.from({ length: 60 }, (_, index) => runCase(generateCase(9, index)))
      .map(({ failure }) => failure)
      .filter((failure) => failure !== undefined)

    expect(failures.filter((failure) => !/^(build|step \d+)$/.test(failure))).toEqual([])
    expect(failures.length).toBeLessThan(15)
  })
})

describe('a case that differs', () => {
  test('is made as small as it goes', async () => {
    const given: ConformanceCase = {
      name: 'large',
      config: { cacheBytes: 0 },
      topology: [
        { id: 'a', op: 'stream', topic: 'in', name: 'source' },
        { id: 'b', op: 'mapValues', from: 'a', with: 'upper' },
        { id: 'c', op: 'filter', from: 'b', with: 'all', name: 'kept' },
        { id: 'd', op: 'to', from: 'c', topic: 'out' },
        { id: 'e', op: 'stream', topic: 'other' },
      ],
      script: [
        { topic: 'other', key: 'x', value: 'y', timestamp: 7 },
        { topic: 'in', key: 'a', value: 'b', timestamp: 50, headers: [['h', 'x']] },
        { advanceWallClock: 5 },
      ],
    }
    const needsFilterAndRecord = ({ topology, script }: ConformanceCase): boolean =>
      topology.some(({ op }) => op === 'filter') &&
      script.some((entry) => isRecord(entry) && entry.topic === 'in')

    expect(
      await shrink(given, (candidate) => Promise.resolve(needsFilterAndRecord(candidate))),
    ).toEqual({
      name: 'large',
      topology: [
        { op: 'stream', topic: 'in' },
        { op: 'filter', with: 'all' },
      ],
      script: [{ topic: 'in', key: 'a', value: 'b', timestamp: 0 }],
    })
  })
})
