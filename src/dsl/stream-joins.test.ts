import { describe, expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, versionedStore } from '../store/descriptor.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import { joinWindows } from './join-windows.ts'
import type { KStream } from './kstream.ts'
import type { Optimizations } from './optimization.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic, type Topic } from './topic.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

const text = (name: string): Topic<string, string> =>
  topic(name, { key: serdes.string, value: serdes.string })
const windows = joinWindows({ difference: 10, grace: 0 })
const pair = (left: unknown, right: unknown): string => `${String(left)}+${String(right)}`

const detailOf = (work: () => unknown): unknown => thrownBy(work).context['detail']

interface TwoStreams {
  readonly builder: StreamsBuilder
  readonly left: KStream<string, string>
  readonly right: KStream<string, string>
}

function twoStreams(optimize: Optimizations = 'none'): TwoStreams {
  const builder = new StreamsBuilder({ optimize })
  return { builder, left: builder.stream(text('left')), right: builder.stream(text('right')) }
}

describe('join windows', () => {
  test('reach as far as they are told to, in both directions or in each', () => {
    expect(joinWindows({ difference: 5, grace: 1 })).toEqual({
      kind: 'join',
      before: 5,
      after: 5,
      grace: 1,
    })
    expect(joinWindows({ before: -2, after: 3, grace: 0 })).toMatchObject({ before: -2, after: 3 })
  })

  test.each([
    [{ difference: -1, grace: 0 }],
    [{ difference: 1.5, grace: 0 }],
    [{ difference: 1, grace: -1 }],
    [{ before: 1, after: -2, grace: 0 }],
    [{ before: 1, after: Number.NaN, grace: 0 }],
    [{ before: 1, grace: 0 }],
    [{ difference: 1 }],
  ])('%j are refused', (options) => {
    expect(thrownBy(() => joinWindows(options as never)).code).toBe('TOPOLOGY_INVALID')
  })
})

describe('a join is refused', () => {
  test('with something that is no stream and no table', () => {
    const { left } = twoStreams()

    expect(detailOf(() => left.join('right' as never, pair, { windows }))).toBe(
      'join needs a stream, a table or a global table of the same StreamsBuilder',
    )
    expect(detailOf(() => left.outerJoin({} as never, pair, { windows }))).toBe(
      'outerJoin needs a stream of the same StreamsBuilder',
    )
  })

  test('of streams without windows, or with those of an aggregation', () => {
    const { left, right } = twoStreams()

    expect(detailOf(() => left.join(right, pair, undefined as never))).toBe(
      'join of two streams needs windows made by joinWindows, not undefined',
    )
    expect(
      thrownBy(() => left.leftJoin(right, pair, { windows: { kind: 'time' } as never })).code,
    ).toBe('TOPOLOGY_INVALID')
  })

  test('with a stream or a table of another program', () => {
    const { left } = twoStreams()
    const other = twoStreams()

    expect(detailOf(() => left.join(other.right, pair, { windows }))).toBe(
      'join needs a stream of the same StreamsBuilder',
    )
    expect(detailOf(() => left.leftJoin(other.builder.table(text('rows')), pair))).toBe(
      'leftJoin needs a table of the same StreamsBuilder',
    )
  })

  test('without a joiner', () => {
    const { builder, left, right } = twoStreams()

    expect(detailOf(() => left.join(right, undefined as never, { windows }))).toBe(
      'the joiner of join must be a function, it is undefined',
    )
    expect(detailOf(() => left.leftJoin(builder.table(text('rows')), null as never))).toBe(
      'the joiner of leftJoin must be a function, it is null',
    )
  })

  test('when nobody knows the serdes of what must be kept', () => {
    const { builder, left, right } = twoStreams()
    const counted = right.mapValues((value) => value.length)
    left.join(counted, pair, { windows, name: 'meet' })

    expect(thrownBy(() => builder.build()).message).toBe(
      'No value serde is known for the values of the other stream of meet-merge. State it in the options of that step, for example { value: serdes.string }.',
    )
  })

  test('with a grace that the history of the table does not cover', () => {
    const { builder, left } = twoStreams()
    const rows = versionedStore('rows', {
      key: serdes.string,
      value: serdes.string,
      historyRetention: 5,
    })
    left.join(builder.table(text('rows'), { store: rows }), pair, { grace: 6, name: 'late' })

    expect(detailOf(() => builder.build())).toBe(
      'the join late has a grace of 6 ms, and the store rows keeps only 5 ms of history',
    )
  })

  test('with a grace and a table that keeps no history', () => {
    const { builder, left } = twoStreams()
    left.join(builder.table(text('rows'), { store: 'rows' }), pair, { grace: 6, name: 'late' })

    expect(detailOf(() => builder.build())).toBe(
      'the join late has a grace, so its table must be in a versioned store; rows is a key-value store',
    )
    const table = builder.table(text('other'))
    expect(thrownBy(() => left.join(table, pair, { grace: -1 })).code).toBe('TOPOLOGY_INVALID')
  })
})

test('a left join with a grace does not let records wait that have no key', () => {
  const builder = new StreamsBuilder()
  const rows = versionedStore('rows', {
    key: serdes.string,
    value: serdes.string,
    historyRetention: 100,
  })
  builder
    .stream(text('left'))
    .leftJoin(builder.table(text('rows'), { store: rows }), pair, { grace: 10 })
    .to(text('out'))
  using driver = new TopologyTestDriver(builder.build())
  const left = driver.input(text('left'))
  left.pipe({ key: 'k', value: 'waits', timestamp: 0 })
  left.pipe({ key: null, value: 'goes on', timestamp: 0 })

  expect(driver.output(text('out')).readValues()).toEqual(['goes on+undefined'])
})

test('two tasks of one topology do not share what they know of time', () => {
  const { builder, left, right } = twoStreams()
  left.outerJoin(right, pair, { windows }).to(text('out'))
  const topology = builder.build()
  using ahead = new TopologyTestDriver(topology)
  using behind = new TopologyTestDriver(topology)
  ahead.input(text('left')).pipe({ key: 'k', value: 'A', timestamp: 1000 })
  behind.input(text('left')).pipe({ key: 'k', value: 'B', timestamp: 0 })

  // With the time of the other task, the window of this record would have closed already.
  expect(behind.output(text('out')).readValues()).toEqual([])
})

describe('optimization', () => {
  test('of a name that there is not is refused', () => {
    expect(detailOf(() => new StreamsBuilder({ optimize: 'every' as never }))).toBe(
      'there is no optimization "every"; there are: none, all, reuse-ktable-source-topics, merge-repartition-topics, single-store-self-join',
    )
    expect(
      thrownBy(() => new StreamsBuilder({ optimize: ['merge.repartition.topics'] as never })).code,
    ).toBe('TOPOLOGY_INVALID')
  })

  test('merges repartition topics also below one and the same step, where Kafka Streams fails', () => {
    const { builder, left } = twoStreams(['merge-repartition-topics'])
    const kept = left
      .selectKey((value) => value, { key: serdes.string })
      .filter((value) => value !== '')
    kept.groupByKey().count({ store: 'one' }).toStream().to(topic('ones', counts))
    kept.groupByKey().count({ store: 'two' }).toStream().to(topic('twos', counts))
    const topology = builder.build()
    using driver = new TopologyTestDriver(topology)
    driver.input(text('left')).pipe({ key: 'k', value: 'v', timestamp: 0 })

    const repartitions = topology.subtopologies.flatMap((one) => one.repartitionSources)
    expect(repartitions.map(({ name }) => name)).toEqual(['one-repartition'])
    expect(driver.output(topic('ones', counts)).readKeyValues()).toEqual([['v', 1]])
    expect(driver.output(topic('twos', counts)).readKeyValues()).toEqual([['v', 1]])
  })

  test('never pulls a repartition topic over a processor, which may change keys once more', () => {
    const { builder, left } = twoStreams(['merge-repartition-topics'])
    const keyed = left.selectKey((value) => value, { key: serdes.string })
    const turned = keyed.process(
      ({ forward }) =>
        (record) =>
          forward({ ...record, key: 'all' }),
      { key: serdes.string, value: serdes.string },
    )
    keyed.groupByKey().count({ store: 'one' })
    turned.groupByKey().count({ store: 'two' })

    const repartitions = builder.build().subtopologies.flatMap((one) => one.repartitionSources)
    expect(repartitions.map(({ name }) => name)).toEqual(['one-repartition', 'two-repartition'])
  })

  test('leaves the program as it is: it can be built again, and go on', () => {
    const { builder, left } = twoStreams('all')
    const keyed = left.selectKey((value) => value, { key: serdes.string })
    keyed.groupByKey().count({ store: 'one' })
    keyed.groupByKey().count({ store: 'two' })
    const first = builder.build().describe()

    expect(builder.build().describe()).toBe(first)
    keyed.groupByKey().count({ store: 'three' })
    expect(builder.build().describe()).toContain('three')
  })

  test('a topic is no changelog of a store that has other serdes', () => {
    const { builder } = twoStreams(['reuse-ktable-source-topics'])
    const other = keyValueStore('rows', {
      key: serdes.string,
      value: serdes.json<string>(),
    })
    builder.table(text('rows'), { store: other })

    expect(detailOf(() => builder.build())).toBe(
      'the table of rows cannot use that topic as its changelog: its store rows has other serdes',
    )
  })
})

const counts = { key: serdes.string, value: serdes.long }
