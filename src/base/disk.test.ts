import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { lockLeaseMs, systemDisk } from './disk.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millpond-disk-'))
})

afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

describe('files', () => {
  test('bytes are read back from where they were written', () => {
    using file = systemDisk.open(join(directory, 'a'), { create: true })
    file.write(Buffer.from('hello'), 0)
    file.write(Buffer.from('J'), 0)
    const target = Buffer.alloc(10)
    expect(file.read(target, 0)).toBe(5)
    expect(target.toString('utf8', 0, 5)).toBe('Jello')
    expect(file.size()).toBe(5)
    file.truncate(2)
    expect(file.size()).toBe(2)
  })

  test('opening with create keeps what a file holds', () => {
    const path = join(directory, 'a')
    writeFileSync(path, 'kept')
    using file = systemDisk.open(path, { create: true })
    expect(file.size()).toBe(4)
  })

  test('a file that is absent is undefined, and an absent directory is empty', () => {
    expect(systemDisk.readFile(join(directory, 'none'))).toBeUndefined()
    expect(systemDisk.list(join(directory, 'none'))).toEqual([])
    expect(systemDisk.exists(join(directory, 'none'))).toBe(false)
  })

  test('an atomic write replaces the whole content and leaves no temporary file', () => {
    const path = join(directory, 'a')
    systemDisk.writeFileAtomic(path, Buffer.from('a long first content'))
    systemDisk.writeFileAtomic(path, Buffer.from('second'))
    expect(systemDisk.readFile(path)?.toString()).toBe('second')
    expect(systemDisk.list(directory)).toEqual(['a'])
  })

  test('a directory is made with its parents, and made again without harm', () => {
    const path = join(directory, 'a', 'b', 'c')
    systemDisk.makeDirectory(path)
    systemDisk.makeDirectory(path)
    systemDisk.makeDirectory('.')
    expect(systemDisk.list(join(directory, 'a', 'b'))).toEqual(['c'])
  })

  test('a directory that cannot be made is a failure, never a loop', () => {
    writeFileSync(join(directory, 'file'), '')
    for (const path of [join(directory, 'file'), join(directory, 'file', 'a'), '/proc/none/a']) {
      expect(
        isStreamsError(
          thrownBy(() => systemDisk.makeDirectory(path)),
          'DISK_FAILED',
        ),
      ).toBe(true)
    }
  })

  test('a failure names the path and carries the cause', () => {
    const error = thrownBy(() => systemDisk.open(join(directory, 'none')))
    expect(isStreamsError(error, 'DISK_FAILED')).toBe(true)
    expect(String(error)).toContain(join(directory, 'none'))
  })

  test('a closed file refuses work', () => {
    const file = systemDisk.open(join(directory, 'a'), { create: true })
    file.close()
    file.close()
    expect(
      isStreamsError(
        thrownBy(() => file.size()),
        'DISK_FAILED',
      ),
    ).toBe(true)
  })
})

describe('locks', () => {
  test('a lock is held once in a process', () => {
    const path = join(directory, '.lock')
    const lock = systemDisk.lock(path)
    expect(
      isStreamsError(
        thrownBy(() => systemDisk.lock(path)),
        'STATE_DIRECTORY_LOCKED',
      ),
    ).toBe(true)
    lock.release()
    systemDisk.lock(path).release()
    expect(systemDisk.list(directory)).toEqual([])
  })

  test('a lock of a living process is refused with its pid', async () => {
    const path = join(directory, '.lock')
    const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
    await once(other, 'spawn')
    writeFileSync(path, JSON.stringify({ pid: other.pid, started: '' }))
    const error = thrownBy(() => systemDisk.lock(path))
    expect(isStreamsError(error, 'STATE_DIRECTORY_LOCKED')).toBe(true)
    expect(String(error)).toContain(String(other.pid))
    other.kill('SIGKILL')
    await once(other, 'exit')
    systemDisk.lock(path).release()
  })

  test('a lock whose pid belongs to a younger process by now is taken over', async () => {
    const path = join(directory, '.lock')
    const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
    await once(other, 'spawn')
    writeFileSync(path, JSON.stringify({ pid: other.pid, started: '1' }))
    systemDisk.lock(path).release()
    expect(systemDisk.exists(path)).toBe(false)
    other.kill('SIGKILL')
    await once(other, 'exit')
  })

  /** As a process in another container writes it: there it has the pid that we have here. */
  const elsewhere = (): string =>
    JSON.stringify({ pid: process.pid, started: '7', space: 'another boot pid:[1]' })

  test('a holder whose process cannot be seen is alive as long as it writes to the file', () => {
    const path = join(directory, '.lock')
    writeFileSync(path, elsewhere())
    expect(thrownBy(() => systemDisk.lock(path))).toMatchObject({ code: 'STATE_DIRECTORY_LOCKED' })
    const longAgo = new Date(Date.now() - lockLeaseMs - 1_000)
    utimesSync(path, longAgo, longAgo)
    const lock = systemDisk.lock(path)
    utimesSync(path, longAgo, longAgo)
    lock.refresh()
    expect(Date.now() - statSync(path).mtimeMs).toBeLessThan(lockLeaseMs)
    lock.refresh()
    lock.release()
    lock.refresh()
    expect(systemDisk.list(directory)).toEqual([])
  })

  test('a holder that has lost its lock is told, and leaves the lock of the other alone', () => {
    const path = join(directory, '.lock')
    const lock = systemDisk.lock(path)
    writeFileSync(path, elsewhere())
    const lost = { code: 'STATE_DIRECTORY_LOCKED' }
    expect(thrownBy(() => lock.refresh())).toMatchObject(lost)
    lock.release()
    expect(systemDisk.exists(path)).toBe(true)
    systemDisk.remove(path)
    const again = systemDisk.lock(path)
    systemDisk.remove(path)
    expect(thrownBy(() => again.refresh())).toMatchObject(lost)
  })

  test('a lock of another thread of this process is respected', () => {
    const path = join(directory, '.lock')
    const lock = systemDisk.lock(path)
    const content = readFileSync(path)
    lock.release()
    // This thread does not hold it, and this process has written it.
    writeFileSync(path, content)
    expect(thrownBy(() => systemDisk.lock(path))).toMatchObject({ code: 'STATE_DIRECTORY_LOCKED' })
  })

  test('a lock file with unreadable content is taken over', () => {
    const path = join(directory, '.lock')
    writeFileSync(path, '{"pid": 12')
    systemDisk.lock(path).release()
    expect(systemDisk.exists(path)).toBe(false)
  })
})
