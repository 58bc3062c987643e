import { describe, expect, test } from 'vitest'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, type StoreOptions } from '../store/descriptor.ts'
import { allPartitionCounts, internalTopics } from './internal-topics.ts'
import type { StoreNode } from './node.ts'
import { InternalTopologyBuilder } from './internal-topology-builder.ts'

const strings = {
  key: serdes.string as Serde<unknown>,
  value: serdes.string as Serde<unknown>,
}
const supplier = () => ({ process(): void {} })
const storeNode = (name: string, options: StoreOptions = {}): StoreNode => ({
  descriptor: keyValueStore(name, { key: serdes.string, value: serdes.string, ...options }),
  timestamped: true,
})

/** a and b flow into one repartition topic, whose table is repartitioned once more. */
const chain = (): InternalTopologyBuilder =>
  new InternalTopologyBuilder()
    .addInternalTopic({ name: 'first-repartition' })
    .addInternalTopic({ name: 'second-repartition' })
    .addSource('a', { topics: ['a-topic'], ...strings })
    .addSource('b', { topics: ['b-topic'], ...strings })
    .addProcessor('merge', supplier, ['a', 'b'])
    .addSink('first-sink', { topic: 'first-repartition', ...strings }, ['merge'])
    .addSource('first-source', { topics: ['first-repartition'], ...strings })
    .addProcessor('first-table', supplier, ['first-source'])
    .addStore(storeNode('first'), ['first-table'])
    .addSink('second-sink', { topic: 'second-repartition', ...strings }, ['first-table'])
    .addSource('second-source', { topics: ['second-repartition'], ...strings })
    .addProcessor('second-table', supplier, ['second-source'])
    .addStore(storeNode('second'), ['second-table'])

describe('internalTopics', () => {
  test('a repartition topic is as wide as the widest source above it, through all steps', () => {
    const counts = new Map([
      ['a-topic', 3],
      ['b-topic', 5],
    ])
    const topics = internalTopics(chain().build(), 'app', counts)

    expect(topics.map(({ name, partitionCount }) => [name, partitionCount])).toEqual([
      ['app-first-repartition', 5],
      ['app-first-changelog', 5],
      ['app-second-repartition', 5],
      ['app-second-changelog', 5],
    ])
    expect(topics[1]).toEqual({
      kind: 'changelog',
      name: 'app-first-changelog',
      store: 'first',
      subtopology: 1,
      partitionCount: 5,
      configs: { 'cleanup.policy': 'compact', 'message.timestamp.type': 'CreateTime' },
    })
  })

  test('a count that the program asks for holds, and goes on downwards', () => {
    const topology = chain()
      .addInternalTopic({ name: 'first-repartition', partitionCount: 2 })
      .build()
    const counts = new Map([
      ['a-topic', 3],
      ['b-topic', 5],
    ])

    expect([...allPartitionCounts(topology, 'app', counts)]).toEqual([
      ['a-topic', 3],
      ['b-topic', 5],
      ['app-first-repartition', 2],
      ['app-second-repartition', 2],
    ])
  })

  test('a source topic without a known count is missing', () => {
    expect(() => internalTopics(chain().build(), 'app', new Map([['a-topic', 3]]))).toThrowError(
      expect.objectContaining({ code: 'SOURCE_TOPIC_MISSING', context: { topic: 'b-topic' } }),
    )
  })

  test('configs of a store win over those of the application, which win over the defaults', () => {
    const topology = new InternalTopologyBuilder()
      .addSource('in', { topics: ['in-topic'], ...strings })
      .addProcessor('table', supplier, ['in'])
      .addStore(
        storeNode('rows', { changelog: { 'segment.ms': '1', 'cleanup.policy': 'delete' } }),
        ['table'],
      )
      .addStore(storeNode('unlogged', { changelog: false }), ['table'])
      .build()
    const common = { 'segment.ms': '2', 'max.message.bytes': '3', 'cleanup.policy': 'none' }

    expect(internalTopics(topology, 'app', new Map([['in-topic', 1]]), common)).toEqual([
      {
        kind: 'changelog',
        name: 'app-rows-changelog',
        store: 'rows',
        subtopology: 0,
        partitionCount: 1,
        configs: {
          'message.timestamp.type': 'CreateTime',
          'segment.ms': '1',
          'max.message.bytes': '3',
          'cleanup.policy': 'delete',
        },
      },
    ])
  })

  test('a store that uses its source topic as changelog needs no topic', () => {
    const topology = new InternalTopologyBuilder()
      .addSource('in', { topics: ['in-topic'], ...strings })
      .addProcessor('table', supplier, ['in'])
      .addStore({ ...storeNode('rows'), sourceTopic: 'in-topic' }, ['table'])
      .build()

    expect(internalTopics(topology, 'app', new Map([['in-topic', 1]]))).toEqual([])
  })

  const joined = (partitionCount?: number): InternalTopologyBuilder =>
    new InternalTopologyBuilder()
      .addInternalTopic({ name: 'r', ...(partitionCount !== undefined && { partitionCount }) })
      .addSource('wide', { topics: ['wide-topic'], ...strings })
      .addSink('sink', { topic: 'r', ...strings }, ['wide'])
      .addSource('again', { topics: ['r'], ...strings })
      .addSource('table', { topics: ['table-topic'], ...strings })
      .addProcessor('join', supplier, ['again', 'table'])
      .copartitionSources(['again', 'table'])
  const counts = new Map([
    ['wide-topic', 8],
    ['table-topic', 3],
  ])

  test('a repartition topic follows the topic that it is joined with', () => {
    expect(allPartitionCounts(joined().build(), 'app', counts).get('app-r')).toBe(3)
  })

  test('topics that are read side by side with different counts are refused', () => {
    expect(() => allPartitionCounts(joined(4).build(), 'app', counts)).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message:
          'Invalid topology: topics that are read together must have equally many partitions (app-r: 4, table-topic: 3).',
      }),
    )
  })

  test('a repartition topic may come back into the sub-topology that writes it', () => {
    const topology = new InternalTopologyBuilder()
      .addInternalTopic({ name: 'r' })
      .addSource('in', { topics: ['in-topic'], ...strings })
      .addSink('sink', { topic: 'r', ...strings }, ['in'])
      .addSource('again', { topics: ['r'], ...strings })
      .addProcessor('merge', supplier, ['in', 'again'])
      .build()

    expect(allPartitionCounts(topology, 'app', new Map([['in-topic', 4]])).get('app-r')).toBe(4)
  })

  test('repartition topics that only depend on each other are refused', () => {
    const topology = new InternalTopologyBuilder()
      .addInternalTopic({ name: 'r' })
      .addSource('in', { topics: ['r'], ...strings })
      .addSink('out', { topic: 'r', ...strings }, ['in'])
      .build()

    expect(() => allPartitionCounts(topology, 'app', new Map())).toThrowError(
      expect.objectContaining({ code: 'TOPOLOGY_INVALID' }),
    )
  })
})
