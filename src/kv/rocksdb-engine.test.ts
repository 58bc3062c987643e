import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hasRocksdb, rocksdbFrom } from '../../test/peers/rocksdb.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'
import { systemDisk } from '../base/disk.ts'
import { createLog, type LogFields } from '../base/log.ts'
import type { KvEngine, KvIterator } from './kv.ts'
import { loadRocksdb } from './rocksdb-binding.ts'
import { rocksdbEngine } from './rocksdb-engine.ts'
import { rocksdbGaugeNames } from './rocksdb-gauges.ts'
import { rocksdbKeyBytesMax } from './rocksdb-keys.ts'
import { resolveRocksdbOptions, type RocksdbOptions } from './rocksdb-options.ts'
import { rocksdb } from './rocksdb-state-engine.ts'

let directory: string
let warnings: LogFields[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millpond-rocksdb-'))
  warnings = []
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

const log = createLog((_level, _message, fields) => warnings.push(fields))
const open = (options?: RocksdbOptions): KvEngine =>
  rocksdbEngine({ disk: systemDisk, log, options, from: rocksdbFrom })(directory)
const get = (engine: KvEngine, key: string): string | undefined =>
  engine.table('t').get(Buffer.from(key))?.toString()
const from = JSON.stringify(rocksdbFrom)
const moduleUrl = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)

const padded = (index: number): string => String(index).padStart(6, '0')

function fill(
  engine: KvEngine,
  options: { table?: string; rows: number; valueBytes: number },
): void {
  const batch = engine.batch()
  const table = engine.table(options.table ?? 't')
  for (let index = 0; index < options.rows; index += 1) {
    batch.put(table, Buffer.from(padded(index)), Buffer.alloc(options.valueBytes, index))
  }
  batch.commit()
}

const keys = (iterator: KvIterator): string[] => [...iterator].map(({ key }) => String(key))

describe.runIf(hasRocksdb)('the engine', () => {
  test('tables and rows outlive it', () => {
    {
      using engine = open()
      engine.table('t').put(Buffer.from('a'), Buffer.from('1'))
      engine.table('u')
    }
    using engine = open()
    expect(engine.tableNames()).toEqual(['t', 'u'])
    expect(get(engine, 'a')).toBe('1')
    expect(warnings).toEqual([])
  })

  test('an open transaction is lost with it', () => {
    {
      using engine = open()
      engine.begin().put(engine.table('t'), Buffer.from('a'), Buffer.from('1'))
    }
    using engine = open()
    expect(get(engine, 'a')).toBeUndefined()
  })

  test('keys of 8 MiB are kept; longer ones are refused where they are written, and never found', () => {
    using engine = open()
    const table = engine.table('t')
    const longest = Buffer.alloc(rocksdbKeyBytesMax, 'k')
    const tooLong = Buffer.alloc(rocksdbKeyBytesMax + 1, 'k')
    table.put(longest, Buffer.from('1'))
    expect(table.get(longest)?.toString()).toBe('1')
    using rows = table.range()
    expect(rows.next().value?.key.length).toBe(rocksdbKeyBytesMax)
    const error = thrownBy(() => table.put(tooLong, Buffer.from('1')))
    expect(error.code).toBe('KEY_TOO_LONG')
    expect(error.message).toBe(
      "A key of 8388609 bytes is longer than the engine's limit of 8388608 bytes.",
    )
    const transaction = engine.begin()
    const put = (): void => transaction.put(table, tooLong, Buffer.from('1'))
    expect(thrownBy(put).code).toBe('KEY_TOO_LONG')
    transaction.delete(table, tooLong)
    transaction.discard()
    table.delete(tooLong)
    expect(table.get(tooLong)).toBeUndefined()
  })

  test('scans of many rows, and of rows that are large, are whole, in both directions', () => {
    using engine = open()
    fill(engine, { rows: 3000, valueBytes: 10 })
    fill(engine, { table: 'large', rows: 7, valueBytes: 300_000 })
    engine.table('after').put(Buffer.alloc(0), Buffer.alloc(300_000))
    using snapshot = engine.snapshot()
    for (const reader of [engine, snapshot]) {
      const all = Array.from({ length: 3000 }, (_, index) => padded(index))
      expect(keys(reader.table('t').range())).toEqual(all)
      expect(keys(reader.table('t').range({ reverse: true }))).toEqual(all.toReversed())
      const large = all.slice(0, 7)
      expect(keys(reader.table('large').range())).toEqual(large)
      expect(keys(reader.table('large').range({ reverse: true }))).toEqual(large.toReversed())
      const to = Buffer.from(padded(5))
      expect(keys(reader.table('large').range({ to, toExclusive: true, reverse: true }))).toEqual(
        large.slice(0, 5).toReversed(),
      )
    }
  })

  test('readers of a snapshot take turns, whatever is written meanwhile', () => {
    using engine = open()
    fill(engine, { rows: 1000, valueBytes: 1 })
    fill(engine, { table: 'u', rows: 1000, valueBytes: 1 })
    using snapshot = engine.snapshot()
    const from = Buffer.from(padded(500))
    const scans = [
      snapshot.table('t').range(),
      snapshot.table('t').range({ reverse: true }),
      snapshot.table('u').range({ from }),
      snapshot.table('u').range({ to: from, reverse: true }),
    ]
    const seen: string[][] = scans.map(() => [])
    engine.dropTable('u')
    for (let step = 0; step < 1000; step += 1) {
      scans.forEach((scan, index) => {
        const { value } = scan.next()
        if (value !== undefined) seen[index]?.push(String(value.key))
      })
      const key = Buffer.from(padded(999 - step))
      expect(snapshot.table('t').get(key)).toEqual(Buffer.alloc(1, 999 - step))
      engine.table('t').delete(key)
    }
    const all = Array.from({ length: 1000 }, (_, index) => padded(index))
    expect(seen).toEqual([all, all.toReversed(), all.slice(500), all.slice(0, 501).toReversed()])
  })

  test('iterators of a snapshot that is closed go on, and end with the engine', () => {
    const engine = open()
    fill(engine, { rows: 100, valueBytes: 1 })
    const snapshot = engine.snapshot()
    const scan = snapshot.table('t').range()
    const other = snapshot.table('t').range({ reverse: true })
    snapshot.close()
    engine.dropTable('t')
    expect(keys(scan)).toHaveLength(100)
    expect(engine.metrics()).toMatchObject({ openIterators: 1, openSnapshots: 0 })
    engine.close()
    expect(other.next().done).toBe(true)
  })

  test('counts exactly as long as rows are few, and is near when they are many', () => {
    const rows = 40_000
    {
      using engine = open()
      const table = engine.table('t')
      fill(engine, { rows: 1024, valueBytes: 1 })
      expect(table.approximateEntryCount()).toBe(1024)
      for (let round = 0; round < 3; round += 1) fill(engine, { rows, valueBytes: 1 })
      const transaction = engine.begin()
      for (let index = 0; index < rows / 2; index += 1) {
        const key = Buffer.from(padded(index))
        // What a batch does to a row is what it does to it last.
        transaction.put(table, key, key)
        transaction.delete(table, key)
      }
      expect(table.approximateEntryCount()).toBeGreaterThan(rows * 0.9)
      expect(table.approximateEntryCount()).toBeLessThan(rows * 1.1)
      transaction.commit()
    }
    using engine = open()
    const count = engine.table('t').approximateEntryCount()
    expect(count).toBeGreaterThan(rows * 0.45)
    expect(count).toBeLessThan(rows * 0.55)
    engine.dropTable('t')
    expect(engine.table('t').approximateEntryCount()).toBe(0)
  })

  test('rows that a table left behind are gone when the database is opened again', () => {
    {
      using engine = open()
      engine.table('kept').put(Buffer.from('a'), Buffer.from('1'))
      const batch = engine.batch()
      fill(engine, { rows: 5, valueBytes: 1 })
      for (let index = 0; index < 500; index += 1) {
        batch.put(engine.table('t'), Buffer.from(padded(index)), Buffer.from('left behind'))
      }
      engine.dropTable('t')
      batch.commit()
      expect(engine.tableNames()).toEqual(['kept'])
    }
    for (let time = 0; time < 2; time += 1) {
      using engine = open()
      expect(engine.tableNames()).toEqual(['kept'])
      expect(keys(engine.table('kept').range())).toEqual(['a'])
      for (const name of ['t', 'new']) {
        expect(keys(engine.table(name).range())).toEqual([])
        expect(engine.table(name).approximateEntryCount()).toBe(0)
        engine.dropTable(name)
      }
    }
  })

  test('tells what Java’s metrics tell', () => {
    using engine = open({ cacheBytes: 3 * 1024 * 1024 })
    fill(engine, { rows: 100, valueBytes: 1 })
    const gauges = engine.gauges?.() ?? new Map<string, number>()
    expect([...gauges.keys()]).toEqual(rocksdbGaugeNames)
    expect([...gauges.values()].every(Number.isFinite)).toBe(true)
    expect(gauges.get('block-cache-capacity')).toBe(3 * 1024 * 1024)
    // With the format and the two rows of the table in the catalogue.
    expect(gauges.get('num-entries-active-mem-table')).toBeGreaterThanOrEqual(102)
  })

  test('options are what RocksDB is told', () => {
    const told = (options?: RocksdbOptions): Map<string, string> => {
      open(options).close()
      const home = join(directory, 'rocksdb')
      const [name = ''] = readdirSync(home)
        .filter((file) => file.startsWith('OPTIONS'))
        .sort()
        .reverse()
      const lines = readFileSync(join(home, name), 'utf8').split('\n')
      rmSync(home, { recursive: true })
      return new Map(lines.map((line) => line.trim().split('=', 2) as [string, string]))
    }
    const plain = told()
    expect(plain.get('compression')).toBe('kNoCompression')
    expect(plain.get('compaction_style')).toBe('kCompactionStyleUniversal')
    expect(plain.get('block_size')).toBe('4096')
    expect(plain.get('filter_policy')).toBe('bloomfilter:10:false')
    expect(plain.get('write_buffer_size')).toBe(String(16 * 1024 * 1024))
    const special = told({
      cacheBytes: 0,
      blockBytes: 16_384,
      bloomBitsPerKey: 0,
      compression: 'zstd',
      writeBufferBytes: 4 * 1024 * 1024,
    })
    expect(special.get('compression')).toBe('kZSTD')
    expect(special.get('no_block_cache')).toBe('true')
    expect(special.get('block_size')).toBe('16384')
    expect(special.get('filter_policy')).toBe('nullptr')
    expect(special.get('write_buffer_size')).toBe(String(1024 * 1024))
    expect(special.get('wal_compression')).toBe('kNoCompression')
  })

  test('the engine of two threads: each opens its own, and a thread that ends closes it', () => {
    const tsx = new URL('../../node_modules/tsx/dist/esm/api/index.mjs', import.meta.url).href
    const program = join(directory, 'program.mjs')
    writeFileSync(
      program,
      `
      import { parentPort, workerData } from 'node:worker_threads'
      import { register } from ${JSON.stringify(tsx)}
      if (parentPort !== null) register()
      const { systemDisk } = await import(${moduleUrl('../base/disk.ts')})
      const { rocksdbEngine } = await import(${moduleUrl('rocksdb-engine.ts')})
      export const open = (directory) => rocksdbEngine({ disk: systemDisk, from: ${from} })(directory)
      if (parentPort !== null) {
        const engine = open(workerData)
        for (let row = 0; row < 1000; row += 1) {
          engine.table('t').put(Buffer.from(String(row)), Buffer.from('1'))
        }
        globalThis.held = [engine.table('t').range(), engine.snapshot(), engine]
        globalThis.held[0].next()
        parentPort.on('message', () => undefined)
        parentPort.postMessage('written')
      }`,
    )
    const other = join(directory, 'other')
    mkdirSync(other)
    const main = `
      import { once } from 'node:events'
      import { Worker } from 'node:worker_threads'
      const { open } = await import(${JSON.stringify(program)})
      const engine = open(process.argv[1])
      const worker = new Worker(${JSON.stringify(program)}, {
        workerData: ${JSON.stringify(other)},
        execArgv: [],
      })
      await once(worker, 'message')
      engine.table('t').put(Buffer.from('a'), Buffer.from('1'))
      await worker.terminate()
      engine.table('t').put(Buffer.from('b'), Buffer.from('1'))
      const again = open(${JSON.stringify(other)})
      console.log(again.table('t').approximateEntryCount(), engine.table('t').approximateEntryCount())
      again.close()
      engine.close()`
    const { stdout, stderr, status } = run(main)
    expect({ stdout, stderr, status }).toEqual({ stdout: '1000 2\n', stderr: '', status: 0 })
  })

  test.each([
    ['ends', '', 0],
    ['exits', 'process.exit(7)', 7],
    ['fails', 'throw new Error("on purpose")', 1],
  ])('a process that %s with open engines and readers does not crash', (_name, end, expected) => {
    const { status, signal } = run(`
      const { systemDisk } = await import(${moduleUrl('../base/disk.ts')})
      const { rocksdbEngine } = await import(${moduleUrl('rocksdb-engine.ts')})
      const engine = rocksdbEngine({ disk: systemDisk, from: ${from} })(process.argv[1])
      for (let row = 0; row < 1000; row += 1) engine.table('t').put(Buffer.from(String(row)), Buffer.from('1'))
      globalThis.held = [engine.table('t').range(), engine.snapshot(), engine.begin(), engine]
      held[0].next()
      ${end}`)
    expect({ status, signal }).toEqual({ status: expected, signal: null })
    using engine = open()
    expect(engine.table('t').approximateEntryCount()).toBe(1000)
    expect(warnings).toEqual([])
  })

  test('no native code is loaded before an engine is opened', () => {
    const { stdout } = run(`
      const { rocksdb } = await import(${moduleUrl('../rocksdb/index.ts')})
      await import(${moduleUrl('../index.ts')})
      rocksdb().factory({})
      const loaded = process.report.getReport().sharedObjects.filter((path) => path.includes('rocksdb'))
      console.log(JSON.stringify(loaded))`)
    expect(JSON.parse(stdout)).toEqual([])
  })
})

function run(script: string): {
  stdout: string
  stderr: string
  status: number | null
  signal: string | null
} {
  const args = ['--import', 'tsx', '--input-type=module', '-e', script, directory]
  return spawnSync(process.execPath, args, { encoding: 'utf8' })
}

describe('the package', () => {
  test('is asked for where it is missing', () => {
    const error = thrownBy(() => loadRocksdb('/nowhere/at-all.js'))
    expect(error.code).toBe('ENGINE_UNAVAILABLE')
    expect(error.message).toBe(
      'The store engine rocksdb cannot be loaded here: the package is not there (npm install @nxtedition/rocksdb@12.2.12). Keep the state in memory with { persistent: false }.',
    )
  })

  test('is refused in another version', () => {
    const home = join(directory, 'node_modules/@nxtedition/rocksdb')
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{"name":"@nxtedition/rocksdb","version":"15.0.0"}')
    const error = thrownBy(() => loadRocksdb(join(directory, 'index.js')))
    expect(error.message).toContain(
      'version 15.0.0 of @nxtedition/rocksdb is installed, and 12.2.12 is needed',
    )
  })

  test('is refused when its binary does not load', () => {
    const home = join(directory, 'node_modules/@nxtedition/rocksdb')
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{"name":"@nxtedition/rocksdb","version":"12.2.12"}')
    writeFileSync(join(home, 'binding.js'), 'throw new Error("No native build was found")')
    const error = thrownBy(() => loadRocksdb(join(directory, 'index.js')))
    expect(error.code).toBe('ENGINE_UNAVAILABLE')
    expect(error.message).toContain('No native build was found')
  })

  test('is that of the optional dependency', () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(text) as Record<string, object>
    expect(peerDependencies).toMatchObject({ '@nxtedition/rocksdb': '12.2.12' })
    expect(peerDependenciesMeta).toMatchObject({ '@nxtedition/rocksdb': { optional: true } })
  })
})

test.each<[string, unknown, string]>([
  [
    'an option that is not there',
    { blocks: 1 },
    'engine.blocks is not valid: there is no such option of rocksdb()',
  ],
  ['a cache that is no number', { cacheBytes: '1' }, 'not "1"'],
  ['a cache beyond 32 bits', { cacheBytes: 2 ** 32 }, 'from 0 to 4294967295'],
  ['a block of nothing', { blockBytes: 0 }, 'from 1024'],
  ['half a bit', { bloomBitsPerKey: 0.5 }, 'a whole number'],
  ['a write buffer that is too small', { writeBufferBytes: 1000 }, 'from 1048576'],
  ['a compression that is not there', { compression: 'lz4' }, "it must be 'none' or 'zstd'"],
])('options are checked: %s', (_name, options, text) => {
  const error = thrownBy(() => rocksdb(options as RocksdbOptions))
  expect(error.code).toBe('CONFIG_INVALID')
  expect(error.message).toContain(text)
})

test('an option that is undefined has its default', () => {
  expect(resolveRocksdbOptions({ cacheBytes: undefined }).cacheBytes).toBe(50 * 1024 * 1024)
})
