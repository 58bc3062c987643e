import { expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { silentLog } from '../base/log.ts'
import type { KvEngine } from '../kv/kv.ts'
import { journalStateEngine } from './journal-engine.ts'

const bootIdPath = '/proc/sys/kernel/random/boot_id'

/** A machine with one engine on it. */
function machine(): { disk: MemoryDisk; open: () => KvEngine } {
  const disk = new MemoryDisk()
  disk.writeFileAtomic(bootIdPath, Buffer.from('first'))
  const open = (): KvEngine =>
    journalStateEngine.factory({ disk, clock: new ManualClock(), log: silentLog })('/task')
  return { disk, open }
}

function put(engine: KvEngine, rows: Readonly<Record<string, string>>): void {
  const batch = engine.batch()
  for (const [key, value] of Object.entries(rows)) {
    batch.put(engine.table('t'), Buffer.from(key), Buffer.from(value))
  }
  batch.commit()
}

const get = (engine: KvEngine, key: string): string | undefined =>
  engine.table('t').get(Buffer.from(key))?.toString()

test('a commit is there after the process has died, whole', () => {
  const { disk, open } = machine()
  const engine = open()
  put(engine, { a: '1', b: '2' })
  const transaction = engine.begin()
  transaction.put(engine.table('t'), Buffer.from('a'), Buffer.from('lost'))
  disk.crash('nothing')
  const again = open()
  expect([get(again, 'a'), get(again, 'b')]).toEqual(['1', '2'])
})

test('a line that was written half is no commit', () => {
  const { disk, open } = machine()
  put(open(), { a: '1' })
  const path = '/task/journal/journal'
  const size = disk.readFile(path)?.length ?? 0
  disk.open(path).write(Buffer.from('[["put","t","a","to'), size)
  disk.crash('nothing')
  const again = open()
  expect(get(again, 'a')).toBe('1')
  put(again, { a: '2' })
  disk.crash('nothing')
  expect(get(open(), 'a')).toBe('2')
})

test('of a commit that the disk refuses nothing stays, and the next one goes on', () => {
  const { disk, open } = machine()
  const engine = open()
  put(engine, { a: '1' })
  disk.failWrite()
  expect(() => put(engine, { a: '2', b: '2' })).toThrow(/DISK_FAILED|disk/i)
  expect([get(engine, 'a'), get(engine, 'b')]).toEqual(['1', undefined])
  put(engine, { b: '3' })
  disk.crash('nothing')
  const again = open()
  expect([get(again, 'a'), get(again, 'b')]).toEqual(['1', '3'])
})

test('a machine that has lost its power wipes what was open', () => {
  const { disk, open } = machine()
  put(open(), { a: '1' })
  disk.crash('unsynced')
  disk.writeFileAtomic(bootIdPath, Buffer.from('second'))
  expect(get(open(), 'a')).toBeUndefined()
})

test('what was closed is there after the power has failed', () => {
  const { disk, open } = machine()
  const engine = open()
  put(engine, { a: '1' })
  engine.close()
  disk.crash('unsynced')
  disk.writeFileAtomic(bootIdPath, Buffer.from('second'))
  expect(get(open(), 'a')).toBe('1')
})

test('a journal that is mostly over becomes short', () => {
  const { disk, open } = machine()
  const engine = open()
  for (let round = 0; round < 200; round += 1) put(engine, { a: `${round}`.padEnd(1000, 'x') })
  engine.close()
  const before = disk.usedBytes
  const again = open()
  expect(disk.usedBytes).toBeLessThan(before / 10)
  expect(get(again, 'a')?.startsWith('199x')).toBe(true)
})
