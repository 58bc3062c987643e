import type { KvEngine } from '../kv/kv.ts'
import type { ByteTable } from './byte-table.ts'
import type { AnyStore } from './descriptor.ts'
import { DirectTable } from './direct-table.ts'
import type { EngineTable } from './engine-table.ts'
import type { ChangelogWriter, StoreContext } from './state-store.ts'
import { changeLayout, claimLayout } from './store-layout.ts'
import type { StoredFormat } from './stored-value.ts'
import { WriteBehind } from './write-behind.ts'

/** A store as a topology has it: its descriptor, and what the operator that made it needs. */
export interface StoreToBuild<D extends AnyStore = AnyStore> {
  readonly descriptor: D
  /** Keep a timestamp with each value: every table of the DSL. */
  readonly timestamped: boolean
  /** What an operator holds back, instead of a store of rows. */
  readonly buffer?: 'changes' | 'records' | undefined
  /** Windows and sessions by time first. */
  readonly timeOrdered?: boolean
  /** Changes have the headers of the record that caused them: subscriptions of foreign-key joins. */
  readonly logsHeaders?: boolean
  /** A source topic that serves as the changelog: nothing is written to it. */
  readonly sourceTopic?: string | undefined
}

/** The engine of a store, which has rows of its kind, or none. Throws as {@link claimLayout}. */
export function engineOf(node: StoreToBuild, context: StoreContext): KvEngine {
  const engine = context.engine(node.descriptor.persistent ?? true)
  if (engine.persistent) {
    claimLayout(engine, node)
    WriteBehind.of(engine, context.restoreBudget)
  }
  return engine
}

/**
 * Does a slice of what takes long in {@link engineOf}; true while there is more. Nothing has to be done for
 * most stores, whose engines are then not even opened.
 */
export function prepareEngine(node: StoreToBuild, context: StoreContext): boolean {
  const { persistent, changelog } = node.descriptor
  if (persistent === false || changelog !== false || !node.timestamped) return false
  const engine = context.engine(true)
  return engine.persistent && changeLayout(engine, node)
}

/** The layer of bytes over an engine; `rows` as for both of its classes. */
export function byteTable(
  engine: KvEngine,
  name: string,
  format: StoredFormat,
  rows?: EngineTable,
): ByteTable {
  return engine.persistent
    ? WriteBehind.of(engine).table(name, format, rows)
    : new DirectTable(engine, name, format, rows)
}

export function isLogged({ descriptor }: StoreToBuild): boolean {
  return descriptor.changelog !== false
}

/** Where the changes of a store go; undefined: nowhere. */
export function changelogOf(
  node: StoreToBuild,
  context: StoreContext,
): ChangelogWriter | undefined {
  if (!isLogged(node) || node.sourceTopic !== undefined) return undefined
  const { changelog, record } = context
  if (node.logsHeaders !== true) return changelog
  return {
    write: (store, key, value, timestamp) =>
      changelog.write(store, key, value, timestamp, record.headers),
  }
}

/** Who decides about updates that the serdes of a store refuse. */
export function unwritableOf(
  { descriptor }: StoreToBuild,
  { unwritable }: StoreContext,
): ((row: { key: unknown; value: unknown }, error: unknown) => void) | undefined {
  return unwritable && ((row, error) => unwritable(descriptor.name, row, error))
}

/** A store has a record cache when its descriptor says so, unless the task has no bytes for caches. */
export function isCached(node: StoreToBuild, context: StoreContext, byDefault: boolean): boolean {
  return (node.descriptor.caching ?? byDefault) && context.cacheBytesMax > 0
}
