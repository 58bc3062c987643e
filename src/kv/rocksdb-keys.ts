/**
 * How the tables of a task lie in one ordered space of keys: a table has a number, and its rows have
 * four bytes in front that say it. Number 0 is the catalogue.
 *
 *     00000000 t words          -> the number of the table `words`, and the size of its sample
 *     00000001 <key>            -> a row of the table with the number 1
 */
import { StreamsError } from '../errors.ts'
import type { KvRange } from './kv.ts'

/** The longest key, in bytes: RocksDB is not made for longer ones. */
export const rocksdbKeyBytesMax = 8 * 1024 * 1024

export const tableIdBytes = 4
/** No table has it: it is a bound. */
export const tableIdMax = 0xff_ff_ff_ff

/** Bounds in bytes, the lower one inclusive, the upper one exclusive. */
export interface KeyBounds {
  readonly from: Buffer
  readonly to: Buffer
}

/** The key of a row. */
export function rowKey(tableId: number, key: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(tableIdBytes + key.length)
  bytes.writeUInt32BE(tableId, 0)
  bytes.set(key, tableIdBytes)
  return bytes
}

/** The key of a row that is to be written. Throws `KEY_TOO_LONG`. */
export function writtenRowKey(tableId: number, key: Buffer): Buffer {
  if (key.length > rocksdbKeyBytesMax) {
    throw new StreamsError('KEY_TOO_LONG', { bytes: key.length, limit: rocksdbKeyBytesMax })
  }
  return rowKey(tableId, key)
}

export const tableIdOf = (rowKey: Buffer): number => rowKey.readUInt32BE(0)

/** All rows of a table. */
export function tableBounds(tableId: number): KeyBounds {
  return { from: rowKey(tableId, noKey), to: rowKey(tableId + 1, noKey) }
}

/** The rows of all tables, without the catalogue. */
export function allTablesBounds(): KeyBounds {
  return { from: rowKey(1, noKey), to: rowKey(tableIdMax, noKey) }
}

/** Undefined: nothing can lie in the range. */
export function rangeBounds(tableId: number, range: KvRange): KeyBounds | undefined {
  const from = rowKey(tableId, range.from ?? noKey)
  const to = upperBound(tableId, range)
  return from.compare(to) < 0 ? { from, to } : undefined
}

function upperBound(tableId: number, { to, toExclusive }: KvRange): Buffer {
  if (to === undefined) return rowKey(tableId + 1, noKey)
  return toExclusive === true ? rowKey(tableId, to) : keyAfter(rowKey(tableId, to))
}

/** The very next key in the order of bytes. */
export function keyAfter(key: Buffer): Buffer {
  const next = Buffer.alloc(key.length + 1)
  next.set(key)
  return next
}

const noKey = Buffer.alloc(0)
