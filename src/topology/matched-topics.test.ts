import { describe, expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { serdes } from '../serde/serdes.ts'
import { hasPatterns, matchingTopics, withTopics } from './matched-topics.ts'
import { sourceTopics, type Topology } from './topology.ts'

const both = { key: serdes.string, value: serdes.string }

/** Counts what matches, with a repartition topic and a changelog of its own. */
function counting(...patterns: readonly RegExp[]): Topology {
  const builder = new StreamsBuilder()
  builder.globalTable(topic('app-rates', both))
  const named = builder.stream(topic('app-returns', both))
  patterns
    .map((pattern) => builder.stream(pattern, both))
    .reduce((merged, stream) => merged.merge(stream), named)
    .groupBy((value) => value, { ...both, name: 'by-value' })
    .count({ store: 'counts' })
  return builder.build()
}

describe('topics that match', () => {
  test('are those that some pattern matches, in order, each once', () => {
    const topology = counting(/orders-.*/, /returns/)
    const topics = ['returns', 'orders-us', 'other', 'orders-eu', 'orders-us']
    expect(matchingTopics(topology, 'app', topics)).toEqual(['orders-eu', 'orders-us', 'returns'])
  })

  test('are none of the application itself', () => {
    const topics = ['app-by-value-repartition', 'app-counts-changelog', 'app-counts']
    expect(matchingTopics(counting(/app-(by|counts).*/), 'app', topics)).toEqual(['app-counts'])
  })

  test('are none where there is no pattern', () => {
    const topology = counting()
    expect(hasPatterns(topology)).toBe(false)
    expect(matchingTopics(topology, 'app', ['orders-eu'])).toEqual([])
    expect(withTopics(topology, ['orders-eu'])).toBe(topology)
  })
})

describe('a topology with topics', () => {
  const topology = counting(/orders-.*/, /returns/)

  test('reads each by the source whose pattern matches it', () => {
    const topics = ['orders-eu', 'orders-us', 'returns']
    const matched = withTopics(topology, topics)
    const sources = matched.subtopologies.flatMap(({ sources: all }) => all)
    expect(hasPatterns(matched)).toBe(true)
    expect(sources.map(({ topics: read }) => read)).toEqual([
      ['app-returns'],
      ['orders-eu', 'orders-us'],
      ['returns'],
      ['by-value-repartition'],
    ])
    expect(matched.subtopologies[0]?.nodes.slice(0, 3)).toEqual(sources.slice(0, 3))
  })

  test('leaves the topology as it was, which others can be made of', () => {
    withTopics(topology, ['orders-eu'])
    const [first] = topology.subtopologies
    expect(first && sourceTopics('app', first)).toEqual(['app-returns'])
    const later = withTopics(withTopics(topology, ['orders-eu']), ['orders-us'])
    const [second] = later.subtopologies
    expect(second && sourceTopics('app', second)).toEqual(['app-returns', 'orders-us'])
  })

  test('refuses a topic that two patterns match', () => {
    expect(() => withTopics(counting(/orders-.*/, /.*-eu/), ['orders-eu'])).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message: expect.stringMatching(
          /the topic orders-eu matches the patterns of two sources, KSTREAM-SOURCE-\d+ and KSTREAM-SOURCE-\d+\.$/,
        ) as string,
      }),
    )
  })

  test('demands equally many partitions of what is joined', () => {
    const builder = new StreamsBuilder()
    const table = builder.table(topic('rates', both))
    builder.stream(/orders-.*/, both).join(table, (order, rate) => `${order}${rate}`)
    const joined = builder.build()

    expect(withTopics(joined, []).copartitionGroups).toEqual([])
    const groups = withTopics(joined, ['orders-eu', 'orders-us']).copartitionGroups
    expect(groups.map((group) => [...group].sort())).toEqual([['orders-eu', 'orders-us', 'rates']])
  })
})
