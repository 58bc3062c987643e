import { describe, expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import type { KStream } from './kstream.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic, type Topic } from './topic.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

const text = (name: string): Topic<string, string> =>
  topic(name, { key: serdes.string, value: serdes.string })

const detailOf = (work: () => unknown): unknown => thrownBy(work).context['detail']

function streamOf(): { builder: StreamsBuilder; stream: KStream<string, string> } {
  const builder = new StreamsBuilder()
  return { builder, stream: builder.stream(text('in')) }
}

/** Values that came to a topic. */
function run(builder: StreamsBuilder, values: readonly string[], to: string): string[] {
  using driver = new TopologyTestDriver(builder.build())
  const input = driver.input(text('in'))
  for (const value of values) input.pipe({ key: 'k', value, timestamp: 0 })
  return driver.output(text(to)).readValues()
}

describe('a split', () => {
  test('gives each record to the first branch that takes it', () => {
    const { builder, stream } = streamOf()
    const { short, vowel } = stream.split({
      short: (value) => value.length < 3,
      vowel: (value) => /^[aeiou]/.test(value),
    })
    short.mapValues((value) => `short ${value}`).to(text('out'))
    vowel.mapValues((value) => `vowel ${value}`).to(text('out'))

    expect(run(builder, ['at', 'apple', 'pear', 'be'], 'out')).toEqual([
      'short at',
      'vowel apple',
      'short be',
    ])
  })

  test('has a step for the rest only when the program asks for it', () => {
    const { builder, stream } = streamOf()
    const branches = stream.split({ long: (value) => value.length > 3 }, { name: 'by-length-' })
    const before = builder.build().describe()
    branches.rest.to(text('out'))
    void branches.rest

    expect(before).not.toContain('by-length-0')
    expect(builder.build().describe()).toContain('by-length-0')
    expect(run(builder, ['at', 'apple'], 'out')).toEqual(['at'])
  })

  test('is not changed by who only looks at it', () => {
    const { builder, stream } = streamOf()
    const branches = stream.split({ long: (value) => value.length > 3 }, { name: 'by-length-' })
    const copy = { ...branches }

    expect(Object.keys(copy)).toEqual(['long'])
    expect(builder.build().describe()).not.toContain('by-length-0')
  })

  test('in a list can be taken apart in its order', () => {
    const { builder, stream } = streamOf()
    const [first, second] = stream.split([(value) => value.length > 3, () => true])
    second.to(text('out'))
    first.to(text('other'))

    expect(run(builder, ['at', 'apple'], 'out')).toEqual(['at'])
  })

  test('refuses names and predicates with which it would do something else', () => {
    const { stream } = streamOf()
    const all = (): boolean => true

    expect(detailOf(() => stream.split({ 2: all, 1: all }))).toBe(
      'the branch 1 must not have a number as its name: give an array instead',
    )
    expect(detailOf(() => stream.split({ rest: all }))).toBe(
      'no branch can be called rest: that is what no branch takes',
    )
    expect(detailOf(() => stream.split({}))).toBe('split needs at least one predicate')
    expect(detailOf(() => stream.split({ a: 1 as never }))).toBe(
      'the predicate a of split must be a function, it is number',
    )
    expect(detailOf(() => stream.split(null as never))).toBe(
      'split needs an object of predicates, not null',
    )
    expect(thrownBy(() => stream.split({ 'a b': all })).code).toBe('TOPOLOGY_INVALID')
  })
})

describe('print', () => {
  test('shows keys and values as Java would, and objects as JSON', () => {
    const lines: string[] = []
    const builder = new StreamsBuilder()
    const json = topic('json', { value: serdes.json<unknown>() })
    builder.stream(json).print({ to: (line) => lines.push(line) })
    using driver = new TopologyTestDriver(builder.build())
    const input = driver.input(json)
    input.pipe({ key: Buffer.from('0aff', 'hex'), value: { a: [1, null] }, timestamp: 0 })
    input.pipe({ key: null, value: 'text', timestamp: 0 })
    input.pipe({ key: null, value: 7, timestamp: 0 })
    input.pipe({
      key: null,
      value: { key: 'k', window: { start: 0, end: 5 } },
      timestamp: 0,
    })

    expect(lines).toEqual([
      '[KSTREAM-SOURCE-0000000000]: 0aff, {"a":[1,null]}',
      '[KSTREAM-SOURCE-0000000000]: null, text',
      '[KSTREAM-SOURCE-0000000000]: null, 7',
      '[KSTREAM-SOURCE-0000000000]: null, [k@0/5]',
    ])
  })

  test('takes a label and a format', () => {
    const lines: string[] = []
    const { builder, stream } = streamOf()
    stream.print({
      label: 'seen',
      format: (value, key) => `${key}/${value}`,
      to: (line) => lines.push(line),
    })
    run(builder, ['at'], 'out')

    expect(lines).toEqual(['[seen]: k/at'])
  })
})

describe('repartition', () => {
  test('uses the partitioner and the number of partitions that it is given', () => {
    const { builder, stream } = streamOf()
    stream.repartition({ name: 'again', partitions: 7, partitioner: () => 0 }).to(text('out'))
    const [, second] = builder.build().subtopologies

    expect(second?.repartitionSources).toEqual([{ name: 'again-repartition', partitionCount: 7 }])
    expect(run(builder, ['at'], 'out')).toEqual(['at'])
  })

  test.each([0, -1, 1.5, Number.NaN])('refuses %d partitions', (partitions) => {
    expect(thrownBy(() => streamOf().stream.repartition({ partitions })).code).toBe(
      'TOPOLOGY_INVALID',
    )
  })

  test('needs the serdes that the stream does not carry', () => {
    const { builder, stream } = streamOf()
    stream.mapValues((value) => value.length).repartition()

    expect(thrownBy(() => builder.build()).code).toBe('SERDE_MISSING')
  })

  test('topics that are read together cannot have different stated numbers of partitions', () => {
    const { builder, stream } = streamOf()
    const other = builder.table(text('rows'))
    const many = stream.repartition({ partitions: 3 })
    const few = stream.repartition({ partitions: 2 })
    many.merge(few).join(other, (value, row) => value + row)

    expect(detailOf(() => builder.build())).toMatch(
      /^topics that are read together must have equally many partitions/,
    )
  })
})

describe('a topic that each record names', () => {
  test('may depend on the time and the headers of the record', () => {
    const { builder, stream } = streamOf()
    stream.to((value, key, { timestamp, topic: from }) => `${from}-${key}-${value}-${timestamp}`)
    using driver = new TopologyTestDriver(builder.build())
    driver.input(text('in')).pipe({ key: 'k', value: 'v', timestamp: 7 })

    expect(driver.producedTopicNames).toEqual(['in-k-v-7'])
  })

  test('needs serdes that are known', () => {
    const { stream } = streamOf()
    const counted = stream.mapValues((value) => value.length)

    expect(thrownBy(() => counted.to(() => 'out')).code).toBe('SERDE_MISSING')
    counted.to(() => 'out', { value: serdes.long })
  })

  test('fails the step when the function gives no name', () => {
    const { builder, stream } = streamOf()
    stream.to(() => undefined as never)

    expect(thrownBy(() => run(builder, ['at'], 'out')).message).toMatch(/KSTREAM-SINK-0000000001/)
  })
})

test('what a function leaves undefined is null on the wire', () => {
  const { builder, stream } = streamOf()
  stream.mapValues(() => undefined).to(topic('out', { key: serdes.string, value: serdes.json() }))
  using driver = new TopologyTestDriver(builder.build())
  driver.input(text('in')).pipe({ key: 'k', value: 'v', timestamp: 7 })

  expect(driver.rawOutput('out').read()?.value).toBe(null)
})
