/** What the driver is given: topics by pattern, times that are wrong, topics that wait for each other. */
import { describe, expect, test } from 'vitest'
import { createLog } from '../base/log.ts'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { isStreamsError } from '../errors.ts'
import { serdes } from '../serde/serdes.ts'
import type { TimestampExtractor } from '../topology/node.ts'
import {
  failOnInvalidTimestamp,
  logAndSkipOnInvalidTimestamp,
  usePartitionTimeOnInvalidTimestamp,
  wallclockTimestamp,
} from '../topology/timestamp-extractors.ts'
import { TopologyTestDriver } from './topology-test-driver.ts'
import type { TopologyTestDriverOptions } from './topology-test-driver-options.ts'

const { string } = serdes
const text = (name: string) => topic(name, { key: string, value: string })
const out = text('out')

/** A driver whose program copies topics that are read with an extractor. */
function copying(
  timestamp?: TimestampExtractor<string, string>,
  options: TopologyTestDriverOptions = {},
): TopologyTestDriver {
  const builder = new StreamsBuilder()
  builder.stream(topic('in', { key: string, value: string, timestamp })).to(out)
  return new TopologyTestDriver(builder.build(), { wallClock: 1000, ...options })
}

const times = (driver: TopologyTestDriver): number[] =>
  driver
    .output(out)
    .readAll()
    .map(({ timestamp }) => timestamp)

const record = (timestamp: number) => ({ key: 'k', value: 'v', timestamp })

function codeOf(work: () => void): string {
  try {
    work()
    return 'nothing was thrown'
  } catch (error) {
    return isStreamsError(error) ? error.code : String(error)
  }
}

describe('a time that is none', () => {
  test.each([1.7e18, 2 ** 53, 1.5, NaN, Infinity, '5'])(
    '%s is refused by the input topic',
    (time) => {
      using driver = copying()
      const input = driver.input(text('in'))
      expect(() => input.pipe(record(time as number))).toThrow(
        'it must be a whole number of milliseconds up to 2^53 - 1, not ',
      )
      expect(codeOf(() => input.pipeValue('v', time as number))).toBe('CONFIG_INVALID')
      expect(times(driver)).toEqual([])
    },
  )

  test.each([NaN, -1, Infinity, '5', 1.5])('the wall clock does not move by %s', (ms) => {
    using driver = copying()
    expect(() => driver.advanceWallClockTime(ms as number)).toThrow(
      'it must be a whole number of milliseconds from 0 on, not ',
    )
    driver.advanceWallClockTime(0)
    driver.input(text('in')).pipeValue('v')
    expect(times(driver)).toEqual([1000])
  })
})

describe('S22 a record with a negative time', () => {
  test.each([
    ['without an extractor', undefined],
    ['with failOnInvalidTimestamp', failOnInvalidTimestamp],
  ])('fails the driver %s', (_name, extractor) => {
    using driver = copying(extractor)
    driver.input(text('in')).pipe(record(5))
    expect(codeOf(() => driver.input(text('in')).pipe(record(-1)))).toBe('TIMESTAMP_INVALID')
    expect(times(driver)).toEqual([5])
  })

  test('is told and left out by logAndSkipOnInvalidTimestamp', () => {
    const lines: string[] = []
    using driver = copying(logAndSkipOnInvalidTimestamp, {
      log: createLog((_level, message) => lines.push(message)),
    })
    driver.input(text('in')).pipeAll([record(5), record(-1), record(7)])

    expect(times(driver)).toEqual([5, 7])
    expect(lines).toEqual(['a record was dropped for its invalid timestamp'])
    expect(driver.metrics.droppedRecords()).toEqual(new Map([['invalid-timestamp', 1]]))
  })

  test('has the time of its partition by usePartitionTimeOnInvalidTimestamp', () => {
    using driver = copying(usePartitionTimeOnInvalidTimestamp)
    driver.input(text('in')).pipeAll([record(9), record(5), record(-1)])
    expect(times(driver)).toEqual([9, 5, 9])
  })

  test('is taken by wallclockTimestamp, which asks the clock of the driver', () => {
    using driver = copying(wallclockTimestamp)
    driver.input(text('in')).pipe(record(-1))
    driver.advanceWallClockTime(30)
    driver.input(text('in')).pipe(record(5))
    expect(times(driver)).toEqual([1000, 1030])
  })
})

describe('a pattern', () => {
  function matching(): TopologyTestDriver {
    const builder = new StreamsBuilder()
    builder.stream(/orders-.+/, { key: string, value: string }).to(out)
    builder.stream(text('returns')).to(out)
    return new TopologyTestDriver(builder.build())
  }

  test('takes records of each topic that it matches', () => {
    using driver = matching()
    driver.input(text('orders-eu')).pipe({ key: 'a', value: '1', timestamp: 1 })
    driver.input(text('orders-us')).pipe({ key: 'b', value: '2', timestamp: 2 })
    driver.input(text('returns')).pipe({ key: 'c', value: '3', timestamp: 3 })

    expect(driver.output(out).readKeyValues()).toEqual([
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
    ])
  })

  test('takes none of others', () => {
    using driver = matching()
    expect(codeOf(() => driver.input(text('orders-')))).toBe('TOPOLOGY_INVALID')
    expect(codeOf(() => driver.input(text('all-orders-eu')))).toBe('TOPOLOGY_INVALID')
  })

  test('matches what the program itself writes', () => {
    const builder = new StreamsBuilder()
    builder.stream(text('in')).to((_value, key) => `orders-${key}`)
    builder.stream(/orders-.+/, { key: string, value: string }).to(out)
    using driver = new TopologyTestDriver(builder.build())
    driver.input(text('in')).pipe({ key: 'eu', value: '1', timestamp: 1 })

    expect(driver.output(text('orders-eu')).readKeyValues()).toEqual([['eu', '1']])
    expect(driver.output(out).readKeyValues()).toEqual([['eu', '1']])
  })
})

describe('two topics of one task', () => {
  function merging(maxTaskIdle?: number): TopologyTestDriver {
    const builder = new StreamsBuilder()
    builder
      .stream(text('left'))
      .merge(builder.stream(text('right')))
      .to(out)
    return new TopologyTestDriver(builder.build(), { maxTaskIdle })
  }

  test.each([undefined, 0, -1])('do not wait for each other with maxTaskIdle %s', (idle) => {
    using driver = merging(idle)
    driver.input(text('left')).pipe({ key: 'l', value: '', timestamp: 5 })
    driver.input(text('right')).pipe({ key: 'r', value: '', timestamp: 3 })
    expect(times(driver)).toEqual([5, 3])
  })

  test('wait for each other as long as maxTaskIdle says', () => {
    using driver = merging(100)
    driver.input(text('left')).pipe({ key: 'l', value: '', timestamp: 5 })
    expect(times(driver)).toEqual([])
    driver.input(text('right')).pipe({ key: 'r', value: '', timestamp: 3 })
    expect(times(driver)).toEqual([3])
    driver.advanceWallClockTime(99)
    expect(times(driver)).toEqual([])
    driver.advanceWallClockTime(1)
    expect(times(driver)).toEqual([5])
  })
})

describe('what is no record, list or option', () => {
  const wrong: readonly [what: string, given: (driver: TopologyTestDriver) => void][] = [
    ['a topic that is none to write', (driver) => driver.input(undefined as never)],
    ['a topic that is none to read', (driver) => driver.output('out' as never)],
  ]
  test.each(wrong)('%s is refused', (_what, given) => {
    using driver = copying()
    expect(codeOf(() => given(driver))).toBe('TOPOLOGY_INVALID')
  })

  type Input = ReturnType<TopologyTestDriver['input']>
  const wrongInputs: readonly [what: string, given: (input: Input) => void][] = [
    ['a record', (input) => input.pipe(undefined as never)],
    ['a list of records', (input) => input.pipeAll(5 as never)],
    ['a record in a list', (input) => input.pipeAll([null as never])],
    ['a list of values', (input) => input.pipeValues('text' as never)],
    ['a list of pairs', (input) => input.pipeKeyValues({} as never)],
    ['a pair in a list', (input) => input.pipeKeyValues([5 as never])],
    ['times', (input) => input.pipeValues(['v'], 'now' as never)],
    ['a start', (input) => input.pipeValues(['v'], { start: '0' as never })],
    ['an advance', (input) => input.pipeValues(['v'], { start: 0, advance: 'fast' as never })],
    ['a move of time', (input) => input.advanceTime('1' as never)],
    ['headers', (input) => input.pipe({ key: 'k', value: 'v', headers: 'text' as never })],
    [
      'headers in one object',
      (input) => input.pipe({ key: 'k', value: 'v', headers: {} as never }),
    ],
    ['a header', (input) => input.pipe({ key: 'k', value: 'v', headers: [null as never] })],
    [
      'the value of a header',
      (input) => input.pipe({ key: 'k', value: 'v', headers: [['a', 'b' as never]] }),
    ],
  ]
  test.each(wrongInputs)('%s is refused, and the driver goes on', (_what, given) => {
    using driver = copying()
    const input = driver.input(text('in')) as Input
    expect(codeOf(() => given(input))).toBe('CONFIG_INVALID')
    input.pipe(record(5))
    expect(times(driver)).toEqual([5])
  })

  test.each([{ startTime: 'now' }, { advanceTime: Number.NaN }])(
    '%j is refused as options of an input topic',
    (options) => {
      using driver = copying()
      expect(codeOf(() => driver.input(text('in'), options as never))).toBe('CONFIG_INVALID')
    },
  )

  test.each([
    null,
    'text',
    { applicationId: 5 },
    { applicationId: 'a/b' },
    { cacheBytes: '10' },
    { cacheBytes: -1 },
    { wallClock: Number.NaN },
    { maxTaskIdle: 'long' },
    { stateDir: 5 },
    { recordsPerPipeMax: 0 },
  ])('%j is refused as options of a driver', (options) => {
    const builder = new StreamsBuilder()
    builder.stream(text('in')).to(out)
    const open = (): void => new TopologyTestDriver(builder.build(), options as never).close()
    expect(codeOf(open)).toBe('CONFIG_INVALID')
  })
})
