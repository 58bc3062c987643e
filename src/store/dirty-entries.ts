import type { CacheEntry } from './cache-entry.ts'
import { sortedByStamp } from './stamp-order.ts'

/** Entries that are kept at most though they were dropped, unless there are as many others. */
const droppedEntriesMax = 1024

/** The entries of a record cache whose last update is not written yet. */
export class DirtyEntries<K, V> {
  /** Those that became dirty since the last flush, in that order; some may be clean again. */
  #entries: CacheEntry<K, V>[] = []
  #count = 0

  /** How many there are. */
  get count(): number {
    return this.#count
  }

  /** The entry becomes dirty: it was not. */
  add(entry: CacheEntry<K, V>): void {
    entry.isDirty = true
    this.#entries.push(entry)
    this.#count += 1
  }

  /** The entry is clean now, whether it was before or not. */
  delete(entry: CacheEntry<K, V>): void {
    if (!entry.isDirty) return
    entry.isDirty = false
    this.#count -= 1
  }

  /** As `delete`, of an entry that goes for good: the memory of it goes too. */
  drop(entry: CacheEntry<K, V>): void {
    this.delete(entry)
    const entries = this.#entries
    if (entries.at(-1) === entry) entries.pop()
    else if (entries.length > 2 * this.#count + droppedEntriesMax) this.#entries = this.values()
  }

  /** In the order in which they became dirty. */
  values(): CacheEntry<K, V>[] {
    return this.#entries.filter(({ isDirty }) => isDirty)
  }

  /** In the order of their last updates. */
  inOrder(): CacheEntry<K, V>[] {
    return sortedByStamp(this.values(), ({ updatedAt }) => updatedAt)
  }

  /** Forgets all; what they are is not changed. */
  clear(): void {
    this.#entries = []
    this.#count = 0
  }
}
