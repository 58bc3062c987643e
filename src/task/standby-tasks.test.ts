import { expect, test } from 'vitest'
import { AssertionError } from '../base/assert.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { TimestampedKeyValueStore } from '../store/key-value-store.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import type { Topology } from '../topology/topology.ts'
import { StateManager } from './state-manager.ts'
import { StandbyTask } from './standby-task.ts'
import { TaskManager } from './task-manager.ts'
import type { Task, TaskChangelog } from './task.ts'

const string = serdes.string as Serde<unknown>
const changelog = 'app-counts-changelog'

/** Writes behind, as an engine on disk does. */
class PersistentMemory extends MemoryEngine {
  override readonly persistent = true
  closed = 0

  override close(): void {
    this.closed += 1
    super.close()
  }
}

/** in → count in the cached store `counts`. */
function counting(): Topology {
  const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long, caching: true })
  return new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], key: string, value: string })
    .addProcessor(
      'count',
      (context) => {
        const store = context.store('counts') as TimestampedKeyValueStore<string, number>
        return {
          process: (key) => {
            const before = store.get(key as string)?.value ?? 0
            store.put(key as string, before + 1, context.timestamp)
          },
        }
      },
      ['source'],
    )
    .addStore({ descriptor: counts, timestamped: true }, ['count'])
    .build()
}

interface Setup {
  readonly manager: TaskManager
  readonly metrics: StreamsMetrics
  /** By the order of their making. */
  readonly engines: PersistentMemory[]
  /** `key=count` of what was written to the changelog. */
  readonly written: string[]
}

function setup(topology = counting(), kept?: PersistentMemory): Setup {
  const engines: PersistentMemory[] = []
  const written: string[] = []
  const metrics = new StreamsMetrics()
  let next = 100
  const manager = new TaskManager({
    topology,
    applicationId: 'app',
    clock: new ManualClock(5000),
    sink: {
      partitionCount: () => 1,
      send: (_topic, _partition, key, value) => {
        written.push(`${String(key)}=${value === null ? 'null' : Buffer.from(value).at(-1)}`)
        next += 1
      },
      nextOffset: () => next,
    },
    metrics,
    engines: () => {
      let engine: PersistentMemory | undefined
      const open = (): PersistentMemory => {
        const opened = kept ?? new PersistentMemory()
        engines.push(opened)
        return opened
      }
      return { engine: () => (engine ??= open()), close: () => engine?.close() }
    },
    cacheBytesPerTask: 1 << 20,
    partitionCount: () => 1,
    lag: () => 0,
  })
  return { manager, metrics, engines, written }
}

/** Rows of the changelog, from an offset on. */
function rows(baseOffset: number, ...counts: [key: string, count: number | null][]): Buffer {
  const builder = new RecordBatchBuilder()
  for (const [key, count] of counts) {
    const value = count === null ? null : Buffer.from(serdes.long.serialize(count))
    builder.append(Buffer.from(key), value, 7)
  }
  return builder.build({ baseOffset, producerId: -1, producerEpoch: -1, baseSequence: -1 })
}

const words = (...keys: string[]): Buffer => {
  const builder = new RecordBatchBuilder()
  for (const key of keys) builder.append(Buffer.from(key), Buffer.from('x'), 9)
  return builder.build({ baseOffset: 0, producerId: -1, producerEpoch: -1, baseSequence: -1 })
}

function changelogOf(task: Task): TaskChangelog {
  const [found] = task.changelogs
  if (found === undefined) throw new Error('the task has a changelog')
  return found
}

function countOf(task: Task, key: string): number | undefined {
  const store = task.store('counts')
  if (store === undefined || !('readView' in store)) throw new Error('the store is open')
  const view = store.readView()
  if (view.kind !== 'key-value') throw new Error('it is a key-value store')
  return view.getBytes(Buffer.from(key))?.value as number | undefined
}

function run(manager: TaskManager): void {
  manager.initialize('0_0', [])
  manager.completeRestoration('0_0')
}

function commit(manager: TaskManager): void {
  manager.prepareCommit()
  manager.committed()
}

test('a standby follows its changelog, and can be read', () => {
  const { manager, metrics } = setup()
  const standby = manager.standbys.create('0_0')
  expect(standby.state).toBe('running')
  expect(changelogOf(standby)).toMatchObject({ topic: changelog, partition: 0, position: 0 })

  expect(standby.restore(changelogOf(standby), rows(0, ['a', 1], ['b', 2]), Infinity)).toBe(2)
  expect(standby.restore(changelogOf(standby), rows(2, ['a', null]), Infinity)).toBe(1)
  expect(changelogOf(standby).position).toBe(3)
  expect([countOf(standby, 'a'), countOf(standby, 'b')]).toEqual([undefined, 2])
  expect(metrics.standbyRecords.value).toBe(3)
  expect(metrics.recordsRestored.value).toBe(0)
})

test('a task that restores is full until its engine has taken what waits', () => {
  const { manager } = setup()
  const task = manager.create('0_0')
  manager.initialize('0_0', [])
  const key = 'k'.repeat(1000)
  let offset = 0
  while (!task.isRestoreFull(changelogOf(task)) && offset < 100_000) {
    task.restore(changelogOf(task), rows(offset, [`${offset}${key}`, 1]), Infinity)
    offset += 1
  }
  // Two runs of 4 MB, of a little more than 1 kB for each row.
  expect(offset).toBeGreaterThan(7500)
  expect(offset).toBeLessThan(8500)
  let slices = 0
  while (task.isRestoreFull(changelogOf(task)) && slices < 1000) {
    task.writeBehind()
    slices += 1
  }
  expect(slices).toBeLessThan(1000)
  expect(slices).toBeGreaterThan(10)
  expect(countOf(task, `${offset - 1}${key}`)).toBe(1)
})

test('a standby that becomes active keeps its stores open, and begins where it was', () => {
  const { manager, engines, written } = setup()
  const standby = manager.standbys.create('0_0')
  standby.restore(changelogOf(standby), rows(0, ['a', 4], ['b', 2]), Infinity)

  const active = manager.create('0_0')
  expect(standby.state).toBe('closed')
  expect(manager.standbys.all.size).toBe(0)
  expect(countOf(active, 'a')).toBe(4)
  manager.initialize('0_0', [])
  expect(changelogOf(active).position).toBe(2)
  manager.completeRestoration('0_0')
  manager.addRecords('in', 0, words('a', 'c'), 0)
  manager.process(Infinity)
  commit(manager)
  expect(written).toEqual(['a=5', 'c=1'])
  expect(engines.map(({ closed }) => closed)).toEqual([0])
})

test('an active task that becomes a standby keeps its engine, and nothing of its cache', () => {
  const { manager, engines, written } = setup()
  manager.create('0_0')
  run(manager)
  manager.addRecords('in', 0, words('a', 'b'), 0)
  manager.process(Infinity)
  manager.suspend(['0_0'])
  commit(manager)
  expect(written).toEqual(['a=1', 'b=1'])
  manager.park(['0_0'])
  expect([manager.tasks.size, manager.standbys.all.size]).toEqual([0, 0])

  const standby = manager.standbys.create('0_0')
  expect(changelogOf(standby).position).toBe(102)
  standby.restore(changelogOf(standby), rows(102, ['a', 8]), Infinity)
  expect([countOf(standby, 'a'), countOf(standby, 'b')]).toEqual([8, 1])
  expect(engines.map(({ closed }) => closed)).toEqual([0])

  manager.create('0_0')
  run(manager)
  manager.addRecords('in', 0, words('a'), 0)
  manager.process(Infinity)
  commit(manager)
  expect(written.at(-1)).toBe('a=9')
})

test('what is parked and nobody takes over is closed, but for what is awaited', () => {
  const { manager, engines } = setup()
  manager.create('0_0')
  run(manager)
  manager.suspend(['0_0'])
  commit(manager)
  manager.park(['0_0'])

  manager.standbys.closeParked(['0_0'])
  expect(engines.map(({ closed }) => closed)).toEqual([0])
  manager.standbys.closeParked()
  expect(engines.map(({ closed }) => closed)).toEqual([1])
})

test('what is parked and cannot be taken over is closed with the others', () => {
  const { manager, engines } = setup()
  manager.create('0_0')
  run(manager)
  manager.addRecords('in', 0, words('a'), 0)
  manager.process(Infinity)
  manager.suspend(['0_0'])
  commit(manager)
  manager.park(['0_0'])
  const [engine] = engines
  if (engine === undefined) throw new Error('the task had an engine')
  engine.begin = () => {
    throw new Error('the disk is full')
  }
  expect(() => manager.create('0_0')).toThrow('the disk is full')
  expect(engine.closed).toBe(0)
  manager.standbys.closeParked()
  expect(engine.closed).toBe(1)
})

test('a task that has something to commit cannot be parked', () => {
  const { manager } = setup()
  manager.create('0_0')
  run(manager)
  manager.addRecords('in', 0, words('a'), 0)
  manager.process(Infinity)
  manager.suspend(['0_0'])
  expect(() => manager.park(['0_0'])).toThrow('has committed before it closes clean')
})

test('the engine has what a standby has read when it is told so, in slices', () => {
  const { manager, engines } = setup()
  const standby = manager.standbys.create('0_0')
  standby.restore(changelogOf(standby), rows(0, ['a', 1], ['b', 2]), Infinity)
  expect(manager.writeBehind(Infinity)).toBe(false)
  expect(engines[0]?.table('counts').approximateEntryCount()).toBe(0)
  expect(manager.dirtyBytes()).toBeGreaterThan(0)

  manager.standbys.commit()
  expect(manager.writeBehind(Infinity)).toBe(false)
  expect(engines[0]?.table('counts').approximateEntryCount()).toBe(2)
  expect(manager.dirtyBytes()).toBe(0)
})

test('nothing is followed beyond what the group has committed of a topic that is read as well', () => {
  const table = keyValueStore('counts', { key: serdes.string, value: serdes.long })
  const topology = new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], key: string, value: string })
    .addProcessor('node', () => ({ process: () => undefined }), ['source'])
    .addStore({ descriptor: table, timestamped: true, sourceTopic: 'in' }, ['node'])
    .build()
  const { manager } = setup(topology)
  const standby = manager.standbys.create('0_0')
  expect(changelogOf(standby)).toMatchObject({ topic: 'in', limit: 0 })
  standby.limit('in', 1)
  const { limit = Infinity } = changelogOf(standby)
  standby.restore(changelogOf(standby), rows(0, ['a', 1], ['b', 2]), limit)
  expect(changelogOf(standby).position).toBe(1)
  expect([countOf(standby, 'a'), countOf(standby, 'b')]).toEqual([1, undefined])

  manager.create('0_0')
  manager.initialize('0_0', [{ topic: 'in', partition: 0, offset: 2, metadata: '' }])
  expect(changelogOf(manager.find('0_0') as Task)).toMatchObject({ position: 1, limit: 2 })
})

test('where nothing is left of a changelog the position moves on', () => {
  const { manager } = setup()
  const standby = manager.standbys.create('0_0')
  standby.passOver(changelogOf(standby), 40)
  standby.passOver(changelogOf(standby), 30)
  expect(changelogOf(standby).position).toBe(40)
  manager.standbys.close(undefined, { clean: true })
  expect(manager.standbys.all.size).toBe(0)
})

test('nobody writes to the stores of a standby', () => {
  const { engines, metrics } = { engines: new PersistentMemory(), metrics: new StreamsMetrics() }
  const [subtopology] = counting().subtopologies
  const state = new StateManager({
    task: '0_0',
    applicationId: 'app',
    stores: subtopology?.stores ?? [],
    metrics,
    engines: { engine: () => engines, close: () => engines.close() },
    cacheBytesMax: 0,
  })
  const standby = new StandbyTask({ id: '0_0', state, metrics })
  standby.initialize()
  const store = standby.store('counts') as unknown as TimestampedKeyValueStore<string, number>
  expect(() => store.put('a', 1, 1)).toThrow(AssertionError)
})

test('the bytes of caches can change while tasks run', () => {
  const { manager, written } = setup()
  manager.create('0_0')
  run(manager)
  manager.addRecords('in', 0, words('a', 'b'), 0)
  manager.process(Infinity)
  expect(written).toEqual([])
  manager.tasks.get('0_0')?.resizeCaches(1)
  manager.addRecords('in', 0, words('x', 'x', 'c'), 2)
  manager.process(Infinity)
  expect(written).toEqual(['a=1', 'b=1', 'c=1'])
})

test('stores that change their kind are prepared in slices, for a task of either role', () => {
  const descriptor = keyValueStore('counts', {
    key: serdes.string,
    value: serdes.string,
    changelog: false,
  })
  const topology = new InternalTopologyBuilder()
    .addSource('source', { topics: ['in'], key: string, value: string })
    .addProcessor('none', () => ({ process: () => undefined }), ['source'])
    .addStore({ descriptor, timestamped: true }, ['none'])
    .build()
  const without = (): PersistentMemory => {
    const engine = new PersistentMemory()
    engine.table('__layouts').put(Buffer.from('counts'), Buffer.from('key-value'))
    for (const key of ['a', 'b', 'c']) {
      engine.table('counts').put(Buffer.from(key), Buffer.alloc(64 * 1024, key))
    }
    return engine
  }
  const valueOf = (engine: PersistentMemory, key: string): string | undefined =>
    engine.table('counts').get(Buffer.from(key))?.subarray(0, 9).toString('latin1')
  const stamp = '\xff'.repeat(8)

  const engine = without()
  const { manager } = setup(topology, engine)
  manager.create('0_0')
  expect(manager.prepare('0_0')).toBe(true)
  expect(['a', 'b'].map((key) => valueOf(engine, key))).toEqual([`${stamp}a`, 'b'.repeat(9)])
  manager.initialize('0_0', [])
  expect(['a', 'b', 'c'].map((key) => valueOf(engine, key))).toEqual([
    `${stamp}a`,
    `${stamp}b`,
    `${stamp}c`,
  ])

  const stopped = without()
  const half = setup(topology, stopped).manager.standbys
  expect(half.prepare('0_0')).toBe(true)
  expect([...half.parked]).toEqual(['0_0'])
  half.closeParked()
  expect(stopped.closed).toBe(1)

  const followed = without()
  const { standbys } = setup(topology, followed).manager
  while (standbys.prepare('0_0'));
  expect(valueOf(followed, 'c')).toBe(`${stamp}c`)
  expect(standbys.create('0_0').state).toBe('running')
  expect([...standbys.parked]).toEqual([])
})
