import { StreamsError } from '../errors.ts'
import type { Disk, DiskFile, DiskLock } from './disk.ts'

/** Files grow by this much: appends never copy what is already there. */
const chunkBytes = 64 * 1024

/** What a change took away, so that `crash` can put it back. */
interface Undo {
  readonly size: number
  readonly position: number
  readonly bytes: Buffer
}

/** The content of one file, in chunks. Bytes beyond `size` have no meaning. */
class MemoryContent {
  size = 0
  readonly #chunks: Buffer[] = []
  /** Changes since the last sync, oldest first. */
  #undo: Undo[] = []
  #syncedSize = 0

  read(target: Uint8Array, position: number): number {
    const end = Math.min(this.size, position + target.length)
    let filled = 0
    for (let at = position; at < end;) {
      const chunk = this.#chunks[Math.floor(at / chunkBytes)] as Buffer
      const from = at % chunkBytes
      const count = Math.min(chunkBytes - from, end - at)
      target.set(chunk.subarray(from, from + count), filled)
      filled += count
      at += count
    }
    return filled
  }

  write(bytes: Uint8Array, position: number): void {
    this.#remember(position, bytes.length)
    // A gap reads as zeros, as in every file system.
    if (position > this.size) this.#fill(position)
    this.#place(bytes, position)
    this.size = Math.max(this.size, position + bytes.length)
  }

  truncate(size: number): void {
    this.#remember(size, this.size - size)
    if (size > this.size) this.#fill(size)
    this.#chunks.length = Math.min(this.#chunks.length, Math.ceil(size / chunkBytes))
    this.size = size
  }

  sync(): void {
    this.#undo = []
    this.#syncedSize = this.size
  }

  /** Goes back to the last sync. */
  loseUnsynced(): void {
    for (const { size, position, bytes } of this.#undo.toReversed()) {
      this.#place(bytes, position)
      this.size = size
    }
    this.size = Math.min(this.size, this.#syncedSize)
    this.sync()
  }

  /** Only bytes that a sync has covered need to be kept: what came later is lost in any case. */
  #remember(position: number, length: number): void {
    const end = Math.min(position + length, this.size, this.#syncedSize)
    if (end <= position) return
    const bytes = Buffer.allocUnsafe(end - position)
    this.read(bytes, position)
    this.#undo.push({ size: this.size, position, bytes })
  }

  #fill(end: number): void {
    this.#place(Buffer.alloc(end - this.size), this.size)
    this.size = end
  }

  #place(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length;) {
      const at = position + done
      const index = Math.floor(at / chunkBytes)
      while (this.#chunks.length <= index) this.#chunks.push(Buffer.allocUnsafeSlow(chunkBytes))
      const from = at % chunkBytes
      const count = Math.min(chunkBytes - from, bytes.length - done)
      const chunk = this.#chunks[index] as Buffer
      chunk.set(bytes.subarray(done, done + count), from)
      done += count
    }
  }
}

/** What happens to the bytes when the machine or the process dies. */
export type CrashLoss = 'nothing' | 'unsynced'

/**
 * Files in memory: what a broker without a data directory writes to, and how tests make a disk
 * fail. Nothing outlives the object. Directories exist as soon as something is in them.
 *
 * @example
 * const disk = new MemoryDisk()
 * disk.failWrite({ after: 3 })      // three writes work, the fourth fails half way
 * disk.capacityBytes = 1_000_000    // full after a megabyte
 * disk.crash('unsynced')            // the power fails: what was not synced is gone
 */
export class MemoryDisk implements Disk {
  /** Most bytes in all files together; a write over it fails half way. Default: no limit. */
  capacityBytes = Number.POSITIVE_INFINITY
  readonly #files = new Map<string, MemoryContent>()
  readonly #directories = new Set<string>()
  readonly #locks = new Set<string>()
  /** Handles and locks of an earlier life are dead. */
  #life = 0
  #usedBytes = 0
  /** Writes that still work before one fails; undefined: none fails. */
  #writesLeft: number | undefined

  /** Bytes in all files. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /**
   * Lets `after` writes, atomic ones included, succeed (default 0) and the next one fail half way,
   * once.
   */
  failWrite(options: { after?: number } = {}): void {
    this.#writesLeft = options.after ?? 0
  }

  /**
   * The process dies (`nothing` is lost: the operating system has every write), or the machine
   * does (`unsynced` bytes are lost; names and directories are kept). Open files and locks end.
   */
  crash(loss: CrashLoss): void {
    this.#life += 1
    this.#locks.clear()
    if (loss === 'nothing') return
    for (const content of this.#files.values()) {
      this.#resize(content, () => content.loseUnsynced())
    }
  }

  makeDirectory(path: string): void {
    this.#directories.add(path)
  }

  list(path: string): string[] {
    const prefix = `${path}/`
    const names = new Set<string>()
    for (const name of [...this.#files.keys(), ...this.#directories]) {
      if (name.startsWith(prefix)) names.add(name.slice(prefix.length).split('/', 1)[0] as string)
    }
    return [...names].sort()
  }

  exists(path: string): boolean {
    return this.#files.has(path) || this.#directories.has(path) || this.list(path).length > 0
  }

  open(path: string, options: { create?: boolean } = {}): DiskFile {
    let content = this.#files.get(path)
    if (content === undefined) {
      if (options.create !== true) throw failed(path, 'there is no such file')
      content = new MemoryContent()
      this.#files.set(path, content)
    }
    return this.#handle(path, content)
  }

  readFile(path: string): Buffer | undefined {
    const content = this.#files.get(path)
    if (content === undefined) return undefined
    const bytes = Buffer.allocUnsafe(content.size)
    content.read(bytes, 0)
    return bytes
  }

  writeFileAtomic(path: string, bytes: Uint8Array): void {
    const old = this.#files.get(path)
    const allowed = this.#allow(bytes.length - (old?.size ?? 0), bytes.length)
    if (allowed < bytes.length) throw failed(path, 'the disk is full or failing')
    const content = new MemoryContent()
    content.write(bytes, 0)
    content.sync()
    this.#usedBytes += bytes.length - (old?.size ?? 0)
    this.#files.set(path, content)
  }

  rename(from: string, to: string): void {
    if (!this.exists(from)) throw failed(from, 'there is no such file')
    this.remove(to)
    for (const path of within(this.#files.keys(), from)) {
      const content = this.#files.get(path) as MemoryContent
      this.#files.delete(path)
      this.#files.set(to + path.slice(from.length), content)
    }
    for (const path of within(this.#directories, from)) {
      this.#directories.delete(path)
      this.#directories.add(to + path.slice(from.length))
    }
  }

  remove(path: string): void {
    for (const name of within(this.#files.keys(), path)) {
      this.#usedBytes -= this.#files.get(name)?.size ?? 0
      this.#files.delete(name)
    }
    for (const name of within(this.#directories, path)) this.#directories.delete(name)
  }

  lock(path: string): DiskLock {
    if (this.#locks.has(path)) {
      const directory = path.slice(0, path.lastIndexOf('/'))
      throw new StreamsError('STATE_DIRECTORY_LOCKED', { directory, pid: process.pid })
    }
    this.#locks.add(path)
    const life = this.#life
    const release = (): void => {
      if (life === this.#life) this.#locks.delete(path)
    }
    const refresh = (): void => {
      if (life === this.#life && this.#locks.has(path)) return
      const directory = path.slice(0, path.lastIndexOf('/'))
      throw new StreamsError('STATE_DIRECTORY_LOCKED', { directory, pid: undefined })
    }
    return { refresh, release, [Symbol.dispose]: release }
  }

  /** How many of the bytes may be written now. */
  #allow(growth: number, length: number): number {
    if (this.#writesLeft === 0) {
      this.#writesLeft = undefined
      return Math.floor(length / 2)
    }
    if (this.#writesLeft !== undefined) this.#writesLeft -= 1
    const room = this.capacityBytes - this.#usedBytes
    return growth <= room ? length : Math.max(0, length - growth + room)
  }

  #resize(content: MemoryContent, change: () => void): void {
    const before = content.size
    change()
    this.#usedBytes += content.size - before
  }

  #handle(path: string, content: MemoryContent): DiskFile {
    const life = this.#life
    let isOpen = true
    const check = (): void => {
      if (!isOpen || life !== this.#life) throw failed(path, 'the file is closed')
    }
    const close = (): void => {
      isOpen = false
    }
    return {
      path,
      size: () => {
        check()
        return content.size
      },
      read: (target, position) => {
        check()
        return content.read(target, position)
      },
      write: (bytes, position) => {
        check()
        const growth = Math.max(0, position + bytes.length - content.size)
        const allowed = this.#allow(growth, bytes.length)
        this.#resize(content, () => content.write(bytes.subarray(0, allowed), position))
        if (allowed < bytes.length) throw failed(path, 'the disk is full or failing')
      },
      truncate: (size) => {
        check()
        this.#resize(content, () => content.truncate(size))
      },
      sync: () => {
        check()
        content.sync()
      },
      close,
      [Symbol.dispose]: close,
    }
  }
}

/** The path itself and what lies below it. */
function within(paths: Iterable<string>, path: string): string[] {
  return [...paths].filter((name) => name === path || name.startsWith(`${path}/`))
}

function failed(path: string, detail: string): StreamsError {
  return new StreamsError('DISK_FAILED', { path, detail })
}
