import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'

/**
 * How RocksDB is set up: once for each task, which has one database for all of its stores. What is not
 * stated is as in Java's Kafka Streams, which has a database for each store.
 */
export interface RocksdbOptions {
  /** Bytes of the cache of uncompressed blocks, 0 for none. Default 50 MiB. */
  readonly cacheBytes?: number
  /** Bytes of a block of rows, uncompressed: what is read at least. Default 4096. */
  readonly blockBytes?: number
  /**
   * Bits for each key of the filters that tell, without a read, that a file does not have a key; 0 for
   * none. Default 10: wrong for one absent key of a hundred.
   */
  readonly bloomBitsPerKey?: number
  /** Of blocks on disk. Default `'none'`; `'zstd'` needs less disk and reads slower. */
  readonly compression?: 'none' | 'zstd'
  /**
   * Bytes of rows in memory that are not in sorted files yet, from 1 MiB. They are written in four
   * parts, and while the disk is behind there may be half as many more. About a quarter is taken on
   * disk from the start. Default 64 MiB.
   */
  readonly writeBufferBytes?: number
}

const defaults: Required<RocksdbOptions> = {
  cacheBytes: 50 * 1024 * 1024,
  blockBytes: 4096,
  bloomBitsPerKey: 10,
  compression: 'none',
  writeBufferBytes: 64 * 1024 * 1024,
}

type NumberOption = Exclude<keyof RocksdbOptions, 'compression'>

/** Whole numbers from the first to the second. */
const limits: Readonly<Record<NumberOption, readonly [least: number, most: number]>> = {
  cacheBytes: [0, 2 ** 32 - 1],
  blockBytes: [1024, 64 * 1024 * 1024],
  bloomBitsPerKey: [0, 100],
  writeBufferBytes: [1024 * 1024, 2 ** 40],
}

function invalid(option: string, detail: string): StreamsError {
  return new StreamsError('CONFIG_INVALID', { option: `engine.${option}`, detail })
}

/** With all defaults. Throws `CONFIG_INVALID`. */
export function resolveRocksdbOptions(options: RocksdbOptions): Required<RocksdbOptions> {
  const given: Readonly<Record<string, unknown>> = { ...options }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(defaults, name)) throw invalid(name, 'there is no such option of rocksdb()')
  }
  const stated = Object.entries(given).filter(([, value]) => value !== undefined)
  const resolved: Required<RocksdbOptions> = { ...defaults, ...Object.fromEntries(stated) }
  for (const [name, [least, most]] of Object.entries(limits) as [
    NumberOption,
    [number, number],
  ][]) {
    const value = resolved[name]
    if (Number.isSafeInteger(value) && value >= least && value <= most) continue
    throw invalid(
      name,
      `it must be a whole number from ${least} to ${most}, not ${shownValue(value)}`,
    )
  }
  const { compression } = resolved
  if (compression !== 'none' && compression !== 'zstd') {
    throw invalid('compression', `it must be 'none' or 'zstd', not ${shownValue(compression)}`)
  }
  return resolved
}

/** Of background work: flushes and compactions of all databases of the process share it. */
const backgroundThreads = 2

/** The same in the package's words. */
export function nativeOptions(options: Required<RocksdbOptions>): object {
  const { cacheBytes, blockBytes, bloomBitsPerKey, compression, writeBufferBytes } = options
  return {
    createIfMissing: true,
    // As in Java. Only so is `compression` what decides, and `memtableMemoryBudget` what bounds.
    compaction: 'universal',
    memtableMemoryBudget: writeBufferBytes,
    cacheSize: cacheBytes,
    blockSize: blockBytes,
    filterPolicy: bloomBitsPerKey === 0 ? 'nullptr' : `bloomfilter:${bloomBitsPerKey}:false`,
    compression: compression === 'zstd',
    walCompression: false,
    parallelism: backgroundThreads,
  }
}
