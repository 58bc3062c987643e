import type { VersionedStoreDescriptor } from './descriptor.ts'
import { historyIntervalOf } from './retention.ts'
import { SegmentTables } from './segment-tables.ts'
import type { StoreContext } from './state-store.ts'
import { byteTable, changelogOf, engineOf, isLogged, type StoreToBuild } from './store-layers.ts'
import { StoreSerdes } from './store-serdes.ts'
import { plainFormat } from './stored-value.ts'
import { TypedVersionedStore } from './typed-versioned-store.ts'
import { VersionedTable } from './versioned-table.ts'

/** Label of the metric of dropped records. */
const droppedExpired = 'expired-version'

/** Java's VersionedKeyValueStoreBuilder. It is never cached. */
export function buildVersionedStore(
  node: StoreToBuild<VersionedStoreDescriptor<unknown, unknown>>,
  context: StoreContext,
): TypedVersionedStore<unknown, unknown> {
  const { descriptor } = node
  const {
    name,
    historyRetention,
    segmentInterval = historyIntervalOf(historyRetention),
  } = descriptor
  const engine = engineOf(node, context)
  const segments = new SegmentTables(engine, { name, interval: segmentInterval })
  const bytes = byteTable(engine, name, plainFormat, segments)
  const versions = new VersionedTable({
    bytes,
    segments,
    historyRetention,
    expired: () => context.metrics.dropped(droppedExpired),
  })
  return new TypedVersionedStore<unknown, unknown>({
    persistent: engine.persistent,
    logged: isLogged(node),
    serdes: new StoreSerdes<unknown, unknown>(name, descriptor),
    bytes,
    versions,
    changelog: changelogOf(node, context),
    openIterators: context.metrics.openIterators,
  })
}
