import { expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { KeyValueStore } from '../store/key-value-store.ts'
import { noHeaders } from '../store/state-store.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import { GlobalTask } from './global-task.ts'

type Rows = KeyValueStore<string, string>

const put: NodeSupplier = (context) => {
  const store = context.store('kept') as Rows
  return { process: (key, value) => store.put(String(key), `put ${String(value)}`) }
}

/** A task with one global store, of the topic `rows` with two partitions. */
function taskOf(
  options: {
    supplier?: NodeSupplier
    reprocessOnRestore?: boolean
    value?: Serde<unknown>
    onDeserializationError?: 'continue'
  } = {},
): { task: GlobalTask; metrics: StreamsMetrics } {
  const { supplier = put, reprocessOnRestore = true, onDeserializationError } = options
  const value = options.value ?? (serdes.string as Serde<unknown>)
  const descriptor = keyValueStore('kept', { key: serdes.string, value: serdes.string })
  const { globalStores } = new InternalTopologyBuilder()
    .addGlobalStore(
      { descriptor, timestamped: false },
      {
        topic: 'rows',
        key: serdes.string as Serde<unknown>,
        value,
        source: 'source',
        processor: 'keep',
        supplier,
        reprocessOnRestore,
      },
    )
    .build()
  const metrics = new StreamsMetrics()
  const engine = new MemoryEngine()
  const task = new GlobalTask({
    applicationId: 'app',
    globalStores,
    clock: new ManualClock(),
    metrics,
    engines: { engine: () => engine, close: () => engine.close() },
    cacheBytesMax: 0,
    partitionCount: () => 2,
    onDeserializationError,
  })
  task.open()
  return { task, metrics }
}

const bytes = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text))

function batch(
  baseOffset: number,
  ...records: [key: string | null, value: string | null][]
): Buffer {
  const builder = new RecordBatchBuilder()
  builder.reset()
  for (const [key, value] of records) {
    builder.append(bytes(key), bytes(value), 5, noHeaders)
  }
  return builder.build({ baseOffset, producerId: -1, producerEpoch: -1, baseSequence: -1 })
}

const rowsOf = (task: GlobalTask): [string, string][] => [
  ...(task.connectedStore('kept') as unknown as Rows).range(),
]

test('a table is restored as it is in its topic, past its processor', () => {
  const { task, metrics } = taskOf({ reprocessOnRestore: false })
  const restored = task.restore('rows', 0, batch(0, ['a', 'A'], [null, 'N'], ['b', 'B']), 0)
  expect(restored).toBe(2)
  task.restore('rows', 1, batch(0, ['b', null], ['c', 'C']), 0)
  expect(rowsOf(task)).toEqual([
    ['a', 'A'],
    ['c', 'C'],
  ])
  expect(task.inputs.map(({ position }) => position)).toEqual([3, 2])
  expect(metrics.recordsRestored.value).toBe(4)
})

test('when it is restored, a table follows its topic through its processor', () => {
  const { task, metrics } = taskOf({ reprocessOnRestore: false })
  task.restore('rows', 0, batch(0, ['a', 'A']), 0)
  expect(task.update('rows', 0, batch(1, ['a', 'B']), 1)).toBe(1)
  expect(rowsOf(task)).toEqual([['a', 'put B']])
  expect(metrics.recordsProcessed.value).toBe(1)
})

test('a store with a processor is restored through it, without records that have no key', () => {
  const { task } = taskOf()
  expect(task.restore('rows', 0, batch(0, ['a', 'A'], [null, 'N']), 0)).toBe(1)
  expect(rowsOf(task)).toEqual([['a', 'put A']])
  // Later they reach the processor, as in Kafka Streams.
  task.update('rows', 0, batch(2, [null, 'N']), 2)
  expect(rowsOf(task)).toEqual([
    ['a', 'put A'],
    ['null', 'put N'],
  ])
})

test('records before the position are passed over', () => {
  const { task } = taskOf({ reprocessOnRestore: false })
  task.restore('rows', 0, batch(0, ['a', 'A'], ['b', 'B']), 1)
  expect(rowsOf(task)).toEqual([['b', 'B']])
  task.update('rows', 0, batch(0, ['a', 'A'], ['b', 'B'], ['c', 'C']), 2)
  expect(rowsOf(task)).toEqual([
    ['b', 'B'],
    ['c', 'put C'],
  ])
})

test('a record that cannot be read fails the task, or is passed over and counted', () => {
  const value = serdes.long as Serde<unknown>
  const { task } = taskOf({ value })
  expect(() => task.restore('rows', 1, batch(7, ['a', 'A']), 7)).toThrow(
    expect.objectContaining({
      code: 'RECORD_UNREADABLE',
      context: expect.objectContaining({ task: '-1_-1', topic: 'rows', partition: 1, offset: 7 }),
    }),
  )
  const lenient = taskOf({ value, onDeserializationError: 'continue' })
  expect(lenient.task.restore('rows', 1, batch(7, ['a', 'A']), 7)).toBe(0)
  expect(lenient.task.inputs[1]?.position).toBe(8)
  expect(lenient.metrics.droppedRecords()).toEqual(new Map([['deserialization-error', 1]]))
})

test('others read a global store, and cannot write it', () => {
  const { task } = taskOf()
  task.update('rows', 0, batch(0, ['a', 'A']), 0)
  const store = task.globalStore('kept') as Rows
  expect(store.name).toBe('kept')
  expect(store.get('a')).toBe('put A')
  expect([...store.range()]).toEqual([['a', 'put A']])
  expect([...store.prefix(Buffer.from('a'))]).toEqual([['a', 'put A']])
  expect(store.approximateEntryCount()).toBe(1)
  const refused = expect.objectContaining({ code: 'STORE_READ_ONLY', context: { store: 'kept' } })
  expect(() => store.put('a', 'x')).toThrow(refused)
  expect(() => store.putIfAbsent('b', 'x')).toThrow(refused)
  expect(() => store.delete('a')).toThrow(refused)
  expect(rowsOf(task)).toEqual([['a', 'put A']])
  expect(task.globalStore('other')).toBeUndefined()
})

test('its processor forwards to nobody, and has no stream time and no punctuations', () => {
  const failing = (use: (context: Parameters<NodeSupplier>[0]) => void): GlobalTask =>
    taskOf({ supplier: (context) => ({ process: () => use(context) }) }).task
  const process = (task: GlobalTask) => (): number =>
    task.update('rows', 0, batch(0, ['a', 'A']), 0)
  expect(process(failing((context) => context.forward('a', 'A')))()).toBe(1)
  expect(process(failing((context) => context.commit()))()).toBe(1)
  expect(process(failing((context) => void context.streamTime))).toThrow(
    'The step keep failed on the record at rows-0 offset 0: for a global store there is no stream time.',
  )
  expect(
    process(failing((context) => void context.schedule(1, 'stream-time', () => undefined))),
  ).toThrow('the processor of a global store cannot schedule punctuations')
})

test('a processor that cannot be made says which step it is', () => {
  const supplier: NodeSupplier = () => {
    throw new Error('no configuration')
  }
  expect(() => taskOf({ supplier })).toThrow(
    'The step keep failed outside of a record: no configuration.',
  )
})

test('its processor is closed once, also when the task is given up', () => {
  let closed = 0
  const supplier: NodeSupplier = () => ({
    process: () => undefined,
    close: () => {
      closed += 1
      throw new Error('too late')
    },
  })
  const { task } = taskOf({ supplier })
  task.close({ clean: false })
  task.close({ clean: false })
  expect(closed).toBe(1)
  expect(() => taskOf({ supplier }).task.close({ clean: true })).toThrow('too late')
})
