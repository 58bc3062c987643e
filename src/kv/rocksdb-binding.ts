/**
 * The native part of the package `@nxtedition/rocksdb`, pinned to one version because it is used
 * directly, below what the package documents: its own classes open and iterate by callbacks.
 */
import { createRequire } from 'node:module'
import { StreamsError, messageOf } from '../errors.ts'

export const rocksdbPackage = '@nxtedition/rocksdb'
export const rocksdbVersion = '12.2.12'

/** An open database. */
export interface NativeDatabase {
  readonly native: 'database'
}

export interface NativeIterator {
  readonly native: 'iterator'
}

export interface NativeBatch {
  readonly native: 'batch'
}

/** Bounds in bytes, and what the rows are to have. The iterator sees the moment at which it is made. */
export interface NativeIteratorOptions {
  readonly gte: Buffer
  readonly lt?: Buffer
  readonly reverse?: boolean
  readonly keys?: boolean
  readonly values?: boolean
  readonly keyEncoding?: 'buffer'
  readonly valueEncoding?: 'buffer'
  /** A read ends with the row that exceeds it. */
  readonly highWaterMarkBytes?: number
  /** Whether blocks that are read stay in the block cache. */
  readonly fillCache?: boolean
  readonly asyncIO?: boolean
  readonly adaptiveReadahead?: boolean
}

/** Keys and values in turn, each a copy of its own. */
export interface NativeRows {
  readonly rows: readonly (Buffer | undefined)[]
  readonly finished: boolean
}

/**
 * The functions that are used here. The native code holds assertions, which end the process: it must
 * not be given the empty key, nor a database that is closed.
 */
export interface RocksdbBinding {
  /** By path: a new, closed one, which belongs to the thread. By handle: one that is open elsewhere. */
  db_init(pathOrHandle: string | bigint): NativeDatabase
  db_open(
    database: NativeDatabase,
    options: object,
    callback: (error: Error | null | undefined) => void,
  ): void
  db_close(database: NativeDatabase, callback: (error: Error | null | undefined) => void): void
  /** Usable in every thread of the process for as long as the database is open. */
  db_get_handle(database: NativeDatabase): bigint
  db_get_many_sync(database: NativeDatabase, keys: readonly Buffer[]): (Buffer | undefined)[]
  /** Deletes a range at once, in a write of its own. */
  db_clear(database: NativeDatabase, range: { readonly gte: Buffer; readonly lt: Buffer }): void
  /** Empty when there is no such property. */
  db_get_property(database: NativeDatabase, name: string): string
  iterator_init(database: NativeDatabase, options: NativeIteratorOptions): NativeIterator
  /** Forward: to this key or the next one; in reverse: to this key or the one before. */
  iterator_seek(iterator: NativeIterator, target: Buffer): void
  iterator_nextv_sync(iterator: NativeIterator, rowsMax: number): NativeRows
  iterator_close(iterator: NativeIterator): void
  batch_init(): NativeBatch
  batch_put(batch: NativeBatch, key: Buffer, value: Buffer): void
  batch_del(batch: NativeBatch, key: Buffer): void
  batch_write(database: NativeDatabase, batch: NativeBatch): void
}

export interface LoadedRocksdb {
  readonly binding: RocksdbBinding
  /** Of the file to load in another thread. */
  readonly path: string
}

function unavailable(detail: string, cause?: unknown): StreamsError {
  return new StreamsError('ENGINE_UNAVAILABLE', { engine: 'rocksdb', detail }, { cause })
}

/**
 * Loads the package, with the first engine: a program that does not use it needs no native code.
 *
 * @param from A file: the package is looked for from there. Default: this one.
 * @throws `ENGINE_UNAVAILABLE`: it is not installed, is another version, or does not run here.
 */
export function loadRocksdb(from: string | URL = import.meta.url): LoadedRocksdb {
  const require = createRequire(from)
  const { version } = packageOf(require)
  if (version !== rocksdbVersion) {
    throw unavailable(
      `version ${String(version)} of ${rocksdbPackage} is installed, and ${rocksdbVersion} is needed`,
    )
  }
  try {
    const path = require.resolve(`${rocksdbPackage}/binding.js`)
    return { binding: require(path) as RocksdbBinding, path }
  } catch (error) {
    throw unavailable(messageOf(error).split('\n')[0] ?? '', error)
  }
}

function packageOf(require: NodeJS.Require): { readonly version?: unknown } {
  try {
    return require(`${rocksdbPackage}/package.json`) as { version?: unknown }
  } catch (error) {
    const detail = `the package is not there (npm install ${rocksdbPackage}@${rocksdbVersion})`
    throw unavailable(detail, error)
  }
}
