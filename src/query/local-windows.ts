/** Windows, sessions and versions as this instance alone can answer for them: what `KafkaStreams.store` returns for such stores. */
import type {
  SessionStoreDescriptor,
  VersionedStoreDescriptor,
  WindowStoreDescriptor,
} from '../store/descriptor.ts'
import type { RangeOptions } from '../store/key-value-store.ts'
import type { VersionedRecord } from '../store/versioned-store.ts'
import type { WindowRangeOptions } from '../store/window-store.ts'
import type { Windowed } from '../store/windowed.ts'
import { LocalParts } from './local-parts.ts'
import type { QueryTarget } from './query-target.ts'
import type {
  QueryableSessionStore,
  QueryableVersionedStore,
  QueryableWindowStore,
  QueryOptions,
  QueryScanOptions,
} from './queryable-store.ts'

/** Windows of this instance. */
export class LocalWindowStore<K, V> implements QueryableWindowStore<K, V> {
  readonly #parts: LocalParts

  constructor(target: QueryTarget, descriptor: WindowStoreDescriptor<K, V>) {
    this.#parts = new LocalParts(target, descriptor)
  }

  get name(): string {
    return this.#parts.name
  }

  async fetch(key: K, windowStart: number, options?: QueryOptions): Promise<V | undefined> {
    return (await this.#parts.point({ kind: 'window', key, start: windowStart }, options)) as
      | V
      | undefined
  }

  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: QueryScanOptions,
  ): AsyncIterable<[number, V]> {
    const question = { kind: 'windows-of-key', key, from, to, reverse: options?.reverse } as const
    return this.#parts.scan(question, options) as AsyncIterable<[number, V]>
  }

  range(options?: WindowRangeOptions<K> & QueryScanOptions): AsyncIterable<[Windowed<K>, V]> {
    const { from, to, timeFrom, timeTo, reverse } = options ?? {}
    const question = { kind: 'windows', from, to, timeFrom, timeTo, reverse } as const
    return this.#parts.scan(question, options) as AsyncIterable<[Windowed<K>, V]>
  }
}

/** Sessions of this instance. */
export class LocalSessionStore<K, A> implements QueryableSessionStore<K, A> {
  readonly #parts: LocalParts

  constructor(target: QueryTarget, descriptor: SessionStoreDescriptor<K, A>) {
    this.#parts = new LocalParts(target, descriptor)
  }

  get name(): string {
    return this.#parts.name
  }

  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
    options?: QueryScanOptions,
  ): AsyncIterable<[Windowed<K>, A]> {
    const { reverse } = options ?? {}
    const question = {
      kind: 'sessions-of-key',
      key,
      from: earliestEnd,
      to: latestStart,
      reverse,
    } as const
    return this.#parts.scan(question, options) as AsyncIterable<[Windowed<K>, A]>
  }

  async fetchSession(
    key: K,
    start: number,
    end: number,
    options?: QueryOptions,
  ): Promise<A | undefined> {
    return (await this.#parts.point({ kind: 'session', key, start, end }, options)) as A | undefined
  }

  fetch(key: K, options?: QueryScanOptions): AsyncIterable<[Windowed<K>, A]> {
    return this.findSessions(key, 0, Infinity, options)
  }

  range(options?: RangeOptions<K> & QueryScanOptions): AsyncIterable<[Windowed<K>, A]> {
    const { from, to, reverse } = options ?? {}
    return this.#parts.scan(
      { kind: 'sessions', from, to, timeFrom: undefined, timeTo: undefined, reverse },
      options,
    ) as AsyncIterable<[Windowed<K>, A]>
  }
}

/** Versions of this instance. */
export class LocalVersionedStore<K, V> implements QueryableVersionedStore<K, V> {
  readonly #parts: LocalParts

  constructor(target: QueryTarget, descriptor: VersionedStoreDescriptor<K, V>) {
    this.#parts = new LocalParts(target, descriptor)
  }

  get name(): string {
    return this.#parts.name
  }

  async get(
    key: K,
    options?: QueryOptions & { readonly asOf?: number },
  ): Promise<VersionedRecord<V> | undefined> {
    return (await this.#parts.point({ kind: 'version', key, asOf: options?.asOf }, options)) as
      | VersionedRecord<V>
      | undefined
  }

  versions(
    key: K,
    from: number,
    to: number,
    options?: QueryScanOptions,
  ): AsyncIterable<VersionedRecord<V>> {
    const question = { kind: 'versions-of-key', key, from, to, reverse: options?.reverse } as const
    return this.#parts.scan(question, options) as AsyncIterable<VersionedRecord<V>>
  }
}
