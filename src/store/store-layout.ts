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
import type { StoreToBuild } from './store-layers.ts'
import { noTimestamp, timestampedFormat } from './stored-value.ts'

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
  const { name, changelog } = node.descriptor
  const layout = layoutOf(node)
  const layouts = engine.table(layoutTableName)
  const key = Buffer.from(name)
  const found = layouts.get(key)?.toString()
  if (found === layout) return
  const isRestored = changelog !== false || node.sourceTopic !== undefined
  if (found === dropping || (isRestored && restored[found ?? '']?.includes(layout) === true)) {
    drop(engine, layouts, name)
  } else if (found !== undefined && !isRestored && stamped[found] === layout) {
    addTimestamps(engine, layouts, { name, layout })
    return
  } else if (found !== undefined) {
    throw new StreamsError('STORE_KIND_DIFFERS', { store: name, found, kind: layout })
  }
  layouts.put(key, Buffer.from(layout))
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

function addTimestamps(
  engine: KvEngine,
  layouts: KvTable,
  { name: store, layout }: { name: string; layout: Layout },
): void {
  const batch = engine.batch()
  for (const name of tablesOf(engine, store)) {
    // The rows of an index have no values.
    if (name.startsWith(`${store}/`) && name.includes('+index/')) continue
    const table = engine.table(name)
    using rows = table.range()
    for (const { key, value } of rows)
      batch.put(table, key, timestampedFormat.encode(value, noTimestamp))
  }
  batch.put(layouts, Buffer.from(store), Buffer.from(layout))
  batch.commit()
}
