import { describe, expect, test } from 'vitest'
import { serdes } from '../serde/serdes.ts'
import type { Serde } from '../serde/serde.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { StoreNode } from './node.ts'
import { changelogTopic, findStore, sourceTopics, taskCount, topicOfSink } from './topology.ts'
import { InternalTopologyBuilder } from './internal-topology-builder.ts'

const strings = {
  key: serdes.string as Serde<unknown>,
  value: serdes.string as Serde<unknown>,
}
const supplier = () => ({ process(): void {} })
const storeNode = (name: string): StoreNode => ({
  descriptor: keyValueStore(name, { key: serdes.string, value: serdes.string }),
  timestamped: true,
})

describe('InternalTopologyBuilder', () => {
  test('nodes that are connected are one sub-topology, numbered in the order of insertion', () => {
    const topology = new InternalTopologyBuilder()
      .addSource('b', { topics: ['b-in'], ...strings })
      .addSource('a', { topics: ['a-in'], ...strings })
      .addProcessor('below-a', supplier, ['a'])
      .addSink('b-sink', { topic: 'b-out', ...strings }, ['b'])
      .build()

    expect(topology.subtopologies.map(({ id, nodes }) => [id, nodes.map((n) => n.name)])).toEqual([
      [0, ['b', 'b-sink']],
      [1, ['a', 'below-a']],
    ])
  })

  test('a store that two processors share makes one sub-topology of theirs', () => {
    const topology = new InternalTopologyBuilder()
      .addSource('left', { topics: ['left-in'], ...strings })
      .addSource('right', { topics: ['right-in'], ...strings })
      .addProcessor('writer', supplier, ['left'])
      .addProcessor('reader', supplier, ['right'])
      .addStore(storeNode('shared'), ['writer'])
      .connectProcessorAndStores('reader', ['shared'])
      .build()

    expect(topology.subtopologies).toHaveLength(1)
    expect(topology.subtopologies[0]?.stores.map(({ descriptor }) => descriptor.name)).toEqual([
      'shared',
    ])
    expect(topology.subtopologies[0]?.processors.map(({ name, stores }) => [name, stores])).toEqual(
      [
        ['writer', ['shared']],
        ['reader', ['shared']],
      ],
    )
    expect(findStore(topology, 'shared')?.subtopology.id).toBe(0)
    expect(findStore(topology, 'unknown')).toBeUndefined()
  })

  test('internal topics get the prefix of the application, those of the user do not', () => {
    const topology = new InternalTopologyBuilder()
      .addInternalTopic({ name: 'x-repartition' })
      .addSource('in', { topics: ['in-topic'], ...strings })
      .addSink('out', { topic: 'x-repartition', ...strings }, ['in'])
      .addSource('again', { topics: ['x-repartition'], ...strings })
      .addProcessor('table', supplier, ['again'])
      .addStore(storeNode('rows'), ['table'])
      .build()
    const [upper, lower] = topology.subtopologies
    if (upper === undefined || lower?.stores[0] === undefined) throw new Error('two are expected')

    expect(upper.sinks.map((sink) => topicOfSink('app', sink))).toEqual(['app-x-repartition'])
    expect(sourceTopics('app', upper)).toEqual(['in-topic'])
    expect(sourceTopics('app', lower)).toEqual(['app-x-repartition'])
    expect(lower.repartitionSources).toEqual([{ name: 'x-repartition' }])
    expect(changelogTopic('app', lower.stores[0])).toBe('app-rows-changelog')
    expect(taskCount('app', lower, new Map([['app-x-repartition', 6]]))).toBe(6)
  })

  test('stores stand in the order of the steps, and those of one step in that of a Java HashSet', () => {
    const topology = new InternalTopologyBuilder()
      .addSource('in', { topics: ['in-topic'], ...strings })
      .addProcessor('first', supplier, ['in'])
      .addProcessor('second', supplier, ['first'])
      .addStore(storeNode('store-1'), ['second'])
      .addStore(storeNode('store-9'), ['first'])
      .addStore(storeNode('store-10'), ['first'])
      .build()

    expect(topology.subtopologies[0]?.stores.map(({ descriptor }) => descriptor.name)).toEqual([
      'store-10',
      'store-9',
      'store-1',
    ])
  })

  test('a built topology does not change when the builder goes on', () => {
    const builder = new InternalTopologyBuilder().addSource('in', {
      topics: ['in-topic'],
      ...strings,
    })
    const topology = builder.build()
    builder.addProcessor('later', supplier, ['in'])

    expect(topology.subtopologies[0]?.nodes.map(({ name }) => name)).toEqual(['in'])
    expect(Object.isFrozen(topology)).toBe(true)
    expect(topology.describe()).toBe(
      'Topologies:\n   Sub-topology: 0\n    Source: in (topics: [in-topic])\n      --> none\n\n',
    )
  })

  const started = (): InternalTopologyBuilder =>
    new InternalTopologyBuilder()
      .addSource('in', { topics: ['in-topic'], ...strings })
      .addProcessor('step', supplier, ['in'])
      .addSink('out', { topic: 'out-topic', ...strings }, ['step'])

  test.each<[string, string, (builder: InternalTopologyBuilder) => void]>([
    [
      'two nodes of one name',
      'two steps with the name step',
      (b) => b.addProcessor('step', supplier, ['in']),
    ],
    ['an empty name', 'must not be empty', (b) => b.addProcessor('', supplier, ['in'])],
    [
      'a source without topics',
      'at least one topic',
      (b) => b.addSource('x', { topics: [], ...strings }),
    ],
    [
      'a topic that is read twice',
      'in-topic is already read',
      (b) => b.addSource('x', { topics: ['new', 'in-topic'], ...strings }),
    ],
    [
      'a processor without parents',
      'at least one parent',
      (b) => b.addProcessor('x', supplier, []),
    ],
    [
      'an unknown parent',
      'parent y of x is not added',
      (b) => b.addProcessor('x', supplier, ['y']),
    ],
    ['a node as its own parent', 'its own parent', (b) => b.addProcessor('x', supplier, ['x'])],
    [
      'a sink as parent',
      'sink out cannot be the parent of x',
      (b) => b.addSink('x', { topic: 't', ...strings }, ['out']),
    ],
    [
      'two stores of one name',
      'two stores with the name s',
      (b) => b.addStore(storeNode('s'), ['step']).addStore(storeNode('s'), ['step']),
    ],
    [
      'a store of an unknown processor',
      'step y is not added',
      (b) => b.addStore(storeNode('s'), ['y']),
    ],
    [
      'a store of a source',
      'cannot be connected to the source in',
      (b) => b.addStore(storeNode('s'), ['in']),
    ],
    [
      'a store of a sink',
      'cannot be connected to the sink out',
      (b) => b.addStore(storeNode('s'), ['out']),
    ],
    ['an unknown store', 'store s is not added', (b) => b.connectProcessorAndStores('step', ['s'])],
    ['no store at all', 'no store was named', (b) => b.connectProcessorAndStores('step', [])],
    [
      'a source of internal and other topics',
      'beside others',
      (b) =>
        b
          .addInternalTopic({ name: 'r' })
          .addSource('x', { topics: ['r', 'q'], ...strings })
          .build(),
    ],
    [
      'an internal topic of two sizes',
      'with 2 and with 3',
      (b) =>
        b
          .addInternalTopic({ name: 'r', partitionCount: 2 })
          .addInternalTopic({ name: 'r', partitionCount: 3 }),
    ],
    [
      'co-partitioning of an unknown source',
      'source x is not added',
      (b) => b.copartitionSources(['x']).build(),
    ],
  ])('%s is refused', (_what, message, misuse) => {
    const builder = started()
    expect(() => misuse(builder)).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message: expect.stringContaining(message),
      }),
    )
  })
})
