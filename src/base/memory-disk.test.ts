import { describe, expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { MemoryDisk } from './memory-disk.ts'

const bytes = (text: string): Buffer => Buffer.from(text)

const textOf = (disk: MemoryDisk, path: string): string | undefined =>
  disk.readFile(path)?.toString('latin1')

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return error instanceof StreamsError ? error.code : 'another error'
  }
  return 'no error'
}

describe('MemoryDisk', () => {
  test('what is written at a position is read back from there', () => {
    using file = new MemoryDisk().open('/d/f', { create: true })
    file.write(bytes('hello world'), 0)
    file.write(bytes('W'), 6)
    const target = Buffer.alloc(20)
    expect(file.read(target, 6)).toBe(5)
    expect(target.toString('latin1', 0, 5)).toBe('World')
    expect(file.size()).toBe(11)
  })

  test('writes that cross the borders of chunks keep every byte', () => {
    using file = new MemoryDisk().open('/f', { create: true })
    const content = Buffer.alloc(300_000)
    for (let at = 0; at < content.length; at++) content[at] = at % 251
    for (let at = 0; at < content.length; at += 7_001) {
      file.write(content.subarray(at, at + 7_001), at)
    }
    const target = Buffer.alloc(content.length)
    expect(file.read(target, 0)).toBe(300_000)
    expect(target.equals(content)).toBe(true)
  })

  test('a gap reads as zeros, also where bytes had been before a truncation', () => {
    using file = new MemoryDisk().open('/f', { create: true })
    file.write(bytes('abcdef'), 0)
    file.truncate(2)
    file.write(bytes('z'), 4)
    const target = Buffer.alloc(5)
    file.read(target, 0)
    expect(target).toEqual(bytes('ab\0\0z'))
  })

  test('list names what lies directly in a directory, sorted', () => {
    const disk = new MemoryDisk()
    disk.writeFileAtomic('/d/b', bytes('1'))
    disk.writeFileAtomic('/d/a/x', bytes('1'))
    disk.makeDirectory('/d/empty')
    expect(disk.list('/d')).toEqual(['a', 'b', 'empty'])
    expect(disk.list('/nowhere')).toEqual([])
    expect(disk.exists('/d')).toBe(true)
  })

  test('rename and remove take along what lies below a directory', () => {
    const disk = new MemoryDisk()
    disk.writeFileAtomic('/old/a', bytes('1'))
    disk.makeDirectory('/old/sub')
    disk.rename('/old', '/new')
    expect(disk.exists('/old')).toBe(false)
    expect(disk.list('/new')).toEqual(['a', 'sub'])
    disk.remove('/new')
    expect(disk.exists('/new')).toBe(false)
    expect(disk.usedBytes).toBe(0)
  })

  test('opening a file that is not there without create is DISK_FAILED', () => {
    expect(codeOf(() => new MemoryDisk().open('/f'))).toBe('DISK_FAILED')
  })

  test('the write that was told to fail writes half and fails once', () => {
    const disk = new MemoryDisk()
    using file = disk.open('/f', { create: true })
    disk.failWrite({ after: 1 })
    file.write(bytes('ab'), 0)
    expect(codeOf(() => file.write(bytes('cdef'), 2))).toBe('DISK_FAILED')
    expect(textOf(disk, '/f')).toBe('abcd')
    file.write(bytes('XY'), 2)
    expect(textOf(disk, '/f')).toBe('abXY')
  })

  test('a full disk takes what fits and refuses the rest until room is made', () => {
    const disk = new MemoryDisk()
    using file = disk.open('/f', { create: true })
    disk.capacityBytes = 5
    expect(codeOf(() => file.write(bytes('1234567'), 0))).toBe('DISK_FAILED')
    expect(textOf(disk, '/f')).toBe('12345')
    file.write(bytes('9'), 4)
    expect(codeOf(() => disk.writeFileAtomic('/g', bytes('1')))).toBe('DISK_FAILED')
    expect(disk.exists('/g')).toBe(false)
    file.truncate(2)
    file.write(bytes('abc'), 2)
    expect(textOf(disk, '/f')).toBe('12abc')
  })

  test('a crash of the machine goes back to the last sync, also for overwritten and cut bytes', () => {
    const disk = new MemoryDisk()
    const file = disk.open('/f', { create: true })
    file.write(bytes('abcdef'), 0)
    file.sync()
    file.write(bytes('XY'), 1)
    file.truncate(3)
    file.write(bytes('123456789'), 2)
    disk.crash('unsynced')
    expect(textOf(disk, '/f')).toBe('abcdef')
    expect(disk.usedBytes).toBe(6)
  })

  test('a crash of the process keeps every byte, and ends open files and locks', () => {
    const disk = new MemoryDisk()
    const file = disk.open('/f', { create: true })
    const lock = disk.lock('/.lock')
    file.write(bytes('abc'), 0)
    disk.crash('nothing')
    expect(textOf(disk, '/f')).toBe('abc')
    expect(codeOf(() => file.write(bytes('d'), 3))).toBe('DISK_FAILED')
    using again = disk.lock('/.lock')
    // The release of a lock from before the crash does not touch the one of today.
    lock.release()
    expect(codeOf(() => disk.lock('/.lock'))).toBe('STATE_DIRECTORY_LOCKED')
    again.release()
  })

  test('a lock is held by one', () => {
    const disk = new MemoryDisk()
    const lock = disk.lock('/d/.lock')
    expect(codeOf(() => disk.lock('/d/.lock'))).toBe('STATE_DIRECTORY_LOCKED')
    lock.release()
    disk.lock('/d/.lock').release()
  })
})
