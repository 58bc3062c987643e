import type { Disk, DiskFile } from '../../base/disk.ts'
import { isStreamsError } from '../../errors.ts'

/** A disk that is full or broken; everything else may be a question that was worth a try. */
const fatalErrnos = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

/** The same disk, which also tells of failures that do not pass by themselves. */
export function watchedDisk(disk: Disk, onFailure: (error: unknown) => void): Disk {
  const watch = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      if (isFatal(error)) onFailure(error)
      throw error
    }
  }
  const watchFile = (file: DiskFile): DiskFile => ({
    path: file.path,
    size: () => file.size(),
    read: (target, position) => watch(() => file.read(target, position)),
    write: (bytes, position) => watch(() => file.write(bytes, position)),
    truncate: (size) => watch(() => file.truncate(size)),
    sync: () => watch(() => file.sync()),
    close: () => file.close(),
    [Symbol.dispose]: () => file[Symbol.dispose](),
  })
  return {
    makeDirectory: (path) => watch(() => disk.makeDirectory(path)),
    list: (path) => disk.list(path),
    exists: (path) => disk.exists(path),
    open: (path, options) => watchFile(watch(() => disk.open(path, options))),
    readFile: (path) => watch(() => disk.readFile(path)),
    writeFileAtomic: (path, bytes) => watch(() => disk.writeFileAtomic(path, bytes)),
    rename: (from, to) => watch(() => disk.rename(from, to)),
    remove: (path) => watch(() => disk.remove(path)),
    lock: (path) => disk.lock(path),
  }
}

function isFatal(error: unknown): boolean {
  if (!isStreamsError(error, 'DISK_FAILED')) return false
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException
  return code !== undefined && fatalErrnos.has(code)
}
