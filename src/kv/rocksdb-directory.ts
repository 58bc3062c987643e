import type { Disk } from '../base/disk.ts'
import type { Log } from '../base/log.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { LoadedRocksdb } from './rocksdb-binding.ts'
import { readCatalogue, type Catalogue } from './rocksdb-catalogue.ts'
import { isDamage } from './rocksdb-failure.ts'
import { RocksdbKeeper } from './rocksdb-keeper.ts'
import { clearTable, type RocksdbFiles } from './rocksdb-rows.ts'

/** The presence of this file says that damaged rows were found. */
const damageName = 'damaged'

/** A database that is open, and what was in it. */
export interface OpenDatabase {
  readonly files: RocksdbFiles
  readonly catalogue: Catalogue
  readonly handle: bigint
}

/** Failures of RocksDB are failures of the disk. */
export function diskFailure(path: string, error: unknown): StreamsError {
  if (error instanceof StreamsError) return error
  return new StreamsError('DISK_FAILED', { path, detail: messageOf(error) }, { cause: error })
}

/** Where a task has its database. */
export class RocksdbDirectory {
  readonly path: string
  readonly #disk: Disk
  readonly #log: Log
  readonly #rocksdb: LoadedRocksdb
  readonly #keeper: RocksdbKeeper
  readonly #options: object

  /** `options` are those of the package. */
  constructor(setup: {
    path: string
    disk: Disk
    log: Log
    rocksdb: LoadedRocksdb
    options: object
  }) {
    this.path = setup.path
    this.#disk = setup.disk
    this.#log = setup.log
    this.#rocksdb = setup.rocksdb
    this.#keeper = RocksdbKeeper.for(setup.rocksdb)
    this.#options = setup.options
  }

  /** Opens the database, making it when it is new; one that cannot be read is wiped before. */
  open(): OpenDatabase {
    if (this.#disk.exists(this.#damagePath)) this.#wipe('damaged rows were found in it')
    const opened = this.#tryToOpen()
    if ('handle' in opened) return opened
    this.#wipe(opened.damage)
    const anew = this.#tryToOpen()
    if ('handle' in anew) return anew
    throw diskFailure(this.path, anew.damage)
  }

  close({ handle }: Pick<OpenDatabase, 'handle'>): void {
    try {
      this.#keeper.close(handle)
    } catch (error) {
      // Nothing is lost: what was committed is in the hands of the operating system.
      const detail = messageOf(error)
      this.#log.warn('A database was closed with a failure', { path: this.path, error: detail })
    }
  }

  /** The database is wiped when it is opened the next time. */
  noteDamage(): void {
    this.#disk.writeFileAtomic(this.#damagePath, Buffer.alloc(0))
  }

  get #damagePath(): string {
    return `${this.path}/${damageName}`
  }

  #wipe(reason: string): void {
    const { path } = this
    this.#log.warn('A state file is wiped, to be restored from the changelog', { path, reason })
    this.#disk.remove(path)
  }

  #tryToOpen(): OpenDatabase | { readonly damage: string } {
    try {
      this.#disk.makeDirectory(this.path)
      const handle = this.#keeper.open(this.path, this.#options)
      try {
        return this.#read(handle)
      } catch (error) {
        this.close({ handle })
        throw error
      }
    } catch (error) {
      if (isDamage(error)) return { damage: messageOf(error) }
      throw diskFailure(this.path, error)
    }
  }

  #read(handle: bigint): OpenDatabase {
    const { binding } = this.#rocksdb
    const files: RocksdbFiles = { binding, database: binding.db_init(handle) }
    const catalogue = readCatalogue(files)
    for (const id of catalogue.droppedIds) clearTable(files, id)
    return { files, catalogue, handle }
  }
}
