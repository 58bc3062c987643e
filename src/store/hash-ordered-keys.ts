const tableSizeMin = 16
const loadFactor = 0.75
/** A bucket of more keys makes a small table grow. */
const bucketKeysMax = 8
const treesFrom = 64

interface HashedKey {
  readonly key: Buffer
  /** Java's Arrays.hashCode, spread as HashMap does. */
  readonly hash: number
}

/**
 * Keys in the order in which a java.util.HashSet of them gives them back: changelogs of buffers are
 * written in it. As there, the table stays large when it is emptied. (Of nine keys and more that share a
 * bucket of a table of at least 64, Java makes a tree, with an order of its own that is not followed.)
 */
export class HashOrderedKeys {
  readonly #keys = new Map<string, HashedKey>()
  #tableSize = tableSizeMin

  /** `text` is the key as latin1 text, which finds it in a Map. */
  add(key: Buffer, text: string): void {
    if (this.#keys.has(text)) return
    const hash = hashCode(key)
    this.#keys.set(text, { key, hash: hash ^ (hash >>> 16) })
  }

  get size(): number {
    return this.#keys.size
  }

  /** Takes all keys out. */
  drain(): Buffer[] {
    const keys = [...this.#keys.values()]
    this.#keys.clear()
    this.#grow(keys)
    const mask = this.#tableSize - 1
    // A bucket keeps the order of insertion, also when the table grows: the sort is stable.
    keys.sort((left, right) => (left.hash & mask) - (right.hash & mask))
    return keys.map(({ key }) => key)
  }

  clear(): void {
    this.#keys.clear()
  }

  /** To the size that the table has after these insertions, one by one. */
  #grow(keys: readonly HashedKey[]): void {
    let counts = new Map<number, number>()
    keys.forEach(({ hash }, index) => {
      const bucket = hash & (this.#tableSize - 1)
      const count = (counts.get(bucket) ?? 0) + 1
      counts.set(bucket, count)
      const isCrowded = count > bucketKeysMax && this.#tableSize < treesFrom
      const isFull = index + 1 > this.#tableSize * loadFactor
      if (!isCrowded && !isFull) return
      this.#tableSize *= isCrowded && isFull ? 4 : 2
      counts = new Map()
      for (const { hash: other } of keys.slice(0, index + 1)) {
        const place = other & (this.#tableSize - 1)
        counts.set(place, (counts.get(place) ?? 0) + 1)
      }
    })
  }
}

function hashCode(key: Buffer): number {
  let hash = 1
  for (const byte of key) hash = (Math.imul(hash, 31) + ((byte << 24) >> 24)) | 0
  return hash
}
