/** A disk that cannot be written, from any moment on, and files where directories are to be. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { thrownBy } from '../../test/peers/thrown-by.ts'
import { systemDisk, type Disk, type DiskFile, type DiskLock } from '../base/disk.ts'
import { createLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { seededRandom } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import { StateDirectory } from './state-directory.ts'

/** The disk of this machine, which can be read for ever, and changed so many times. */
class WornDisk implements Disk {
  changesLeft: number
  isWorn = false

  constructor(changes = Infinity) {
    this.changesLeft = changes
  }

  #change(path: string): void {
    this.isWorn = this.changesLeft <= 0
    this.changesLeft -= 1
    if (this.isWorn) throw new StreamsError('DISK_FAILED', { path, detail: 'EROFS' })
  }

  makeDirectory(path: string): void {
    if (!systemDisk.exists(path)) this.#change(path)
    systemDisk.makeDirectory(path)
  }

  writeFileAtomic(path: string, bytes: Uint8Array): void {
    this.#change(path)
    systemDisk.writeFileAtomic(path, bytes)
  }

  rename(from: string, to: string): void {
    this.#change(to)
    systemDisk.rename(from, to)
  }

  remove(path: string): void {
    this.#change(path)
    systemDisk.remove(path)
  }

  lock(path: string): DiskLock {
    this.#change(path)
    return systemDisk.lock(path)
  }

  open(path: string, options?: { create?: boolean }): DiskFile {
    const file = systemDisk.open(path, options)
    const sync = file.sync.bind(file)
    file.sync = () => {
      this.#change(path)
      sync()
    }
    return file
  }

  readonly list = (path: string): string[] => systemDisk.list(path)
  readonly exists = (path: string): boolean => systemDisk.exists(path)
  readonly readFile = (path: string): Buffer | undefined => systemDisk.readFile(path)
}

let stateDir: string
let warnings: string[]
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'millpond-faults-'))
  warnings = []
})
afterEach(() => rmSync(stateDir, { recursive: true, force: true }))

const log = createLog((level, message) => {
  if (level !== 'debug') warnings.push(message)
})

/** One life of an instance: puts the row, and reads what is asked for. */
function live(disk: Disk, put: string, get: string): string | undefined {
  const directory = StateDirectory.open({
    disk,
    clock: new ManualClock(),
    random: seededRandom(1),
    stateDir,
    applicationId: 'app',
    log,
  })
  const engines = directory.engines('0_0')
  try {
    const table = engines.engine(true).table('t')
    const found = table.get(Buffer.from(get))?.toString()
    table.put(Buffer.from(put), Buffer.from('there'))
    return found
  } finally {
    try {
      engines.close()
    } finally {
      directory.close()
    }
  }
}

test('a disk that is read-only from any moment on is told, and costs no row', () => {
  live(systemDisk, 'first', 'none')
  const codes: string[] = []
  for (let changes = 0; ; changes += 1) {
    const disk = new WornDisk(changes)
    try {
      live(disk, `row ${changes}`, 'first')
    } catch (error) {
      const { code, message } = error as StreamsError
      codes.push(message.includes('EROFS') ? code : message)
    }
    expect(live(systemDisk, 'later', 'first')).toBe('there')
    if (!disk.isWorn) break
  }
  // The lock; then the session of the engine begins, and ends with a sync and a mark.
  expect(codes).toEqual(['STATE_DIRECTORY_FAILED', 'DISK_FAILED', 'DISK_FAILED', 'DISK_FAILED'])
  expect(warnings).toEqual([])
})

test('a directory that is new on a disk that is full half way is made when there is room', () => {
  const codes: string[] = []
  for (let changes = 0; ; changes += 1) {
    rmSync(join(stateDir, 'app'), { recursive: true, force: true })
    const disk = new WornDisk(changes)
    try {
      live(disk, 'first', 'none')
    } catch (error) {
      codes.push((error as StreamsError).code)
    }
    expect(live(systemDisk, 'second', 'none')).toBeUndefined()
    expect(live(systemDisk, 'third', 'second')).toBe('there')
    if (!disk.isWorn) break
  }
  // Its own directory, the lock, the process id; those of the task, and the session of the engine.
  expect(codes.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => 'STATE_DIRECTORY_FAILED'))
  expect(new Set(codes.slice(3))).toEqual(new Set(['DISK_FAILED']))
  expect(warnings).toEqual([])
})

test.each([
  ['app', 'STATE_DIRECTORY_FAILED'],
  ['app/0_0', 'DISK_FAILED'],
  ['app/0_0/lmdb', 'DISK_FAILED'],
])('a file where the directory %s is to be is named, and stays', (path, code) => {
  const file = join(stateDir, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, 'of somebody')
  const error = thrownBy(() => live(systemDisk, 'first', 'none'))
  expect(error).toMatchObject({ code, message: expect.stringContaining(file) as string })
  expect(systemDisk.readFile(file)?.toString()).toBe('of somebody')
  rmSync(file)
  expect(live(systemDisk, 'first', 'none')).toBeUndefined()
})

test.each([
  ['app/.lock', 'STATE_DIRECTORY_FAILED'],
  ['app/kafka-streams-process-metadata', 'STATE_DIRECTORY_FAILED'],
  ['app/0_0/lmdb/session.json', 'DISK_FAILED'],
  ['app/0_0/lmdb/data.mdb', 'DISK_FAILED'],
])('a directory where the file %s is to be is named, and stays', (path, code) => {
  const place = join(stateDir, path)
  mkdirSync(place, { recursive: true })
  const error = thrownBy(() => live(systemDisk, 'first', 'none'))
  expect(error).toMatchObject({ code, message: expect.stringContaining(dirname(place)) as string })
  expect(systemDisk.list(dirname(place))).toContain(basename(place))
  rmSync(place, { recursive: true })
  expect(live(systemDisk, 'first', 'none')).toBeUndefined()
})
