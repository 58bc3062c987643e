/** What becomes of files that are damaged, cut off, in the way, or too large for the disk. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hasRocksdb, rocksdbFrom } from '../../test/peers/rocksdb.ts'
import { systemDisk } from '../base/disk.ts'
import { createLog } from '../base/log.ts'
import { StreamsError } from '../errors.ts'
import type { KvEngine } from './kv.ts'
import { loadRocksdb } from './rocksdb-binding.ts'
import { rocksdbEngine } from './rocksdb-engine.ts'
import { RocksdbKeeper } from './rocksdb-keeper.ts'
import type { RocksdbOptions } from './rocksdb-options.ts'

let directory: string
let home: string
let reasons: unknown[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millpond-rocksdb-'))
  home = join(directory, 'rocksdb')
  reasons = []
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

const log = createLog((_level, _message, fields) =>
  reasons.push(fields['reason'] ?? fields['error']),
)
const openIn = (where: string, options?: RocksdbOptions): KvEngine =>
  rocksdbEngine({ disk: systemDisk, log, options, from: rocksdbFrom })(where)
const open = (options?: RocksdbOptions): KvEngine => openIn(directory, options)
const get = (engine: KvEngine, key: string): string | undefined =>
  engine.table('t').get(Buffer.from(key))?.toString()
const files = (pattern: RegExp): string[] =>
  readdirSync(home)
    .filter((name) => pattern.test(name))
    .map((name) => join(home, name))

function failureCode(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof StreamsError) return error.code
    throw error
  }
  throw new Error('nothing was thrown')
}

function writeOne(): void {
  using engine = open()
  engine.table('t').put(Buffer.from('a'), Buffer.from('1'))
}

/** Overwrites the middle of a file. */
function damage(path: string, bytes: Buffer, position = Math.floor(statSync(path).size / 2)): void {
  const content = readFileSync(path)
  bytes.copy(content, position)
  writeFileSync(path, content)
}

describe.runIf(hasRocksdb)('files that are damaged', () => {
  test.each([
    ['the file that names the others', /^CURRENT$/],
    ['the list of files', /^MANIFEST/],
  ])('%s: all are wiped, with a warning', (_name, pattern) => {
    writeOne()
    for (const path of files(pattern)) writeFileSync(path, Buffer.alloc(64, 'x'))
    using engine = open()
    expect(get(engine, 'a')).toBeUndefined()
    engine.table('t').put(Buffer.from('a'), Buffer.from('2'))
    expect(get(engine, 'a')).toBe('2')
    expect(reasons).toHaveLength(1)
    expect(reasons[0]).toContain('Corruption')
  })

  test('rows: a read fails, and all are wiped when they are opened again', () => {
    const rows = 40_000
    const options = { writeBufferBytes: 1024 * 1024 }
    {
      using engine = open(options)
      const table = engine.table('t')
      for (let round = 0; round < 20; round += 1) {
        const batch = engine.batch()
        for (let row = round; row < rows; row += 20) {
          batch.put(table, Buffer.from(`key-${row}`), Buffer.alloc(100, row))
        }
        batch.commit()
      }
    }
    expect(files(/\.sst$/)).not.toEqual([])
    for (const path of files(/\.sst$/)) damage(path, Buffer.alloc(64, 'x'))
    {
      using engine = open(options)
      const read = (): unknown => [...engine.table('t').range()]
      expect(failureCode(read)).toBe('DISK_FAILED')
      expect(engine.metrics().openIterators).toBe(0)
    }
    expect(reasons).toEqual([])
    using engine = open(options)
    expect(engine.tableNames()).toEqual([])
    expect(reasons).toEqual(['damaged rows were found in it'])
  })

  test('a format of another version: all are wiped', () => {
    writeOne()
    const rocksdb = loadRocksdb(rocksdbFrom)
    const { binding } = rocksdb
    const keeper = RocksdbKeeper.for(rocksdb)
    const handle = keeper.open(home, {})
    const batch = binding.batch_init()
    binding.batch_put(batch, Buffer.from('\0\0\0\0f'), Buffer.from([2]))
    binding.batch_write(binding.db_init(handle), batch)
    keeper.close(handle)
    using engine = open()
    expect(get(engine, 'a')).toBeUndefined()
    expect(reasons).toEqual(['it has format 2, this is 1'])
  })
})

describe.runIf(hasRocksdb)('files that are in the way', () => {
  test('what does not load in the thread that opens files is a failure, not the end', () => {
    const { binding } = loadRocksdb(rocksdbFrom)
    const keeper = RocksdbKeeper.for({ binding, path: join(directory, 'nothing.node') })
    expect(() => keeper.open(home, {})).toThrow('Cannot find module')
    expect(() => keeper.open(home, {})).toThrow('Cannot find module')
    writeOne()
  })

  test('a directory that cannot be made is a failure of the disk', () => {
    writeFileSync(home, 'a file')
    expect(failureCode(open)).toBe('DISK_FAILED')
  })

  test('a database that is open is not opened twice', () => {
    using engine = open()
    expect(failureCode(open)).toBe('DISK_FAILED')
    engine.table('t').put(Buffer.from('a'), Buffer.from('1'))
    expect(get(engine, 'a')).toBe('1')
    expect(reasons).toEqual([])
  })
})

// After a machine stops, the log of writes may end anywhere, or have pages that were never written.
test.runIf(hasRocksdb)('a log that is cut off, or has holes, gives an earlier commit', () => {
  const commits = 200
  const rowsPerCommit = 7
  const engine = open()
  for (const name of ['t', 'u', 'offsets']) engine.table(name)
  for (let commit = 1; commit <= commits; commit += 1) {
    const transaction = engine.begin()
    for (let row = 0; row < rowsPerCommit; row += 1) {
      transaction.put(engine.table('t'), Buffer.from(`row-${row}`), Buffer.from(`${commit}`))
      transaction.put(engine.table('u'), Buffer.from(`${commit}-${row}`), Buffer.alloc(90, row))
    }
    transaction.put(engine.table('offsets'), Buffer.from('t'), Buffer.from(`${commit}`))
    transaction.commit()
  }
  const copies = mkdtempSync(join(tmpdir(), 'millpond-copies-'))
  try {
    const seen = new Set<number>()
    for (let copy = 0; copy < 24; copy += 1) {
      const where = join(copies, String(copy))
      cpSync(directory, where, { recursive: true })
      const [logFile = ''] = readdirSync(join(where, 'rocksdb')).filter((name) =>
        name.endsWith('.log'),
      )
      const path = join(where, 'rocksdb', logFile)
      const position = Math.floor((statSync(path).size * (copy + 0.7)) / 25)
      if (copy % 2 === 0) truncateSync(path, position)
      else damage(path, Buffer.alloc(copy % 4 === 1 ? 4096 : 10), position)
      using cut = openIn(where)
      const commit = Number(cut.table('offsets').get(Buffer.from('t')) ?? 0)
      seen.add(commit)
      expect([...cut.table('u').range()]).toHaveLength(commit * rowsPerCommit)
      const values = [...cut.table('t').range()].map(({ value }) => Number(value))
      expect(values).toEqual(commit === 0 ? [] : Array(rowsPerCommit).fill(commit))
    }
    expect(seen.size).toBeGreaterThan(15)
    expect(Math.max(...seen)).toBeLessThan(commits)
    expect(reasons).toEqual([])
  } finally {
    engine.close()
    rmSync(copies, { recursive: true, force: true })
  }
})

// A limit on the size of files fails writes as a full disk does, at the same system calls.
test.runIf(hasRocksdb && process.platform !== 'win32')(
  'a full disk fails the write and keeps the last commit; opened anew, it is written again',
  () => {
    const script = `
      const { systemDisk } = await import(${JSON.stringify(new URL('../base/disk.ts', import.meta.url).href)})
      const { rocksdbEngine } = await import(${JSON.stringify(new URL('rocksdb-engine.ts', import.meta.url).href)})
      const engine = rocksdbEngine({ disk: systemDisk, from: ${JSON.stringify(rocksdbFrom)} })(process.argv[1])
      const table = engine.table('t')
      const value = Buffer.alloc(100_000, 'v')
      const codes = []
      let rounds = 0
      for (; codes.length === 0; rounds += 1) {
        const transaction = engine.begin()
        try {
          for (let row = 0; row < 10; row += 1) transaction.put(table, Buffer.from(rounds + '-' + row), value)
          transaction.put(table, Buffer.from('rounds'), Buffer.from(String(rounds)))
          transaction.commit()
        } catch (error) {
          codes.push(error.code)
        }
      }
      try {
        table.put(Buffer.from('again'), Buffer.from('fails'))
      } catch (error) {
        codes.push(error.code)
      }
      const rows = [...table.range()].length
      const last = Number(String(table.get(Buffer.from('rounds'))))
      engine.close()
      console.log(JSON.stringify({ codes, rows, last, rounds }))`
    const command = 'ulimit -f 8192; exec "$0" --import tsx --input-type=module -e "$1" "$2"'
    const output = execFileSync('bash', ['-c', command, process.execPath, script, directory], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const { codes, rows, last, rounds } = JSON.parse(output) as Record<string, unknown>
    expect(codes).toEqual(['DISK_FAILED', 'DISK_FAILED'])
    // The round that failed is not there, all before it are.
    expect(last).toBe(Number(rounds) - 2)
    expect(rows).toBe((Number(rounds) - 1) * 10 + 1)
    using engine = open()
    expect([...engine.table('t').range()]).toHaveLength(Number(rows))
    engine.table('t').put(Buffer.from('again'), Buffer.from('works'))
    expect(get(engine, 'again')).toBe('works')
    expect(reasons).toEqual([])
    expect(existsSync(join(home, 'damaged'))).toBe(false)
  },
)
