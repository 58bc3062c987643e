import { expect, test } from 'vitest'
import type { Disk } from '../../base/disk.ts'
import { MemoryDisk } from '../../base/memory-disk.ts'
import { StreamsError } from '../../errors.ts'
import { watchedDisk } from './watched-disk.ts'

const failing = (code: string): Disk => {
  const memory = new MemoryDisk()
  const fail = (): never => {
    const cause = Object.assign(new Error(code), { code })
    throw new StreamsError('DISK_FAILED', { path: '/data/x', detail: code }, { cause })
  }
  return {
    makeDirectory: fail,
    list: (path) => memory.list(path),
    exists: (path) => memory.exists(path),
    open: (path, options) =>
      Object.assign(Object.create(memory.open(path, options)) as ReturnType<Disk['open']>, {
        write: fail,
      }),
    readFile: (path) => memory.readFile(path),
    writeFileAtomic: fail,
    rename: (from, to) => memory.rename(from, to),
    remove: (path) => memory.remove(path),
    lock: (path) => memory.lock(path),
  }
}

test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])('%s is told, and thrown as before', (code) => {
  const told: unknown[] = []
  const disk = watchedDisk(failing(code), (error) => told.push(error))
  expect(() => disk.writeFileAtomic('/data/x', Buffer.from('x'))).toThrow(code)
  const file = disk.open('/data/x', { create: true })
  expect(() => file.write(Buffer.from('x'), 0)).toThrow(code)
  expect(told).toHaveLength(2)
})

test('a failure that is the answer to a question is not told', () => {
  const told: unknown[] = []
  const disk = watchedDisk(failing('EEXIST'), (error) => told.push(error))
  expect(() => disk.makeDirectory('/data')).toThrow('EEXIST')
  expect(told).toEqual([])
})

test('a disk that works is as it was', () => {
  const disk = watchedDisk(new MemoryDisk(), () => undefined)
  disk.makeDirectory('/data')
  {
    using file = disk.open('/data/x', { create: true })
    file.write(Buffer.from('hello'), 0)
    file.sync()
    expect(file.size()).toBe(5)
  }
  disk.rename('/data/x', '/data/y')
  expect(disk.list('/data')).toEqual(['y'])
  expect(disk.readFile('/data/y')?.toString()).toBe('hello')
  disk.remove('/data/y')
  expect(disk.exists('/data/y')).toBe(false)
})
