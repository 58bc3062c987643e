/**
 * Reads of windows, sessions and versions from outside of their task, between two of its records: Java's
 * interactive queries. As {@link ReadView}: they see what the task sees, and leave a cache as it is; a
 * value may be the very object that the task goes on to use.
 */
import { StreamsError } from '../errors.ts'
import type { EntryRows } from './entry-table.ts'
import type { RangeOptions, StoreIterator, ValueAndTimestamp } from './key-value-store.ts'
import type { Shape } from './row-iterator.ts'
import type { ReadOnlySessionStore } from './session-store.ts'
import type { ReadOnlyVersionedStore, VersionedRecord } from './versioned-store.ts'
import type { ReadOnlyWindowStore, WindowRangeOptions } from './window-store.ts'
import type { Windowed } from './windowed.ts'

/** What a view asks of its store. */
interface ViewedStore {
  readonly name: string
  readonly isOpen: () => boolean
}

/** What a view of windows or sessions asks of its store. */
export interface ViewedWindows<K, V> extends ViewedStore {
  readonly peek: (key: K, start: number, end: number) => ValueAndTimestamp<V> | undefined
  readonly rowsOf: (
    key: K,
    lowest: number,
    highest: number,
    options: { reverse?: boolean } | undefined,
  ) => EntryRows<Windowed<K>, V>
  readonly rowsBetween: (
    range: { from?: K; to?: K },
    lowest: number,
    highest: number,
    options: { reverse?: boolean } | undefined,
  ) => EntryRows<Windowed<K>, V>
  readonly iterate: <T>(
    rows: EntryRows<Windowed<K>, V>,
    shape: Shape<Windowed<K>, V, T>,
  ) => StoreIterator<T>
}

function assertOpen({ name, isOpen }: ViewedStore): void {
  if (isOpen()) return
  throw new StreamsError('STORE_NOT_AVAILABLE', { store: name, detail: 'it is closed' })
}

/** Rows that end with an error when their store is closed. */
function whileOpen<K, V>(
  store: ViewedStore,
  begin: () => EntryRows<Windowed<K>, V>,
): EntryRows<Windowed<K>, V> {
  assertOpen(store)
  const rows = begin()
  return {
    next: () => {
      assertOpen(store)
      return rows.next()
    },
    [Symbol.dispose]: () => rows[Symbol.dispose](),
  }
}

/** Reads of a window store, of plain values. */
export class WindowReadView<K, V> implements ReadOnlyWindowStore<K, V> {
  readonly kind = 'window'
  readonly #store: ViewedWindows<K, V>
  readonly #endOf: (start: number) => number

  constructor(store: ViewedWindows<K, V>, endOf: (start: number) => number) {
    this.#store = store
    this.#endOf = endOf
  }

  get name(): string {
    return this.#store.name
  }

  fetch(key: K, windowStart: number): V | undefined {
    assertOpen(this.#store)
    return this.#store.peek(key, windowStart, this.#endOf(windowStart))?.value
  }

  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[number, V]> {
    const store = this.#store
    const rows = whileOpen(store, () => store.rowsOf(key, from, to, options))
    return store.iterate(rows, ({ key: { window }, value }) => [window.start, value])
  }

  range(options: WindowRangeOptions<K> = {}): StoreIterator<[Windowed<K>, V]> {
    const { timeFrom = 0, timeTo = Infinity } = options
    const store = this.#store
    const rows = whileOpen(store, () => store.rowsBetween(options, timeFrom, timeTo, options))
    return store.iterate(rows, ({ key, value }) => [key, value])
  }
}

/** Reads of a session store. */
export class SessionReadView<K, A> implements ReadOnlySessionStore<K, A> {
  readonly kind = 'session'
  readonly #store: ViewedWindows<K, A>

  constructor(store: ViewedWindows<K, A>) {
    this.#store = store
  }

  get name(): string {
    return this.#store.name
  }

  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[Windowed<K>, A]> {
    const store = this.#store
    const rows = whileOpen(store, () => store.rowsOf(key, earliestEnd, latestStart, options))
    return store.iterate(rows, ({ key: session, value }) => [session, value])
  }

  findSessionsRange(
    range: { from?: K; to?: K },
    earliestEnd: number,
    latestStart: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[Windowed<K>, A]> {
    const store = this.#store
    const rows = whileOpen(store, () => store.rowsBetween(range, earliestEnd, latestStart, options))
    return store.iterate(rows, ({ key, value }) => [key, value])
  }

  fetchSession(key: K, start: number, end: number): A | undefined {
    assertOpen(this.#store)
    return this.#store.peek(key, start, end)?.value
  }

  fetch(key: K, options?: { reverse?: boolean }): StoreIterator<[Windowed<K>, A]> {
    return this.findSessions(key, 0, Infinity, options)
  }

  range(options: RangeOptions<K> = {}): StoreIterator<[Windowed<K>, A]> {
    return this.findSessionsRange(options, 0, Infinity, options)
  }
}

/** Reads of a versioned store. What it gives is the reader's own. */
export class VersionReadView<K, V> implements ReadOnlyVersionedStore<K, V> {
  readonly kind = 'versioned'
  readonly #store: ReadOnlyVersionedStore<K, V>
  readonly #viewed: ViewedStore

  constructor(store: ReadOnlyVersionedStore<K, V>, isOpen: () => boolean) {
    this.#store = store
    this.#viewed = { name: store.name, isOpen }
  }

  get name(): string {
    return this.#store.name
  }

  get(key: K, asOf?: number): VersionedRecord<V> | undefined {
    assertOpen(this.#viewed)
    return this.#store.get(key, asOf)
  }

  versions(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<VersionedRecord<V>> {
    assertOpen(this.#viewed)
    return this.#store.versions(key, from, to, options)
  }
}
