import type {
  RangeOptions,
  StoreIterator,
  TimestampedKeyValueStore,
  ValueAndTimestamp,
} from './key-value-store.ts'
import type { TimestampedWindowStore, WindowRangeOptions } from './window-store.ts'
import type { Windowed } from './windowed.ts'

/**
 * A store with timestamps as users see it: what it gives stays as it is. The engine's own operators
 * read the live entry of the cache, which the next update changes.
 */
export class StampedView<K, V> implements TimestampedKeyValueStore<K, V> {
  readonly #store: TimestampedKeyValueStore<K, V>

  constructor(store: TimestampedKeyValueStore<K, V>) {
    this.#store = store
  }

  get name(): string {
    return this.#store.name
  }

  get(key: K): ValueAndTimestamp<V> | undefined {
    return copyOf(this.#store.get(key))
  }

  put(key: K, value: V | undefined, timestamp: number): void {
    this.#store.put(key, value, timestamp)
  }

  range(options?: RangeOptions<K>): StoreIterator<[K, ValueAndTimestamp<V>]> {
    return this.#store.range(options)
  }

  prefix(
    prefix: Uint8Array,
    options?: { reverse?: boolean },
  ): StoreIterator<[K, ValueAndTimestamp<V>]> {
    return this.#store.prefix(prefix, options)
  }

  approximateEntryCount(): number {
    return this.#store.approximateEntryCount()
  }
}

/** A window store with timestamps as users see it; as {@link StampedView}. */
export class StampedWindowView<K, V> implements TimestampedWindowStore<K, V> {
  readonly #store: TimestampedWindowStore<K, V>

  constructor(store: TimestampedWindowStore<K, V>) {
    this.#store = store
  }

  get name(): string {
    return this.#store.name
  }

  fetch(key: K, windowStart: number): ValueAndTimestamp<V> | undefined {
    return copyOf(this.#store.fetch(key, windowStart))
  }

  put(key: K, value: V | undefined, timestamp: number, windowStart: number): void {
    this.#store.put(key, value, timestamp, windowStart)
  }

  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[number, ValueAndTimestamp<V>]> {
    return this.#store.fetchRange(key, from, to, options)
  }

  range(options?: WindowRangeOptions<K>): StoreIterator<[Windowed<K>, ValueAndTimestamp<V>]> {
    return this.#store.range(options)
  }
}

function copyOf<V>(entry: ValueAndTimestamp<V> | undefined): ValueAndTimestamp<V> | undefined {
  if (entry === undefined) return undefined
  const { value, timestamp } = entry
  return { value, timestamp }
}
