import type { KvEngine } from '../kv/kv.ts'
import { cacheBudget } from './cache-budget.ts'
import { ChangeloggedTable } from './changelogged-table.ts'
import type { SessionStoreDescriptor, WindowStoreDescriptor } from './descriptor.ts'
import { DuplicatesTable } from './duplicates-table.ts'
import type { EntryTable } from './entry-table.ts'
import { RecordCache } from './record-cache.ts'
import { RetentionTable } from './retention-table.ts'
import { requiredTime, segmentIntervalOf } from './retention.ts'
import { SegmentTables, segmentBytes } from './segment-tables.ts'
import type { StoreContext } from './state-store.ts'
import {
  byteTable,
  changelogOf,
  engineOf,
  isCached,
  isLogged,
  unwritableOf,
  type StoreToBuild,
} from './store-layers.ts'
import { StoreSerdes } from './store-serdes.ts'
import { plainFormat, timestampedFormat, type StoredFormat } from './stored-value.ts'
import { TypedSessionStore } from './typed-session-store.ts'
import { PlainWindowStore, StampedWindowStore } from './typed-window-stores.ts'
import { WindowedIndex } from './windowed-index.ts'
import { SessionKeys, WindowKeys, type WindowedKeys } from './windowed-keys.ts'
import type { WindowedCache } from './windowed-scan.ts'
import { windowedKeySerde } from './windowed-store.ts'
import type { Windowed } from './windowed.ts'

type AnyWindowedStore =
  | WindowStoreDescriptor<unknown, unknown>
  | SessionStoreDescriptor<unknown, unknown>

/** Label of the metric of dropped records. */
const droppedExpired = 'expired-window'

/** What the layers of one store share. */
interface Base<Keys extends WindowedKeys> {
  readonly engine: KvEngine
  readonly segments: SegmentTables
  readonly keys: Keys
  readonly bytes: RetentionTable
  /** Of the key alone. */
  readonly keySerdes: StoreSerdes<unknown, unknown>
  readonly serdes: StoreSerdes<Windowed<unknown>, unknown>
}

/**
 * Java's WindowStoreBuilder and TimestampedWindowStoreBuilder. By default it is cached when it is
 * timestamped; never when it retains duplicates.
 */
export function buildWindowStore(
  node: StoreToBuild<WindowStoreDescriptor<unknown, unknown>>,
  context: StoreContext,
): PlainWindowStore<unknown, unknown> | StampedWindowStore<unknown, unknown> {
  const { descriptor, timestamped } = node
  const size = requiredTime(descriptor, 'windowSize')
  const format = timestamped ? timestampedFormat : plainFormat
  const base = baseOf(node, context, {
    format,
    makeKeys: (segmentOf) => new WindowKeys(segmentOf, size),
  })
  const layers =
    descriptor.retainDuplicates === true
      ? { entries: duplicatesOf(node, context, base), cache: undefined }
      : entriesOf(node, context, base)
  const options = { ...optionsOf(node, context, base), ...layers }
  return timestamped ? new StampedWindowStore(options) : new PlainWindowStore(options)
}

/** Java's SessionStoreBuilder. It is cached when the descriptor says so, as that of a session aggregation does. */
export function buildSessionStore(
  node: StoreToBuild<SessionStoreDescriptor<unknown, unknown>>,
  context: StoreContext,
): TypedSessionStore<unknown, unknown> {
  const plain = { ...node, timestamped: false }
  const inMemory = isCached(plain, context, false) ? 'key-start' : 'key-latest-start'
  const order = isPersistent(node) ? 'start-key' : inMemory
  const makeKeys = (segmentOf: (time: number) => number): SessionKeys =>
    new SessionKeys(segmentOf, order)
  const base = baseOf(plain, context, { format: plainFormat, makeKeys })
  const layers = entriesOf(plain, context, base)
  // Sessions that close are asked for by their end; all else goes by key on disk, as in Java.
  const timeOrdered = !isPersistent(node)
  return new TypedSessionStore({ ...optionsOf(node, context, base), ...layers, timeOrdered })
}

function baseOf<Keys extends WindowedKeys>(
  node: StoreToBuild<AnyWindowedStore>,
  context: StoreContext,
  options: { format: StoredFormat; makeKeys: (segmentOf: (time: number) => number) => Keys },
): Base<Keys> {
  const { descriptor } = node
  const { name } = descriptor
  const engine = engineOf(node, context)
  const retention = requiredTime(descriptor, 'retention')
  const closes = node.timeOrdered === true
  const hasIndex = closes && engine.persistent
  const segments: SegmentTables = new SegmentTables(engine, {
    name,
    interval: segmentIntervalOf(retention),
    indexKeyOf: hasIndex ? (key) => keys.closingKey(key) : undefined,
  })
  const keys = options.makeKeys((time) => segments.segmentOf(time))
  const bytes = new RetentionTable({
    bytes: byteTable(engine, name, options.format, segments),
    segments,
    keys,
    retention,
    persistent: isPersistent(node),
    // Java keeps no index of time in memory, and the usual rule there.
    emitsOnClose: node.timeOrdered === true && isPersistent(node) && descriptor.kind === 'window',
    closing: hasIndex ? 'in-engine' : closes ? 'in-memory' : undefined,
    expired: () => context.metrics.dropped(droppedExpired),
  })
  const keySerdes = new StoreSerdes<unknown, unknown>(name, descriptor)
  const serdes = new StoreSerdes<Windowed<unknown>, unknown>(name, {
    key: windowedKeySerde(descriptor.key, keys),
    value: descriptor.value,
  })
  return { engine, segments, keys, bytes, keySerdes, serdes }
}

/** Of that kind: a test may keep a persistent store in memory, and it behaves the same. */
function isPersistent({ descriptor }: StoreToBuild<AnyWindowedStore>): boolean {
  return descriptor.persistent ?? true
}

function duplicatesOf(
  node: StoreToBuild<AnyWindowedStore>,
  context: StoreContext,
  base: Base<WindowKeys>,
): DuplicatesTable<unknown, unknown> {
  const changelog = changelogOf(node, context)
  return new DuplicatesTable({
    ...base,
    record: context.record,
    changelog,
    isTimestamped: node.timestamped,
    persistent: isPersistent(node),
  })
}

/** The layer of objects: with a cache, or without. */
function entriesOf(
  node: StoreToBuild<AnyWindowedStore>,
  context: StoreContext,
  { bytes, serdes }: Base<WindowedKeys>,
): {
  entries: EntryTable<Windowed<unknown>, unknown>
  cache: WindowedCache<unknown, unknown> | undefined
} {
  const changelogged = new ChangeloggedTable({
    bytes,
    serdes,
    isTimestamped: node.timestamped,
    record: context.record,
    changelog: changelogOf(node, context),
    changelogKey: (keyBytes) => keyBytes.subarray(segmentBytes),
  })
  if (!isCached(node, context, node.timestamped)) {
    return { entries: changelogged, cache: undefined }
  }
  const { key, kind } = node.descriptor
  const index = new WindowedIndex<unknown, unknown>(key, {
    of: kind === 'window' ? 'windows' : 'sessions',
    closes: node.timeOrdered === true,
  })
  const entries = new RecordCache({
    below: changelogged,
    budget: cacheBudget(context),
    record: context.record,
    index,
    windowed: {
      timeOf: ({ window }) => index.timeOf(window),
      newestBelow: () => bytes.newestRestored,
    },
    unwritable: unwritableOf(node, context),
  })
  return { entries, cache: { entries, index } }
}

function optionsOf<Keys extends WindowedKeys>(
  node: StoreToBuild<AnyWindowedStore>,
  context: StoreContext,
  base: Base<Keys>,
): {
  persistent: boolean
  logged: boolean
  timeOrdered: boolean
  openIterators: StoreContext['metrics']['openIterators']
} & Base<Keys> {
  return {
    ...base,
    persistent: base.engine.persistent,
    logged: isLogged(node),
    // Sessions on disk are asked for those that close, and come by key otherwise.
    timeOrdered:
      !isPersistent(node) || (node.timeOrdered === true && node.descriptor.kind === 'window'),
    openIterators: context.metrics.openIterators,
  }
}
