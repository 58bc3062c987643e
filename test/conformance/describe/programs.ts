import { StreamsBuilder } from '../../../src/dsl/streams-builder.ts'
import type { KStream } from '../../../src/dsl/kstream.ts'
import { topic, type Topic } from '../../../src/dsl/topic.ts'
import type { Serde } from '../../../src/serde/serde.ts'
import { nullable } from '../../../src/serde/nullable.ts'
import { serdes } from '../../../src/serde/serdes.ts'
import { keyValueStore } from '../../../src/store/descriptor.ts'
import { TopologyBuilder } from '../../../src/topology/topology-builder.ts'
import type { Topology } from '../../../src/topology/topology.ts'

const { string, long } = serdes
const text = (name: string): Topic<string, string> => topic(name, { key: string, value: string })
const tombstones = (name: string): Topic<string, string | null> =>
  topic(name, { key: string, value: nullable(string) })
const counts = (name: string): Topic<string, number> => topic(name, { key: string, value: long })

const write = (program: (builder: StreamsBuilder) => void) => (): Topology => {
  const builder = new StreamsBuilder()
  program(builder)
  return builder.build()
}

const words = (line: string): string[] => line.split(' ')
const same = <T>(value: T): T => value
const all = (): boolean => true
const none = (): boolean => false
const ignore = (): void => {}
const first = (line: string): string => line.slice(0, 1)
const last = (_before: string, now: string): string => now
const both = (before: string, now: string): string => before + now
const shown = (count: number): string => `${count}`
const increment = (sum: number): number => sum + 1
const zero = (): number => 0
const byValue = { key: string, value: string }

/** The programs of DescribeVectors.java in the same order, under the same names. */
export const programs: Readonly<Record<string, () => Topology>> = {
  'word count with an unnamed store': write((b) =>
    b
      .stream(text('text-lines'))
      .flatMapValues(words)
      .groupBy(same, byValue)
      .count()
      .toStream()
      .to(counts('counts')),
  ),
  'word count with a named store': write((b) =>
    b
      .stream(text('text-lines'))
      .flatMapValues(words)
      .groupBy(same, byValue)
      .count({ store: 'word-counts' })
      .toStream()
      .to(counts('counts')),
  ),
  'word count without an output': write((b) => {
    b.stream(text('text-lines'))
      .flatMapValues(words)
      .groupBy(same, byValue)
      .count({ store: keyValueStore('word-counts', { key: string, value: long }) })
  }),
  'word count with every step named': write((b) =>
    b
      .stream(text('text-lines'), { name: 'lines' })
      .flatMapValues(words, { name: 'split' })
      .groupBy(same, { ...byValue, name: 'by-word' })
      .count({ name: 'count', store: 'word-counts' })
      .toStream({ name: 'changes' })
      .to(counts('counts'), { name: 'out' }),
  ),
  'groupBy named, store unnamed': write((b) =>
    b
      .stream(text('in'))
      .groupBy(same, { ...byValue, name: 'by-value' })
      .count({ name: 'count' })
      .toStream()
      .to(counts('out')),
  ),
  'groupByKey without a key change': write((b) => {
    b.stream(text('in')).groupByKey().count({ store: 'counts' })
  }),
  'groupByKey without a key change, unnamed store': write((b) => {
    b.stream(text('in')).filter(all).mapValues(same).groupByKey().count()
  }),
  'groupByKey after selectKey': write((b) =>
    b
      .stream(text('in'))
      .selectKey(same, { key: string })
      .groupByKey()
      .count({ store: 'counts' })
      .toStream()
      .to(counts('out')),
  ),
  'groupByKey after map, named': write((b) =>
    b
      .stream(text('in'))
      .map((v, k) => [v, k])
      .groupByKey({ ...byValue, name: 'again' })
      .reduce(last)
      .toStream()
      .to(text('out')),
  ),
  'reduce, unnamed': write((b) =>
    b.stream(text('in')).groupByKey().reduce(both).toStream().to(text('out')),
  ),
  'reduce into a named store after a key change': write((b) =>
    b
      .stream(text('in'))
      .groupBy(same, byValue)
      .reduce(both, { name: 'sum', store: 'sums' })
      .toStream()
      .to(text('out')),
  ),
  'aggregate, unnamed': write((b) =>
    b
      .stream(text('in'))
      .groupByKey()
      .aggregate(zero, increment, { value: long })
      .toStream()
      .to(counts('out')),
  ),
  'aggregate into a named store after a key change': write((b) =>
    b
      .stream(text('in'))
      .groupBy(same, byValue)
      .aggregate(zero, increment, { name: 'total', store: 'totals', value: long })
      .toStream({ name: 'totals-stream' })
      .to(counts('out')),
  ),
  'two groupBy of one stream': write((b) => {
    const stream = b.stream(text('in'))
    stream.groupBy(same, byValue).count({ store: 'by-value' })
    stream.groupBy(first, byValue).count({ store: 'by-letter' })
  }),
  'two groupBy in a row': write((b) =>
    b
      .stream(text('in'))
      .groupBy(same, byValue)
      .count({ store: 'first' })
      .toStream()
      .mapValues(shown)
      .groupBy(same, byValue)
      .count({ store: 'second' })
      .toStream()
      .to(counts('out')),
  ),
  'two aggregations of one grouped stream': write((b) => {
    const grouped = b.stream(text('in')).groupByKey()
    grouped.count()
    grouped.reduce(last)
  }),
  'two aggregations of one named repartition': write((b) => {
    const grouped = b.stream(text('in')).groupBy(same, { ...byValue, name: 'shared' })
    grouped.count({ store: 'counts' })
    grouped.reduce(last, { store: 'last' })
  }),
  'two aggregations of one unnamed repartition': write((b) => {
    const grouped = b.stream(text('in')).groupBy(same, byValue)
    grouped.count()
    grouped.reduce(last)
  }),
  'every stateless step, unnamed': write((b) => {
    const stream = b
      .stream(text('in'))
      .filter(all)
      .filterNot(none)
      .map((v, k) => [k, v])
      .mapValues(same)
      .flatMap((v, k) => [[k, v] as const])
      .flatMapValues((v) => [v])
      .selectKey((_, k) => k)
      .peek(ignore)
    stream.forEach(ignore)
    stream.to(text('out'))
  }),
  'every stateless step, named': write((b) => {
    const stream = b
      .stream(text('in'), { name: 'a' })
      .filter(all, { name: 'b' })
      .filterNot(none, { name: 'c' })
      .map((v, k) => [k, v], { name: 'd' })
      .mapValues(same, { name: 'e' })
      .flatMap((v, k) => [[k, v] as const], { name: 'f' })
      .flatMapValues((v) => [v], { name: 'g' })
      .selectKey((_, k) => k, { name: 'h' })
      .peek(ignore, { name: 'i' })
    stream.forEach(ignore, { name: 'j' })
    stream.to(text('out'), { name: 'k' })
  }),
  'every other step named': write((b) => {
    b.stream(text('in'))
      .filter(all, { name: 'keep' })
      .mapValues(same)
      .peek(ignore, { name: 'look' })
      .selectKey(same)
      .filterNot(none, { name: 'drop' })
      .groupByKey(byValue)
      .count({ store: 'counts' })
  }),
  'two sub-topologies': write((b) => {
    b.stream(text('left')).filter(all).to(text('left-out'))
    b.stream(text('right')).mapValues(same).to(text('right-out'))
  }),
  'merge of two sources': write((b) =>
    b
      .stream(text('left'))
      .merge(b.stream(text('right')))
      .to(text('out')),
  ),
  'merge of three, counted': write((b) => {
    b.stream(text('a'))
      .merge(b.stream(text('b')))
      .merge(b.stream(text('c')), { name: 'all' })
      .groupByKey()
      .count({ store: 'counts' })
  }),
  'merge with a changed key, counted': write((b) => {
    b.stream(text('left'))
      .merge(b.stream(text('right')).selectKey(same))
      .groupByKey(byValue)
      .count({ store: 'counts' })
  }),
  'merge of a stream with a step of its own': write((b) => {
    const stream = b.stream(text('in'))
    stream.filter(all).merge(stream.mapValues(same)).to(text('out'))
  }),
  'toTable, unnamed': write((b) => b.stream(text('in')).toTable().toStream().to(text('out'))),
  'toTable into a named store': write((b) =>
    b.stream(text('in')).toTable({ store: 'latest' }).toStream().to(text('out')),
  ),
  'toTable, step named': write((b) => {
    b.stream(text('in')).toTable({ name: 'table', store: 'latest' })
  }),
  'toTable after selectKey': write((b) =>
    b.stream(text('in')).selectKey(same, { key: string }).toTable().toStream().to(text('out')),
  ),
  'toTable after selectKey, named': write((b) =>
    b
      .stream(text('in'))
      .selectKey(same, { key: string })
      .toTable({ name: 'latest-by-value', store: 'latest' })
      .toStream()
      .to(text('out')),
  ),
  'toTable after selectKey into a named store': write((b) =>
    b
      .stream(text('in'))
      .selectKey(same)
      .toTable({ store: keyValueStore('latest', byValue) })
      .toStream()
      .to(text('out')),
  ),
  'a table, unnamed': write((b) => b.table(text('in')).toStream().to(tombstones('out'))),
  'a table with a named store': write((b) =>
    b.table(text('in'), { store: 'customers' }).toStream().to(tombstones('out')),
  ),
  'a table with a named source': write((b) =>
    b
      .table(text('in'), { name: 'customers', store: 'customers-store' })
      .toStream()
      .to(tombstones('out')),
  ),
  'steps of a table': write((b) =>
    b
      .table(text('in'), { store: 'customers' })
      .filter(all)
      .mapValues(same)
      .filterNot(none)
      .toStream()
      .to(tombstones('out')),
  ),
  'steps of a table into named stores': write((b) =>
    b
      .table(text('in'))
      .filter(all, { store: 'kept' })
      .mapValues(same, { name: 'mapped', store: 'mapped-store', value: string })
      .filterNot(none, { name: 'rest', store: 'rest-store' })
      .toStream()
      .to(tombstones('out')),
  ),
  'one topic read twice': write((b) => {
    b.stream(text('in')).filter(all).to(text('kept'))
    b.stream(text('in')).mapValues(same).to(text('mapped'))
  }),
  'one topic read twice and merged': write((b) => {
    const x = b.stream(text('in'))
    const y = b.stream(text('in'))
    const z = b.stream(text('other'))
    y.merge(z).to(text('yz'))
    z.merge(y).to(text('zy'))
    x.merge(y).to(text('xy'))
    y.merge(x).merge(z).to(text('xyz'))
  }),
  'several topics in one source': write((b) =>
    b.stream(['gamma', 'alpha', 'beta', 'orders', 'payments'].map(text)).to(text('out')),
  ),
  'a stream with many children': write((b) => {
    const stream = b.stream(text('in'))
    for (let i = 0; i < 14; i += 1) {
      let branch = stream
      for (let j = 0; j <= i % 5; j += 1) branch = branch.mapValues(same)
      branch.to(text(`out-${i}`))
    }
  }),
  'many streams into one merge': write((b) => {
    let merged: KStream<string, string> | undefined
    for (let i = 0; i < 9; i += 1) {
      let stream = b.stream(text(`in-${i}`))
      for (let j = 0; j < (i * 7) % 4; j += 1) stream = stream.filter(all)
      merged = merged === undefined ? stream : merged.merge(stream)
    }
    merged?.groupByKey(byValue).count()
  }),
  'a diamond of steps': write((b) => {
    let stream = b.stream(text('in'))
    for (let i = 0; i < 5; i += 1) {
      const left = stream.filter(all)
      const right = stream.mapValues(same).peek(ignore)
      stream = left.merge(right)
      stream.to(text(`out-${i}`))
    }
    stream
      .groupBy(same, { ...byValue, name: 'diamond' })
      .count({ store: 'diamonds' })
      .toStream()
      .to(counts('counts'))
  }),
  'named steps in many branches': write((b) => {
    const stream = b.stream(text('events'), { name: 'events-source' })
    const names = [
      'checkout',
      'login',
      'logout',
      'search',
      'view',
      'cart',
      'refund',
      'signup',
      'share',
      'rate',
    ]
    for (const [i, name] of names.entries()) {
      let branch = stream.filter(all, { name: `only-${name}` })
      if (i % 3 === 0) {
        branch = branch
          .mapValues(same, { name: `trim-${name}` })
          .peek(ignore, { name: `log-${name}` })
      }
      if (i % 2 === 0) {
        branch
          .groupBy(same, { ...byValue, name: `${name}-by-user` })
          .count({ name: `count-${name}`, store: `${name}-counts` })
          .toStream({ name: `${name}-changes` })
          .to(counts(`${name}-out`), { name: `${name}-sink` })
      } else {
        branch.to(text(`${name}-raw`), { name: `${name}-sink` })
      }
    }
  }),
  'an aggregation written and read again': write((b) => {
    b.stream(text('in'))
      .groupByKey()
      .count({ store: 'counts' })
      .toStream()
      .mapValues(shown)
      .to(text('between'))
    b.stream(text('between')).groupByKey().reduce(last, { store: 'last' })
  }),
  empty: write(ignore),
  'stores shared by steps (Processor API)': () => {
    const builder = new TopologyBuilder()
    const any = { key: string as Serde<unknown>, value: string as Serde<unknown> }
    const supplier = () => ({ process: ignore })
    const store = (name: string) => ({
      descriptor: keyValueStore(name, { key: string, value: string }),
      timestamped: false,
    })
    return builder
      .addSource('source-1', { topics: ['topic-1'], ...any })
      .addSource('source-2', { topics: ['topic-2'], ...any })
      .addSource('source-3', { topics: ['topic-3', 'topic-4'], ...any })
      .addProcessor('writer', supplier, ['source-1'])
      .addProcessor('reader', supplier, ['source-2'])
      .addProcessor('alone', supplier, ['source-3'])
      .addProcessor('both', supplier, ['reader', 'writer'])
      .addStore(store('shared'), ['writer', 'reader'])
      .addStore(store('zeta'), ['reader'])
      .addStore(store('alpha'), ['reader'])
      .addSink('sink-1', { topic: 'out-1', ...any }, ['writer'])
      .addSink('sink-2', { topic: 'out-2', ...any }, ['alone'])
      .addSink('sink-3', { topic: 'out-3', ...any }, ['both', 'alone'])
      .build()
  },
}
