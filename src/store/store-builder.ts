import { cacheBudget } from './cache-budget.ts'
import { ChangeloggedTable } from './changelogged-table.ts'
import type { AnyStore } from './descriptor.ts'
import { DirectTable } from './direct-table.ts'
import type { EntryTable } from './entry-table.ts'
import { PlainKeyValueStore } from './plain-key-value-store.ts'
import { RecordCache } from './record-cache.ts'
import type { StoreContext } from './state-store.ts'
import { StoreSerdes } from './store-serdes.ts'
import { plainFormat, timestampedFormat } from './stored-value.ts'
import { TimestampedStore } from './timestamped-key-value-store.ts'
import { WriteBehind } from './write-behind.ts'

/** A store as a topology has it: its descriptor, and what the operator that made it needs. */
export interface StoreToBuild {
  readonly descriptor: AnyStore
  /** Keep a timestamp with each value: every table of the DSL. */
  readonly timestamped: boolean
  /** A source topic that serves as the changelog: nothing is written to it. */
  readonly sourceTopic?: string | undefined
}

/** A store as it was built: for its task, for processors and for queries. */
export type BuiltStore = PlainKeyValueStore<unknown, unknown> | TimestampedStore<unknown, unknown>

/**
 * Makes the store of a task (org.apache.kafka.streams.state.internals.KeyValueStoreBuilder and
 * TimestampedKeyValueStoreBuilder). It has a record cache when the descriptor says so, by default
 * when it is timestamped, unless the task has no bytes for caches.
 */
export function buildStore(node: StoreToBuild, context: StoreContext): BuiltStore {
  const { descriptor, timestamped } = node
  const engine = context.engine(descriptor.persistent ?? true)
  const format = timestamped ? timestampedFormat : plainFormat
  const bytes = engine.persistent
    ? WriteBehind.of(engine).table(descriptor.name, format)
    : new DirectTable(engine, descriptor.name, format)
  const serdes = new StoreSerdes<unknown, unknown>(descriptor.name, descriptor)
  const logged = descriptor.changelog !== false
  const changelogged = new ChangeloggedTable({
    bytes,
    serdes,
    isTimestamped: timestamped,
    record: context.record,
    changelog: logged && node.sourceTopic === undefined ? context.changelog : undefined,
  })
  const isCached = (descriptor.caching ?? timestamped) && context.cacheBytesMax > 0
  const entries: EntryTable<unknown, unknown> = isCached
    ? new RecordCache({
        below: changelogged,
        budget: cacheBudget(context),
        record: context.record,
      })
    : changelogged
  const options = { persistent: engine.persistent, logged, serdes, entries, bytes }
  return timestamped ? new TimestampedStore(options) : new PlainKeyValueStore(options)
}
