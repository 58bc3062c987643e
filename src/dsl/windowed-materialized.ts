import { assertName } from '../base/legal-name.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import { sessionWindowedSerde, timeWindowedSerde } from '../serde/windowed-serdes.ts'
import {
  sessionStoreOf,
  windowStoreOf,
  type AnyStore,
  type SessionStoreOptions,
  type WindowStoreOptions,
} from '../store/descriptor.ts'
import type { StoreNode } from '../topology/node.ts'
import type { EmitStrategy } from './emit-strategy.ts'
import { requiredSerde } from './materialized.ts'
import type { NameProvider } from './naming.ts'
import type { AnySerde, SerdeOf } from './topic.ts'
import { assertMilliseconds, retentionOf, windowSizeOf, type Windows } from './windows.ts'

/** A window store whose serdes fit keys K and values V: what {@link windowStore} gives. */
export interface WindowTableStore<K, V> extends WindowStoreOptions {
  readonly kind: 'window'
  readonly name: string
  readonly key: SerdeOf<K>
  readonly value: SerdeOf<V>
}

/** A session store whose serdes fit keys K and values V: what {@link sessionStore} gives. */
export interface SessionTableStore<K, V> extends SessionStoreOptions {
  readonly kind: 'session'
  readonly name: string
  readonly key: SerdeOf<K>
  readonly value: SerdeOf<V>
}

/**
 * Where windows are kept: a descriptor that states its own serdes, or only a name, and the serdes that
 * travel with the stream. Absent: a generated name, not queryable.
 */
export type WindowTableStoreRef<K, V> = string | WindowTableStore<K, V>

/** Where sessions are kept; as {@link WindowTableStoreRef}. */
export type SessionTableStoreRef<K, V> = string | SessionTableStore<K, V>

/** What the user says of the store. */
export interface WindowedStoreOptions {
  readonly store?: unknown
  readonly retention?: number | undefined
}

interface WindowedMaterializedOptions {
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
  readonly windows: Windows
  readonly emit: EmitStrategy
}

/**
 * The store of a windowed table as far as it is known while the program is written. Java's
 * MaterializedInternal with WindowStoreMaterializer, SlidingWindowStoreMaterializer and
 * SessionStoreMaterializer.
 */
export class WindowedMaterialized {
  readonly storeName: string
  /** The store's name when the user gave it, else undefined. */
  readonly queryableName: string | undefined
  /** Of the records, not of their windows. */
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
  readonly #descriptor: AnyStore | undefined
  readonly #retention: number
  readonly #options: WindowedMaterializedOptions
  #storeNode: StoreNode | undefined

  constructor(given: WindowedStoreOptions | undefined, options: WindowedMaterializedOptions) {
    const store = given?.store as string | AnyStore | undefined
    this.#options = options
    this.#descriptor = typeof store === 'object' ? store : undefined
    this.queryableName = typeof store === 'string' ? store : this.#descriptor?.name
    if (this.queryableName !== undefined) assertName(this.queryableName, 'a store')
    this.storeName = this.queryableName ?? options.names.store(options.prefix)
    this.key = this.#descriptor?.key ?? options.inherited.key
    this.value = this.#descriptor?.value ?? options.inherited.value
    this.#assertKind()
    this.#retention = this.#checkedRetention(given?.retention)
  }

  /** The serde of keys with their windows; undefined when that of keys is not known. */
  get windowedKey(): AnySerde | undefined {
    const { key } = this
    if (key === undefined) return undefined
    const { windows } = this.#options
    return windows.kind === 'session'
      ? sessionWindowedSerde(key)
      : timeWindowedSerde(key, windowSizeOf(windows))
  }

  #assertKind(): void {
    if (this.#descriptor === undefined) return
    const { windows } = this.#options
    const wanted = windows.kind === 'session' ? 'session' : 'window'
    const { kind } = this.#descriptor
    if (kind !== wanted) throw this.#invalid(`needs a ${wanted} store, not a ${kind} store`)
    if (kind !== 'window' || windows.kind === 'session') return
    const size = windowSizeOf(windows)
    const { windowSize = size, retainDuplicates } = this.#descriptor
    if (windowSize !== size) {
      throw this.#invalid(`has windowSize ${shownValue(windowSize)}, the windows have ${size}`)
    }
    if (retainDuplicates === true) throw this.#invalid('must not retain duplicates')
  }

  #checkedRetention(given: number | undefined): number {
    const { windows } = this.#options
    const least = retentionOf(windows)
    const ofStore = this.#descriptor as { retention?: number } | undefined
    const stated = ofStore?.retention ?? given
    if (stated === undefined) return least
    if (given !== undefined && given !== stated) {
      throw this.#invalid(`has retention ${stated}, but the aggregation says ${given}`)
    }
    if (stated !== Infinity)
      assertMilliseconds(`the store of ${this.storeName}`, { retention: stated }, 0)
    if (stated < least) {
      const reason = windows.kind === 'session' ? 'gap and grace' : 'their size and grace'
      throw this.#invalid(`needs a retention of at least ${least} for ${reason}, it has ${stated}`)
    }
    return stated
  }

  #invalid(detail: string): StreamsError {
    const of = `the store ${this.storeName} of ${this.#options.step}`
    return new StreamsError('TOPOLOGY_INVALID', { detail: `${of} ${detail}` })
  }

  /** The store for the topology; the same object each time. */
  storeNode(): StoreNode {
    this.#storeNode ??= Object.freeze({
      descriptor: this.#complete(),
      timestamped: this.#options.windows.kind !== 'session',
      timeOrdered: this.#options.emit === 'on-window-close',
    })
    return this.#storeNode
  }

  #complete(): AnyStore {
    const { step, windows, emit } = this.#options
    const key = requiredSerde(this.key, 'key', `the store of ${step}`)
    const value = requiredSerde(this.value, 'value', `the store of ${step}`)
    const {
      kind: _,
      name,
      ...stated
    } = this.#descriptor ?? { kind: 'window', name: this.storeName }
    // Stores of the DSL are cached unless it is said.
    const options = { caching: true, ...stated, key, value, retention: this.#retention }
    const isFinal = emit === 'on-window-close'
    if (windows.kind === 'session') {
      return sessionStoreOf(name, { ...options, ...(isFinal && { caching: false }) })
    }
    const windowSize = windowSizeOf(windows)
    // As in Java, the store of time windows is cached also when only final results are emitted.
    const isUncached = isFinal && windows.kind === 'sliding'
    return windowStoreOf(name, { ...options, windowSize, ...(isUncached && { caching: false }) })
  }
}
