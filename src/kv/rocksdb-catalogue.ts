/** The table with the number 0: which tables there are. */
import { damage } from './rocksdb-failure.ts'
import { allTablesBounds, rowKey, tableBounds, tableIdBytes, tableIdOf } from './rocksdb-keys.ts'
import { nativeIterator, type RocksdbFiles } from './rocksdb-rows.ts'

/** Changes when files of an earlier version cannot be read any more. */
const format = 1

const catalogueId = 0
const formatName = 'f'
const tableKind = 't'
const sampledRowsBytes = 6
const rowsAtOnce = 256

export interface TableEntry {
  readonly id: number
  /** Its rows that are in the sample (see row-sample.ts). */
  readonly sampledRows: number
}

export interface Catalogue {
  readonly tables: ReadonlyMap<string, TableEntry>
  /** Greater than that of every table that was ever there, or whose rows still are. */
  readonly nextId: number
  /** Rows in these tables, which were dropped, may still be there: the process died meanwhile. */
  readonly droppedIds: readonly number[]
}

const catalogueKey = (name: string): Buffer => rowKey(catalogueId, Buffer.from(name))

export const tableEntryKey = (name: string): Buffer => catalogueKey(`${tableKind}${name}`)

export function encodeTableEntry({ id, sampledRows }: TableEntry): Buffer {
  const bytes = Buffer.alloc(tableIdBytes + sampledRowsBytes)
  bytes.writeUInt32BE(id, 0)
  bytes.writeUIntBE(sampledRows, tableIdBytes, sampledRowsBytes)
  return bytes
}

function decodeEntry(bytes: Buffer): TableEntry {
  return {
    id: bytes.readUInt32BE(0),
    sampledRows: bytes.readUIntBE(tableIdBytes, sampledRowsBytes),
  }
}

/** What is in a database; a new one gets its format. Throws {@link damage} when that is another one. */
export function readCatalogue(files: RocksdbFiles): Catalogue {
  const rows = catalogueRows(files)
  const tables = new Map<string, TableEntry>()
  const stated = rows.get(formatName)
  if (rows.size === 0) writeRow(files, formatName, Buffer.from([format]))
  else if (stated?.[0] !== format) {
    throw damage(`it has format ${String(stated?.[0])}, this is ${format}`)
  }
  for (const [name, value] of rows) {
    if (name.startsWith(tableKind)) tables.set(name.slice(tableKind.length), decodeEntry(value))
  }
  const known = new Set([...tables.values()].map(({ id }) => id))
  const present = presentTableIds(files)
  return {
    tables,
    nextId: Math.max(catalogueId, ...known, ...present) + 1,
    droppedIds: present.filter((id) => !known.has(id)),
  }
}

function writeRow({ binding, database }: RocksdbFiles, name: string, value: Buffer): void {
  const batch = binding.batch_init()
  binding.batch_put(batch, catalogueKey(name), value)
  binding.batch_write(database, batch)
}

/** By their names in the catalogue. */
function catalogueRows(files: RocksdbFiles): Map<string, Buffer> {
  const { binding } = files
  const native = nativeIterator(files, { bounds: tableBounds(catalogueId), reverse: false })
  const found = new Map<string, Buffer>()
  try {
    let isFinished = false
    while (!isFinished) {
      const { rows, finished } = binding.iterator_nextv_sync(native, rowsAtOnce)
      for (let at = 0; at < rows.length; at += 2) {
        const key = rows[at] as Buffer
        found.set(key.toString('utf8', tableIdBytes), rows[at + 1] as Buffer)
      }
      isFinished = finished
    }
    return found
  } finally {
    binding.iterator_close(native)
  }
}

/** Numbers of which there is a row: a step for each, whatever the number of its rows. */
function presentTableIds(files: RocksdbFiles): number[] {
  const { binding } = files
  const native = nativeIterator(files, {
    bounds: allTablesBounds(),
    reverse: false,
    keysOnly: true,
  })
  const ids: number[] = []
  try {
    let key = binding.iterator_nextv_sync(native, 1).rows[0]
    while (key !== undefined) {
      const id = tableIdOf(key)
      ids.push(id)
      binding.iterator_seek(native, tableBounds(id).to)
      key = binding.iterator_nextv_sync(native, 1).rows[0]
    }
    return ids
  } finally {
    binding.iterator_close(native)
  }
}
