import { StreamsError } from '../errors.ts'
import type { TimestampedKeyValueStore } from '../store/key-value-store.ts'
import { PlainView } from '../store/plain-view.ts'
import { PlainWindowView } from '../store/plain-window-view.ts'
import { StampedView, StampedWindowView } from '../store/stamped-view.ts'
import { StampedWindowStore } from '../store/typed-window-stores.ts'
import { descriptorOf, type StoreAccess, type Stores } from './local-store.ts'
import type { NodeContext } from './processor.ts'

/** The stores of a processor by the names that it has for them. */
export function openStores(node: NodeContext, stores: Stores): Readonly<Record<string, object>> {
  const opened = Object.entries(stores).map(
    ([name, access]) => [name, openStore(node, access)] as const,
  )
  return Object.freeze(Object.fromEntries(opened))
}

/**
 * A store as a processor asks for it. Throws `STORE_NOT_CONNECTED`, and `TOPOLOGY_INVALID` for
 * timestamps that the store does not keep.
 */
export function openStore(node: NodeContext, access: StoreAccess): object {
  const { name } = descriptorOf(access)
  const store = node.store(name) as object
  if (access.kind !== 'timestamped') return plainView(store, () => node.timestamp) ?? store
  const stamped = stampedView(store)
  if (stamped !== undefined) return stamped
  const detail = `${node.node} asks for timestamps of the store ${name}, which keeps none`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

/** A store that keeps timestamps as one that does not; undefined: it keeps none. */
function plainView(store: object, now: () => number): object | undefined {
  if (store instanceof StampedWindowStore) return new PlainWindowView(store, { now })
  return isStampedStore(store) ? new PlainView(store, { now }) : undefined
}

/** A store that keeps timestamps, with them; undefined: it keeps none. */
function stampedView(store: object): object | undefined {
  if (store instanceof StampedWindowStore) return new StampedWindowView(store)
  return isStampedStore(store) ? new StampedView(store) : undefined
}

/** Of the key-value stores only a plain one can put unless there is something: it needs no timestamp. */
function isStampedStore(store: object): store is TimestampedKeyValueStore<unknown, unknown> {
  return 'prefix' in store && !('putIfAbsent' in store)
}
