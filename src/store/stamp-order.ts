/**
 * Orders of a cache's entries by stamps: an access writes a number into its entry and touches nothing
 * else. Only when the order is needed, at a flush or to make room, are the stamps sorted. (A linked
 * list through the entries has the order at all times, but each access then writes to three entries
 * in as many places of memory: measured, half the updates a second.)
 */

/** The number of a stamp and of an index fit together into a JavaScript number, exactly. */
const indexBits = 22
const indexLimit = 2 ** indexBits
/** Stamps stay below this: small integers to V8, and 52 bits with an index. */
export const stampLimit = 2 ** 30

/** The items by their stamps, the lowest first; stamps differ. */
export function sortedByStamp<T>(items: readonly T[], stampOf: (item: T) => number): T[] {
  if (items.length > indexLimit) return items.toSorted((a, b) => stampOf(a) - stampOf(b))
  const packed = new Float64Array(items.length)
  let isSorted = true
  let last = 0
  for (const [index, item] of items.entries()) {
    const value = stampOf(item) * indexLimit + index
    packed[index] = value
    if (value < last) isSorted = false
    last = value
  }
  if (isSorted) return [...items]
  packed.sort()
  return Array.from(packed, (value) => items[value % indexLimit] as T)
}

/** An entry that knows when it was used. */
export interface Used {
  /** Greater than that of everything that was used before. */
  usedAt: number
}

/**
 * Hands out entries from the one that was not used for the longest time. The order is made of all
 * entries at once, and lasts until they are used up: those that are used in the meantime are passed
 * over, they are younger than all that are not.
 */
export class EvictionOrder<T extends Used> {
  /** Those that were handed out are let go of. */
  #entries: (T | undefined)[] = []
  #stamps: readonly number[] = []
  #next = 0

  /** The oldest of the entries; undefined when there is none. */
  oldest(entries: { readonly size: number; values(): Iterable<T> }): T | undefined {
    if (entries.size === 0) return undefined
    const entry = this.#advance()
    if (entry !== undefined) return entry
    const sorted = sortedByStamp([...entries.values()], ({ usedAt }) => usedAt)
    this.#entries = sorted
    this.#stamps = sorted.map(({ usedAt }) => usedAt)
    this.#next = 0
    return this.#advance()
  }

  /** The next one that was not used since; one that has left the cache has no stamp. */
  #advance(): T | undefined {
    while (this.#next < this.#entries.length) {
      const entry = this.#entries[this.#next]
      if (entry?.usedAt === this.#stamps[this.#next]) return entry
      this.#entries[this.#next] = undefined
      this.#next += 1
    }
    return undefined
  }

  /** Forgets the order, which is made anew from the stamps as they are then. */
  clear(): void {
    this.#entries = []
    this.#stamps = []
    this.#next = 0
  }
}
