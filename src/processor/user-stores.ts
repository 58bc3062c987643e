import { StreamsError } from '../errors.ts'
import type { TimestampedKeyValueStore } from '../store/key-value-store.ts'
import { PlainView } from '../store/plain-view.ts'
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
  if (keepsTimestamps(store)) {
    return access.kind === 'timestamped' ? store : plainView(store, node)
  }
  if (access.kind !== 'timestamped') return store
  const detail = `${node.node} asks for timestamps of the store ${name}, which keeps none`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

type Timestamped = TimestampedKeyValueStore<unknown, unknown>

function keepsTimestamps(store: object): store is Timestamped {
  // Of the key-value stores only a plain one can put unless there is something: it needs no timestamp.
  return 'prefix' in store && !('putIfAbsent' in store)
}

function plainView(store: Timestamped, node: NodeContext): object {
  return new PlainView(store, { now: () => node.timestamp })
}
