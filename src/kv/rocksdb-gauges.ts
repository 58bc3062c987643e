import type { RocksdbFiles } from './rocksdb-rows.ts'

/** Properties of a database that Java shows as metrics, by their names there (KIP-607). */
export const rocksdbGaugeNames: readonly string[] = [
  'num-immutable-mem-table',
  'cur-size-active-mem-table',
  'cur-size-all-mem-tables',
  'size-all-mem-tables',
  'num-entries-active-mem-table',
  'num-entries-imm-mem-tables',
  'num-deletes-active-mem-table',
  'num-deletes-imm-mem-tables',
  'mem-table-flush-pending',
  'num-running-flushes',
  'compaction-pending',
  'num-running-compactions',
  'estimate-pending-compaction-bytes',
  'total-sst-files-size',
  'live-sst-files-size',
  'num-live-versions',
  'block-cache-capacity',
  'block-cache-usage',
  'block-cache-pinned-usage',
  'estimate-num-keys',
  'estimate-table-readers-mem',
  'background-errors',
]

/** One of these, or another property that is a number. */
export function rocksdbProperty({ binding, database }: RocksdbFiles, name: string): number {
  return Number(binding.db_get_property(database, `rocksdb.${name}`))
}

export function rocksdbGauges(files: RocksdbFiles): ReadonlyMap<string, number> {
  return new Map(rocksdbGaugeNames.map((name) => [name, rocksdbProperty(files, name)]))
}
