import type { CacheEntry } from './cache-entry.ts'

/**
 * The dirty entries of a cache in the order of their last updates: the order in which they are
 * flushed. Kafka Streams keeps it in a LinkedHashSet, from which an updated key is removed and to
 * which it is added again.
 */
export class DirtyList<K, V> {
  #first: CacheEntry<K, V> | undefined
  #last: CacheEntry<K, V> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Makes the entry the last one, whether it was in the list or not. */
  touch(entry: CacheEntry<K, V>): void {
    if (entry === this.#last) return
    if (entry.isDirty) this.remove(entry)
    entry.isDirty = true
    entry.dirtyBefore = this.#last
    if (this.#last === undefined) this.#first = entry
    else this.#last.dirtyAfter = entry
    this.#last = entry
    this.#size += 1
  }

  /** Takes out an entry of the list; it is clean then. */
  remove(entry: CacheEntry<K, V>): void {
    const { dirtyBefore, dirtyAfter } = entry
    if (dirtyBefore === undefined) this.#first = dirtyAfter
    else dirtyBefore.dirtyAfter = dirtyAfter
    if (dirtyAfter === undefined) this.#last = dirtyBefore
    else dirtyAfter.dirtyBefore = dirtyBefore
    entry.dirtyBefore = undefined
    entry.dirtyAfter = undefined
    entry.isDirty = false
    this.#size -= 1
  }

  /** Takes out all, in order. */
  takeAll(): CacheEntry<K, V>[] {
    const entries = this.toArray()
    for (const entry of entries) this.remove(entry)
    return entries
  }

  toArray(): CacheEntry<K, V>[] {
    const entries: CacheEntry<K, V>[] = []
    for (let entry = this.#first; entry !== undefined; entry = entry.dirtyAfter) entries.push(entry)
    return entries
  }
}
