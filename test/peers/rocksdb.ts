/**
 * RocksDB for tests. The package is no dependency: where its binary does not fit, its installation
 * would compile for long, and fail. Tests take it from `.cache/rocksdb`, or from where it is installed,
 * and are skipped where it is not.
 */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { systemDisk } from '../../src/base/disk.ts'
import type { KvEngineFactory } from '../../src/kv/kv.ts'
import { rocksdbEngine } from '../../src/kv/rocksdb-engine.ts'
import { rocksdbFrom } from './rocksdb-home.ts'

export { rocksdbFrom } from './rocksdb-home.ts'

const install =
  'npm install --prefix .cache/rocksdb --no-save --ignore-scripts @nxtedition/rocksdb@12.2.12'

/** Why RocksDB does not run here. In a process of its own: a wrong binary ends it. */
function findOut(): string | undefined {
  let path: string
  try {
    path = createRequire(rocksdbFrom).resolve('@nxtedition/rocksdb')
  } catch {
    return `it is not installed (${install})`
  }
  const script = 'require(process.argv[1])'
  const { status, signal, stderr } = spawnSync(process.execPath, ['-e', script, path], {
    encoding: 'utf8',
  })
  return status === 0 ? undefined : `it does not run here: ${signal ?? stderr.trim()}`
}

const missing = findOut()

if (missing !== undefined) {
  if (process.env['MILLPOND_REQUIRE_ROCKSDB'] === '1') throw new Error(`No RocksDB: ${missing}`)
  console.error(`RocksDB is skipped: ${missing}`)
}

/** Whether tests can use it; a line says why not. */
export const hasRocksdb = missing === undefined

/** For suites over all engines: one, or none where it does not run. */
export const rocksdbEngines: readonly KvEngineFactory[] = hasRocksdb
  ? [rocksdbEngine({ disk: systemDisk, from: rocksdbFrom })]
  : []
