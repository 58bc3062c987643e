/**
 * What the rows of a store are, written beside them in a persistent engine. A program that is changed may
 * have another kind of store under the name of an old one; its rows would be read as what they are not.
 *
 * Where the changelog says the same of both kinds, the old rows are dropped, and the store is restored
 * from it. A store without a changelog that gets timestamps keeps its rows, which have no time (-1), as
 * those that Kafka Streams finds in a store of an earlier version. All else is refused: the changelog,
 * too, has rows of the old kind.
 */
import { StreamsError } from '../errors.ts'
import type { KvBatch, KvEngine, KvTable } from '../kv/kv.ts'
import { offsetTableName } from './offset-table.ts'
import { addTimestamps, formatMark, parseMark } from './store-layout-change.ts'
import type { StoreToBuild } from './store-layers.ts'

/** The table of an engine that says what the rows of each store are; no store can have this name. */
const layoutTableName = '__layouts'
/** Of a store whose old rows are being dropped: its next start drops what is left of them. */
const dropping = 'dropping'

type Layout =
  | 'key-value'
  | 'timestamped key-value'
  | 'versioned'
  | 'window'
  | 'timestamped window'
  | 'window, with duplicates'
  | 'timestamped window, with duplicates'
  | 'session'
  | 'buffer'

/** What a store becomes by a restore from the changelog of the other kind. */
const restored: Partial<Record<string, readonly Layout[]>> = {
  'key-value': ['timestamped key-value', 'versioned'],
  // The changelog of a versioned store has late versions last.
  'timestamped key-value': ['key-value', 'versioned'],
  window: ['timestamped window'],
  'timestamped window': ['window'],
}

/** What gets timestamps where there is no changelog. */
const stamped: Partial<Record<string, Layout>> = {
  'key-value': 'timestamped key-value',
  window: 'timestamped window',
}

/**
 * Sees to it that what the engine has of a store are rows of its kind, or none.
 *
 * @throws StreamsError `STORE_KIND_DIFFERS`
 */
export function claimLayout(engine: KvEngine, node: StoreToBuild): void {
  while (changeLayout(engine, node));
  const { name } = node.descriptor
  const layout = layoutOf(node)
  const layouts = engine.table(layoutTableName)
  const key = Buffer.from(name)
  const found = layouts.get(key)?.toString()
  if (found === layout) return
  const kept = found === undefined ? undefined : (parseMark(found)?.layout ?? found)
  const mayDrop = isRestored(node) && restored[kept ?? '']?.includes(layout) === true
  if (found === dropping || mayDrop) drop(engine, layouts, name)
  else if (found !== undefined) throw differs(node, found)
  layouts.put(key, Buffer.from(layout))
}

/**
 * Does a slice of what takes long in {@link claimLayout}; true while there is more, so that whoever has time
 * can let others work in between. A crash between two slices loses nothing.
 *
 * @throws StreamsError `STORE_KIND_DIFFERS`
 */
export function changeLayout(engine: KvEngine, node: StoreToBuild): boolean {
  const { name: store } = node.descriptor
  const layout = layoutOf(node)
  const layouts = engine.table(layoutTableName)
  const key = Buffer.from(store)
  const found = layouts.get(key)?.toString()
  if (found === undefined) return false
  const begun = parseMark(found)
  const mayBegin = !isRestored(node) && stamped[found] === layout
  if (begun === undefined ? !mayBegin : begun.layout !== layout) return false
  const tables = tablesOf(engine, store).sort()
  if (begun !== undefined && !tables.includes(begun.table)) throw differs(node, found)
  // The rows of an index have no values.
  const written = tables.filter(
    (name) => !name.startsWith(`${store}/`) || !name.includes('+index/'),
  )
  const batch = engine.batch()
  const next = addTimestamps(engine, batch, { tables: written, from: begun })
  const mark = next === undefined ? layout : formatMark({ ...next, layout })
  batch.put(layouts, key, Buffer.from(mark))
  batch.commit()
  return next !== undefined
}

function isRestored({ descriptor, sourceTopic }: StoreToBuild): boolean {
  return descriptor.changelog !== false || sourceTopic !== undefined
}

function differs(node: StoreToBuild, found: string): StreamsError {
  const { name: store } = node.descriptor
  return new StreamsError('STORE_KIND_DIFFERS', { store, found, kind: layoutOf(node) })
}

function layoutOf({ descriptor, timestamped, buffer }: StoreToBuild): Layout {
  if (buffer !== undefined) return 'buffer'
  switch (descriptor.kind) {
    case 'key-value':
      return timestamped ? 'timestamped key-value' : 'key-value'
    case 'window': {
      const kind = timestamped ? 'timestamped window' : 'window'
      return descriptor.retainDuplicates === true ? `${kind}, with duplicates` : kind
    }
    case 'session':
    case 'versioned':
      return descriptor.kind
    default:
      throw new TypeError(descriptor satisfies never)
  }
}

/** Its tables, and those of its segments. */
function tablesOf(engine: KvEngine, store: string): string[] {
  return engine.tableNames().filter((name) => name === store || name.startsWith(`${store}/`))
}

function drop(engine: KvEngine, layouts: KvTable, store: string): void {
  const batch = engine.batch()
  batch.put(layouts, Buffer.from(store), Buffer.from(dropping))
  forgetOffsets(engine, batch, store)
  batch.commit()
  for (const name of tablesOf(engine, store)) engine.dropTable(name)
}

/** The one of its changelog, and those of the partitions of a global topic. */
function forgetOffsets(engine: KvEngine, batch: KvBatch, store: string): void {
  const offsets = engine.table(offsetTableName)
  batch.delete(offsets, Buffer.from(store))
  using rows = offsets.range({
    from: Buffer.from(`${store}/`),
    to: Buffer.from(`${store}0`),
    toExclusive: true,
  })
  for (const { key } of rows) batch.delete(offsets, key)
}
