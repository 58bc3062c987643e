/**
 * The order of use of a cache's entries, as a doubly linked list through the entries themselves: no
 * allocation, no lookup. The cache finds entries by key in a Map of its own.
 *
 *     oldest <-> ... <-> newest
 */

/** What an entry needs to be in a {@link LruList}; the list alone writes these two. */
export interface LruNode<T> {
  older: T | undefined
  newer: T | undefined
}

/** Entries from the least to the most recently used. An entry is in at most one list, at most once. */
export class LruList<T extends LruNode<T>> {
  #oldest: T | undefined
  #newest: T | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The entry that was not used for the longest time: the next to be evicted. */
  get oldest(): T | undefined {
    return this.#oldest
  }

  get newest(): T | undefined {
    return this.#newest
  }

  /** Adds an entry that is in no list, as the newest. */
  add(node: T): void {
    node.older = this.#newest
    node.newer = undefined
    if (this.#newest === undefined) this.#oldest = node
    else this.#newest.newer = node
    this.#newest = node
    this.#size += 1
  }

  /** Takes out an entry of this list. */
  remove(node: T): void {
    const { older, newer } = node
    if (older === undefined) this.#oldest = newer
    else older.newer = newer
    if (newer === undefined) this.#newest = older
    else newer.older = older
    node.older = undefined
    node.newer = undefined
    this.#size -= 1
  }

  /** Makes an entry of this list the newest. */
  touch(node: T): void {
    if (node === this.#newest) return
    this.remove(node)
    this.add(node)
  }

  /** Takes out all entries, one by one, so that none keeps another alive; linear. */
  clear(): void {
    while (this.#oldest !== undefined) this.remove(this.#oldest)
  }
}
