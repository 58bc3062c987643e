/**
 * A lock file that holds who has the directory.
 *
 * Whether the holder lives is asked of the system where pids mean the same to it and to us. Elsewhere (in
 * another container, where everybody may have the pid 1, on another host, or before the machine was
 * started again) its pid says nothing: it is then taken for alive as long as it goes on to write to the
 * file.
 */
import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { StreamsError, messageOf } from '../errors.ts'
import type { DiskLock } from './disk.ts'

const attemptsMax = 5

interface Holder {
  readonly pid: number
  /** Tells a reused pid from the process that wrote the file; empty where the system cannot say. */
  readonly started: string
  /** Within which pids mean the same: a boot, and a pid namespace; empty where the system cannot say. */
  readonly space: string
}

/** Locks of this thread. */
const held = new Set<string>()

/**
 * Takes the lock file, or throws `STATE_DIRECTORY_LOCKED`. `leaseMs`: so long after its last sign of life
 * a holder is taken for dead whose process cannot be looked up.
 */
export function takeDirectoryLock(path: string, leaseMs: number): DiskLock {
  if (held.has(path)) throw locked(path, process.pid)
  const own: Holder = {
    pid: process.pid,
    started: processStart(process.pid),
    space: pidSpace(),
  }
  const ownPath = `${path}.${process.pid}`
  writeFileSync(ownPath, JSON.stringify(own))
  try {
    for (let attempts = 0; attempts < attemptsMax; attempts++) {
      try {
        // A link appears whole or not at all: nobody ever reads a half-written holder.
        linkSync(ownPath, path)
        held.add(path)
        return new DirectoryLock(path, own)
      } catch (error) {
        if (!hasErrno(error, 'EEXIST')) throw error
      }
      const holder = readHolder(path)
      if (holder === undefined) continue
      if (isAlive(holder, own, () => silenceMs(path, ownPath) < leaseMs))
        throw locked(path, holder.pid, holder.space === own.space ? 'here' : 'elsewhere')
      // Two processes may both see a dead holder. The rename moves whatever is there by then, so
      // look at what was moved: if it is another's fresh lock, give it back.
      const stale = `${path}.stale.${process.pid}`
      try {
        renameSync(path, stale)
      } catch (error) {
        if (hasErrno(error, 'ENOENT')) continue
        throw error
      }
      const moved = readHolder(stale)
      if (moved !== undefined && !isSame(moved, holder)) linkSync(stale, path)
      rmSync(stale, { force: true })
    }
    throw locked(path, readHolder(path)?.pid)
  } finally {
    rmSync(ownPath, { force: true })
  }
}

class DirectoryLock implements DiskLock {
  readonly #path: string
  readonly #own: Holder
  #isHeld = true

  constructor(path: string, own: Holder) {
    this.#path = path
    this.#own = own
  }

  refresh(): void {
    if (!this.#isHeld) return
    try {
      const holder = readHolder(this.#path)
      if (holder === undefined || !isSame(holder, this.#own)) {
        this.#isHeld = false
        held.delete(this.#path)
        throw locked(this.#path, holder?.pid)
      }
      // The file system notes the time, by its own clock. The byte is the one that is there.
      const descriptor = openSync(this.#path, 'r+')
      try {
        writeSync(descriptor, '{', 0)
      } finally {
        closeSync(descriptor)
      }
    } catch (error) {
      if (error instanceof StreamsError) throw error
      const facts = { path: this.#path, detail: messageOf(error) }
      throw new StreamsError('DISK_FAILED', facts, { cause: error })
    }
  }

  release(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    held.delete(this.#path)
    rmSync(this.#path, { force: true })
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

/** `elsewhere`: the holder cannot be looked up, and may be dead. */
function locked(
  path: string,
  pid: number | undefined,
  holder: 'here' | 'elsewhere' = 'here',
): StreamsError {
  return new StreamsError('STATE_DIRECTORY_LOCKED', { directory: dirname(path), pid, holder })
}

function isSame(one: Holder, other: Holder): boolean {
  return one.pid === other.pid && one.started === other.started && one.space === other.space
}

function isAlive(holder: Holder, own: Holder, isHeardOf: () => boolean): boolean {
  if (holder.pid === 0) return false
  if (holder.space !== own.space) return isHeardOf()
  // Another thread of this process. Without start times it may be a process before us that had our pid.
  if (holder.pid === own.pid) return holder.started !== '' && holder.started === own.started
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    return hasErrno(error, 'EPERM')
  }
  return holder.started === '' || holder.started === processStart(holder.pid)
}

/** How long the holder has not written to its file, which `fresh` was written after. */
function silenceMs(path: string, fresh: string): number {
  try {
    return statSync(fresh).mtimeMs - statSync(path).mtimeMs
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return Number.POSITIVE_INFINITY
    throw error
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    const { pid, started = '', space } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Holder>
    return { pid: Number(pid), started, space: space ?? pidSpace() }
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined
    // It is no file, or we may not read it: somebody may hold it.
    if (error instanceof Error && 'syscall' in error) throw error
    // Unreadable content: a crash while another system wrote it. Nobody can hold it.
    return { pid: 0, started: 'unreadable', space: '' }
  }
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

function pidSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

function hasErrno(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
