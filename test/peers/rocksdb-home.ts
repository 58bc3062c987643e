import { fileURLToPath } from 'node:url'

/** The package is looked for from this file, which need not exist: in its folder, and in those above it. */
export const rocksdbFrom = fileURLToPath(new URL('../../.cache/rocksdb/index.js', import.meta.url))
