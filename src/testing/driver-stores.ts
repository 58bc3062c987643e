import type {
  AnyStore,
  KeyValueStoreDescriptor,
  SessionStoreDescriptor,
  VersionedStoreDescriptor,
  WindowStoreDescriptor,
} from '../store/descriptor.ts'
import { StreamsError } from '../errors.ts'
import type { KeyValueStore, TimestampedKeyValueStore } from '../store/key-value-store.ts'
import { PlainView } from '../store/plain-view.ts'
import { PlainWindowView } from '../store/plain-window-view.ts'
import { StampedView, StampedWindowView } from '../store/stamped-view.ts'
import type { SessionStore } from '../store/session-store.ts'
import type { VersionedStore } from '../store/versioned-store.ts'
import type { TimestampedWindowStore, WindowStore } from '../store/window-store.ts'
import type { StoreNode } from '../topology/node.ts'

/** A store that the program has. */
export interface FoundStore {
  readonly node: StoreNode
  readonly store: unknown
}

/** The stores of a program under test, by their descriptors. */
export abstract class DriverStores {
  /** The time of what a test writes. */
  protected abstract now(): number

  /** The store of that name, if it is of that kind; throws `STORE_UNKNOWN`. */
  protected abstract findStore(descriptor: AnyStore): FoundStore

  /** Throws `CLIENT_CLOSED` when the driver is closed, and with it the stores. */
  protected abstract assertOpen(): void

  #find(descriptor: AnyStore): FoundStore {
    this.assertOpen()
    const { node, store } = this.findStore(descriptor)
    return { node, store: whileOpen(store as object, () => this.assertOpen()) }
  }

  /**
   * A store of the program, as plain values. What a test writes into a table has the wall-clock time;
   * it is forwarded with the next commit, as the program's own updates are.
   *
   * @throws StreamsError `STORE_UNKNOWN`.
   */
  store<K, V>(descriptor: KeyValueStoreDescriptor<K, V>): KeyValueStore<K, V> {
    const { node, store } = this.#find(descriptor)
    return node.timestamped
      ? new PlainView(store as TimestampedKeyValueStore<K, V>, { now: () => this.now() })
      : (store as KeyValueStore<K, V>)
  }

  /**
   * The store of a table, with the timestamps of its values.
   *
   * @throws StreamsError `STORE_UNKNOWN` when there is none, or it keeps no timestamps.
   */
  timestampedStore<K, V>(
    descriptor: KeyValueStoreDescriptor<K, V>,
  ): TimestampedKeyValueStore<K, V> {
    const { node, store } = this.#find(descriptor)
    if (!node.timestamped) throw new StreamsError('STORE_UNKNOWN', { store: descriptor.name })
    return new StampedView(store as TimestampedKeyValueStore<K, V>)
  }

  /**
   * A window store of the program, as plain values. What a test writes into that of an aggregation has
   * the wall-clock time.
   *
   * @throws StreamsError `STORE_UNKNOWN`.
   */
  windowStore<K, V>(descriptor: WindowStoreDescriptor<K, V>): WindowStore<K, V> {
    const { node, store } = this.#find(descriptor)
    return node.timestamped
      ? new PlainWindowView(store as TimestampedWindowStore<K, V>, {
          now: () => this.now(),
        })
      : (store as WindowStore<K, V>)
  }

  /**
   * The store of a windowed aggregation, with the timestamps of its values.
   *
   * @throws StreamsError `STORE_UNKNOWN` when there is none, or it keeps no timestamps.
   */
  timestampedWindowStore<K, V>(
    descriptor: WindowStoreDescriptor<K, V>,
  ): TimestampedWindowStore<K, V> {
    const { node, store } = this.#find(descriptor)
    if (!node.timestamped) throw new StreamsError('STORE_UNKNOWN', { store: descriptor.name })
    return new StampedWindowView(store as TimestampedWindowStore<K, V>)
  }

  /**
   * A session store of the program.
   *
   * @throws StreamsError `STORE_UNKNOWN`.
   */
  sessionStore<K, V>(descriptor: SessionStoreDescriptor<K, V>): SessionStore<K, V> {
    return this.#find(descriptor).store as SessionStore<K, V>
  }

  /**
   * A versioned store of the program.
   *
   * @throws StreamsError `STORE_UNKNOWN`.
   */
  versionedStore<K, V>(descriptor: VersionedStoreDescriptor<K, V>): VersionedStore<K, V> {
    return this.#find(descriptor).store as VersionedStore<K, V>
  }
}

/** The store, whose methods ask first whether it may be used. */
function whileOpen<S extends object>(store: S, assertOpen: () => void): S {
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target)
      if (typeof found !== 'function') return found
      return (...args: unknown[]): unknown => {
        assertOpen()
        return Reflect.apply(found, target, args) as unknown
      }
    },
  })
}
