import type { KvRange } from '../kv/kv.ts'
import { SortedRows, keyText } from '../kv/sorted-rows.ts'
import type { CacheEntry } from './cache-entry.ts'
import type { Rows } from './entry-table.ts'

/**
 * The entries of a record cache in the order of their keys, made when somebody scans, and the scans that
 * are open: an entry that one of them may still show must not change.
 */
export class CacheOrder<K, V> {
  readonly #gather: () => Iterable<CacheEntry<K, V>>
  #rows: SortedRows<CacheEntry<K, V>> | undefined
  #scans = 0
  #openScans = 0

  /** `gather`: what is to be in the order when it is made, with the bytes of the keys. */
  constructor(gather: () => Iterable<CacheEntry<K, V>>) {
    this.#gather = gather
  }

  /** There is an order, into which every new entry is to go. */
  get isKept(): boolean {
    return this.#rows !== undefined
  }

  /** Nobody looks at entries in order, and nobody will find them there. */
  get isIdle(): boolean {
    return this.#rows === undefined && this.#openScans === 0
  }

  /** What an entry that is made now is to have as its epoch. */
  get epoch(): number {
    return this.#scans
  }

  /** A scan began before this entry's next update, and still shows what it is. */
  shows(entry: CacheEntry<K, V>): boolean {
    return this.#openScans > 0 && entry.epoch < this.#scans
  }

  add(entry: CacheEntry<K, V>): void {
    this.#rows?.add(entry)
  }

  /** The order is made anew when somebody scans. */
  clear(): void {
    this.#rows = undefined
  }

  get size(): number {
    return this.#sorted().size
  }

  /** Entries between two keys; those that say that a row is deleted are among them. */
  scan(range: KvRange): Rows<CacheEntry<K, V>> {
    const { from, to, toExclusive, reverse } = range
    const bounds = { from: from && keyText(from), to: to && keyText(to), toExclusive, reverse }
    const cursor = this.#sorted().view().cursor(bounds)
    this.#scans += 1
    this.#openScans += 1
    let isOpen = true
    return {
      next: () => (isOpen ? cursor.next() : undefined),
      [Symbol.dispose]: () => {
        if (isOpen) this.#openScans -= 1
        isOpen = false
      },
    }
  }

  #sorted(): SortedRows<CacheEntry<K, V>> {
    if (this.#rows === undefined) {
      this.#rows = new SortedRows<CacheEntry<K, V>>()
      for (const entry of this.#gather()) this.#rows.add(entry)
    }
    return this.#rows
  }
}
