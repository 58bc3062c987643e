/**
 * Scans of windows and sessions: rows of the cache over rows below it, segment by segment, each in the
 * order of its keys (org.apache.kafka.streams.state.internals.SegmentIterator and
 * MergedSortedCacheWindowStoreKeyValueIterator). As in Java, what is in the cache is seen also when the
 * store below has forgotten it.
 */
import { compareBytes } from '../base/bytes.ts'
import type { StoredRows } from './byte-table.ts'
import { CacheEntry } from './cache-entry.ts'
import type { EntryRow, EntryRows, Rows } from './entry-table.ts'
import { GatheredRows } from './gathered-rows.ts'
import { MergedRows, type RowSource } from './merged-rows.ts'
import type { RecordCache } from './record-cache.ts'
import type { RetentionTable } from './retention-table.ts'
import type { SegmentTables } from './segment-tables.ts'
import type { StoreSerdes } from './store-serdes.ts'
import type { StoredRow } from './stored-value.ts'
import { compareWindows, type WindowedIndex } from './windowed-index.ts'
import type { WindowedKeys, WindowedQuery } from './windowed-keys.ts'
import type { Window, Windowed } from './windowed.ts'

/** A cache of windows, and what finds its entries by key. */
export interface WindowedCache<K, V> {
  readonly entries: RecordCache<Windowed<K>, V>
  readonly index: WindowedIndex<K, V>
}

/** What the scans of one store read. */
export interface WindowedTable<K, V> {
  readonly bytes: RetentionTable
  readonly serdes: StoreSerdes<Windowed<K>, V>
  readonly segments: SegmentTables
  readonly keys: WindowedKeys
  readonly cache: WindowedCache<K, V> | undefined
}

/** The windows of one key, by their time, as they are at this moment. */
export function scanKey<K, V>(
  table: WindowedTable<K, V>,
  key: K,
  query: WindowedQuery,
): EntryRows<Windowed<K>, V> {
  const stored = storedRows(table, query)
  const cached = cachedWindows(table, key, query)
  return cached.length === 0
    ? new KeyRows(table, { key, stored })
    : new MergedKeyRows(table, { key, stored, cached, reverse: query.reverse })
}

/** What is below the cache, unless all that could be there is in it. */
function storedRows<K, V>(table: WindowedTable<K, V>, query: WindowedQuery): StoredRows {
  return table.cache?.entries.hasAllFrom(query.lowest) === true
    ? nothing
    : new StoredWindows(table, query)
}

/** Windows of all keys of a query, as they are at this moment: segment by segment, by key and time. */
export function scanKeys<K, V>(
  table: WindowedTable<K, V>,
  query: WindowedQuery,
): EntryRows<Windowed<K>, V> {
  const { cache, keys } = table
  const { from, to, reverse } = query
  if (from !== undefined && to !== undefined && compareBytes(from, to) > 0) return nothing
  const stored = storedRows(table, query)
  const cached = cache?.entries.scanCached(keys.rangeOver(query))
  return new WindowedRows(table, { stored, cached, query, reverse })
}

const nothing = new GatheredRows<never>([])

/** As `scanKeys`, by time first: the order of a store in memory. */
export function scanByTime<K, V>(
  table: WindowedTable<K, V>,
  query: WindowedQuery,
): EntryRows<Windowed<K>, V> {
  using scan = scanKeys(table, { ...query, reverse: false })
  const rows: EntryRow<Windowed<K>, V>[] = []
  for (let row = scan.next(); row !== undefined; row = scan.next()) rows.push(row)
  rows.sort((a, b) => table.keys.compareByTime(a.keyBytes, b.keyBytes))
  if (query.reverse) rows.reverse()
  return new GatheredRows(rows)
}

/** Rows below the cache, of several segments, one after the other; all scans begin at once. */
class StoredWindows implements StoredRows {
  readonly #scans: readonly StoredRows[]
  readonly #keys: WindowedKeys
  readonly #query: WindowedQuery
  #current = 0

  constructor(
    { bytes, segments, keys }: Pick<WindowedTable<unknown, unknown>, 'bytes' | 'segments' | 'keys'>,
    query: WindowedQuery,
  ) {
    const ids = segments.between(keys.firstSegment(query), keys.lastSegment(query))
    if (query.reverse) ids.reverse()
    this.#scans = ids.map((id) => {
      const range = keys.rangeIn(id, query)
      return query.withExpired === true ? bytes.scanLive(range) : bytes.scan(range)
    })
    this.#keys = keys
    this.#query = query
  }

  next(): StoredRow | undefined {
    while (this.#current < this.#scans.length) {
      const row = this.#scans[this.#current]?.next()
      if (row === undefined) this.#current += 1
      else if (this.#keys.isOf(row.key, this.#query)) return row
    }
    return undefined
  }

  [Symbol.dispose](): void {
    for (const scan of this.#scans) scan[Symbol.dispose]()
    this.#current = this.#scans.length
  }
}

/** Stored rows of one key. */
class KeyRows<K, V> implements EntryRows<Windowed<K>, V> {
  readonly #table: WindowedTable<K, V>
  readonly #key: K
  readonly #stored: StoredRows

  constructor(table: WindowedTable<K, V>, options: { key: K; stored: StoredRows }) {
    this.#table = table
    this.#key = options.key
    this.#stored = options.stored
  }

  next(): EntryRow<Windowed<K>, V> | undefined {
    const row = this.#stored.next()
    if (row === undefined) return undefined
    const { keys, serdes } = this.#table
    const { key: keyBytes, timestamp } = row
    const key = { key: this.#key, window: keys.windowOf(keyBytes) }
    return { key, keyBytes, value: serdes.readValue(row.value), timestamp }
  }

  [Symbol.dispose](): void {
    this.#stored[Symbol.dispose]()
  }
}

/** What a cache says of one window. Undefined value: it is deleted. */
interface CachedWindow<V> {
  readonly window: Window
  readonly value: V | undefined
  readonly timestamp: number
}

/** The windows of a key in the cache, as they are: what changes later does not show. */
function cachedWindows<K, V>(
  { cache }: WindowedTable<K, V>,
  key: K,
  query: WindowedQuery,
): CachedWindow<V>[] {
  const found: CachedWindow<V>[] = []
  if (cache === undefined) return found
  cache.index.forEachOf(key, query, (entry) => {
    found.push({ window: entry.key.window, value: entry.value, timestamp: entry.timestamp })
  })
  if (query.reverse) found.reverse()
  return found
}

/** Cached and stored rows of one key. */
class MergedKeyRows<K, V> implements EntryRows<Windowed<K>, V> {
  readonly #table: WindowedTable<K, V>
  readonly #key: K
  readonly #stored: Rows<EntryRow<Windowed<K>, V>>
  readonly #cached: readonly CachedWindow<V>[]
  readonly #direction: number
  #head: EntryRow<Windowed<K>, V> | undefined
  #next = 0

  constructor(
    table: WindowedTable<K, V>,
    options: {
      key: K
      stored: StoredRows
      cached: readonly CachedWindow<V>[]
      reverse: boolean
    },
  ) {
    this.#table = table
    this.#key = options.key
    this.#stored = new KeyRows(table, options)
    this.#cached = options.cached
    this.#direction = options.reverse ? -1 : 1
    this.#head = this.#stored.next()
  }

  next(): EntryRow<Windowed<K>, V> | undefined {
    for (;;) {
      const cached = this.#cached[this.#next]
      const head = this.#head
      if (cached === undefined) {
        this.#head = this.#stored.next()
        return head
      }
      const order =
        head === undefined ? 1 : this.#direction * compareWindows(head.key.window, cached.window)
      if (order < 0) {
        this.#head = this.#stored.next()
        return head
      }
      if (order === 0) this.#head = this.#stored.next()
      this.#next += 1
      if (cached.value !== undefined) return this.#row(cached, cached.value)
    }
  }

  #row({ window, timestamp }: CachedWindow<V>, value: V): EntryRow<Windowed<K>, V> {
    const { serdes } = this.#table
    const key = { key: this.#key, window: { start: window.start, end: window.end } }
    return {
      key,
      value,
      timestamp,
      get keyBytes() {
        return serdes.writeKey(key)
      },
    }
  }

  [Symbol.dispose](): void {
    this.#next = this.#cached.length
    this.#head = undefined
    this.#stored[Symbol.dispose]()
  }
}

/** Cached and stored rows of all keys of a query. */
class WindowedRows<K, V> implements EntryRows<Windowed<K>, V> {
  readonly #table: WindowedTable<K, V>
  readonly #rows: RowSource<CacheEntry<Windowed<K>, V> | StoredRow>
  readonly #query: WindowedQuery
  readonly #stored: StoredRows
  readonly #cached: Rows<CacheEntry<Windowed<K>, V>> | undefined

  constructor(
    table: WindowedTable<K, V>,
    options: {
      stored: StoredRows
      cached: Rows<CacheEntry<Windowed<K>, V>> | undefined
      query: WindowedQuery
      reverse: boolean
    },
  ) {
    const { stored, cached, query, reverse } = options
    this.#table = table
    this.#query = query
    this.#stored = stored
    this.#cached = cached
    this.#rows =
      cached === undefined
        ? stored
        : new MergedRows<CacheEntry<Windowed<K>, V> | StoredRow>([cached, stored], { reverse })
  }

  next(): EntryRow<Windowed<K>, V> | undefined {
    const { keys, serdes } = this.#table
    for (;;) {
      const row = this.#rows.next()
      if (row === undefined) return undefined
      if (!(row instanceof CacheEntry)) {
        const { key: keyBytes, timestamp } = row
        const value = serdes.readValue(row.value)
        return { key: serdes.readKey(keyBytes), keyBytes, value, timestamp }
      }
      const { key, keyBytes, value, timestamp } = row
      if (value === undefined || !keys.isOf(keyBytes as Buffer, this.#query)) continue
      return { key, keyBytes: keyBytes as Buffer, value, timestamp }
    }
  }

  [Symbol.dispose](): void {
    this.#stored[Symbol.dispose]()
    this.#cached?.[Symbol.dispose]()
  }
}
