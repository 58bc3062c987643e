import { describe, expect, test } from 'vitest'
import { AssertionError } from '../base/assert.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { StreamsError } from '../errors.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { NodeContext, NodeSupplier } from '../processor/processor.ts'
import type { RecordMetadata } from '../processor/record-metadata.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { KeyValueStore, TimestampedKeyValueStore } from '../store/key-value-store.ts'
import type { RecordHeaders } from '../store/state-store.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import type { Topology } from '../topology/topology.ts'
import type { RecordSink } from './record-sink.ts'
import { StreamTask } from './stream-task.ts'
import type { StreamTaskOptions } from './stream-task-options.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

const string = serdes.string as Serde<unknown>
const long = serdes.long as Serde<unknown>
const strings = { key: string, value: string }

interface Sent {
  topic: string
  partition: number
  key: string | null
  value: string | null
  timestamp: number
  headers: RecordHeaders
}

/**
 * Keeps what is sent, as text. Of four partitions, Java's Utils.murmur2 sends the keys k, a and b to
 * 0, p to 2 and last to 3.
 */
class TestSink implements RecordSink {
  readonly sent: Sent[] = []
  partitions = 4
  readonly #next = new Map<string, number>()

  partitionCount(): number {
    return this.partitions
  }

  send(
    topic: string,
    partition: number,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders,
  ): void {
    const text = (bytes: Uint8Array | null): string | null =>
      bytes === null ? null : Buffer.from(bytes).toString('latin1')
    this.sent.push({ topic, partition, key: text(key), value: text(value), timestamp, headers })
    const place = `${topic}-${partition}`
    this.#next.set(place, (this.#next.get(place) ?? 0) + 1)
  }

  nextOffset(topic: string, partition: number): number | undefined {
    return this.#next.get(`${topic}-${partition}`)
  }

  /** `topic-partition key=value@timestamp` of everything since the last call. */
  take(): string[] {
    return this.sent
      .splice(0)
      .map((sent) => `${sent.topic}-${sent.partition} ${sent.key}=${sent.value}@${sent.timestamp}`)
  }
}

interface Setup {
  task: StreamTask
  sink: TestSink
  clock: ManualClock
  metrics: StreamsMetrics
}

/** A task of the topology's only sub-topology on partition 1, created but not initialized. */
function setup(topology: Topology, options: Partial<StreamTaskOptions> = {}): Setup {
  const sink = new TestSink()
  const clock = new ManualClock(5000)
  const metrics = new StreamsMetrics()
  const engine = new MemoryEngine()
  const [subtopology] = topology.subtopologies
  if (subtopology === undefined) throw new Error('the topology has a sub-topology')
  const task = new StreamTask({
    id: '0_1',
    subtopology,
    applicationId: 'app',
    clock,
    sink,
    metrics,
    engines: { engine: () => engine, close: () => engine.close() },
    cacheBytesMax: 1 << 20,
    partitionCount: () => 4,
    ...options,
  })
  return { task, sink, clock, metrics }
}

function running(topology: Topology, options: Partial<StreamTaskOptions> = {}): Setup {
  const all = setup(topology, options)
  all.task.initialize([])
  all.task.completeRestoration()
  return all
}

type TestRecord = [key: string | null, value: string | null, timestamp: number]

function batch(baseOffset: number, records: TestRecord[], isControl = false): Buffer {
  const builder = new RecordBatchBuilder()
  const bytes = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text))
  for (const [key, value, timestamp] of records) builder.append(bytes(key), bytes(value), timestamp)
  return builder.build({
    baseOffset,
    producerId: -1,
    producerEpoch: -1,
    baseSequence: -1,
    isControl,
  })
}

/** in → the supplier's node → out. */
function oneNode(supplier: NodeSupplier): Topology {
  return new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], ...strings })
    .addProcessor('node', supplier, ['source'])
    .addSink('sink', { topic: 'out', ...strings }, ['node'])
    .build()
}

const pass: NodeSupplier = (context) => ({
  process: (key, value) => context.forward(key, value),
})

/** in → count in the store `counts` (plain values, uncached) → out. */
function counting(options: { caching?: boolean; persistent?: boolean } = {}): Topology {
  const descriptor = keyValueStore('counts', {
    key: serdes.string,
    value: serdes.long,
    caching: options.caching ?? false,
    persistent: options.persistent ?? false,
  })
  return new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], ...strings })
    .addProcessor(
      'count',
      (context) => {
        const store = context.store('counts') as TimestampedKeyValueStore<string, number>
        const isCached = context.onStoreFlush(
          'counts',
          (key, value, _old, timestamp) => context.forwardAt(key, value, timestamp),
          { sendOldValues: false },
        )
        return {
          process: (key) => {
            const count = (store.get(key as string)?.value ?? 0) + 1
            store.put(key as string, count, context.timestamp)
            if (!isCached) context.forward(key, count)
          },
        }
      },
      ['source'],
    )
    .addStore({ descriptor, timestamped: true }, ['count'])
    .addSink('sink', { topic: 'out', key: string, value: long }, ['count'])
    .build()
}

const longText = (value: number): string => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes.toString('latin1')
}

describe('the life of a task', () => {
  test('goes from created over restoring, running and suspended to closed', () => {
    const { task } = setup(oneNode(pass))
    const states = [task.state]
    task.initialize([])
    states.push(task.state)
    task.completeRestoration()
    states.push(task.state)
    task.suspend()
    states.push(task.state)
    task.close({ clean: true })
    states.push(task.state)

    expect(states).toEqual(['created', 'restoring', 'running', 'suspended', 'closed'])
  })

  test('takes no step out of order', () => {
    const { task } = setup(oneNode(pass))

    expect(() => task.completeRestoration()).toThrow('a task that is created takes no restored')
    task.initialize([])
    expect(() => task.initialize([])).toThrow('a task that is restoring takes no initialize')
    task.completeRestoration()
    task.close({ clean: true })
    expect(() => task.suspend()).toThrow('a task that is closed takes no suspend')
  })

  test('ends once: closing again does nothing', () => {
    let closed = 0
    const { task } = running(
      oneNode((context) => ({ ...pass(context), close: () => (closed += 1) })),
    )
    task.suspend()
    task.prepareCommit()
    task.committed()
    task.close({ clean: true })
    task.close({ clean: true })

    expect(closed).toBe(1)
  })

  test('makes the code of the program when the state is restored, not before', () => {
    let made = 0
    const { task } = setup(
      oneNode((context) => {
        made += 1
        return pass(context)
      }),
    )
    task.initialize([])
    expect(made).toBe(0)
    task.completeRestoration()
    expect(made).toBe(1)
  })

  test('ends unclean whatever the closing code throws', () => {
    const { task } = running(
      oneNode((context) => ({
        ...pass(context),
        close: () => {
          throw new Error('no')
        },
      })),
    )
    task.close({ clean: false })

    expect(task.state).toBe('closed')
  })

  test('does not end clean with work that is not committed', () => {
    const { task } = running(oneNode(pass))
    task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)
    task.process(10, Infinity)

    expect(() => task.close({ clean: true })).toThrow('has committed before it closes clean')
  })
})

test('a task reads those topics that have its partition', () => {
  const topology = new InternalTopologyBuilder()
    .addSource('wide', { topics: ['wide'], ...strings, offsetReset: 'latest' })
    .addSource('narrow', { topics: ['narrow'], ...strings })
    .addProcessor('node', pass, ['wide', 'narrow'])
    .build()
  const { task } = setup(topology, { partitionCount: (topic) => (topic === 'wide' ? 2 : 1) })

  expect(task.inputs).toEqual([{ topic: 'wide', partition: 1, offsetReset: 'latest' }])
})

test('a task reads on what it reads, however many partitions there seem to be, and more as it comes', () => {
  const counts = new Map([['in', 2]])
  const topology = new InternalTopologyBuilder()
    .addSource('source', { topics: ['in', 'late'], ...strings })
    .addProcessor('node', pass, ['source'])
    .build()
  const { task } = running(topology, { partitionCount: (topic) => counts.get(topic) ?? 0 })
  task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)
  task.process(10, Infinity)

  // A broker that is behind has told of `in`.
  counts.set('in', 1).set('late', 2)
  const [subtopology] = topology.subtopologies
  expect(subtopology && task.updateInputs(subtopology).map(({ topic }) => topic)).toEqual(['late'])

  expect(task.prepareCommit()).toMatchObject([{ topic: 'in', partition: 1, offset: 1 }])
})

test('internal topics have the application id before their names', () => {
  const topology = new InternalTopologyBuilder()
    .addInternalTopic({ name: 'words-repartition' })
    .addSource('source', { topics: ['words-repartition'], ...strings })
    .addSink('sink', { topic: 'out', ...strings }, ['source'])
    .build()
  const { task } = setup(topology)

  expect(task.inputs).toEqual([
    { topic: 'app-words-repartition', partition: 1, offsetReset: undefined },
  ])
})

describe('processing', () => {
  test('takes records through the nodes to the sink, with timestamp and headers', () => {
    const { task, sink, metrics } = running(oneNode(pass))
    const builder = new RecordBatchBuilder()
    builder.append(Buffer.from('k'), Buffer.from('v'), 7, [['h', Buffer.from('x')]])
    const options = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
    task.addRecords('in', 1, builder.build(options), 0)

    expect(task.process(10, Infinity)).toBe(1)
    expect(sink.sent).toEqual([
      {
        topic: 'out',
        partition: 0,
        key: 'k',
        value: 'v',
        timestamp: 7,
        headers: [['h', Buffer.from('x')]],
      },
    ])
    expect(metrics.recordsProcessed.value).toBe(1)
  })

  test('stops after as many records as it may take', () => {
    const { task } = running(oneNode(pass))
    const records = [1, 2, 3].map((time): TestRecord => ['k', 'v', time])
    task.addRecords('in', 1, batch(0, records), 0)

    expect(task.process(2, Infinity)).toBe(2)
    expect(task.bufferedRecords('in', 1)).toBe(1)
    expect(task.process(2, Infinity)).toBe(1)
    expect(task.process(2, Infinity)).toBe(0)
  })

  test('looks at the deadline every sixteen records', () => {
    const { task, clock } = running(oneNode(pass))
    const records = Array.from({ length: 40 }, (_, time): TestRecord => ['k', 'v', time])
    task.addRecords('in', 1, batch(0, records), 0)

    expect(task.process(1000, clock.monotonic())).toBe(16)
  })

  test('children get records in the order in which they were connected, sinks and processors alike', () => {
    const topology = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addSink('first', { topic: 'first', ...strings }, ['source'])
      .addProcessor('node', pass, ['source'])
      .addSink('second', { topic: 'second', ...strings }, ['node'])
      .addSink('third', { topic: 'third', ...strings }, ['source'])
      .build()
    const { task, sink } = running(topology)
    task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)
    task.process(1, Infinity)

    expect(sink.take()).toEqual(['first-0 k=v@1', 'second-0 k=v@1', 'third-0 k=v@1'])
  })

  test('records without a key stay on one partition until it has a thousand', () => {
    const { task, sink } = running(oneNode(pass))
    const records = Array.from({ length: 1500 }, (_, time): TestRecord => [null, 'v', time])
    task.addRecords('in', 1, batch(0, records), 0)
    task.process(1500, Infinity)

    const counts = [0, 0, 0, 0]
    for (const { partition } of sink.sent) counts[partition] = (counts[partition] ?? 0) + 1
    expect(counts).toEqual([0, 1000, 500, 0])
  })

  test('a partitioner chooses, and is told topic, key, value and how many there are', () => {
    const seen: unknown[] = []
    const topology = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addSink(
        'sink',
        {
          topic: 'out',
          ...strings,
          partitioner: (...all) => {
            seen.push(all)
            return 3
          },
        },
        ['source'],
      )
      .build()
    const { task, sink } = running(topology)
    task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)
    task.process(1, Infinity)

    expect(sink.take()).toEqual(['out-3 k=v@1'])
    expect(seen).toEqual([['out', 'k', 'v', 4]])
  })
})

describe('what a node sees', () => {
  function seen(use: (context: NodeContext, key: unknown) => void): Setup {
    const all = running(
      oneNode((context) => ({
        process: (key) => use(context, key),
      })),
    )
    all.task.addRecords('in', 1, batch(40, [['k', 'v', 7]]), 40)
    all.task.process(1, Infinity)
    return all
  }

  test('is the record’s time and place, and the clocks', () => {
    let metadata: RecordMetadata | undefined
    let rest: unknown[] = []
    seen((context) => {
      metadata = context.recordMetadata
      rest = [context.node, context.taskId, context.timestamp, context.headers]
      rest.push(context.streamTime, context.wallClockTime())
    })

    expect(metadata).toEqual({ topic: 'in', partition: 1, offset: 40 })
    expect(rest).toEqual(['node', '0_1', 7, [], 7, 5000])
  })

  test('is its own timestamp again after it forwarded with another', () => {
    let after: number | undefined
    const { sink } = seen((context, key) => {
      context.forwardAt(key, 'later', 99)
      after = context.timestamp
      context.forward(key, 'same')
    })

    expect(sink.take()).toEqual(['out-0 k=later@99', 'out-0 k=same@7'])
    expect(after).toBe(7)
  })

  test('is its own headers again after it forwarded a record of its own', () => {
    let after: RecordHeaders | undefined
    const { sink } = seen((context, key) => {
      context.forwardRecord(key, 'own', 8, [['h', null]], 'sink')
      after = context.headers
    })

    expect(sink.sent[0]).toMatchObject({ value: 'own', timestamp: 8, headers: [['h', null]] })
    expect(after).toEqual([])
  })

  test('is another place and time while it forwards what was held back', () => {
    const headers: RecordHeaders = [['h', null]]
    const origin = { timestamp: 3, offset: 9, topic: 'before', partition: 2, headers }
    const seenBelow: unknown[] = []
    const topology = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addProcessor(
        'node',
        (context) => ({
          process(key, value) {
            context.forwardFrom(key, value, origin)
            context.forward(key, value)
          },
        }),
        ['source'],
      )
      .addProcessor(
        'child',
        (context) => ({
          process() {
            seenBelow.push([context.recordMetadata, context.timestamp, context.headers])
          },
        }),
        ['node'],
      )
      .build()
    const { task } = running(topology)
    task.addRecords('in', 1, batch(40, [['k', 'v', 7]]), 40)
    task.process(1, Infinity)

    expect(seenBelow).toEqual([
      [{ topic: 'before', partition: 2, offset: 9 }, 3, headers],
      [{ topic: 'in', partition: 1, offset: 40 }, 7, []],
    ])
  })

  test('are its children: forwarding to another name fails', () => {
    const error = thrownBy(() =>
      seen((context) => context.forwardRecord('k', 'v', 1, [], 'nobody')),
    )

    expect(error.message).toBe(
      'The step node failed on the record at in-1 offset 40: there is no child nobody, or it is not connected to node.',
    )
  })

  test('are its stores: another one is refused', () => {
    expect(thrownBy(() => seen((context) => context.store('other'))).code).toBe(
      'STORE_NOT_CONNECTED',
    )
  })

  test('is a request to commit, which the worker is told', () => {
    const { task } = seen((context) => context.commit())

    expect(task.commitRequested).toBe(true)
    task.prepareCommit()
    expect(task.commitRequested).toBe(false)
  })

  test('is a counter for what it drops', () => {
    const { metrics } = seen((context) => context.dropped('null-key'))

    expect(metrics.droppedRecords()).toEqual(new Map([['null-key', 1]]))
  })

  test('takes no negative timestamp', () => {
    const error = thrownBy(() => seen((context, key) => context.forwardAt(key, 'v', -1)))

    expect(error.message).toContain('a record cannot have the timestamp -1')
  })
})

describe('a failure', () => {
  const failing = (cause: unknown): Topology =>
    new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addProcessor('above', pass, ['source'])
      .addProcessor(
        'below',
        () => ({
          process: (_key, value) => {
            if (value === 'bad') throw cause
          },
        }),
        ['above'],
      )
      .build()

  test('of a step names the step, the record and the cause, and leaves the position there', () => {
    const cause = new Error('boom')
    const { task } = running(failing(cause))
    task.addRecords(
      'in',
      1,
      batch(10, [
        ['k', 'good', 1],
        ['k', 'bad', 2],
      ]),
      10,
    )

    const error = thrownBy(() => task.process(10, Infinity))
    expect(error.code).toBe('PROCESSING_FAILED')
    expect(error.message).toBe('The step below failed on the record at in-1 offset 11: boom.')
    expect(error.cause).toBe(cause)
    expect(error.context).toMatchObject({ node: 'below', task: '0_1', offset: 11 })
    expect(task.position('in', 1)).toBe(11)
  })

  test('that has a code of its own keeps it', () => {
    const cause = new StreamsError('DISK_FAILED', { path: '/x' })
    const { task } = running(failing(cause))
    task.addRecords('in', 1, batch(0, [['k', 'bad', 1]]), 0)

    expect(thrownBy(() => task.process(1, Infinity))).toBe(cause)
  })

  test('that is a broken invariant stays what it is', () => {
    const { task } = running(failing(new AssertionError('something')))
    task.addRecords('in', 1, batch(0, [['k', 'bad', 1]]), 0)

    expect(() => task.process(1, Infinity)).toThrow(AssertionError)
  })

  test('to serialize names the sink', () => {
    const { task } = running(oneNode((context) => ({ process: (key) => context.forward(key, 42) })))
    task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)

    const error = thrownBy(() => task.process(1, Infinity))
    expect(error.code).toBe('RECORD_UNWRITABLE')
    expect(error.context).toMatchObject({ node: 'sink', sink: 'out', origin: 'value', offset: 0 })
    expect(error.cause).toMatchObject({ code: 'SERDE_FAILED' })
    expect(error.message).toBe(
      'The step sink could not write a record to out, after the record at in-1 offset 0: The serde string could not serialize a value: 42 is not a string.',
    )
  })

  test('of a partitioner that leaves the topic names the sink', () => {
    const topology = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addSink('sink', { topic: 'out', ...strings, partitioner: () => 4 }, ['source'])
      .build()
    const { task } = running(topology)
    task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)

    expect(thrownBy(() => task.process(1, Infinity)).message).toBe(
      'The step sink could not write a record, after the record at in-1 offset 0: the partitioner returned 4, the topic has 4 partitions.',
    )
  })

  test('while the code is made names the step', () => {
    const { task } = setup(
      oneNode(() => {
        throw new Error('no config')
      }),
    )
    task.initialize([])

    expect(thrownBy(() => task.completeRestoration()).message).toBe(
      'The step node failed outside of a record: no config.',
    )
  })
})

describe('punctuations', () => {
  function punctuated(): Setup & { calls: string[] } {
    const calls: string[] = []
    const all = running(
      oneNode((context) => {
        context.schedule(10, 'stream-time', (time) => {
          calls.push(`stream ${time} at ${context.timestamp}, ${context.recordMetadata?.topic}`)
          context.forward('p', 'stream')
        })
        context.schedule(100, 'wall-clock-time', (time) => {
          calls.push(`wall ${time} at ${context.timestamp}`)
        })
        return pass(context)
      }),
    )
    return { ...all, calls }
  }

  test('of stream time begin with the first record and follow its time', () => {
    const { task, sink, calls } = punctuated()
    const records = [5, 9, 10, 47, 49, 50].map((time): TestRecord => ['k', 'v', time])
    task.addRecords('in', 1, batch(0, records), 0)
    task.process(10, Infinity)

    expect(calls).toEqual([
      'stream 5 at 5, undefined',
      'stream 10 at 10, undefined',
      'stream 47 at 47, undefined',
      'stream 50 at 50, undefined',
    ])
    expect(sink.take().filter((row) => row.includes('p=stream'))).toEqual([
      'out-2 p=stream@5',
      'out-2 p=stream@10',
      'out-2 p=stream@47',
      'out-2 p=stream@50',
    ])
  })

  test('of wall-clock time come when the worker looks', () => {
    const { task, calls } = punctuated()

    expect(task.punctuate(5099)).toBe(false)
    expect(task.punctuate(5100)).toBe(true)
    expect(task.punctuate(5199)).toBe(false)
    expect(task.punctuate(5555)).toBe(true)
    expect(task.punctuate(5599)).toBe(false)
    expect(calls).toEqual(['wall 5100 at 5100', 'wall 5555 at 5555'])
  })

  test('need a commit', () => {
    const { task } = punctuated()
    expect(task.commitNeeded).toBe(false)
    task.punctuate(5100)

    expect(task.commitNeeded).toBe(true)
  })

  test('that fail name the step', () => {
    const { task } = running(
      oneNode((context) => {
        context.schedule(1, 'wall-clock-time', () => {
          throw new Error('late')
        })
        return pass(context)
      }),
    )

    expect(thrownBy(() => task.punctuate(6000)).message).toBe(
      'The step node failed outside of a record: late.',
    )
  })
})

describe('a commit', () => {
  test('is of the next offset, with the partition time as Kafka Streams writes it', () => {
    const { task } = running(oneNode(pass))
    expect(task.commitNeeded).toBe(false)
    task.addRecords(
      'in',
      1,
      batch(10, [
        ['k', 'v', 1],
        ['k', 'v', 0],
      ]),
      10,
    )
    task.process(10, Infinity)

    expect(task.commitNeeded).toBe(true)
    expect(task.prepareCommit()).toEqual([
      { topic: 'in', partition: 1, offset: 12, metadata: 'AgAAAAAAAAAB' },
    ])
    task.committed()
    expect(task.commitNeeded).toBe(false)
    expect(task.prepareCommit()).toEqual([])
  })

  test('is needed for markers of transactions too', () => {
    const { task } = running(oneNode(pass))
    task.addRecords('in', 1, batch(10, [['k', 'v', 1]], true), 10)
    task.process(10, Infinity)

    expect(task.commitNeeded).toBe(true)
    expect(task.prepareCommit()).toEqual([
      { topic: 'in', partition: 1, offset: 11, metadata: 'Av//////////' },
    ])
  })

  test('is of the head while records wait', () => {
    const { task } = running(oneNode(pass))
    task.addRecords(
      'in',
      1,
      batch(10, [
        ['k', 'v', 1],
        ['k', 'v', 2],
      ]),
      10,
    )
    task.process(1, Infinity)

    expect(task.prepareCommit()).toMatchObject([{ offset: 11 }])
  })

  test('lets nothing be processed until it is done', () => {
    const { task } = running(oneNode(pass))
    task.addRecords(
      'in',
      1,
      batch(10, [
        ['k', 'v', 1],
        ['k', 'v', 2],
      ]),
      10,
    )
    task.process(1, Infinity)
    task.prepareCommit()

    expect(() => task.process(1, Infinity)).toThrow('waits for its commit')
    task.committed()
    expect(task.process(1, Infinity)).toBe(1)
  })

  test('flushes the cache: last value to changelog and sink, in that order', () => {
    const { task, sink } = running(counting({ caching: true }))
    const records: TestRecord[] = [
      ['a', '', 1],
      ['b', '', 2],
      ['a', '', 3],
    ]
    task.addRecords('in', 1, batch(0, records), 0)
    task.process(10, Infinity)
    expect(sink.take()).toEqual([])

    task.prepareCommit()
    expect(sink.take()).toEqual([
      `app-counts-changelog-1 b=${longText(1)}@2`,
      `out-0 b=${longText(1)}@2`,
      `app-counts-changelog-1 a=${longText(2)}@3`,
      `out-0 a=${longText(2)}@3`,
    ])
  })

  test('gives the time of the partition back to the next owner', () => {
    const { task } = setup(oneNode(pass))
    task.initialize([{ topic: 'in', partition: 1, offset: 12, metadata: 'AgAAAAAAAAAB' }])
    task.completeRestoration()

    expect(task.streamTime).toBe(1)
    expect(task.commitNeeded).toBe(false)
  })

  test('has what processors keep, for every partition that was read, and gives it to the next owner', () => {
    const twoInputs = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in', 'other'], ...strings })
      .addProcessor(
        'node',
        (context) => ({
          process: (key, value) => {
            if (value === 'keep') context.setMetadata('node', context.timestamp)
            else context.forward(key, context.metadata('node') ?? 'none')
          },
        }),
        ['source'],
      )
      .addSink('sink', { topic: 'out', key: string, value: long }, ['node'])
      .build()
    const first = running(twoInputs)
    first.task.addRecords('in', 1, batch(0, [['k', 'keep', 5]]), 0)
    first.task.addRecords('other', 1, batch(0, [['k', 'keep', 6]]), 0)
    first.task.process(1, Infinity)
    first.task.prepareCommit()
    first.task.committed()
    first.task.process(1, Infinity)
    const offsets = first.task.prepareCommit()

    expect(offsets).toEqual([
      // Made by Kafka Streams 4.4.0: TopicPartitionMetadata(5 and 6, { node: 6 }).encode().
      {
        topic: 'in',
        partition: 1,
        offset: 1,
        metadata: 'AgAAAAAAAAAFAAAAAQAAAARub2RlAAAAAAAAAAY=',
      },
      {
        topic: 'other',
        partition: 1,
        offset: 1,
        metadata: 'AgAAAAAAAAAGAAAAAQAAAARub2RlAAAAAAAAAAY=',
      },
    ])
    first.task.committed()
    expect(first.task.prepareCommit()).toEqual([])

    const next = setup(twoInputs)
    next.task.initialize(offsets)
    next.task.completeRestoration()
    next.task.addRecords('in', 1, batch(1, [['k', 'tell', 7]]), 1)
    next.task.process(1, Infinity)
    expect(next.sink.sent.map(({ value }) => value)).toEqual(['\0\0\0\0\0\0\0\x06'])
  })

  test('after suspension takes what the closing code still wrote', () => {
    const { task, sink } = running(
      oneNode((context) => ({
        ...pass(context),
        close: () => context.forwardAt('last', 'words', 9),
      })),
    )
    task.addRecords(
      'in',
      1,
      batch(10, [
        ['k', 'v', 1],
        ['k', 'v', 2],
      ]),
      10,
    )
    task.process(1, Infinity)
    task.suspend()

    expect(sink.take()).toEqual(['out-0 k=v@1', 'out-3 last=words@9'])
    expect(task.prepareCommit()).toMatchObject([{ offset: 11 }])
    task.committed()
    task.close({ clean: true })
  })

  test('takes what the closing code wrote into a store though nothing was processed', () => {
    const descriptor = keyValueStore('last', { key: serdes.string, value: serdes.string })
    const topology = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addProcessor(
        'node',
        (context) => {
          const store = context.store('last') as TimestampedKeyValueStore<string, string>
          return {
            process: () => undefined,
            close: () => store.put('last', 'words', 9),
          }
        },
        ['source'],
      )
      .addStore({ descriptor, timestamped: true }, ['node'])
      .build()
    const { task, sink } = running(topology)
    task.suspend()
    expect(sink.take()).toEqual([])
    task.prepareCommit()

    expect(sink.take()).toEqual(['app-last-changelog-1 last=words@9'])
    task.committed()
    task.close({ clean: true })
  })

  test('that waited while the closing code wrote is followed by one that takes it', () => {
    const descriptor = keyValueStore('last', { key: serdes.string, value: serdes.string })
    const topology = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addProcessor(
        'node',
        (context) => {
          const store = context.store('last') as TimestampedKeyValueStore<string, string>
          return {
            process: (key, value) => store.put(key as string, value as string, context.timestamp),
            close: () => store.put('last', 'words', 9),
          }
        },
        ['source'],
      )
      .addStore({ descriptor, timestamped: true }, ['node'])
      .build()
    const { task, sink } = running(topology)
    task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)
    task.process(1, Infinity)
    task.prepareCommit()
    task.suspend()
    sink.take()
    task.committed()

    expect(task.commitNeeded).toBe(true)
    task.prepareCommit()
    expect(sink.take()).toEqual(['app-last-changelog-1 last=words@9'])
    task.committed()
    task.close({ clean: true })
  })

  test('is missing when a task closes clean before it was done: a broken invariant', () => {
    const { task } = running(oneNode(pass))
    task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)
    task.process(1, Infinity)
    task.prepareCommit()
    task.suspend()

    expect(() => task.close({ clean: true })).toThrow(AssertionError)
  })

  test.each([true, false])(
    'reaches rows that a flush changed in a store that was flushed before (changelog: %s)',
    (changelog) => {
      // The node of the second store writes into the first, which is flushed earlier.
      const first = keyValueStore('first', {
        key: serdes.string,
        value: serdes.string,
        caching: true,
      })
      const second = keyValueStore('second', { ...first, changelog })
      const topology = new InternalTopologyBuilder()
        .addSource('source', { topics: ['in'], ...strings })
        .addProcessor(
          'writer',
          (context) => {
            const store = context.store('second') as TimestampedKeyValueStore<string, string>
            const other = context.store('first') as TimestampedKeyValueStore<string, string>
            context.onStoreFlush(
              'second',
              (key, value, _old, timestamp) => other.put(key as string, value as string, timestamp),
              { sendOldValues: false },
            )
            return {
              process: (key, value) => store.put(key as string, value as string, context.timestamp),
            }
          },
          ['source'],
        )
        .addStore({ descriptor: first, timestamped: true }, ['writer'])
        .addStore({ descriptor: { ...second, name: 'second' }, timestamped: true }, ['writer'])
        .build()
      const { task, sink } = running(topology)
      task.addRecords('in', 1, batch(0, [['k', 'v', 1]]), 0)
      task.process(1, Infinity)
      task.prepareCommit()

      expect(sink.take()).toEqual([
        ...(changelog ? ['app-second-changelog-1 k=v@1'] : []),
        'app-first-changelog-1 k=v@1',
      ])
    },
  )
})

describe('restoring', () => {
  const changelogBatch = (baseOffset: number, rows: [string, number | null, number][]): Buffer =>
    batch(
      baseOffset,
      rows.map(([key, count, timestamp]) => [
        key,
        count === null ? null : longText(count),
        timestamp,
      ]),
    )

  function restoring(): Setup {
    const all = setup(counting())
    all.task.initialize([])
    return all
  }

  const counts = (task: StreamTask): [string, number][] => {
    const store = task.connectedStore('counts') as unknown as TimestampedKeyValueStore<
      string,
      number
    >
    return [...store.range()].map(([key, { value }]) => [key, value])
  }

  test('brings the rows of the changelog back', () => {
    const { task, metrics } = restoring()
    const [changelog] = task.changelogs
    if (changelog === undefined) throw new Error('there is a changelog')
    expect(changelog).toEqual({
      store: 'counts',
      topic: 'app-counts-changelog',
      partition: 1,
      position: 0,
    })

    const rows = changelogBatch(0, [
      ['a', 1, 5],
      ['b', 1, 6],
      ['a', 2, 7],
      ['b', null, 8],
    ])
    expect(task.restore(changelog, rows, 4)).toBe(4)
    expect(changelog.position).toBe(4)
    expect(metrics.recordsRestored.value).toBe(4)
    task.completeRestoration()
    expect(counts(task)).toEqual([['a', 2]])
  })

  test('passes over what it has, and stops at the end offset', () => {
    const { task } = restoring()
    const [changelog] = task.changelogs
    if (changelog === undefined) throw new Error('there is a changelog')
    task.restore(changelog, changelogBatch(0, [['a', 1, 1]]), 2)
    const again = changelogBatch(0, [
      ['a', 9, 1],
      ['b', 2, 2],
      ['c', 3, 3],
    ])

    expect(task.restore(changelog, again, 2)).toBe(1)
    expect(changelog.position).toBe(2)
    task.completeRestoration()
    expect(counts(task)).toEqual([
      ['a', 1],
      ['b', 2],
    ])
  })

  test('reaches an end that is a marker of a transaction', () => {
    const { task } = restoring()
    const [changelog] = task.changelogs
    if (changelog === undefined) throw new Error('there is a changelog')

    expect(task.restore(changelog, batch(0, [['marker', 'x', 1]], true), 1)).toBe(0)
    expect(changelog.position).toBe(1)
  })

  test('of a damaged changelog fails with store and topic', () => {
    const { task } = restoring()
    const [changelog] = task.changelogs
    if (changelog === undefined) throw new Error('there is a changelog')
    const bytes = changelogBatch(0, [['a', 1, 1]])
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)

    const error = thrownBy(() => task.restore(changelog, bytes, 1))
    expect(error.code).toBe('RESTORE_FAILED')
    expect(error.context).toMatchObject({ task: '0_1', store: 'counts', partition: 1 })
  })

  test('begins where the engine is: after the last commit', () => {
    const engine = new MemoryEngine()
    const engines = { engine: () => engine, close: () => undefined }
    const { task } = running(counting({ persistent: true }), { engines })
    task.addRecords(
      'in',
      1,
      batch(0, [
        ['a', '', 1],
        ['b', '', 2],
      ]),
      0,
    )
    task.process(10, Infinity)
    task.prepareCommit()
    task.committed()
    task.close({ clean: true })

    const { task: next } = setup(counting({ persistent: true }), { engines })
    next.initialize([])
    expect(next.changelogs).toMatchObject([{ position: 2 }])
    next.completeRestoration()
    expect(counts(next)).toEqual([
      ['a', 1],
      ['b', 1],
    ])
  })

  test('writes behind what it brings back, with its offset, so that memory is bounded', () => {
    class PersistentEngine extends MemoryEngine {
      override readonly persistent = true
    }
    const engine = new PersistentEngine()
    const engines = { engine: () => engine, close: () => undefined }
    const descriptor = keyValueStore('large', { key: serdes.string, value: serdes.string })
    const topology = new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], ...strings })
      .addProcessor('node', pass, ['source'])
      .addStore({ descriptor, timestamped: true }, ['node'])
      .build()
    const { task } = setup(topology, { engines })
    task.initialize([])
    const [changelog] = task.changelogs
    if (changelog === undefined) throw new Error('there is a changelog')
    const value = 'v'.repeat(900_000)
    let most = 0
    for (let offset = 0; offset < 60; offset += 1) {
      task.restore(changelog, batch(offset, [[`k${offset}`, value, 1]]), 60)
      most = Math.max(most, task.dirtyBytes())
    }

    // Two runs of 16 MiB each, and the batch that came on top.
    expect(most).toBeLessThan(34 * 1024 * 1024)
    // The process dies here; what was written need not be restored again.
    const { task: next } = setup(topology, { engines })
    next.initialize([])
    expect(next.changelogs[0]?.position).toBeGreaterThan(15)
  })

  test('that is given up keeps what it has brought back', () => {
    const engine = new MemoryEngine()
    const engines = { engine: () => engine, close: () => undefined }
    const { task } = setup(counting({ persistent: true }), { engines })
    task.initialize([])
    const [changelog] = task.changelogs
    if (changelog === undefined) throw new Error('there is a changelog')
    task.restore(changelog, changelogBatch(0, [['a', 7, 1]]), 5)
    task.close({ clean: true })

    const { task: next } = setup(counting({ persistent: true }), { engines })
    next.initialize([])
    expect(next.changelogs).toMatchObject([{ position: 1 }])
  })
})

test('a plain store of a processor is written, logged and read', () => {
  const descriptor = keyValueStore('last', {
    key: serdes.string,
    value: serdes.string,
    caching: false,
    persistent: false,
  })
  const topology = new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], ...strings })
    .addProcessor(
      'node',
      (context) => {
        const store = context.store('last') as KeyValueStore<string, string>
        return {
          process: (key, value) => {
            const before = store.get(key as string)
            store.put(key as string, value as string)
            context.forward(key, `${before} then ${String(value)}`)
          },
        }
      },
      ['source'],
    )
    .addStore({ descriptor, timestamped: false }, ['node'])
    .addSink('sink', { topic: 'out', ...strings }, ['node'])
    .build()
  const { task, sink } = running(topology)
  task.addRecords(
    'in',
    1,
    batch(0, [
      ['k', 'a', 1],
      ['k', 'b', 2],
    ]),
    0,
  )
  task.process(10, Infinity)

  expect(sink.take()).toEqual([
    'app-last-changelog-1 k=a@1',
    'out-0 k=undefined then a@1',
    'app-last-changelog-1 k=b@2',
    'out-0 k=a then b@2',
  ])
})
