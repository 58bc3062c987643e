import { describe, expect, test } from 'vitest'
import type { FixedKeyRecord } from '../processor/fixed-key-record.ts'
import { timestamped } from '../processor/local-store.ts'
import type { StreamRecord } from '../processor/stream-record.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, sessionStore, windowStore } from '../store/descriptor.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import { topic } from './topic.ts'
import { TopologyBuilder } from './topology-builder.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

const strings = { key: serdes.string, value: serdes.string }
const input = topic('in', strings)
const output = topic('out', strings)
const rows = keyValueStore('rows', strings)
const pass = () => () => {}

const passOn =
  ({ forward }: { forward: (record: never) => void }) =>
  (record: unknown) =>
    forward(record as never)

describe('TopologyBuilder', () => {
  test('runs sources, processors and sinks, and forwards to a child by name', () => {
    const topology = new TopologyBuilder()
      .addSource('source', input)
      .addProcessor(
        'switch',
        ({ forward }) =>
          (record: StreamRecord<string, string>) =>
            forward(record, { child: record.value }),
        { parents: 'source' },
      )
      .addSink('left', topic('left', strings), { parents: ['switch'] })
      .addSink('right', topic('right', strings), { parents: ['switch'] })
      .build()
    using driver = new TopologyTestDriver(topology)
    driver.input(input).pipeAll([
      { key: 'a', value: 'left', timestamp: 1 },
      { key: 'b', value: 'right', timestamp: 2 },
    ])

    expect(driver.output(topic('left', strings)).readKeyValues()).toEqual([['a', 'left']])
    expect(driver.output(topic('right', strings)).readKeyValues()).toEqual([['b', 'right']])
  })

  test('connects stores by their descriptors, before and after', () => {
    const count = keyValueStore('count', { key: serdes.string, value: serdes.long })
    const topology = new TopologyBuilder()
      .addSource('source', input)
      .addProcessor(
        'writer',
        ({ stores, store, forward }) =>
          (record: StreamRecord<string, string>) => {
            stores.rows.put(record.key, record.value, record.timestamp)
            const seen = (store(count).get(record.key) ?? 0) + 1
            store(count).put(record.key, seen)
            forward(record)
          },
        { parents: 'source', stores: { rows: timestamped(rows) } },
      )
      .addFixedKeyProcessor(
        'reader',
        ({ store, forward }) =>
          (record: FixedKeyRecord<string, string>) =>
            forward(
              record.withValue(`${store(rows).get(record.key)} ${store(count).get(record.key)}`),
            ),
        { parents: 'writer' },
      )
      .addStateStore(count, { processors: ['writer'] })
      .connectProcessorAndStateStores('reader', count, rows)
      .addSink('sink', output, { parents: 'reader' })
      .build()
    using driver = new TopologyTestDriver(topology, { applicationId: 'app' })
    driver.input(input).pipe({ key: 'a', value: 'x', timestamp: 7 })

    expect(driver.output(output).readValues()).toEqual(['x 1'])
    expect(driver.timestampedStore(rows).get('a')).toEqual({ value: 'x', timestamp: 7 })
    expect(driver.producedTopicNames).toEqual(['app-rows-changelog', 'app-count-changelog', 'out'])
  })

  test('chooses the topic of each record', () => {
    const topology = new TopologyBuilder()
      .addSource('source', input)
      .addSink('sink', (value: string, key: string, { topic: from }) => `${from}-${key}-${value}`, {
        parents: 'source',
        ...strings,
      })
      .build()
    using driver = new TopologyTestDriver(topology)
    driver.input(input).pipe({ key: 'k', value: 'v', timestamp: 3 })

    expect(driver.output(topic('in-k-v', strings)).readAll()).toEqual([
      { key: 'k', value: 'v', timestamp: 3 },
    ])
  })

  test('keeps a read-only store up to date with its topic, without a changelog of its own', () => {
    const prices = topic('prices', strings)
    const topology = new TopologyBuilder()
      .addReadOnlyStateStore(rows, {
        source: 'read-prices',
        topic: prices,
        processor: 'keep-prices',
        supplier:
          ({ store }) =>
          ({ key, value }) =>
            store(rows).put(key, value),
      })
      .addSource('source', input)
      .addProcessor(
        'price',
        ({ stores, forward }) =>
          (record: StreamRecord<string, string>) =>
            forward({ ...record, value: String(stores.rows.get(record.key)) }),
        { parents: 'source', stores: { rows } },
      )
      .addSink('sink', output, { parents: 'price' })
      .build()
    using driver = new TopologyTestDriver(topology)
    driver.input(prices).pipe({ key: 'tea', value: '3', timestamp: 0 })
    driver.input(input).pipe({ key: 'tea', value: '', timestamp: 0 })

    expect(driver.output(output).readValues()).toEqual(['3'])
    expect(driver.producedTopicNames).toEqual(['out'])
    expect(topology.subtopologies[0]?.stores).toMatchObject([{ sourceTopic: 'prices' }])
  })

  test('keeps a global store that everybody may read and nobody write', () => {
    const prices = topic('prices', strings)
    const topology = new TopologyBuilder()
      .addGlobalStore(rows, {
        source: 'read-prices',
        topic: prices,
        processor: 'keep-prices',
        supplier:
          ({ store }) =>
          ({ key, value }) =>
            store(rows).put(key, `${value}!`),
      })
      .addSource('source', input)
      .addProcessor(
        'price',
        ({ store, forward }) =>
          (record: StreamRecord<string, string>) => {
            if (record.value === 'write') store(rows).put(record.key, '')
            forward({ ...record, value: String(store(rows).get(record.key)) })
          },
        { parents: 'source' },
      )
      .addSink('sink', output, { parents: 'price' })
      .build()
    using driver = new TopologyTestDriver(topology)
    driver.input(prices).pipe({ key: 'tea', value: '3', timestamp: 0 })
    driver.input(input).pipe({ key: 'tea', value: '', timestamp: 0 })

    expect(driver.output(output).readValues()).toEqual(['3!'])
    const error = thrownBy(() =>
      driver.input(input).pipe({ key: 'tea', value: 'write', timestamp: 0 }),
    )
    expect(error.code).toBe('STORE_READ_ONLY')
  })

  const started = (): TopologyBuilder => new TopologyBuilder().addSource('source', input)

  test.each<[what: string, message: string, misuse: (builder: TopologyBuilder) => unknown]>([
    [
      'a name that is taken',
      'two steps with the name source',
      (b) => b.addSource('source', output),
    ],
    [
      'a pattern that matches a topic',
      'the pattern i. matches the topic in, which a source reads',
      (b) => b.addSource('more', /i./, strings),
    ],
    [
      'a topic that matches a pattern',
      'the topic orders-eu of later matches the pattern orders-.*, which is read',
      (b) =>
        b.addSource('all', /orders-.*/, strings).addSource('later', topic('orders-eu', strings)),
    ],
    [
      'a parent that is not there',
      'the parent nobody of p is not added yet',
      (b) => b.addProcessor('p', pass, { parents: 'nobody' }),
    ],
    [
      'no parent',
      'the step p must have at least one parent',
      (b) => b.addProcessor('p', pass, { parents: [] }),
    ],
    [
      'a store for a node that is not there',
      'the step nobody is not added yet',
      (b) => b.addStateStore(rows, { processors: 'nobody' }),
    ],
    [
      'a connection with a store that is not there',
      'the store rows is not added yet',
      (b) =>
        b.addProcessor('p', pass, { parents: 'source' }).connectProcessorAndStateStores('p', rows),
    ],
    [
      'a connection with nothing',
      'no store was named to connect to source',
      (b) => b.connectProcessorAndStateStores('source'),
    ],
    [
      'a store of a source',
      'the store rows cannot be connected to the source source',
      (b) => b.addStateStore(rows, { processors: 'source' }),
    ],
    [
      'a window store that does not say how long it keeps what',
      'the store w of a processor must state its retention',
      (b) =>
        b
          .addProcessor('p', pass, { parents: 'source', stores: { w: windowStore('w', strings) } })
          .build(),
    ],
    [
      'a session store with timestamps',
      'timestamped() is for key-value and window stores',
      () => timestamped(sessionStore('visits', strings) as never),
    ],
    [
      'a read-only store whose nodes have one name',
      'must have different names, not x',
      (b) =>
        b.addReadOnlyStateStore(rows, {
          source: 'x',
          processor: 'x',
          topic: output,
          supplier: pass,
        }),
    ],
    [
      'a global store that is connected',
      'the global store rows is read without being connected to p',
      (b) =>
        b
          .addGlobalStore(rows, { source: 's', processor: 'g', topic: output, supplier: pass })
          .addProcessor('p', pass, { parents: 'source' })
          .connectProcessorAndStateStores('p', rows),
    ],
    [
      'a format that there is not',
      'describe() knows the formats text, json and mermaid, not "yaml"',
      (b) => b.describe({ format: 'yaml' as never }),
    ],
  ])('%s is refused', (_what, message, misuse) => {
    const error = thrownBy(() => misuse(started()))

    expect(error.code).toBe('TOPOLOGY_INVALID')
    expect(error.message).toContain(message)
  })

  test('a sink that names topics needs serdes', () => {
    const error = thrownBy(() =>
      started().addSink('sink', () => 'out', { parents: 'source' } as never),
    )

    expect(error.code).toBe('SERDE_MISSING')
  })
})

describe('a description', () => {
  const topology = new TopologyBuilder()
    .addSource('source', input)
    .addSource('all', /orders-.*/, strings)
    .addProcessor('p', passOn, { parents: ['source', 'all'], stores: { rows } })
    .addSink('sink', output, { parents: 'p' })
    .addSink(
      'named',
      function byKey(_value, key) {
        return key
      },
      { parents: 'p', ...strings },
    )
    .addGlobalStore(keyValueStore('prices', strings), {
      source: 'read "prices"',
      topic: topic('prices', strings),
      processor: 'keep',
      supplier: pass,
    })
    .build()

  test('as text is what Java prints', () => {
    expect(topology.describe()).toBe(`Topologies:
   Sub-topology: 0
    Source: all (topics: orders-.*)
      --> p
    Source: source (topics: [in])
      --> p
    Processor: p (stores: [rows])
      --> named, sink
      <-- source, all
    Sink: named (extractor class: byKey)
      <-- p
    Sink: sink (topic: out)
      <-- p

  Sub-topology: 1 for global store (will not generate tasks)
    Source: read "prices" (topics: [prices])
      --> keep
    Processor: keep (stores: [prices])
      --> none
      <-- read "prices"
`)
  })

  test('as JSON has everything for tools', () => {
    expect(JSON.parse(topology.describe({ format: 'json' }))).toEqual({
      subtopologies: [
        {
          id: 0,
          nodes: [
            { kind: 'source', name: 'all', pattern: 'orders-.*', successors: ['p'] },
            { kind: 'source', name: 'source', topics: ['in'], successors: ['p'] },
            {
              kind: 'processor',
              name: 'p',
              stores: ['rows'],
              predecessors: ['source', 'all'],
              successors: ['named', 'sink'],
            },
            { kind: 'sink', name: 'named', extractor: 'byKey', predecessors: ['p'] },
            { kind: 'sink', name: 'sink', topic: 'out', predecessors: ['p'] },
          ],
          stores: [
            {
              name: 'rows',
              kind: 'key-value',
              timestamped: false,
              persistent: true,
              caching: false,
              changelog: true,
            },
          ],
          repartitionTopics: [],
        },
      ],
      globalStores: [
        {
          id: 1,
          nodes: [
            {
              kind: 'source',
              name: 'read "prices"',
              topics: ['prices'],
              successors: ['keep'],
            },
            {
              kind: 'processor',
              name: 'keep',
              stores: ['prices'],
              predecessors: ['read "prices"'],
              successors: [],
            },
          ],
          store: {
            name: 'prices',
            kind: 'key-value',
            timestamped: false,
            persistent: true,
            caching: false,
            changelog: { topic: 'prices' },
          },
        },
      ],
    })
  })

  test('as a Mermaid flowchart shows topics, steps and stores', () => {
    expect(topology.describe({ format: 'mermaid' })).toBe(`flowchart TD
  t0(["in"])
  t1(["/orders-.*/"])
  t2(["out"])
  t3(["chosen by byKey"])
  t4(["prices"])
  subgraph s0 ["Sub-topology 0"]
    n0[/"source"/]
    n1[/"all"/]
    n2["p"]
    n3[("rows")]
    n4[\\"sink"\\]
    n5[\\"named"\\]
  end
  subgraph s1 ["Sub-topology 1, a global store"]
    n6[/"read #quot;prices#quot;"/]
    n7["keep"]
    n8[("prices")]
  end
  t0 --> n0
  t1 --> n1
  n0 --> n2
  n1 --> n2
  n2 --- n3
  n2 --> n4
  n4 --> t2
  n2 --> n5
  n5 --> t3
  t4 --> n6
  n6 --> n7
  n7 --- n8
`)
  })
})
