/** The door `millpond/rocksdb`: keep the state of stores in RocksDB. */

export { rocksdb } from '../kv/rocksdb-state-engine.ts'
export type { RocksdbOptions } from '../kv/rocksdb-options.ts'
export type { StateEngine } from '../kv/state-engine.ts'
