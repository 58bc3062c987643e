import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { StreamsError, messageOf } from '../errors.ts'

/** An open file. Positions are explicit: no hidden cursor. */
export interface DiskFile extends Disposable {
  readonly path: string
  size(): number
  /** Fills `target` from `position`; returns how many bytes there were. */
  read(target: Uint8Array, position: number): number
  /** Writes all of the bytes at `position`, or throws `DISK_FAILED`. */
  write(bytes: Uint8Array, position: number): void
  truncate(size: number): void
  /** Returns once the bytes are on the medium. */
  sync(): void
  /** Idempotent. */
  close(): void
}

/** A lock that ends with the process that took it, at the latest. */
export interface DiskLock extends Disposable {
  release(): void
}

/**
 * The port to files. Synchronous: what is written here is small or append-only, and an answer in
 * the same turn spares every caller a state of its own. All failures are `DISK_FAILED`, with the
 * operating system's error as the cause.
 */
export interface Disk {
  /** With all parents; nothing happens when it exists. */
  makeDirectory(path: string): void
  /** Names in a directory, sorted; empty when it does not exist. */
  list(path: string): string[]
  exists(path: string): boolean
  /** Opens for reading and writing; `create` makes an empty file where none is. */
  open(path: string, options?: { create?: boolean }): DiskFile
  /** The whole content, or undefined when there is no such file. */
  readFile(path: string): Buffer | undefined
  /** Replaces the file in one step (temporary file, sync, rename): old or new, never half. */
  writeFileAtomic(path: string, bytes: Uint8Array): void
  rename(from: string, to: string): void
  /** A file, or a directory with all that is in it; nothing happens when it does not exist. */
  remove(path: string): void
  /**
   * Takes the lock file, or throws `STATE_DIRECTORY_LOCKED` with the holder's pid. One left by a
   * dead process is taken over.
   */
  lock(path: string): DiskLock
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new StreamsError('DISK_FAILED', { path, detail: messageOf(error) }, { cause: error })
  }
}

const isMissing = (error: unknown): boolean => hasErrno(error, 'ENOENT')

function hasErrno(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}

class NodeFile implements DiskFile {
  readonly path: string
  #descriptor: number | undefined

  constructor(path: string, descriptor: number) {
    this.path = path
    this.#descriptor = descriptor
  }

  #open(): number {
    if (this.#descriptor === undefined) throw new Error('the file is closed')
    return this.#descriptor
  }

  size(): number {
    return attempt(this.path, () => fstatSync(this.#open()).size)
  }

  read(target: Uint8Array, position: number): number {
    return attempt(this.path, () => {
      let filled = 0
      while (filled < target.length) {
        const count = readSync(
          this.#open(),
          target,
          filled,
          target.length - filled,
          position + filled,
        )
        if (count === 0) break
        filled += count
      }
      return filled
    })
  }

  write(bytes: Uint8Array, position: number): void {
    attempt(this.path, () => {
      let written = 0
      while (written < bytes.length) {
        written += writeSync(
          this.#open(),
          bytes,
          written,
          bytes.length - written,
          position + written,
        )
      }
    })
  }

  truncate(size: number): void {
    attempt(this.path, () => ftruncateSync(this.#open(), size))
  }

  sync(): void {
    attempt(this.path, () => fsyncSync(this.#open()))
  }

  close(): void {
    if (this.#descriptor === undefined) return
    const descriptor = this.#descriptor
    this.#descriptor = undefined
    attempt(this.path, () => closeSync(descriptor))
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

interface LockHolder {
  pid: number
  /** Tells a reused pid from the process that wrote the file; empty where the system cannot say. */
  started: string
}

/** The start time of a process in clock ticks since boot (Linux), or empty. */
function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

function isAlive(holder: LockHolder): boolean {
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    return hasErrno(error, 'EPERM')
  }
  return holder.started === '' || holder.started === processStart(holder.pid)
}

function readHolder(path: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(readFileSync(path, 'utf8')) as Partial<LockHolder>
    return { pid: Number(holder.pid), started: holder.started ?? '' }
  } catch (error) {
    if (isMissing(error)) return undefined
    // Unreadable content: a crash while another system wrote it. Nobody can hold it.
    return { pid: 0, started: 'unreadable' }
  }
}

const heldLocks = new Set<string>()
const lockAttemptsMax = 5

function takeLock(path: string): DiskLock {
  const directory = dirname(path)
  if (heldLocks.has(path))
    throw new StreamsError('STATE_DIRECTORY_LOCKED', { directory, pid: process.pid })
  const own = `${path}.${process.pid}`
  writeFileSync(own, JSON.stringify({ pid: process.pid, started: processStart(process.pid) }))
  try {
    for (let attempts = 0; attempts < lockAttemptsMax; attempts++) {
      try {
        // A link appears whole or not at all: nobody ever reads a half-written holder.
        linkSync(own, path)
        heldLocks.add(path)
        return new NodeLock(path)
      } catch (error) {
        if (!hasErrno(error, 'EEXIST')) throw error
      }
      const holder = readHolder(path)
      if (holder === undefined) continue
      if (holder.pid !== 0 && holder.pid !== process.pid && isAlive(holder)) {
        throw new StreamsError('STATE_DIRECTORY_LOCKED', { directory, pid: holder.pid })
      }
      // Two processes may both see a dead holder. The rename moves whatever is there by then, so
      // look at what was moved: if it is another's fresh lock, give it back.
      const stale = `${path}.stale.${process.pid}`
      try {
        renameSync(path, stale)
      } catch (error) {
        if (isMissing(error)) continue
        throw error
      }
      const moved = readHolder(stale)
      if (moved !== undefined && moved.pid !== holder.pid) linkSync(stale, path)
      rmSync(stale, { force: true })
    }
    throw new StreamsError('STATE_DIRECTORY_LOCKED', { directory, pid: readHolder(path)?.pid })
  } finally {
    rmSync(own, { force: true })
  }
}

class NodeLock implements DiskLock {
  readonly #path: string
  #held = true

  constructor(path: string) {
    this.#path = path
  }

  release(): void {
    if (!this.#held) return
    this.#held = false
    heldLocks.delete(this.#path)
    rmSync(this.#path, { force: true })
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

/**
 * With all parents, one after the other from the first that exists. The recursive mode of Node.js never
 * returns where a file system answers that an existing parent does not exist, as /proc does.
 */
function makeDirectories(path: string): void {
  const parent = dirname(path)
  if (parent !== path && !existsSync(path) && !existsSync(parent)) makeDirectories(parent)
  try {
    mkdirSync(path, { mode: 0o750 })
  } catch (error) {
    if (!hasErrno(error, 'EEXIST') || !statSync(path).isDirectory()) throw error
  }
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The files of this machine. */
export const systemDisk: Disk = {
  makeDirectory: (path) => {
    attempt(path, () => makeDirectories(path))
  },
  list: (path) =>
    attempt(path, () => {
      try {
        return readdirSync(path).sort()
      } catch (error) {
        if (isMissing(error)) return []
        throw error
      }
    }),
  exists: (path) => existsSync(path),
  open: (path, options) =>
    attempt(path, () => {
      const isNew = options?.create === true && !existsSync(path)
      return new NodeFile(path, openSync(path, isNew ? 'w+' : 'r+'))
    }),
  readFile: (path) =>
    attempt(path, () => {
      try {
        return readFileSync(path)
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    }),
  writeFileAtomic: (path, bytes) => {
    attempt(path, () => {
      const temporary = `${path}.tmp`
      const descriptor = openSync(temporary, 'w')
      try {
        writeFileSync(descriptor, bytes)
        fsyncSync(descriptor)
      } finally {
        closeSync(descriptor)
      }
      renameSync(temporary, path)
      syncDirectory(dirname(path))
    })
  },
  rename: (from, to) => {
    attempt(from, () => renameSync(from, to))
  },
  remove: (path) => {
    attempt(path, () => rmSync(path, { recursive: true, force: true }))
  },
  lock: (path) => {
    try {
      return takeLock(path)
    } catch (error) {
      if (error instanceof StreamsError) throw error
      throw new StreamsError('DISK_FAILED', { path, detail: messageOf(error) }, { cause: error })
    }
  },
}
