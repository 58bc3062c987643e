import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
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
import { takeDirectoryLock } from './directory-lock.ts'

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
  /**
   * Shows that the holder lives to those who cannot see its process, in another container or on
   * another host: to be called every `lockRefreshMs`. Throws `STATE_DIRECTORY_LOCKED` when another one
   * has taken the lock over, as this was not called for `lockLeaseMs`; `DISK_FAILED`.
   */
  refresh(): void
  release(): void
}

/** How often a lock shows that its holder lives. */
export const lockRefreshMs = 2_000

/** A holder whose process cannot be seen is taken for dead after this time. */
export const lockLeaseMs = 10_000

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
   * dead process is taken over: at once where its pid can be looked up, else after `lockLeaseMs`.
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
      return takeDirectoryLock(path, lockLeaseMs)
    } catch (error) {
      if (error instanceof StreamsError) throw error
      throw new StreamsError('DISK_FAILED', { path, detail: messageOf(error) }, { cause: error })
    }
  },
}
