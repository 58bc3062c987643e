import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hasRocksdb, rocksdbFrom } from '../../test/peers/rocksdb.ts'
import { systemDisk } from '../base/disk.ts'
import { createLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import { rocksdbStateEngine } from '../kv/rocksdb-state-engine.ts'
import { MetricsRegistry } from '../metrics/registry.ts'
import { OffsetTable } from './offset-table.ts'
import { StateDirectory } from './state-directory.ts'

const options = (disk: MemoryDisk, seed = 1) => ({
  disk,
  clock: new ManualClock(),
  random: seededRandom(seed),
  stateDir: '/state',
  applicationId: 'app',
})

test('the process id is made once, and stays over restarts', () => {
  const disk = new MemoryDisk()
  const first = StateDirectory.open(options(disk, 1))
  const { processId } = first
  expect(processId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  first.close()
  const second = StateDirectory.open(options(disk, 2))
  expect(second.processId).toBe(processId)
  expect(disk.readFile('/state/app/kafka-streams-process-metadata')?.toString()).toBe(
    `{"processId":"${processId}"}\n`,
  )
})

test('a process file that makes no sense is replaced', () => {
  const disk = new MemoryDisk()
  disk.makeDirectory('/state/app')
  for (const text of ['', '{', '{"processId":7}', '{"processId":"../.."}', 'null']) {
    disk.writeFileAtomic('/state/app/kafka-streams-process-metadata', Buffer.from(text))
    const directory = StateDirectory.open(options(disk))
    expect(directory.processId).toMatch(/^[0-9a-f-]{36}$/)
    directory.close()
  }
})

test('a directory has one owner at a time', () => {
  const disk = new MemoryDisk()
  const first = StateDirectory.open(options(disk))
  expect(() => StateDirectory.open(options(disk))).toThrow(
    expect.objectContaining({ code: 'STATE_DIRECTORY_LOCKED' }),
  )
  first.close()
  first.close()
  StateDirectory.open(options(disk)).close()
})

test('an owner whose directory another process has taken is told once', () => {
  const disk = new MemoryDisk()
  const clock = new ManualClock()
  const heard: string[] = []
  const onLost = ({ code }: StreamsError): void => {
    heard.push(code)
  }
  const directory = StateDirectory.open({ ...options(disk), clock, onLost })
  clock.advance(10_000)
  expect(heard).toEqual([])
  disk.crash('nothing')
  clock.advance(10_000)
  expect(heard).toEqual(['STATE_DIRECTORY_LOCKED'])
  directory.close()
})

test('tasks are what has a directory of the form of a task id', () => {
  const disk = new MemoryDisk()
  const directory = StateDirectory.open(options(disk))
  expect(directory.tasks()).toEqual([])
  for (const name of ['0_0', '1_12', 'global', '1_', '_1', '1_2_3'])
    disk.makeDirectory(`/state/app/${name}`)
  expect(directory.tasks()).toEqual(['0_0', '1_12'])
  directory.removeTask('0_0')
  expect(directory.tasks()).toEqual(['1_12'])
  directory.removeAll()
  expect(directory.tasks()).toEqual([])
  expect(disk.list('/state/app')).toEqual(expect.arrayContaining(['1_', '_1']))
  // The global stores are of no task, but their state is the application's.
  expect(disk.list('/state/app')).not.toContain('global')
})

test('state that is not used for ten minutes is deleted, and what is used is not', () => {
  const disk = new MemoryDisk()
  disk.makeDirectory('/state/app/0_0')
  const clock = new ManualClock()
  const directory = StateDirectory.open({ ...options(disk), clock })
  clock.advance(300_000)
  disk.makeDirectory('/state/app/0_1')
  clock.advance(300_000)
  expect(directory.tasks()).toEqual(['0_1'])
  clock.advance(300_000)
  expect(directory.tasks()).toEqual(['0_1'])
  clock.advance(60_000)
  expect(directory.tasks()).toEqual([])
  directory.close()
  expect(clock.timerCount).toBe(0)
})

test('the state of a task is kept while it is here, and for ten minutes when it goes', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'millpond-state-'))
  const clock = new ManualClock()
  const directory = StateDirectory.open({
    ...options(new MemoryDisk()),
    disk: systemDisk,
    clock,
    stateDir,
  })
  try {
    const engines = directory.engines('0_0')
    engines.engine(true)
    clock.advance(3_600_000)
    expect(directory.tasks()).toEqual(['0_0'])
    engines.close()
    clock.advance(599_000)
    const again = directory.engines('0_0')
    again.engine(true)
    engines.close()
    clock.advance(3_600_000)
    expect(directory.tasks()).toEqual(['0_0'])
    again.close()
    again.close()
    clock.advance(660_000)
    expect(directory.tasks()).toEqual([])
  } finally {
    directory.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
})

test('how far stores are is known without opening their tasks', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'millpond-state-'))
  const directory = StateDirectory.open({
    ...options(new MemoryDisk()),
    disk: systemDisk,
    stateDir,
  })
  try {
    const write = (offset: number): void => {
      const engines = directory.engines('0_1')
      const engine = engines.engine(true)
      const batch = engine.batch()
      const offsets = new OffsetTable(engine)
      offsets.put(batch, 'counts', offset)
      offsets.put(batch, 'sums', 7)
      batch.commit()
      // Whoever has it knows better.
      expect(directory.storedOffsets()).toEqual(new Map())
      engines.close()
    }
    write(40)
    expect(directory.storedOffsets()).toEqual(
      new Map([['0_1', new Map(Object.entries({ counts: 40, sums: 7 }))]]),
    )
    write(41)
    expect(directory.storedOffsets().get('0_1')?.get('counts')).toBe(41)
    directory.removeTask('0_1')
    expect(directory.storedOffsets()).toEqual(new Map())
  } finally {
    directory.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
})

test('a task whose engine cannot be opened has nothing to tell', () => {
  const disk = new MemoryDisk()
  const warnings: string[] = []
  const log = createLog((_level, message) => warnings.push(message))
  const refuse = (): never => {
    throw new StreamsError('DISK_FAILED', { path: 'data.mdb', detail: 'permission denied' })
  }
  const engine = { kind: 'state-engine', name: 'lmdb', factory: () => refuse } as const
  const directory = StateDirectory.open({ ...options(disk), engine, log })
  disk.makeDirectory('/state/app/0_0/lmdb')
  disk.makeDirectory('/state/app/0_1')
  expect([...directory.storedOffsets()]).toEqual([
    ['0_0', new Map()],
    ['0_1', new Map()],
  ])
  expect(warnings).toEqual(['how far the state of a task is could not be read'])
  directory.close()
})

test('stores in memory leave no trace on the disk', () => {
  const disk = new MemoryDisk()
  const directory = StateDirectory.open(options(disk))
  const engines = directory.engines('0_0')
  expect(engines.engine(false).persistent).toBe(false)
  expect(engines.engine(false)).toBe(engines.engine(false))
  engines.close()
  expect(directory.tasks()).toEqual([])
})

test('a disk that fails is a failure of the state directory, and leaves no lock', () => {
  const disk = new MemoryDisk()
  disk.failWrite()
  expect(() => StateDirectory.open(options(disk))).toThrow(
    expect.objectContaining({
      code: 'STATE_DIRECTORY_FAILED',
      message: expect.stringContaining('The state directory /state/app cannot be used'),
    }),
  )
  StateDirectory.open(options(disk)).close()
})

test.runIf(hasRocksdb)(
  'a directory belongs to the engine that wrote it, until it is emptied',
  () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'millpond-state-'))
    const metrics = new MetricsRegistry()
    const rocksdb = { engine: rocksdbStateEngine({ from: rocksdbFrom }), metrics }
    const at = (more: object): StateDirectory =>
      StateDirectory.open({ ...options(new MemoryDisk()), disk: systemDisk, stateDir, ...more })
    const key = Buffer.from('a')
    try {
      {
        const directory = at(rocksdb)
        const engines = directory.engines('0_0')
        engines.engine(true).table('t').put(key, Buffer.from('1'))
        expect(metrics.families().map(({ name }) => name)).toContain(
          'millpond_rocksdb_estimate_num_keys',
        )
        engines.close()
        expect(metrics.families()).toEqual([])
        directory.close()
      }
      {
        const directory = at({})
        const engines = directory.engines('0_0')
        expect(() => engines.engine(true)).toThrow(
          expect.objectContaining({
            code: 'STATE_ENGINE_DIFFERS',
            message: `The state in ${stateDir}/app/0_0 was written by rocksdb, and the engine is lmdb. Configure rocksdb, or delete the state with cleanUp(): it is then restored from the changelogs.`,
          }),
        )
        engines.close()
        directory.close()
      }
      {
        const directory = at(rocksdb)
        const engines = directory.engines('0_0')
        expect(engines.engine(true).table('t').get(key)?.toString()).toBe('1')
        engines.close()
        directory.removeAll()
        directory.close()
      }
      const directory = at({})
      const engines = directory.engines('0_0')
      expect(engines.engine(true).table('t').get(key)).toBeUndefined()
      engines.close()
      directory.close()
    } finally {
      rmSync(stateDir, { recursive: true, force: true })
    }
  },
)
