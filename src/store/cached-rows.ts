import type { KvRange } from '../kv/kv.ts'
import type { StoredRows } from './byte-table.ts'
import { CacheEntry } from './cache-entry.ts'
import type { ChangeloggedTable } from './changelogged-table.ts'
import type { EntryRow, EntryRows, Rows } from './entry-table.ts'
import { MergedRows } from './merged-rows.ts'
import type { StoreSerdes } from './store-serdes.ts'
import type { StoredRow } from './stored-value.ts'

/** A scan of a record cache and of what lies below it. */
export class CachedRows<K, V> implements EntryRows<K, V> {
  readonly #rows: MergedRows<CacheEntry<K, V> | StoredRow>
  readonly #stored: StoredRows
  readonly #cached: Rows<CacheEntry<K, V>>
  readonly #serdes: StoreSerdes<K, V>
  #isOpen = true

  constructor(options: {
    cached: Rows<CacheEntry<K, V>>
    below: ChangeloggedTable<K, V>
    range: KvRange
  }) {
    const { cached, below, range } = options
    this.#serdes = below.serdes
    this.#cached = cached
    this.#stored = below.bytes.scan(range)
    this.#rows = new MergedRows<CacheEntry<K, V> | StoredRow>([cached, this.#stored], {
      reverse: range.reverse === true,
    })
  }

  next(): EntryRow<K, V> | undefined {
    while (this.#isOpen) {
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
    this.#isOpen = false
    this.#stored[Symbol.dispose]()
    this.#cached[Symbol.dispose]()
  }
}
