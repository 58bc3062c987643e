import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { AnyStore, KeyValueStoreDescriptor } from '../store/descriptor.ts'
import { assertQueryOptions, type ConsistencyOptions } from './consistency.ts'
import { assertPrefix } from '../store/key-range.ts'
import { keyBytesOf, ownedValue } from './descriptor-serdes.ts'
import { LocalQuery } from './local-query.ts'
import { LocalSessionStore, LocalVersionedStore, LocalWindowStore } from './local-windows.ts'
import type { QueryTarget } from './query-target.ts'
import type {
  QueryableKeyValueStore,
  QueryableStore,
  QueryOptions,
  QueryRangeOptions,
} from './queryable-store.ts'
import { pageRowsMax, type GetRequest, type QueryExecutor } from './request.ts'
import { assertLimit, type ScanBounds } from './scan-bounds.ts'

/** Questions of one `getMany` that are under way at a time. */
const concurrentGetsMax = 32

/** Refuses what a program without types gave in place of a store, such as its name. */
export function assertDescriptor(given: unknown): void {
  const { name, key } = (given ?? {}) as { name?: unknown; key?: { serialize?: unknown } }
  if (typeof name === 'string' && typeof key?.serialize === 'function') return
  const detail = `a store is asked for as keyValueStore(name, { key, value }), not as ${shownValue(given)}`
  throw new StreamsError('QUERY_INVALID', { detail })
}

/** The store as this instance alone can answer for it: what `KafkaStreams.store` returns. */
export function localStore<D extends AnyStore>(
  target: QueryTarget,
  descriptor: D,
  servedBy: string,
): QueryableStore<D> {
  const store = localStoreOf(target, descriptor, servedBy)
  // Each kind has its own class; the conditional type cannot follow.
  return store as unknown as QueryableStore<D>
}

function localStoreOf(target: QueryTarget, descriptor: AnyStore, servedBy: string): object {
  switch (descriptor.kind) {
    case 'key-value':
      return executorStore(new LocalQuery(target, servedBy), descriptor)
    case 'window':
      return new LocalWindowStore(target, descriptor)
    case 'session':
      return new LocalSessionStore(target, descriptor)
    case 'versioned':
      return new LocalVersionedStore(target, descriptor)
    default:
      return descriptor satisfies never
  }
}

/** The store as an executor answers for it. */
export function executorStore<D extends AnyStore>(
  executor: QueryExecutor,
  descriptor: D,
): QueryableStore<D> {
  if (descriptor.kind !== 'key-value') {
    const detail =
      `${descriptor.name} is a ${descriptor.kind} store, and those can only be asked in the process ` +
      `that has them in this version: with KafkaStreams.store`
    throw new StreamsError('QUERY_INVALID', { detail })
  }
  return new ExecutorStore(executor, descriptor) as unknown as QueryableStore<D>
}

/** Of a question what it shares with all others. */
function askedBy(
  options: QueryOptions,
): ConsistencyOptions & Pick<GetRequest, 'timeoutMs' | 'signal'> {
  assertQueryOptions(options)
  const { consistency, maxLag, signal, timeout } = options
  return { consistency, maxLag, signal, timeoutMs: timeout }
}

/** A typed face of questions in bytes. */
class ExecutorStore<K, V> implements QueryableKeyValueStore<K, V> {
  readonly #executor: QueryExecutor
  readonly #descriptor: KeyValueStoreDescriptor<K, V>

  constructor(executor: QueryExecutor, descriptor: KeyValueStoreDescriptor<K, V>) {
    this.#executor = executor
    this.#descriptor = descriptor
  }

  get name(): string {
    return this.#descriptor.name
  }

  async get(key: K, options: QueryOptions = {}): Promise<V | undefined> {
    const keyBytes = keyBytesOf(this.#descriptor, key)
    const request = { kind: 'get', store: this.name, keyBytes, ...askedBy(options) } as const
    const { found } = await this.#executor.get(request)
    return found === undefined ? undefined : ownedValue(this.#descriptor, found.value as V)
  }

  async getMany(keys: Iterable<K>, options: QueryOptions = {}): Promise<Map<K, V>> {
    const values = new Map<K, V>()
    const queue = [...keys]
    const found = Array.from<V | undefined>({ length: queue.length })
    let taken = 0
    const work = async (): Promise<void> => {
      while (taken < queue.length) {
        const index = taken
        taken += 1
        found[index] = await this.get(queue[index] as K, options)
      }
    }
    const width = Math.min(concurrentGetsMax, queue.length)
    await Promise.all(Array.from({ length: width }, work))
    for (const [index, key] of queue.entries()) {
      const value = found[index]
      if (value !== undefined) values.set(key, value)
    }
    return values
  }

  range(options: QueryRangeOptions<K> = {}): AsyncIterable<[K, V]> {
    assertQueryOptions(options)
    assertLimit(options.limit)
    const { from, to, reverse } = options
    const bounds = {
      from: from === undefined ? undefined : keyBytesOf(this.#descriptor, from),
      to: to === undefined ? undefined : keyBytesOf(this.#descriptor, to),
      reverse,
    }
    return this.#scan(bounds, options)
  }

  prefix(
    prefix: Uint8Array,
    options: QueryOptions & { readonly reverse?: boolean; readonly limit?: number } = {},
  ): AsyncIterable<[K, V]> {
    assertPrefix(prefix, this.name)
    assertQueryOptions(options)
    assertLimit(options.limit)
    return this.#scan({ prefix: Buffer.from(prefix), reverse: options.reverse }, options)
  }

  async approximateEntryCount(options: QueryOptions = {}): Promise<number> {
    const request = { kind: 'count', store: this.name, ...askedBy(options) } as const
    return (await this.#executor.count(request)).approximate
  }

  /** Page by page: each is read at one moment, and between two of them tasks may come and go. */
  async *#scan(
    bounds: ScanBounds,
    { limit = Number.POSITIVE_INFINITY, ...options }: QueryOptions & { limit?: number },
  ): AsyncGenerator<[K, V], void, undefined> {
    let left = limit
    let after: Buffer | undefined
    while (left > 0) {
      const page = await this.#executor.page({
        kind: 'page',
        store: this.name,
        bounds,
        after,
        limit: Math.min(left, pageRowsMax),
        ...askedBy(options),
      })
      for (const { key, value } of page.rows)
        yield [key as K, ownedValue(this.#descriptor, value as V)]
      left -= page.rows.length
      if (!page.more) return
      after = page.rows.at(-1)?.keyBytes ?? after
    }
  }
}
