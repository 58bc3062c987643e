/**
 * What has closed in a store of windows or sessions, for an operator that emits it: rows by time, found by
 * time, so that nobody looks at what is open
 * (org.apache.kafka.streams.state.internals.RocksDBTimeOrderedWindowStore#fetchAll).
 */
import { keyText } from '../kv/sorted-rows.ts'
import type { EntryRow, EntryRows, Rows } from './entry-table.ts'
import { GatheredRows } from './gathered-rows.ts'
import type { WindowedQuery } from './windowed-keys.ts'
import { scanByTime, type WindowedTable } from './windowed-scan.ts'
import type { Windowed } from './windowed.ts'

/** What a cache says of a row that has closed. Undefined value: it is deleted. */
interface CachedRow<K, V> {
  readonly key: Windowed<K>
  readonly keyBytes: Buffer
  readonly value: V | undefined
  readonly timestamp: number
}

/**
 * As `scanByTime`, for an operator that asks for one stretch of time after the other, and for none twice:
 * what has closed.
 */
export function scanClosed<K, V>(
  table: WindowedTable<K, V>,
  query: WindowedQuery,
): EntryRows<Windowed<K>, V> {
  const { bytes, cache } = table
  const { lowest, highest, latestEnd = highest } = query
  const cached = cache === undefined ? [] : takeCached(table, lowest, latestEnd)
  if (cached === undefined) return scanByTime(table, query)
  const stored =
    cache?.entries.hasAllFrom(lowest) === true ? none : bytes.closedKeys(lowest, latestEnd)
  if (stored === undefined) return scanByTime(table, query)
  return new ClosedRows(table, { cached, stored, withExpired: query.withExpired === true })
}

const none = new GatheredRows<never>([])

/** As they are at this moment, by time. Undefined: some were taken before. */
function takeCached<K, V>(
  { cache, keys }: WindowedTable<K, V>,
  from: number,
  to: number,
): CachedRow<K, V>[] | undefined {
  const taken = cache?.index.takeClosed(from, to)
  const rows = taken?.map((entry) => {
    const { key, value, timestamp } = entry
    const keyBytes = cache?.entries.keyBytesOf(entry) as Buffer
    return { key, keyBytes, value, timestamp }
  })
  return rows?.sort((one, other) => keys.compareByTime(one.keyBytes, other.keyBytes))
}

/** Cached rows, and stored rows by their keys. */
class ClosedRows<K, V> implements EntryRows<Windowed<K>, V> {
  readonly #table: WindowedTable<K, V>
  readonly #cached: readonly CachedRow<K, V>[]
  readonly #stored: Rows<Buffer>
  readonly #withExpired: boolean
  #next = 0
  #head: Buffer | undefined

  constructor(
    table: WindowedTable<K, V>,
    options: { cached: readonly CachedRow<K, V>[]; stored: Rows<Buffer>; withExpired: boolean },
  ) {
    this.#table = table
    this.#cached = options.cached
    this.#stored = options.stored
    this.#withExpired = options.withExpired
    this.#head = options.stored.next()
  }

  next(): EntryRow<Windowed<K>, V> | undefined {
    for (;;) {
      const cached = this.#cached[this.#next]
      const head = this.#head
      if (cached === undefined && head === undefined) return undefined
      const order = this.#order(cached, head)
      if (order >= 0) this.#head = this.#stored.next()
      if (order <= 0) this.#next += 1
      const row = order > 0 ? this.#read(head as Buffer) : visible(cached as CachedRow<K, V>)
      if (row !== undefined) return row
    }
  }

  /** Negative: the cached row comes first. Zero: they are one, and the cached one is the truth. */
  #order(cached: CachedRow<K, V> | undefined, head: Buffer | undefined): number {
    if (cached === undefined) return 1
    if (head === undefined) return -1
    return this.#table.keys.compareByTime(cached.keyBytes, head)
  }

  #read(keyBytes: Buffer): EntryRow<Windowed<K>, V> | undefined {
    const { bytes, serdes } = this.#table
    const text = keyText(keyBytes)
    const stored = this.#withExpired ? bytes.getLive(keyBytes, text) : bytes.get(keyBytes, text)
    if (stored === undefined) return undefined
    const { timestamp } = stored
    const value = serdes.readValue(stored.value)
    return { key: serdes.readKey(keyBytes), keyBytes, value, timestamp }
  }

  [Symbol.dispose](): void {
    this.#next = this.#cached.length
    this.#head = undefined
    this.#stored[Symbol.dispose]()
  }
}

function visible<K, V>(row: CachedRow<K, V>): EntryRow<Windowed<K>, V> | undefined {
  const { key, keyBytes, value, timestamp } = row
  return value === undefined ? undefined : { key, keyBytes, value, timestamp }
}
