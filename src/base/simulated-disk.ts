import { StreamsError } from '../errors.ts'
import type { Disk, DiskFile, DiskLock } from './disk.ts'
import type { MemoryDisk } from './memory-disk.ts'
import type { VirtualProcess } from './virtual-time.ts'

/** Where Linux tells one run of the machine from the next. */
const bootIdPath = '/proc/sys/kernel/random/boot_id'

/**
 * The disk of a machine as one process sees it: what the process writes is there for those that come
 * after it, and once it is dead it can touch nothing any more.
 */
export class SimulatedDisk implements Disk {
  readonly #disk: MemoryDisk
  readonly #process: VirtualProcess
  readonly #bootId: string

  /** `bootId`: another one for each run of the machine. What a kernel says of itself is on no disk. */
  constructor(disk: MemoryDisk, options: { process: VirtualProcess; bootId: string }) {
    this.#disk = disk
    this.#process = options.process
    this.#bootId = options.bootId
  }

  makeDirectory(path: string): void {
    this.#alive(path).makeDirectory(path)
  }

  list(path: string): string[] {
    return this.#alive(path).list(path)
  }

  exists(path: string): boolean {
    return this.#alive(path).exists(path)
  }

  open(path: string, options?: { create?: boolean }): DiskFile {
    const file = this.#alive(path).open(path, options)
    const alive = (): DiskFile => {
      this.#alive(path)
      return file
    }
    const close = (): void => file.close()
    return {
      path,
      size: () => alive().size(),
      read: (target, position) => alive().read(target, position),
      write: (bytes, position) => alive().write(bytes, position),
      truncate: (size) => alive().truncate(size),
      sync: () => alive().sync(),
      close,
      [Symbol.dispose]: close,
    }
  }

  readFile(path: string): Buffer | undefined {
    const disk = this.#alive(path)
    return path === bootIdPath ? Buffer.from(`${this.#bootId}\n`) : disk.readFile(path)
  }

  writeFileAtomic(path: string, bytes: Uint8Array): void {
    this.#alive(path).writeFileAtomic(path, bytes)
  }

  rename(from: string, to: string): void {
    this.#alive(from).rename(from, to)
  }

  remove(path: string): void {
    this.#alive(path).remove(path)
  }

  lock(path: string): DiskLock {
    return this.#alive(path).lock(path)
  }

  /** The disk, for a process that is there to use it. */
  #alive(path: string): MemoryDisk {
    this.#process.touch()
    if (!this.#process.isDead) return this.#disk
    throw new StreamsError('DISK_FAILED', { path, detail: 'the process is dead' })
  }
}
