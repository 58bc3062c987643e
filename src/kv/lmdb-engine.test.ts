import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../base/clock.ts'
import { systemDisk } from '../base/disk.ts'
import { createLog, type LogFields } from '../base/log.ts'
import type { KvEngine } from './kv.ts'
import { lmdbEngine, lmdbKeyBytesMax } from './lmdb-engine.ts'
import { ownGate } from './write-gate.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

let directory: string
let warnings: LogFields[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millpond-lmdb-'))
  warnings = []
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

const log = createLog((_level, _message, fields) => warnings.push(fields))
const open = (): KvEngine => lmdbEngine({ disk: systemDisk, clock: systemClock, log })(directory)
const get = (engine: KvEngine, key: string): string | undefined =>
  engine.table('t').get(Buffer.from(key))?.toString()

test('tables and rows outlive the engine', () => {
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

test('an open transaction is lost with the engine', () => {
  {
    using engine = open()
    const table = engine.table('t')
    engine.begin().put(table, Buffer.from('a'), Buffer.from('1'))
  }
  using engine = open()
  expect(get(engine, 'a')).toBeUndefined()
})

test('a key beyond the limit is refused, wherever it is written; it is never found', () => {
  using engine = open()
  const longest = Buffer.alloc(lmdbKeyBytesMax, 0)
  const tooLong = Buffer.alloc(lmdbKeyBytesMax + 1, 'k')
  const table = engine.table('t')
  table.put(longest, Buffer.from('1'))
  expect(table.get(longest)?.toString()).toBe('1')
  const error = thrownBy(() => table.put(tooLong, Buffer.from('1')))
  expect(error.code).toBe('KEY_TOO_LONG')
  expect(error.message).toBe("A key of 4026 bytes is longer than the engine's limit of 4025 bytes.")
  const transaction = engine.begin()
  expect(thrownBy(() => transaction.put(table, tooLong, Buffer.from('1'))).code).toBe(
    'KEY_TOO_LONG',
  )
  transaction.delete(table, tooLong)
  transaction.discard()
  table.delete(tooLong)
  expect(table.get(tooLong)).toBeUndefined()
})

describe('a file that cannot be trusted', () => {
  function write(): void {
    using engine = open()
    engine.table('t').put(Buffer.from('a'), Buffer.from('1'))
  }

  test('since nothing says how it was closed, is wiped', () => {
    write()
    rmSync(join(directory, 'lmdb/session.json'))
    using engine = open()
    expect(get(engine, 'a')).toBeUndefined()
    expect(warnings).toEqual([
      { path: join(directory, 'lmdb'), reason: 'nothing says how it was closed' },
    ])
  })

  test('since the machine stopped, is wiped', () => {
    write()
    const path = join(directory, 'lmdb/session.json')
    const session = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    writeFileSync(path, JSON.stringify({ ...session, clean: false, boot: { id: 'another' } }))
    using engine = open()
    expect(get(engine, 'a')).toBeUndefined()
    expect(warnings).toHaveLength(1)
  })

  test('since it is not what LMDB wrote, is wiped', () => {
    write()
    writeFileSync(join(directory, 'lmdb/data.mdb'), Buffer.alloc(64 * 1024, 'x'))
    using engine = open()
    expect(get(engine, 'a')).toBeUndefined()
    engine.table('t').put(Buffer.from('a'), Buffer.from('2'))
    expect(get(engine, 'a')).toBe('2')
    expect(warnings).toHaveLength(1)
  })

  test('is kept when only the process died', () => {
    write()
    const path = join(directory, 'lmdb/session.json')
    const session = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    writeFileSync(path, JSON.stringify({ ...session, clean: false }))
    using engine = open()
    expect(get(engine, 'a')).toBe('1')
    expect(warnings).toEqual([])
  })
})

test('a directory that cannot be written is a failure of the disk', () => {
  writeFileSync(join(directory, 'lmdb'), 'a file')
  expect(thrownBy(open).code).toBe('DISK_FAILED')
})

test('a process without persistent stores loads no native code', () => {
  const script = `
    const { memoryEngine } = await import(${JSON.stringify(new URL('memory-engine.ts', import.meta.url).href)})
    await import(${JSON.stringify(new URL('lmdb-engine.ts', import.meta.url).href)})
    memoryEngine('').table('t').put(Buffer.from('a'), Buffer.from('1'))
    const loaded = process.report.getReport().sharedObjects.filter((path) => path.includes('lmdb'))
    console.log(JSON.stringify(loaded))`
  const output = execFileSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  )
  expect(JSON.parse(output)).toEqual([])
})

test.each(['arm', 'ia32', 'x64'])('the file has the addresses that there are: %s', (arch) => {
  const script = `
    import { createRequire } from 'node:module'
    const lmdb = createRequire(${JSON.stringify(import.meta.url)})('lmdb')
    const sizes = []
    const { open } = lmdb
    lmdb.open = (options) => {
      sizes.push(options.mapSize ?? 'as the package likes')
      return open(options)
    }
    // After the native code of this machine was loaded.
    Object.defineProperty(process, 'arch', { value: process.argv[2] })
    const { systemClock } = await import(${JSON.stringify(new URL('../base/clock.ts', import.meta.url).href)})
    const { systemDisk } = await import(${JSON.stringify(new URL('../base/disk.ts', import.meta.url).href)})
    const { lmdbEngine } = await import(${JSON.stringify(new URL('lmdb-engine.ts', import.meta.url).href)})
    const engine = lmdbEngine({ disk: systemDisk, clock: systemClock })(process.argv[1])
    engine.table('t').put(Buffer.from('a'), Buffer.from('1'))
    sizes.push(String(engine.table('t').get(Buffer.from('a'))))
    engine.close()
    console.log(JSON.stringify(sizes))`
  const options = ['--import', 'tsx', '--input-type=module', '-e', script, directory, arch]
  const output = execFileSync(process.execPath, options, { encoding: 'utf8' })
  const isSmall = process.platform === 'win32' || arch !== 'x64'
  expect(JSON.parse(output)).toEqual([isSmall ? 'as the package likes' : 2 ** 30, '1'])
})

// A limit on the size of files fails writes as a full disk does, at the same system calls.
test.skipIf(process.platform === 'win32')(
  'a full disk fails the write, keeps the last commit, and lets go on when there is room',
  () => {
    const script = `
      const { systemClock } = await import(${JSON.stringify(new URL('../base/clock.ts', import.meta.url).href)})
      const { systemDisk } = await import(${JSON.stringify(new URL('../base/disk.ts', import.meta.url).href)})
      const { lmdbEngine } = await import(${JSON.stringify(new URL('lmdb-engine.ts', import.meta.url).href)})
      const engine = lmdbEngine({ disk: systemDisk, clock: systemClock })(process.argv[1])
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
      const rows = [...table.range()].length
      const last = Number(String(table.get(Buffer.from('rounds'))))
      for (let row = 0; row < 10; row += 1) table.delete(Buffer.from('0-' + row))
      table.put(Buffer.from('again'), Buffer.from('works'))
      const again = String(table.get(Buffer.from('again')))
      engine.close()
      console.log(JSON.stringify({ codes, rows, last, rounds, again }))`
    const command = 'ulimit -f 8192; exec "$0" --import tsx --input-type=module -e "$1" "$2"'
    const output = execFileSync('bash', ['-c', command, process.execPath, script, directory], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const { codes, rows, last, rounds, again } = JSON.parse(output) as Record<string, unknown>
    expect(codes).toEqual(['DISK_FAILED'])
    // The round that failed is not there, all before it are.
    expect(last).toBe(Number(rounds) - 2)
    expect(rows).toBe((Number(rounds) - 1) * 10 + 1)
    expect(again).toBe('works')
    using engine = open()
    expect(get(engine, 'again')).toBe('works')
    expect(warnings).toEqual([])
  },
)

test('a packed row is the same as its key and its value', () => {
  using engine = open()
  const table = engine.table('t')
  const keys = ['', '\0', '\0a', 'a', 'b'.repeat(31), 'c'.repeat(40), 'd'.repeat(lmdbKeyBytesMax)]
  const transaction = engine.begin()
  for (const [index, key] of keys.entries()) {
    const value = 'v'.repeat(index * 50)
    // As it may lie: in the middle of others, in an ArrayBuffer of its own.
    const text = `before${key}${value}behind`
    const bytes = Buffer.allocUnsafeSlow(text.length)
    bytes.write(text, 'latin1')
    const valueStart = 6 + key.length
    const valueEnd = valueStart + value.length
    transaction.putRow?.(table, { bytes, keyStart: 6, valueStart, valueEnd })
  }
  expect(transaction.commit()).toBe(true)
  const rows = [...table.range()].map(({ key, value }) => [key.toString('latin1'), value.length])
  expect(rows).toEqual(keys.map((key, index) => [key, index * 50]))
  for (const [index, key] of keys.entries()) expect(get(engine, key)).toBe('v'.repeat(index * 50))
})

test('a packed row whose key is too long is refused', () => {
  using engine = open()
  const table = engine.table('t')
  const transaction = engine.begin()
  const bytes = Buffer.allocUnsafeSlow(lmdbKeyBytesMax + 1)
  const row = { bytes, keyStart: 0, valueStart: bytes.length, valueEnd: bytes.length }
  const error = thrownBy(() => transaction.putRow?.(table, row))
  expect(error).toMatchObject({ code: 'KEY_TOO_LONG' })
  transaction.discard()
  transaction.putRow?.(table, row)
  expect(transaction.commit()).toBe(false)
})

test('who watches a long transaction sees that it gets on', () => {
  using engine = open()
  const table = engine.table('t')
  const gate = ownGate()
  const transaction = engine.begin()
  const seen = new Set([gate.steps])
  for (let row = 0; row < 3000; row += 1) {
    transaction.put(table, Buffer.from(`k${row}`), Buffer.from('v'))
    seen.add(gate.steps)
  }
  transaction.commit()
  expect(seen.size).toBe(3)
})
