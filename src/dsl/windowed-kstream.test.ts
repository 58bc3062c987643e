import { describe, expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore, sessionStore, windowStore } from '../store/descriptor.ts'
import type { RecordHeaders } from '../store/state-store.ts'
import type { Windowed } from '../store/windowed.ts'
import type { RecordSink } from '../task/record-sink.ts'
import { StreamTask } from '../task/stream-task.ts'
import type { CommittedOffset } from '../task/task.ts'
import { TopologyTestDriver } from '../testing/topology-test-driver.ts'
import type { Topology } from '../topology/topology.ts'
import { StreamsBuilder } from './streams-builder.ts'
import { topic, type Topic } from './topic.ts'
import {
  sessionWindows,
  slidingWindows,
  timeWindows,
  unlimitedWindows,
  type CustomWindows,
} from './windows.ts'

const clicks = topic('clicks', { key: serdes.string, value: serdes.string })
const perTen = topic('out', { key: serdes.timeWindowed(serdes.string, 10), value: serdes.long })
const perSession = topic('out', { key: serdes.sessionWindowed(serdes.string), value: serdes.long })
const size10 = timeWindows({ size: 10, grace: 0 })

interface Sent {
  readonly topic: string
  readonly partition: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: RecordHeaders
}

/** A task of the topology's only sub-topology, with eight partitions for its topics. */
class RunningTask {
  readonly sent: Sent[] = []
  readonly clock: ManualClock
  readonly task: StreamTask
  readonly #builder = new RecordBatchBuilder()
  #offset = 0

  constructor(
    topology: Topology,
    options: {
      committed?: readonly CommittedOffset[]
      changelog?: readonly Sent[]
      now?: number
    } = {},
  ) {
    this.clock = new ManualClock(options.now ?? 0)
    const engine = new MemoryEngine()
    const sink: RecordSink = {
      partitionCount: () => 8,
      nextOffset: () => undefined,
      send: (name, partition, key, value, _timestamp, headers) => {
        const copy = (bytes: Uint8Array | null): Buffer | null => bytes && Buffer.from(bytes)
        this.sent.push({ topic: name, partition, key: copy(key), value: copy(value), headers })
      },
    }
    const [subtopology] = topology.subtopologies
    if (subtopology === undefined) throw new Error('the topology has a sub-topology')
    this.task = new StreamTask({
      id: '0_1',
      subtopology,
      applicationId: 'app',
      clock: this.clock,
      sink,
      metrics: new StreamsMetrics(),
      engines: { engine: () => engine, close: () => engine.close() },
      cacheBytesMax: 0,
      partitionCount: () => 8,
    })
    this.task.initialize(options.committed ?? [])
    for (const changelog of this.task.changelogs) {
      this.#builder.reset()
      const own = (options.changelog ?? []).filter(({ topic: name }) => name === changelog.topic)
      for (const { key, value, headers } of own) this.#builder.append(key, value, 0, headers)
      if (own.length > 0) this.task.restore(changelog, this.#batch(0), own.length)
    }
    this.task.completeRestoration()
  }

  #batch(baseOffset: number): Buffer {
    const noProducer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
    return this.#builder.build({ baseOffset, ...noProducer })
  }

  pipe(key: string, timestamp: number): this {
    this.#builder.reset()
    this.#builder.append(Buffer.from(key), Buffer.from('v'), timestamp)
    this.task.addRecords('clicks', 1, this.#batch(this.#offset), this.#offset)
    this.#offset += 1
    this.task.process(1, Infinity)
    return this
  }

  commit(): CommittedOffset[] {
    const offsets = this.task.prepareCommit()
    this.task.committed()
    return offsets
  }

  /** Windows and values of what was written to that topic: `key@start=value`. */
  written({ name, key, value }: Topic<Windowed<string>, number>): string[] {
    return this.sent
      .filter((sent) => sent.topic === name)
      .map((sent) => {
        const windowed = key.deserialize(sent.key ?? Buffer.alloc(0))
        const shown = sent.value === null ? 'null' : value.deserialize(sent.value)
        return `${windowed.key}@${windowed.window.start}=${shown}`
      })
  }
}

function finalCounts(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(clicks)
    .groupByKey()
    .windowedBy(size10)
    .emitStrategy('on-window-close')
    // So long that windows which were emitted are still there.
    .count({ store: 'counts', retention: 1000 })
    .toStream()
    .to(perTen)
  return builder.build()
}

describe('emission on window close', () => {
  test('looks for closed windows once a second of the wall clock', () => {
    const running = new RunningTask(finalCounts())
    running.pipe('a', 1)
    running.clock.advance(999)
    running.pipe('a', 15)
    expect(running.written(perTen)).toEqual([])

    running.clock.advance(1)
    running.pipe('a', 16)
    expect(running.written(perTen)).toEqual(['a@0=1'])
  })

  test('goes on where the last owner has committed: what was emitted is not emitted again', () => {
    const first = new RunningTask(finalCounts())
    first.pipe('a', 1)
    first.clock.advance(1000)
    first.pipe('b', 12)
    const committed = first.commit()
    expect(first.written(perTen)).toEqual(['a@0=1'])
    // Made by Kafka Streams 4.4.0: TopicPartitionMetadata(12, { counts: 12 }).encode().
    expect(committed.map(({ metadata }) => metadata)).toEqual([
      'AgAAAAAAAAAMAAAAAQAAAAZjb3VudHMAAAAAAAAADA==',
    ])

    const next = new RunningTask(finalCounts(), { committed, changelog: first.sent })
    next.pipe('c', 25)
    expect(next.written(perTen)).toEqual(['b@10=1'])
  })

  test('is not for windows that never close, or that Kafka Streams does not know', () => {
    const windows: CustomWindows = { kind: 'custom', size: 1, grace: 0, windowsFor: () => [] }
    const grouped = new StreamsBuilder().stream(clicks).groupByKey()
    for (const each of [unlimitedWindows(), windows]) {
      // Their type has no emitStrategy.
      const windowed = grouped.windowedBy(each) as never as { emitStrategy(strategy: string): void }
      expect(() => windowed.emitStrategy('on-window-close')).toThrow(
        'only time windows and sliding windows can emit on close',
      )
    }
  })

  test('has two strategies', () => {
    const windowed = new StreamsBuilder().stream(clicks).groupByKey().windowedBy(size10)

    expect(() => windowed.emitStrategy('at-once' as never)).toThrow(
      `the emit strategy must be 'on-window-update' or 'on-window-close', it is "at-once"`,
    )
  })
})

test('all windows of a key are written where the key itself belongs', () => {
  const builder = new StreamsBuilder()
  const counts = builder.stream(clicks).groupByKey().windowedBy(size10).count()
  counts.toStream().to(perTen)
  const running = new RunningTask(builder.build())
  for (const timestamp of [1, 15, 29, 400])
    running.pipe('key-0', timestamp).pipe('key-1', timestamp)

  const partitions = new Map<string, Set<number>>()
  for (const { topic: name, key, partition } of running.sent) {
    if (name !== 'out' || key === null) continue
    const plain = perTen.key.deserialize(key).key
    partitions.set(plain, (partitions.get(plain) ?? new Set()).add(partition))
  }
  // Made by Kafka 4.4.0: BuiltInPartitioner.partitionForKey(key, 8).
  expect(partitions).toEqual(
    new Map([
      ['key-0', new Set([1])],
      ['key-1', new Set([0])],
    ]),
  )
})

describe('suppression', () => {
  function suppressed(): Topology {
    const builder = new StreamsBuilder()
    builder
      .stream(clicks)
      .groupByKey()
      .windowedBy(sessionWindows({ gap: 5, grace: 0 }))
      .count({ store: 'counts' })
      .suppress({ until: 'window-closes', buffer: 'unbounded', name: 'final' })
      .toStream()
      .to(perSession)
    return builder.build()
  }

  test('holds back over a restart what has not come up, and lets it go once', () => {
    const first = new RunningTask(suppressed())
    first.pipe('a', 1).pipe('a', 3).pipe('b', 4)
    const committed = first.commit()
    expect(first.written(perSession)).toEqual([])

    const next = new RunningTask(suppressed(), { committed, changelog: first.sent })
    next.pipe('c', 20)
    expect(next.written(perSession)).toEqual(['a@1=2', 'b@4=1'])
    next.commit()

    const changelog = [...first.sent, ...next.sent]
    const last = new RunningTask(suppressed(), { committed, changelog })
    last.pipe('d', 40)
    expect(last.written(perSession)).toEqual(['c@20=1'])
  })

  test('that is full and may not emit early fails with its limits', () => {
    const builder = new StreamsBuilder()
    const table = builder.table(clicks)
    table.suppress({ until: { timeLimit: 10 }, buffer: { maxRecords: 1, onFull: 'shut-down' } })
    const running = new RunningTask(builder.build())
    running.pipe('a', 1)

    expect(() => running.pipe('b', 2)).toThrow(
      expect.objectContaining({
        code: 'SUPPRESSION_BUFFER_FULL',
        message: expect.stringMatching(/holds 2 records and \d+ bytes, with limits of 1 and/),
      }),
    )
  })
})

describe('what is no suppression is refused', () => {
  const table = new StreamsBuilder().table(clicks) as never as { suppress(o: unknown): void }

  test.each<[message: string, options: unknown]>([
    ["until must be 'window-closes' or { timeLimit }", { buffer: 'unbounded' }],
    ['suppress: timeLimit must be', { until: { timeLimit: -1 }, buffer: 'unbounded' }],
    ['buffer must be', { until: { timeLimit: 1 } }],
    ['buffer needs maxRecords or maxBytes', { until: { timeLimit: 1 }, buffer: {} }],
    [
      'maxRecords must be',
      { until: { timeLimit: 1 }, buffer: { maxRecords: -1, onFull: 'shut-down' } },
    ],
    [
      "onFull must be 'shut-down' or 'emit-early'",
      { until: { timeLimit: 1 }, buffer: { maxBytes: 1 } },
    ],
    [
      'a final result cannot be emitted early',
      { until: 'window-closes', buffer: { maxBytes: 1, onFull: 'emit-early' } },
    ],
    ['there is no windowed aggregation in', { until: 'window-closes', buffer: 'unbounded' }],
    [
      'the name "a b" of a step (suppress)',
      { until: { timeLimit: 1 }, buffer: 'unbounded', name: 'a b' },
    ],
  ])('%s', (message, options) => {
    expect(() => table.suppress(options)).toThrow(message)
  })
})

describe('a store that does not fit the windows is refused', () => {
  const grouped = new StreamsBuilder().stream(clicks).groupByKey()
  const options = { key: serdes.string, value: serdes.long }

  test.each<[message: string, write: () => unknown]>([
    [
      'needs a window store, not a session store',
      () => grouped.windowedBy(size10).count({ store: sessionStore('s', options) as never }),
    ],
    [
      'needs a session store, not a key-value store',
      () =>
        grouped
          .windowedBy(sessionWindows({ gap: 1, grace: 0 }))
          .count({ store: keyValueStore('s', options) as never }),
    ],
    [
      'has windowSize 5, the windows have 10',
      () =>
        grouped
          .windowedBy(size10)
          .count({ store: windowStore('s', { ...options, windowSize: 5 }) }),
    ],
    [
      'must not retain duplicates',
      () =>
        grouped
          .windowedBy(size10)
          .count({ store: windowStore('s', { ...options, retainDuplicates: true }) }),
    ],
    [
      'needs a retention of at least 10 for their size and grace, it has 9',
      () =>
        grouped.windowedBy(size10).count({ store: windowStore('s', { ...options, retention: 9 }) }),
    ],
    [
      'needs a retention of at least 25',
      () =>
        grouped
          .windowedBy(slidingWindows({ timeDifference: 10, grace: 5 }))
          .count({ retention: 24 }),
    ],
    [
      'has retention 20, but the aggregation says 30',
      () =>
        grouped
          .windowedBy(size10)
          .count({ store: windowStore('s', { ...options, retention: 20 }), retention: 30 }),
    ],
    ['retention must be', () => grouped.windowedBy(size10).count({ retention: 1.5 })],
  ])('%s', (message, write) => {
    expect(write).toThrow(message)
  })
})

test('a driver reads the windows of a table', () => {
  const counts = windowStore('counts', { key: serdes.string, value: serdes.long })
  const builder = new StreamsBuilder()
  builder.stream(clicks).groupByKey().windowedBy(size10).count({ store: counts })
  using driver = new TopologyTestDriver(builder.build())
  driver.input(clicks).pipe({ key: 'a', value: 'v', timestamp: 12 })

  expect(driver.timestampedWindowStore(counts).fetch('a', 10)).toEqual(
    expect.objectContaining({ value: 1, timestamp: 12 }),
  )
})

describe('a cogroup', () => {
  test('is of one builder', () => {
    const cogroup = new StreamsBuilder()
      .stream(clicks)
      .groupByKey()
      .cogroup((n: number) => n + 1)
    const other = new StreamsBuilder().stream(clicks).groupByKey()

    expect(() => cogroup.cogroup(other, (n) => n)).toThrow('of the same StreamsBuilder')
  })

  test('demands equally many partitions of the topics that are read', () => {
    const builder = new StreamsBuilder()
    const visits = topic('visits', { key: serdes.string, value: serdes.string })
    const byValue = builder
      .stream(visits)
      .groupBy((v) => v, { key: serdes.string, value: serdes.string })
    builder
      .stream(clicks)
      .groupByKey()
      .cogroup((n: number) => n + 1)
      .cogroup(byValue, (n) => n + 1)
      .aggregate(() => 0, { value: serdes.long })

    expect(builder.build().copartitionGroups).toEqual([['clicks', 'visits']])
  })

  test('needs functions', () => {
    const grouped = new StreamsBuilder().stream(clicks).groupByKey()
    const cogroup = grouped.cogroup((n: number) => n + 1)

    expect(() => grouped.cogroup(5 as never)).toThrow(
      'the aggregator of cogroup must be a function',
    )
    expect(() => cogroup.cogroup(grouped, null as never)).toThrow('the aggregator of cogroup')
    expect(() => cogroup.aggregate(0 as never)).toThrow('the initializer of aggregate')
    expect(() => cogroup.windowedBy(size10).aggregate(0 as never)).toThrow('the initializer')
    expect(() =>
      cogroup.windowedBy(sessionWindows({ gap: 1, grace: 0 })).aggregate(() => 0, 1 as never),
    ).toThrow('the merger of aggregate')
  })
})
