import { expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { StreamsError } from '../errors.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { NodeProcessor } from '../processor/processor.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import { TaskManager, type TaskManagerOptions } from './task-manager.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

interface Setup {
  manager: TaskManager
  clock: ManualClock
  metrics: StreamsMetrics
  /** `task:value` of each record, in the order of processing. */
  seen: string[]
  closedEngines: TaskId[]
}

/** Two sub-topologies, reading `left` and `right`, whose code does what `work` says. */
function setup(
  work: (value: string, clock: ManualClock) => void = () => undefined,
  options: Partial<TaskManagerOptions> = {},
): Setup {
  const string = serdes.string as Serde<unknown>
  const seen: string[] = []
  const closedEngines: TaskId[] = []
  const clock = new ManualClock(5000)
  const builder = new InternalTopologyBuilder()
  for (const side of ['left', 'right']) {
    builder.addSource(side, { topics: [side], key: string, value: string }).addProcessor(
      `${side}-node`,
      (context): NodeProcessor => ({
        process: (_key, value) => {
          work(value as string, clock)
          seen.push(`${context.taskId}:${String(value)}`)
          if (value === 'commit') context.commit()
        },
        close: () => {
          if (seen.includes(`${context.taskId}:do not close`)) throw new Error('will not')
        },
      }),
      [side],
    )
  }
  const metrics = new StreamsMetrics()
  const manager = new TaskManager({
    topology: builder.build(),
    applicationId: 'app',
    clock,
    sink: { partitionCount: () => 4, send: () => undefined, nextOffset: () => undefined },
    metrics,
    engines: (task) => {
      const engine = new MemoryEngine()
      return { engine: () => engine, close: () => closedEngines.push(task) }
    },
    cacheBytesPerTask: 1 << 20,
    partitionCount: () => 4,
    lag: () => 0,
    ...options,
  })
  return { manager, clock, metrics, seen, closedEngines }
}

function run(manager: TaskManager, ...ids: TaskId[]): void {
  for (const id of ids) {
    manager.create(id)
    manager.initialize(id, [])
    manager.completeRestoration(id)
  }
}

function batch(...values: string[]): Buffer {
  const builder = new RecordBatchBuilder()
  for (const value of values) builder.append(Buffer.from('k'), Buffer.from(value), 1)
  return builder.build({ baseOffset: 0, producerId: -1, producerEpoch: -1, baseSequence: -1 })
}

test('records go to the task that reads their partition', () => {
  const { manager, seen } = setup()
  run(manager, '0_0', '0_1', '1_0')

  expect(manager.addRecords('left', 1, batch('a'), 0)).toBe(true)
  expect(manager.addRecords('right', 0, batch('b'), 0)).toBe(true)
  expect(manager.bufferedRecords('left', 1)).toBe(1)
  expect(manager.process(Infinity)).toBe(2)
  expect(seen).toEqual(['0_1:a', '1_0:b'])
})

test('records of a partition that nobody reads any more are dropped', () => {
  const { manager } = setup()
  run(manager, '0_0')

  expect(manager.addRecords('left', 3, batch('a'), 0)).toBe(false)
  manager.suspend(['0_0'])
  expect(manager.addRecords('left', 0, batch('a'), 0)).toBe(false)
})

test('tasks work in turn, and go on after the one that worked last', () => {
  const { manager, seen } = setup((_value, clock) => clock.advance(1))
  run(manager, '0_0', '0_1', '0_2')
  for (const partition of [0, 1, 2]) manager.addRecords('left', partition, batch('a'), 0)

  // Each record takes a millisecond, and each call has none: one task works in each call.
  for (let call = 0; call < 3; call += 1) manager.process(0)
  expect(seen).toEqual(['0_0:a', '0_1:a', '0_2:a'])
})

test('tasks that restore do not process', () => {
  const { manager, seen } = setup()
  run(manager, '0_0')
  manager.create('0_1')
  manager.initialize('0_1', [])
  manager.addRecords('left', 1, batch('a'), 0)

  expect(manager.process(Infinity)).toBe(0)
  manager.completeRestoration('0_1')
  expect(manager.process(Infinity)).toBe(1)
  expect(seen).toEqual(['0_1:a'])
})

test('tasks commit together, and the request of one is the request of all', () => {
  const { manager } = setup()
  run(manager, '0_0', '1_2')
  manager.addRecords('left', 0, batch('a'), 0)
  manager.addRecords('right', 2, batch('b', 'commit'), 0)
  expect(manager.commitNeeded).toBe(false)
  manager.process(Infinity)

  expect(manager.commitRequested).toBe(true)
  expect(manager.commitNeeded).toBe(true)
  expect(manager.prepareCommit()).toEqual([
    { topic: 'left', partition: 0, offset: 1, metadata: 'AgAAAAAAAAAB' },
    { topic: 'right', partition: 2, offset: 2, metadata: 'AgAAAAAAAAAB' },
  ])
  manager.committed()
  expect(manager.commitNeeded).toBe(false)
  expect(manager.commitRequested).toBe(false)
})

test('some tasks can be revoked, committed and closed while the others go on', () => {
  const { manager, seen, closedEngines } = setup()
  run(manager, '0_0', '0_1')
  manager.addRecords('left', 0, batch('a'), 0)
  manager.addRecords('left', 1, batch('b'), 0)
  manager.process(Infinity)

  manager.suspend(['0_0'])
  expect(manager.prepareCommit(['0_0'])).toMatchObject([{ topic: 'left', partition: 0, offset: 1 }])
  manager.committed(['0_0'])
  manager.close(['0_0'], { clean: true })

  expect([...manager.tasks.keys()]).toEqual(['0_1'])
  expect(manager.taskOf('left', 0)).toBe(undefined)
  expect(closedEngines).toEqual(['0_0'])
  manager.addRecords('left', 1, batch('b', 'c'), 1)
  manager.process(Infinity)
  expect(seen).toEqual(['0_0:a', '0_1:b', '0_1:c'])
})

test('a failure names the task, and keeps its code', () => {
  const { manager } = setup(() => {
    throw new StreamsError('DISK_FAILED', { path: '/x' })
  })
  run(manager, '0_0', '1_3')
  manager.addRecords('right', 3, batch('a'), 0)

  const error = thrownBy(() => manager.process(Infinity))
  expect(error.code).toBe('DISK_FAILED')
  expect(error.context).toEqual({ path: '/x', task: '1_3' })
})

test('all tasks are closed, also when one fails to close clean', () => {
  const { manager, closedEngines } = setup()
  run(manager, '0_0', '0_1')
  manager.addRecords('left', 0, batch('do not close'), 0)
  manager.process(Infinity)
  manager.prepareCommit()
  manager.committed()

  const error = thrownBy(() => manager.close(undefined, { clean: true }))
  expect(error.message).toBe('The step left-node failed outside of a record: will not.')
  expect(closedEngines).toEqual(['0_0', '0_1'])
  expect(manager.tasks.size).toBe(0)
})

test('tasks are counted by state', () => {
  const { manager, metrics } = setup()
  run(manager, '0_0')
  manager.create('0_1')
  manager.initialize('0_1', [])
  manager.measure()

  expect(metrics.tasksRunning.value).toBe(1)
  expect(metrics.tasksRestoring.value).toBe(1)
  expect(metrics.dirtyBytes.value).toBe(0)
})

test('writing behind with nothing to write ends at once', () => {
  const { manager } = setup()
  expect(manager.writeBehind(Infinity)).toBe(false)
  run(manager, '0_0', '0_1')
  expect(manager.writeBehind(Infinity)).toBe(false)
})
