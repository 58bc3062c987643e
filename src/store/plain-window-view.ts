import type { StoreIterator } from './key-value-store.ts'
import { PlainIterator } from './plain-view.ts'
import type { TimestampedWindowStore, WindowRangeOptions, WindowStore } from './window-store.ts'
import type { Windowed } from './windowed.ts'

/** Shows a window store with timestamps as one of plain values; what is put has the time `now`. Java's WindowStoreFacade. */
export class PlainWindowView<K, V> implements WindowStore<K, V> {
  readonly #store: TimestampedWindowStore<K, V>
  readonly #now: () => number

  constructor(store: TimestampedWindowStore<K, V>, options: { now: () => number }) {
    this.#store = store
    this.#now = options.now
  }

  get name(): string {
    return this.#store.name
  }

  fetch(key: K, windowStart: number): V | undefined {
    return this.#store.fetch(key, windowStart)?.value
  }

  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[number, V]> {
    return new PlainIterator(this.#store.fetchRange(key, from, to, options))
  }

  range(options?: WindowRangeOptions<K>): StoreIterator<[Windowed<K>, V]> {
    return new PlainIterator(this.#store.range(options))
  }

  put(key: K, value: V | undefined, windowStart: number): void {
    this.#store.put(key, value, this.#now(), windowStart)
  }
}
