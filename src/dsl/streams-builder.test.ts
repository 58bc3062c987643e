import { describe, expect, test } from 'vitest'
import { nullable } from '../serde/nullable.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { findStore } from '../topology/topology.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic, type Topic } from './topic.ts'

const { string, long } = serdes
const text = (name: string): Topic<string, string> => topic(name, { key: string, value: string })
const same = <T>(value: T): T => value

describe('serdes', () => {
  test('a topic without a key serde has bytes as keys', () => {
    expect(topic('raw', { value: string }).key).toBe(serdes.bytes)
  })

  test('serdes travel with the stream as long as nothing changes them', () => {
    const builder = new StreamsBuilder()
    builder
      .stream(text('in'))
      .filter(() => true)
      .peek(() => {})
      .groupByKey()
      .reduce((_, now) => now, { store: 'latest' })
    const store = findStore(builder.build(), 'latest')?.store

    expect(store?.descriptor.key).toBe(string)
    expect(store?.descriptor.value).toBe(string)
    expect(store?.timestamped).toBe(true)
  })

  test('a store of a count has longs, whatever the stream carries', () => {
    const builder = new StreamsBuilder()
    builder.stream(text('in')).groupByKey().count({ store: 'counts' })

    expect(findStore(builder.build(), 'counts')?.store.descriptor.value).toBe(long)
  })

  test('a descriptor is the store itself, with its options', () => {
    const descriptor = keyValueStore('counts', {
      key: string,
      value: long,
      caching: false,
      persistent: false,
      changelog: { 'segment.ms': '1' },
    })
    const builder = new StreamsBuilder()
    const table = builder.stream(text('in')).groupByKey().count({ store: descriptor })

    expect(findStore(builder.build(), 'counts')?.store.descriptor).toBe(descriptor)
    expect(table.queryableStoreName).toBe('counts')
    expect(builder.stream(text('other')).groupByKey().count().queryableStoreName).toBeUndefined()
  })

  test('the key serde of a descriptor serves the repartition topic as well', () => {
    const builder = new StreamsBuilder()
    builder
      .stream(text('in'))
      .groupBy(same)
      .count({ store: keyValueStore('counts', { key: string, value: long }) })
    const [sink] = builder.build().subtopologies[0]?.sinks ?? []

    expect([sink?.key, sink?.value]).toEqual([string, string])
  })

  test('streams that are merged keep the serdes that they share', () => {
    const builder = new StreamsBuilder()
    const merged = builder.stream(text('a')).merge(builder.stream(text('b')))
    merged.groupByKey().reduce((_, now) => now, { store: 'latest' })
    expect(findStore(builder.build(), 'latest')?.store.descriptor.value).toBe(string)

    const other = new StreamsBuilder()
    const json = topic('b', { key: string, value: serdes.json<string>() })
    other
      .stream(text('a'))
      .merge(other.stream(json))
      .groupByKey()
      .reduce((_, now) => now)
    expect(() => other.build()).toThrowError(expect.objectContaining({ code: 'SERDE_MISSING' }))
  })

  test.each<[string, string, string, (builder: StreamsBuilder) => void]>([
    [
      'key',
      'a repartition topic after map',
      'the repartition topic of groupByKey below KSTREAM-MAP-0000000001',
      (b) =>
        b
          .stream(text('in'))
          .map((v, k) => [v, k])
          .groupByKey({ value: string })
          .count(),
    ],
    [
      'value',
      'a repartition topic after mapValues',
      'the repartition topic of groupBy KSTREAM-KEY-SELECT-0000000002',
      (b) => b.stream(text('in')).mapValues(same).groupBy(same, { key: string }).count(),
    ],
    [
      'key',
      'a group by another key',
      'the repartition topic of groupBy by-word',
      (b) => b.stream(text('in')).groupBy(same, { name: 'by-word' }).count(),
    ],
    [
      'value',
      'an aggregate',
      'the store of groupByKey below KSTREAM-SOURCE-0000000000',
      (b) =>
        b
          .stream(text('in'))
          .groupByKey()
          .aggregate(() => 0, same),
    ],
    [
      'value',
      'a reduction after mapValues',
      'the store of groupByKey below KSTREAM-MAPVALUES-0000000001',
      (b) => b.stream(text('in')).mapValues(same).groupByKey().reduce(same),
    ],
    [
      'value',
      'a kept table after mapValues',
      'the store of toTable KSTREAM-TOTABLE-0000000002',
      (b) => b.stream(text('in')).mapValues(same).toTable({ store: 'rows' }),
    ],
    [
      'key',
      'a table after selectKey',
      'the repartition topic of toTable KSTREAM-TOTABLE-0000000002',
      (b) => b.stream(text('in')).selectKey(same).toTable(),
    ],
    [
      'value',
      'kept mapValues of a table',
      'the store of KTABLE-MAPVALUES-0000000003',
      (b) => b.table(text('in')).mapValues(same, { store: 'mapped' }),
    ],
  ])('a missing %s serde of %s is told when the topology is built', (part, _what, node, write) => {
    const builder = new StreamsBuilder()
    write(builder)

    expect(() => builder.build()).toThrowError(
      expect.objectContaining({ code: 'SERDE_MISSING', context: { part, node } }),
    )
  })
})

describe('sources', () => {
  test('options of a topic reach its source node', () => {
    const timestamp = (): number => 7
    const input = topic('in', { key: string, value: string, timestamp, offsetReset: 'latest' })
    const builder = new StreamsBuilder()
    builder.stream(input)
    const [source] = builder.build().subtopologies[0]?.sources ?? []

    expect(source).toMatchObject({ timestamp, offsetReset: 'latest', topics: ['in'] })
  })

  test('a topic that is read twice has one source, named by the first', () => {
    const builder = new StreamsBuilder()
    builder.stream(text('in'), { name: 'first' }).to(text('a'))
    builder.stream(text('in'), { name: 'second' }).to(text('b'))
    const topology = builder.build()

    expect(topology.subtopologies.map(({ nodes }) => nodes.map(({ name }) => name))).toEqual([
      ['first', 'KSTREAM-SINK-0000000001', 'KSTREAM-SINK-0000000003'],
    ])
  })

  test('the same list of topics in another order is the same source', () => {
    const builder = new StreamsBuilder()
    builder.stream([text('a'), text('b')]).to(text('c'))
    builder.stream([text('b'), text('a')]).to(text('d'))

    expect(builder.build().subtopologies[0]?.sources).toHaveLength(1)
  })

  test.each<[string, string, (builder: StreamsBuilder) => void]>([
    ['no topic at all', 'at least one topic', (b) => b.stream([])],
    [
      'topics that overlap',
      'two sources read some of the same topics (b, c), but not all',
      (b) => [b.stream([text('a'), text('b')]), b.stream([text('b'), text('c')])],
    ],
    [
      'a topic alone and in a list',
      'but not all',
      (b) => [b.stream([text('a'), text('b')]), b.stream(text('a'))],
    ],
    [
      'a list with a topic that was read alone',
      'but not all',
      (b) => [b.stream(text('a')), b.stream([text('a'), text('b')])],
    ],
    [
      'a topic as a stream and as a table',
      'the topic in is already read',
      (b) => [b.stream(text('in')), b.table(text('in'))],
    ],
    [
      'one topic with two value serdes',
      'different value serdes',
      (b) => [b.stream(text('in')), b.stream(topic('in', { key: string, value: long }))],
    ],
    [
      'one topic with two key serdes',
      'different key serdes',
      (b) => [b.stream(text('in')), b.stream(topic('in', { value: string }))],
    ],
    [
      'one topic with two offset resets',
      'different offset resets',
      (b) => [
        b.stream(text('in')),
        b.stream(topic('in', { key: string, value: string, offsetReset: 'latest' })),
      ],
    ],
    [
      'topics of one stream with two timestamp functions',
      'one source reads a and b',
      (b) => b.stream([text('a'), topic('b', { key: string, value: string, timestamp: () => 1 })]),
    ],
    ['a name instead of a topic', 'stream() needs a topic', (b) => b.stream('in' as never)],
    ['a name instead of a table topic', 'table() needs a topic', (b) => b.table('in' as never)],
  ])('%s is refused', (_what, message, write) => {
    const builder = new StreamsBuilder()
    const program = (): unknown => (write(builder), builder.build())

    expect(program).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message: expect.stringContaining(message),
      }),
    )
  })
})

describe('steps', () => {
  test.each<[string, string, (builder: StreamsBuilder) => void]>([
    [
      'two steps of one name',
      'two steps with the name x',
      (b) => b.stream(text('in')).filter(Boolean, { name: 'x' }).mapValues(same, { name: 'x' }),
    ],
    [
      'two stores of one name',
      'two stores with the name s',
      (b) => [
        b.stream(text('a')).groupByKey().count({ store: 's' }),
        b.stream(text('b')).groupByKey().count({ store: 's' }),
      ],
    ],
    [
      'an illegal name of a step',
      'the name "a b" of a step',
      (b) => b.stream(text('in')).filter(Boolean, { name: 'a b' }),
    ],
    [
      'an illegal name of a grouping that names a topic',
      'the name "" of a grouping',
      (b) =>
        b
          .stream(text('in'))
          .selectKey(same)
          .groupByKey({ key: string, value: string, name: '' })
          .count(),
    ],
    [
      'an illegal name of a store',
      'the name ".." of a store',
      (b) => b.stream(text('in')).groupByKey().count({ store: '..' }),
    ],
    ['an illegal name of a topic', 'the name "a b" of a topic', () => text('a b')],
    [
      'a stream of another builder',
      'merge needs a stream of the same StreamsBuilder',
      (b) => b.stream(text('in')).merge(new StreamsBuilder().stream(text('in'))),
    ],
    [
      'no function',
      'the predicate of filter must be a function, it is undefined',
      (b) => b.stream(text('in')).filter(undefined as never),
    ],
    [
      'null as a function',
      'the mapper of mapValues must be a function, it is null',
      (b) => b.stream(text('in')).mapValues(null as never),
    ],
    [
      'an aggregate without a function to begin with',
      'the initializer of aggregate must be a function, it is number',
      (b) =>
        b
          .stream(text('in'))
          .groupByKey()
          .aggregate(0 as never, same),
    ],
    [
      'a store of another kind',
      'needs a key-value or a versioned store',
      (b) =>
        b
          .stream(text('in'))
          .groupByKey()
          .count({
            store: { ...keyValueStore('s', { key: string, value: long }), kind: 'window' } as never,
          }),
    ],
  ])('%s is refused', (_what, message, write) => {
    const builder = new StreamsBuilder()
    const program = (): unknown => (write(builder), builder.build())

    expect(program).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message: expect.stringContaining(message),
      }),
    )
  })

  test('a builder can be built again and go on', () => {
    const builder = new StreamsBuilder()
    const stream = builder.stream(text('in'))
    builder.stream(text('in')).to(text('a'))
    const before = builder.build()
    stream.to(text('b'))
    const after = builder.build()

    expect(before.subtopologies[0]?.sinks.map((sink) => sink.topic)).toEqual(['a'])
    expect(after.subtopologies[0]?.sinks.map((sink) => sink.topic)).toEqual(['a', 'b'])
    expect(builder.build().describe()).toBe(after.describe())
  })

  test('a partitioner reaches its sink node', () => {
    const partitioner = (): number => 0
    const builder = new StreamsBuilder()
    builder.stream(text('in')).to(text('out'), { partitioner })

    expect(builder.build().subtopologies[0]?.sinks[0]?.partitioner).toBe(partitioner)
  })

  test('a table with nullable values is kept with the serde of the topic', () => {
    const value = nullable(string)
    const builder = new StreamsBuilder()
    builder.table(topic('in', { key: string, value }), { store: 'rows' })

    expect(findStore(builder.build(), 'rows')?.store.descriptor.value).toBe(value)
  })
})
