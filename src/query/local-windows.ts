/**
 * Windows, sessions and versions as this instance alone can answer for them: what `KafkaStreams.store`
 * returns for such stores. Tasks are found anew for each question; a scan is of the store as it was when
 * the scan of that partition began, and ends with an error when the partition leaves in the middle.
 */
import { StreamsError } from '../errors.ts'
import { partitionForKey } from '../protocol/murmur2.ts'
import type {
  AnyStore,
  SessionStoreDescriptor,
  VersionedStoreDescriptor,
  WindowStoreDescriptor,
} from '../store/descriptor.ts'
import type { RangeOptions, StoreIterator } from '../store/key-value-store.ts'
import type { VersionedRecord } from '../store/versioned-store.ts'
import type { WindowRangeOptions } from '../store/window-store.ts'
import type { Windowed } from '../store/windowed.ts'
import { assertConsistency, assertQueryOptions, type ConsistencyOptions } from './consistency.ts'
import { keyBytesOf, ownedValue } from './descriptor-serdes.ts'
import {
  partitionCountOf,
  partitionsHere,
  queryableDescriptor,
  readableView,
} from './local-query.ts'
import { assertNotAborted } from './request.ts'
import type { AnyStoreView, QueryTarget } from './query-target.ts'
import type {
  QueryableSessionStore,
  QueryableVersionedStore,
  QueryableWindowStore,
  QueryOptions,
  QueryScanOptions,
} from './queryable-store.ts'

/** A view of that kind. */
type ViewOf<Kind extends AnyStoreView['kind']> = Extract<AnyStoreView, { readonly kind: Kind }>

/** The partitions of one store that this instance holds. */
class LocalParts<K, V, Kind extends AnyStoreView['kind']> {
  readonly #target: QueryTarget
  readonly #descriptor: AnyStore
  readonly #kind: Kind

  constructor(target: QueryTarget, descriptor: AnyStore, kind: Kind) {
    this.#target = target
    this.#descriptor = descriptor
    this.#kind = kind
  }

  get name(): string {
    return this.#descriptor.name
  }

  #check(options: QueryOptions = {}): void {
    assertQueryOptions(options)
    assertNotAborted({ store: this.name, signal: options.signal })
    assertConsistency(options)
    const { kind } = queryableDescriptor(this.#target, this.name)
    if (kind === this.#kind) return
    const detail = `${this.name} is a ${kind} store, it is asked as a ${this.#kind} store`
    throw new StreamsError('QUERY_INVALID', { store: this.name, detail })
  }

  /** The partition of a key, which must be here. */
  ofKey(key: K, options: QueryOptions | undefined): ViewOf<Kind> {
    this.#check(options)
    const count = partitionCountOf(this.#target, this.name)
    return this.#view(partitionForKey(keyBytesOf(this.#descriptor, key), count), options)
  }

  #view(partition: number, consistency: ConsistencyOptions = {}): ViewOf<Kind> {
    return readableView(this.#target, this.name, partition, consistency).view as ViewOf<Kind>
  }

  /** Rows of one partition. */
  async *scanKey<R>(
    key: K,
    options: QueryScanOptions | undefined,
    begin: (view: ViewOf<Kind>) => StoreIterator<R>,
  ): AsyncGenerator<R, void, undefined> {
    yield* this.#rows([begin(this.ofKey(key, options))], options)
  }

  /** Rows of all partitions, one after the other. */
  async *scanAll<R>(
    options: QueryScanOptions | undefined,
    begin: (view: ViewOf<Kind>) => StoreIterator<R>,
  ): AsyncGenerator<R, void, undefined> {
    this.#check(options)
    const views = partitionsHere(this.#target, this.name, options ?? {}).map((partition) =>
      this.#view(partition, options),
    )
    yield* this.#rows(
      (function* scans() {
        for (const view of views) yield begin(view)
      })(),
      options,
    )
  }

  *#rows<R>(
    scans: Iterable<StoreIterator<R>>,
    options: QueryScanOptions = {},
  ): Generator<R, void, undefined> {
    let left = options.limit ?? Infinity
    if (left <= 0) return
    for (const scan of scans) {
      for (const row of scan) {
        yield row
        this.#check(options)
        left -= 1
        if (left <= 0) return
      }
    }
  }

  /** See {@link ownedValue}. */
  owned(value: V): V {
    return ownedValue(this.#descriptor, value)
  }
}

/** Windows of this instance. */
export class LocalWindowStore<K, V> implements QueryableWindowStore<K, V> {
  readonly #parts: LocalParts<K, V, 'window'>

  constructor(target: QueryTarget, descriptor: WindowStoreDescriptor<K, V>) {
    this.#parts = new LocalParts(target, descriptor, 'window')
  }

  get name(): string {
    return this.#parts.name
  }

  async fetch(key: K, windowStart: number, options?: QueryOptions): Promise<V | undefined> {
    const value = this.#parts.ofKey(key, options).fetch(key, windowStart)
    return value === undefined ? undefined : this.#parts.owned(value as V)
  }

  async *fetchRange(
    key: K,
    from: number,
    to: number,
    options?: QueryScanOptions,
  ): AsyncGenerator<[number, V], void, undefined> {
    const rows = this.#parts.scanKey(key, options, (view) =>
      view.fetchRange(key, from, to, options),
    )
    for await (const [start, value] of rows) yield [start, this.#parts.owned(value as V)]
  }

  async *range(
    options: WindowRangeOptions<K> & QueryScanOptions = {},
  ): AsyncGenerator<[Windowed<K>, V], void, undefined> {
    const rows = this.#parts.scanAll(options, (view) => view.range(options))
    for await (const [key, value] of rows) {
      yield [key as Windowed<K>, this.#parts.owned(value as V)]
    }
  }
}

/** Sessions of this instance. */
export class LocalSessionStore<K, A> implements QueryableSessionStore<K, A> {
  readonly #parts: LocalParts<K, A, 'session'>

  constructor(target: QueryTarget, descriptor: SessionStoreDescriptor<K, A>) {
    this.#parts = new LocalParts(target, descriptor, 'session')
  }

  get name(): string {
    return this.#parts.name
  }

  async *findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
    options?: QueryScanOptions,
  ): AsyncGenerator<[Windowed<K>, A], void, undefined> {
    const rows = this.#parts.scanKey(key, options, (view) =>
      view.findSessions(key, earliestEnd, latestStart, options),
    )
    for await (const [session, value] of rows) {
      yield [session as Windowed<K>, this.#parts.owned(value as A)]
    }
  }

  async fetchSession(
    key: K,
    start: number,
    end: number,
    options?: QueryOptions,
  ): Promise<A | undefined> {
    const value = this.#parts.ofKey(key, options).fetchSession(key, start, end)
    return value === undefined ? undefined : this.#parts.owned(value as A)
  }

  fetch(key: K, options?: QueryScanOptions): AsyncIterable<[Windowed<K>, A]> {
    return this.findSessions(key, 0, Infinity, options)
  }

  async *range(
    options: RangeOptions<K> & QueryScanOptions = {},
  ): AsyncGenerator<[Windowed<K>, A], void, undefined> {
    const rows = this.#parts.scanAll(options, (view) => view.range(options))
    for await (const [session, value] of rows) {
      yield [session as Windowed<K>, this.#parts.owned(value as A)]
    }
  }
}

/** Versions of this instance. */
export class LocalVersionedStore<K, V> implements QueryableVersionedStore<K, V> {
  readonly #parts: LocalParts<K, V, 'versioned'>

  constructor(target: QueryTarget, descriptor: VersionedStoreDescriptor<K, V>) {
    this.#parts = new LocalParts(target, descriptor, 'versioned')
  }

  get name(): string {
    return this.#parts.name
  }

  async get(
    key: K,
    options: QueryOptions & { readonly asOf?: number } = {},
  ): Promise<VersionedRecord<V> | undefined> {
    return this.#parts.ofKey(key, options).get(key, options.asOf) as VersionedRecord<V> | undefined
  }

  versions(
    key: K,
    from: number,
    to: number,
    options?: QueryScanOptions,
  ): AsyncIterable<VersionedRecord<V>> {
    return this.#parts.scanKey(
      key,
      options,
      (view) => view.versions(key, from, to, options) as StoreIterator<VersionedRecord<V>>,
    )
  }
}
