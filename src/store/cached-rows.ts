import type { KvRange } from '../kv/kv.ts'
import { keyText, type SortedView } from '../kv/sorted-rows.ts'
import type { StoredRows } from './byte-table.ts'
import { CacheEntry } from './cache-entry.ts'
import type { ChangeloggedTable } from './changelogged-table.ts'
import type { EntryRow, EntryRows } from './entry-table.ts'
import { MergedRows } from './merged-rows.ts'
import type { StoreSerdes } from './store-serdes.ts'
import type { StoredRow } from './stored-value.ts'

/** A scan of a record cache and of what lies below it. */
export class CachedRows<K, V> implements EntryRows<K, V> {
  readonly #rows: MergedRows<CacheEntry<K, V> | StoredRow>
  readonly #stored: StoredRows
  readonly #serdes: StoreSerdes<K, V>
  #closed: (() => void) | undefined

  constructor(options: {
    cached: SortedView<CacheEntry<K, V>>
    below: ChangeloggedTable<K, V>
    range: KvRange
    /** Called once, at the end. */
    closed: () => void
  }) {
    const { cached, below, range, closed } = options
    const { from, to, toExclusive, reverse } = range
    this.#serdes = below.serdes
    this.#closed = closed
    this.#stored = below.bytes.scan(range)
    const entries = cached.cursor({
      from: from && keyText(from),
      to: to && keyText(to),
      toExclusive,
      reverse,
    })
    this.#rows = new MergedRows<CacheEntry<K, V> | StoredRow>([entries, this.#stored], {
      reverse: reverse === true,
    })
  }

  next(): EntryRow<K, V> | undefined {
    while (this.#closed !== undefined) {
      const row = this.#rows.next()
      if (row === undefined) break
      if (!(row instanceof CacheEntry)) {
        const { key: keyBytes, timestamp } = row
        const key = this.#serdes.readKey(keyBytes)
        return { key, keyBytes, value: this.#serdes.readValue(row.value), timestamp }
      }
      const { key, keyBytes, value, timestamp } = row
      if (value !== undefined) return { key, keyBytes: keyBytes as Buffer, value, timestamp }
    }
    this[Symbol.dispose]()
    return undefined
  }

  [Symbol.dispose](): void {
    const closed = this.#closed
    if (closed === undefined) return
    this.#closed = undefined
    this.#stored[Symbol.dispose]()
    closed()
  }
}
