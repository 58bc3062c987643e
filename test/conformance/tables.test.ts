/**
 * What Kafka Streams 4.4.0's TopologyTestDriver gave for these programs and records, one written
 * record after the other: topic, key, value, timestamp.
 */
import { describe, expect, test } from 'vitest'
import { StreamsBuilder } from '../../src/dsl/streams-builder.ts'
import { topic } from '../../src/dsl/topic.ts'
import { nullable } from '../../src/serde/nullable.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { TopologyTestDriver } from '../../src/testing/topology-test-driver.ts'

const { string } = serdes
const input = topic('in', { key: string, value: nullable(string) })
const out = topic('out', { key: string, value: nullable(string) })
const even = (value: string): boolean => value.length % 2 === 0
const unlessThree = (value: string): string | null => (value.length === 3 ? null : `${value}t`)

type Program = (builder: StreamsBuilder) => void

function run(program: Program, cacheBytes: number): string[] {
  const builder = new StreamsBuilder()
  program(builder)
  using driver = new TopologyTestDriver(builder.build(), { applicationId: 'app', cacheBytes })
  const records: [key: string, value: string | null, timestamp: number][] = [
    ['a', 'do', 5],
    ['a', 'not', 3],
    ['a', null, 7],
    ['b', 'xyz', 8],
    ['b', 'to', 6],
    ['b', null, 9],
  ]
  return records.flatMap(([key, value, timestamp]) => {
    driver.input(input).pipe({ key, value, timestamp })
    return driver.takeProduced().map((record) => {
      const text = record.value === null ? 'null' : record.value.toString()
      return `${record.topic} ${record.key?.toString()} ${text} ${record.timestamp}`
    })
  })
}

interface TableCase {
  readonly name: string
  readonly program: Program
  readonly uncached: readonly string[]
  /** Undefined: the same. */
  readonly cached?: readonly string[]
}

const cases: readonly TableCase[] = [
  {
    name: 'filter of a kept table',
    program: (b) => b.table(input, { store: 'rows' }).filter(even).toStream().to(out),
    uncached: [
      'app-rows-changelog a do 5',
      'out a do 5',
      'app-rows-changelog a not 3',
      'out a null 3',
      'app-rows-changelog a null 7',
      'app-rows-changelog b xyz 8',
      'app-rows-changelog b to 6',
      'out b to 6',
      'app-rows-changelog b null 9',
      'out b null 9',
    ],
  },
  {
    name: 'filter of a table that is not kept',
    program: (b) => b.table(input).filter(even).toStream().to(out),
    uncached: [
      'out a do 5',
      'out a null 3',
      'out a null 7',
      'out b null 8',
      'out b to 6',
      'out b null 9',
    ],
  },
  {
    name: 'kept filter of a kept table',
    program: (b) =>
      b.table(input, { store: 'rows' }).filterNot(even, { store: 'filtered' }).toStream().to(out),
    uncached: [
      'app-rows-changelog a do 5',
      'app-rows-changelog a not 3',
      'app-filtered-changelog a not 3',
      'out a not 3',
      'app-rows-changelog a null 7',
      'app-filtered-changelog a null 7',
      'out a null 7',
      'app-rows-changelog b xyz 8',
      'app-filtered-changelog b xyz 8',
      'out b xyz 8',
      'app-rows-changelog b to 6',
      'app-filtered-changelog b null 6',
      'out b null 6',
      'app-rows-changelog b null 9',
    ],
  },
  {
    name: 'kept filter of a table that is not kept',
    program: (b) => b.table(input).filterNot(even, { store: 'filtered' }).toStream().to(out),
    uncached: [
      'app-filtered-changelog a null 5',
      'out a null 5',
      'app-filtered-changelog a not 3',
      'out a not 3',
      'app-filtered-changelog a null 7',
      'out a null 7',
      'app-filtered-changelog b xyz 8',
      'out b xyz 8',
      'app-filtered-changelog b null 6',
      'out b null 6',
      'app-filtered-changelog b null 9',
      'out b null 9',
    ],
    cached: [
      'app-filtered-changelog a not 3',
      'out a not 3',
      'app-filtered-changelog a null 7',
      'out a null 7',
      'app-filtered-changelog b xyz 8',
      'out b xyz 8',
      'app-filtered-changelog b null 6',
      'out b null 6',
    ],
  },
  {
    name: 'mapValues of a kept table',
    program: (b) => b.table(input, { store: 'rows' }).mapValues(unlessThree).toStream().to(out),
    uncached: [
      'app-rows-changelog a do 5',
      'out a dot 5',
      'app-rows-changelog a not 3',
      'out a null 3',
      'app-rows-changelog a null 7',
      'out a null 7',
      'app-rows-changelog b xyz 8',
      'out b null 8',
      'app-rows-changelog b to 6',
      'out b tot 6',
      'app-rows-changelog b null 9',
      'out b null 9',
    ],
  },
  {
    name: 'kept mapValues',
    program: (b) =>
      b.table(input).mapValues(unlessThree, { store: 'mapped', value: string }).toStream().to(out),
    uncached: [
      'app-mapped-changelog a dot 5',
      'out a dot 5',
      'app-mapped-changelog a null 3',
      'out a null 3',
      'app-mapped-changelog a null 7',
      'out a null 7',
      'app-mapped-changelog b null 8',
      'out b null 8',
      'app-mapped-changelog b tot 6',
      'out b tot 6',
      'app-mapped-changelog b null 9',
      'out b null 9',
    ],
    cached: [
      'app-mapped-changelog a dot 5',
      'out a dot 5',
      'app-mapped-changelog a null 3',
      'out a null 3',
      'app-mapped-changelog b tot 6',
      'out b tot 6',
      'app-mapped-changelog b null 9',
      'out b null 9',
    ],
  },
  {
    name: 'filter below mapValues',
    program: (b) =>
      b
        .table(input, { store: 'rows' })
        .mapValues(unlessThree)
        .filter((value) => value.length > 3)
        .toStream()
        .to(out),
    uncached: [
      'app-rows-changelog a do 5',
      'app-rows-changelog a not 3',
      'app-rows-changelog a null 7',
      'app-rows-changelog b xyz 8',
      'app-rows-changelog b to 6',
      'app-rows-changelog b null 9',
    ],
  },
  {
    name: 'filter of a reduction',
    program: (b) =>
      b
        .stream(input)
        .groupByKey()
        .reduce((before, now) => before + now, { store: 'sums' })
        .filter(even)
        .toStream()
        .to(out),
    uncached: [
      'app-sums-changelog a do 5',
      'out a do 5',
      'app-sums-changelog a donot 5',
      'out a null 5',
      'app-sums-changelog b xyz 8',
      'app-sums-changelog b xyzto 8',
    ],
  },
  {
    name: 'filter of an aggregation',
    program: (b) =>
      b
        .stream(input)
        .groupByKey()
        .aggregate(
          () => '',
          (sum, value) => sum + value,
          { store: 'sums', value: string },
        )
        .filter(even)
        .toStream()
        .to(out),
    uncached: [
      'app-sums-changelog a do 5',
      'out a do 5',
      'app-sums-changelog a donot 5',
      'out a null 5',
      'app-sums-changelog b xyz 8',
      'out b null 8',
      'app-sums-changelog b xyzto 8',
    ],
    cached: [
      'app-sums-changelog a do 5',
      'out a do 5',
      'app-sums-changelog a donot 5',
      'out a null 5',
      'app-sums-changelog b xyz 8',
      'app-sums-changelog b xyzto 8',
    ],
  },
]

describe('steps of tables write what Kafka Streams writes', () => {
  test.each(cases)('$name, uncached', ({ program, uncached }) => {
    expect(run(program, 0)).toEqual(uncached)
  })

  test.each(cases)('$name, cached', ({ program, uncached, cached }) => {
    expect(run(program, 1_000_000)).toEqual(cached ?? uncached)
  })
})
