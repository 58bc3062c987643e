import type { NodeContext } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore, ValueAndTimestamp } from '../../store/key-value-store.ts'
import type { ReadOnlyVersionedStore } from '../../store/versioned-store.ts'

/**
 * Reads the rows of a table in one task. Java's KTableValueGetter, without an object for each row: the
 * timestamp stays on the getter.
 */
export interface ValueGetter {
  /** Old values are known: `getAsOf` can be asked. */
  readonly isVersioned: boolean
  /** When the value that was got last came to be; milliseconds. */
  readonly timestamp: number
  /** The value of a key; undefined: there is no such row. */
  get(key: unknown): unknown
  /** The value that a key had at that time. Only of a versioned table. */
  getAsOf(key: unknown, time: number): unknown
  /** Called when the node closes that opened it. */
  close?(): void
}

/** How steps below a table can read its rows. Java's KTableValueGetterSupplier. */
export interface TableView {
  /** Stores to which a node that opens the view must be connected. */
  readonly storeNames: readonly string[]
  /** Called once for each task. */
  open(context: NodeContext): ValueGetter
}

/**
 * What a row of the table above is in a table that is worked out from it; undefined: it has none. `node`
 * is the step that asks, for errors.
 */
export type RowMapping = (value: unknown, key: unknown, node: string) => unknown

/** The rows as they are in a store. Java's KTableSourceValueGetterSupplier. */
export function storedView(storeName: string): TableView {
  return {
    storeNames: [storeName],
    open(context) {
      const store = context.store(storeName) as object
      return 'versions' in store
        ? new VersionedRows(store as ReadOnlyVersionedStore<unknown, unknown>)
        : new StoredRows(store as TimestampedKeyValueStore<unknown, unknown>)
    },
  }
}

/** The rows of a table that is not kept: each is worked out when it is asked for. */
export function mappedView(above: TableView, mapping: RowMapping): TableView {
  return {
    storeNames: above.storeNames,
    open: (context) => new MappedRows(above.open(context), mapping, context.node),
  }
}

/** The rows of a store that keeps the latest values alone. */
export abstract class UnversionedRows<S extends { readonly name: string }> implements ValueGetter {
  readonly isVersioned = false
  timestamp = -1
  protected readonly store: S

  constructor(store: S) {
    this.store = store
  }

  abstract get(key: unknown): unknown

  getAsOf(): never {
    throw new TypeError(`the store ${this.store.name} keeps no old values`)
  }

  protected valueIn(row: ValueAndTimestamp<unknown> | undefined): unknown {
    if (row === undefined) return undefined
    this.timestamp = row.timestamp
    return row.value
  }
}

class StoredRows extends UnversionedRows<TimestampedKeyValueStore<unknown, unknown>> {
  override get(key: unknown): unknown {
    return this.valueIn(this.store.get(key))
  }
}

class VersionedRows implements ValueGetter {
  readonly isVersioned = true
  timestamp = -1
  readonly #store: ReadOnlyVersionedStore<unknown, unknown>

  constructor(store: ReadOnlyVersionedStore<unknown, unknown>) {
    this.#store = store
  }

  get(key: unknown): unknown {
    return this.getAsOf(key)
  }

  getAsOf(key: unknown, time?: number): unknown {
    const version = this.#store.get(key, time)
    if (version === undefined) return undefined
    this.timestamp = version.timestamp
    return version.value
  }
}

class MappedRows implements ValueGetter {
  readonly #above: ValueGetter
  readonly #mapping: RowMapping
  readonly #node: string

  constructor(above: ValueGetter, mapping: RowMapping, node: string) {
    this.#above = above
    this.#mapping = mapping
    this.#node = node
  }

  get isVersioned(): boolean {
    return this.#above.isVersioned
  }

  get timestamp(): number {
    return this.#above.timestamp
  }

  get(key: unknown): unknown {
    const value = this.#above.get(key)
    return value === undefined ? undefined : this.#mapping(value, key, this.#node)
  }

  getAsOf(key: unknown, time: number): unknown {
    const value = this.#above.getAsOf(key, time)
    return value === undefined ? undefined : this.#mapping(value, key, this.#node)
  }

  close(): void {
    this.#above.close?.()
  }
}
