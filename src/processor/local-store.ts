import { StreamsError } from '../errors.ts'
import type {
  AnyStore,
  KeyValueStoreDescriptor,
  SessionStoreDescriptor,
  VersionedStoreDescriptor,
  WindowStoreDescriptor,
} from '../store/descriptor.ts'
import type { KeyValueStore, TimestampedKeyValueStore } from '../store/key-value-store.ts'
import type { SessionStore } from '../store/session-store.ts'
import type { VersionedStore } from '../store/versioned-store.ts'
import type { TimestampedWindowStore, WindowStore } from '../store/window-store.ts'

/** A store whose values have timestamps, and are to be seen with them. Made by {@link timestamped}. */
export interface Timestamped<D extends AnyStore> {
  readonly kind: 'timestamped'
  readonly store: D
}

/** How a processor names a store: by its descriptor, alone or {@link timestamped}. */
export type StoreAccess = AnyStore | Timestamped<AnyStore>

/** The stores of a processor, by the names that it has for them. */
export interface Stores {
  readonly [name: string]: StoreAccess
}

/** Of a processor without stores. */
// oxlint-disable-next-line typescript/no-generated-empty-object-type -- no property is there
export type NoStores = Record<never, never>

/**
 * The synchronous store that a processor gets for a descriptor. A table keeps a timestamp with each
 * value: its descriptor alone shows plain values, and what is put through it has the timestamp of the
 * record; `timestamped(descriptor)` shows both.
 */
export type LocalStore<D> =
  D extends Timestamped<KeyValueStoreDescriptor<infer K, infer V>>
    ? TimestampedKeyValueStore<K, V>
    : D extends Timestamped<WindowStoreDescriptor<infer K, infer V>>
      ? TimestampedWindowStore<K, V>
      : D extends KeyValueStoreDescriptor<infer K, infer V>
        ? KeyValueStore<K, V>
        : D extends WindowStoreDescriptor<infer K, infer V>
          ? WindowStore<K, V>
          : D extends SessionStoreDescriptor<infer K, infer V>
            ? SessionStore<K, V>
            : D extends VersionedStoreDescriptor<infer K, infer V>
              ? VersionedStore<K, V>
              : never

/**
 * A store with the timestamps of its values: of a table, or one of a processor's own that is to keep
 * them. Java's TimestampedKeyValueStore and TimestampedWindowStore.
 *
 * @throws StreamsError `TOPOLOGY_INVALID` for a session store (whose timestamp is the session's end)
 *   or a versioned one (which always shows them).
 * @example
 * const balances = keyValueStore('balances', { key: serdes.string, value: serdes.double })
 * sales.process(({ stores }) => ({ key, value, timestamp }) => {
 *   const before = stores.balances.get(key)   // { value, timestamp } | undefined
 *   stores.balances.put(key, (before?.value ?? 0) + value, timestamp)
 * }, { stores: { balances: timestamped(balances) } })
 */
export function timestamped<
  // oxlint-disable-next-line typescript/no-explicit-any -- variance: a descriptor of any types fits
  D extends KeyValueStoreDescriptor<any, any> | WindowStoreDescriptor<any, any>,
>(store: D): Timestamped<D> {
  const { kind, name } = store as AnyStore
  if (kind !== 'key-value' && kind !== 'window') {
    const detail = `the store ${name} is a ${kind} store: timestamped() is for key-value and window stores`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  return Object.freeze({ kind: 'timestamped', store })
}

/** The descriptor behind a way to name a store. */
export function descriptorOf(access: StoreAccess): AnyStore {
  return access.kind === 'timestamped' ? access.store : access
}
