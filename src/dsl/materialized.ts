import { assertName } from '../base/legal-name.ts'
import { StreamsError } from '../errors.ts'
import {
  keyValueStore,
  type AnyStore,
  type StoreOptions,
  type VersionedStoreOptions,
} from '../store/descriptor.ts'
import type { StoreNode } from '../topology/node.ts'
import type { NameProvider } from './naming.ts'
import type { AnySerde, SerdeOf } from './topic.ts'

/** A key-value store whose serdes fit keys K and values V: what {@link keyValueStore} gives. */
export interface TableStore<K, V> extends StoreOptions {
  readonly kind: 'key-value'
  readonly name: string
  readonly key: SerdeOf<K>
  readonly value: SerdeOf<V>
}

/** A versioned store whose serdes fit keys K and values V: what {@link versionedStore} gives. */
export interface VersionedTableStore<K, V> extends VersionedStoreOptions {
  readonly kind: 'versioned'
  readonly name: string
  readonly key: SerdeOf<K>
  readonly value: SerdeOf<V>
}

/**
 * Where a table is kept: a descriptor that states its own serdes, or only a name, and the serdes
 * that travel with the stream. Absent: a generated name, not queryable.
 *
 * Kept in a versioned store, a late change takes its place in the history of its key: it goes on
 * to tables that are worked out row by row, while joins and aggregations pass over it.
 */
export type TableStoreRef<K, V> = string | TableStore<K, V> | VersionedTableStore<K, V>

/** The serde, or the error that names the step which lacks it. */
export function requiredSerde(
  serde: AnySerde | undefined,
  part: 'key' | 'value',
  node: string,
): AnySerde {
  if (serde === undefined) throw new StreamsError('SERDE_MISSING', { part, node })
  return serde
}

interface MaterializedOptions {
  readonly names: NameProvider
  /** Of the generated name, which takes a number. */
  readonly prefix: string
  /** The operator, for messages. */
  readonly step: string
  /** Serdes for a store without a descriptor. */
  readonly inherited: {
    readonly key: AnySerde | undefined
    readonly value: AnySerde | undefined
  }
}

/** The store of a table as far as it is known while the program is written. Java's MaterializedInternal. */
export class Materialized {
  readonly storeName: string
  /** The store's name when the user gave it, else undefined. */
  readonly queryableName: string | undefined
  readonly isVersioned: boolean
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
  readonly #descriptor: AnyStore | undefined
  readonly #step: string
  #storeNode: StoreNode | undefined

  private constructor(store: string | AnyStore | undefined, options: MaterializedOptions) {
    this.#descriptor = typeof store === 'object' ? store : undefined
    this.queryableName = typeof store === 'string' ? store : this.#descriptor?.name
    if (this.queryableName !== undefined) assertName(this.queryableName, 'a store')
    const { kind = 'key-value' } = this.#descriptor ?? {}
    if (kind !== 'key-value' && kind !== 'versioned') {
      const detail = `${options.step} needs a key-value or a versioned store, ${this.queryableName} is a ${kind} store`
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    this.isVersioned = kind === 'versioned'
    this.storeName = this.queryableName ?? options.names.store(options.prefix)
    this.key = this.#descriptor?.key ?? options.inherited.key
    this.value = this.#descriptor?.value ?? options.inherited.value
    this.#step = options.step
  }

  static of<K, V>(
    store: TableStoreRef<K, V> | undefined,
    options: MaterializedOptions,
  ): Materialized {
    // The types have done their work: from here on, keys and values are anything.
    return new Materialized(store as string | AnyStore, options)
  }

  /** The store for the topology; the same object each time. */
  storeNode(): StoreNode {
    this.#storeNode ??= Object.freeze({
      descriptor: this.#complete(),
      timestamped: !this.isVersioned,
    })
    return this.#storeNode
  }

  #complete(): AnyStore {
    if (this.#descriptor !== undefined) return this.#descriptor
    const key = requiredSerde(this.key, 'key', `the store of ${this.#step}`)
    const value = requiredSerde(this.value, 'value', `the store of ${this.#step}`)
    return keyValueStore(this.storeName, { key, value })
  }
}
