import { keyText } from '../kv/sorted-rows.ts'
import type { CacheEntry, CacheKey } from './cache-entry.ts'
import type { StoreSerdes } from './store-serdes.ts'

/** Finds the entries of a record cache by their keys. */
export interface CacheIndex<K, V> {
  readonly size: number
  /** What the index holds in memory for each entry, beyond a place in a Map. */
  readonly entryBytes: number
  find(key: K): CacheEntry<K, V> | undefined
  /** A new entry for a key; another one takes its place by `set`. */
  set(entry: CacheEntry<K, V>): void
  /** What an entry is found by, and the key that it may keep: the caller's own may change. */
  identify(key: K): { readonly id: CacheKey; readonly key: K }
  /** False: the entry is not there any more. */
  delete(entry: CacheEntry<K, V>): boolean
  values(): Iterable<CacheEntry<K, V>>
  clear(): void
}

/** One entry a key, in a Map. */
export class KeyIndex<K, V> implements CacheIndex<K, V> {
  readonly entryBytes = 0
  readonly #serdes: StoreSerdes<K, V>
  readonly #identity: ((key: K) => CacheKey) | undefined
  readonly #entries = new Map<CacheKey, CacheEntry<K, V>>()
  /** The entry that was found last: what is read is often written next. */
  #latest: CacheEntry<K, V> | undefined

  constructor(serdes: StoreSerdes<K, V>) {
    this.#serdes = serdes
    this.#identity = serdes.key.identity
  }

  get size(): number {
    return this.#entries.size
  }

  find(key: K): CacheEntry<K, V> | undefined {
    const latest = this.#latest
    // Two objects may have the same bytes, and one may have changed; zero is not negative zero.
    if (latest !== undefined && typeof key !== 'object' && Object.is(latest.key, key)) return latest
    const entry = this.#entries.get(this.#idOf(key))
    if (entry !== undefined) this.#latest = entry
    return entry
  }

  #idOf(key: K): CacheKey {
    const isMissing = key === null || key === undefined
    if (this.#identity === undefined || isMissing) return keyText(this.#serdes.writeKey(key))
    return this.#identity(key)
  }

  identify(key: K): { id: CacheKey; key: K } {
    return { id: this.#idOf(key), key }
  }

  set(entry: CacheEntry<K, V>): void {
    this.#entries.set(entry.id, entry)
    this.#latest = entry
  }

  delete(entry: CacheEntry<K, V>): boolean {
    if (this.#entries.get(entry.id) !== entry) return false
    this.#entries.delete(entry.id)
    if (this.#latest === entry) this.#latest = undefined
    return true
  }

  values(): Iterable<CacheEntry<K, V>> {
    return this.#entries.values()
  }

  clear(): void {
    this.#entries.clear()
    this.#latest = undefined
  }
}
