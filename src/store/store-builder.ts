import { assert } from '../base/assert.ts'
import { bufferSerde } from '../serde/bytes-serde.ts'
import { cacheBudget } from './cache-budget.ts'
import { ChangeBuffer } from './change-buffer.ts'
import { ChangeloggedTable } from './changelogged-table.ts'
import { keyValueStore, type KeyValueStoreDescriptor } from './descriptor.ts'
import type { EntryTable } from './entry-table.ts'
import { PlainKeyValueStore } from './plain-key-value-store.ts'
import { RecordBuffer, recordBufferChangelog } from './record-buffer.ts'
import { RecordCache } from './record-cache.ts'
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
import { plainFormat, timestampedFormat } from './stored-value.ts'
import { TimestampedStore } from './timestamped-key-value-store.ts'
import type { TypedSessionStore } from './typed-session-store.ts'
import type { TypedVersionedStore } from './typed-versioned-store.ts'
import type { PlainWindowStore, StampedWindowStore } from './typed-window-stores.ts'
import { buildVersionedStore } from './versioned-store-builder.ts'
import { buildSessionStore, buildWindowStore } from './windowed-store-builder.ts'

export type { StoreToBuild } from './store-layers.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- variance: a descriptor of any types fits
type AnyKeyValueStore = KeyValueStoreDescriptor<any, any>

/** A key-value store as it was built. */
export type BuiltKeyValueStore =
  | PlainKeyValueStore<unknown, unknown>
  | TimestampedStore<unknown, unknown>

/** A store as it was built: for its task, for processors and for queries. */
export type BuiltStore =
  | BuiltKeyValueStore
  | PlainWindowStore<unknown, unknown>
  | StampedWindowStore<unknown, unknown>
  | TypedSessionStore<unknown, unknown>
  | TypedVersionedStore<unknown, unknown>
  | ChangeBuffer
  | RecordBuffer

/** Makes the store of a task, of the kind that its descriptor says. */
export function buildStore(
  node: StoreToBuild<AnyKeyValueStore>,
  context: StoreContext,
): BuiltKeyValueStore
export function buildStore(node: StoreToBuild, context: StoreContext): BuiltStore
export function buildStore(node: StoreToBuild, context: StoreContext): BuiltStore {
  const { descriptor } = node
  switch (descriptor.kind) {
    case 'key-value':
      if (node.buffer === 'changes') return buildChangeBuffer({ ...node, descriptor }, context)
      if (node.buffer === 'records') return buildRecordBuffer({ ...node, descriptor }, context)
      return buildKeyValueStore({ ...node, descriptor }, context)
    case 'window':
      return buildWindowStore({ ...node, descriptor }, context)
    case 'session':
      return buildSessionStore({ ...node, descriptor }, context)
    case 'versioned':
      return buildVersionedStore({ ...node, descriptor }, context)
    default:
      throw new TypeError(descriptor satisfies never)
  }
}

function buildChangeBuffer(
  node: StoreToBuild<AnyKeyValueStore>,
  context: StoreContext,
): ChangeBuffer {
  const { descriptor } = node
  const changelog = changelogOf(node, context)
  return new ChangeBuffer({ descriptor, record: context.record, changelog })
}

function buildRecordBuffer(
  node: StoreToBuild<AnyKeyValueStore>,
  context: StoreContext,
): RecordBuffer {
  const { descriptor } = node
  const { name, persistent, changelog } = descriptor
  const options = { persistent, changelog, caching: false, key: bufferSerde, value: bufferSerde }
  const rows = buildKeyValueStore(
    { ...node, descriptor: keyValueStore(name, options), timestamped: false },
    { ...context, changelog: recordBufferChangelog(context.changelog) },
  )
  assert(rows instanceof PlainKeyValueStore, 'the rows have no timestamps')
  const asBytes = rows as unknown as PlainKeyValueStore<Buffer, Buffer>
  return new RecordBuffer({ descriptor, rows: asBytes, record: context.record })
}

/**
 * Java's KeyValueStoreBuilder and TimestampedKeyValueStoreBuilder. By default it is cached when it is
 * timestamped.
 */
function buildKeyValueStore(
  node: StoreToBuild<AnyKeyValueStore>,
  context: StoreContext,
): BuiltKeyValueStore {
  const { descriptor, timestamped } = node
  const engine = engineOf(node, context)
  const format = timestamped ? timestampedFormat : plainFormat
  const bytes = byteTable(engine, descriptor.name, format)
  const serdes = new StoreSerdes<unknown, unknown>(descriptor.name, descriptor)
  const changelogged = new ChangeloggedTable({
    bytes,
    serdes,
    isTimestamped: timestamped,
    record: context.record,
    changelog: changelogOf(node, context),
  })
  const entries: EntryTable<unknown, unknown> = isCached(node, context, timestamped)
    ? new RecordCache({
        below: changelogged,
        budget: cacheBudget(context),
        record: context.record,
        unwritable: unwritableOf(node, context),
      })
    : changelogged
  const options = {
    persistent: engine.persistent,
    logged: isLogged(node),
    serdes,
    entries,
    bytes,
    openIterators: context.metrics.openIterators,
  }
  return timestamped ? new TimestampedStore(options) : new PlainKeyValueStore(options)
}
