import type { StateEngine, StateEngineWorld } from './state-engine.ts'
import { rocksdbEngine } from './rocksdb-engine.ts'
import { resolveRocksdbOptions, type RocksdbOptions } from './rocksdb-options.ts'

/**
 * Keeps persistent stores in RocksDB, by the package `@nxtedition/rocksdb` 12.2.12, which the
 * application installs: for state far larger than memory, and for long restores. The package has
 * binaries for Linux x64 (glibc) and macOS arm64. Each task has one database, with a cache and a write
 * buffer of its own.
 *
 * Nothing is loaded before the first persistent store is opened; then `ENGINE_UNAVAILABLE` is thrown
 * where the package is not installed or does not run.
 *
 * @throws `CONFIG_INVALID` for an option that is wrong.
 *
 * @example
 * import type { StreamsConfig } from 'millpond'
 * import { rocksdb } from 'millpond/rocksdb'
 *
 * const config: StreamsConfig = {
 *   applicationId: 'word-count',
 *   brokers: ['localhost:9092'],
 *   engine: rocksdb({ cacheBytes: 256 * 1024 * 1024, compression: 'zstd' }),
 * }
 */
export function rocksdb(options: RocksdbOptions = {}): StateEngine {
  return rocksdbStateEngine({ options })
}

/** `from`: a file, from where the package is looked for. Default: from here. */
export function rocksdbStateEngine(setup: {
  options?: RocksdbOptions
  from?: string | URL
}): StateEngine {
  const { options = {}, from } = setup
  const resolved = resolveRocksdbOptions(options)
  return Object.freeze({
    kind: 'state-engine',
    name: 'rocksdb',
    factory: ({ disk, log }: StateEngineWorld) =>
      rocksdbEngine({ disk, log, options: resolved, from }),
  })
}
