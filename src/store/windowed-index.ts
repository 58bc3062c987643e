import { keyText } from '../kv/sorted-rows.ts'
import type { Serde } from '../serde/serde.ts'
import type { CacheEntry, CacheKey } from './cache-entry.ts'
import type { CacheIndex } from './cache-index.ts'
import type { Window, Windowed } from './windowed.ts'

/** By the end, then by the start. */
export const compareWindows = (a: Window, b: Window): number =>
  a.end === b.end ? a.start - b.start : a.end - b.end

/** The windows of one key, by their ends. */
interface WindowsOfKey<K, V> {
  readonly id: CacheKey
  readonly key: K
  readonly entries: CacheEntry<Windowed<K>, V>[]
}

/**
 * The entries of a cache of windows: a Map finds the windows of a key, a search among them the one.
 * Nothing is made for a look-up: the windows of a key are few, and the newest are asked for most.
 */
export class WindowedIndex<K, V> implements CacheIndex<Windowed<K>, V> {
  readonly #serde: Serde<K>
  readonly #windows = new Map<CacheKey, WindowsOfKey<K, V>>()
  /** The key that was found last: its windows follow one another. */
  #latest: WindowsOfKey<K, V> | undefined
  #size = 0

  constructor(serde: Serde<K>) {
    this.#serde = serde
  }

  get size(): number {
    return this.#size
  }

  find({ key, window }: Windowed<K>): CacheEntry<Windowed<K>, V> | undefined {
    const windows = this.#windowsOf(key)
    if (windows === undefined) return undefined
    const { entries } = windows
    const entry = entries[placeOf(entries, window)]
    return entry !== undefined && compareWindows(entry.key.window, window) === 0 ? entry : undefined
  }

  #windowsOf(key: K): WindowsOfKey<K, V> | undefined {
    const latest = this.#latest
    // Two objects may have the same bytes, and one may have changed; zero is not negative zero.
    if (latest !== undefined && typeof key !== 'object' && Object.is(latest.key, key)) return latest
    const windows = this.#windows.get(this.#idOf(key))
    if (windows !== undefined) this.#latest = windows
    return windows
  }

  #idOf(key: K): CacheKey {
    const { identity } = this.#serde
    if (identity !== undefined) return identity(key)
    const bytes = this.#serde.serialize(key)
    return keyText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  }

  /** The windows of a key that are in the cache, by their ends; not to be kept. */
  entriesOf(key: K): readonly CacheEntry<Windowed<K>, V>[] {
    return this.#windowsOf(key)?.entries ?? []
  }

  identify({ key, window }: Windowed<K>): { id: CacheKey; key: Windowed<K> } {
    const { start, end } = window
    return { id: this.#idOf(key), key: { key, window: { start, end } } }
  }

  set(entry: CacheEntry<Windowed<K>, V>): void {
    const { id, key } = entry
    let windows = this.#windows.get(id)
    if (windows === undefined) {
      windows = { id, key: key.key, entries: [] }
      this.#windows.set(id, windows)
    }
    this.#latest = windows
    const { entries } = windows
    const at = placeOf(entries, key.window)
    const present = entries[at]
    if (present !== undefined && compareWindows(present.key.window, key.window) === 0) {
      entries[at] = entry
      return
    }
    if (at === entries.length) entries.push(entry)
    else entries.splice(at, 0, entry)
    this.#size += 1
  }

  delete(entry: CacheEntry<Windowed<K>, V>): boolean {
    const windows = this.#windows.get(entry.id)
    if (windows === undefined) return false
    const { entries } = windows
    const at = placeOf(entries, entry.key.window)
    if (entries[at] !== entry) return false
    if (entries.length === 1) {
      this.#windows.delete(entry.id)
      if (this.#latest === windows) this.#latest = undefined
    } else entries.splice(at, 1)
    this.#size -= 1
    return true
  }

  *values(): Iterable<CacheEntry<Windowed<K>, V>> {
    for (const { entries } of this.#windows.values()) yield* entries
  }

  clear(): void {
    this.#windows.clear()
    this.#latest = undefined
    this.#size = 0
  }
}

/** Index of the first window that is not before; the newest are looked at first. */
function placeOf(
  entries: readonly CacheEntry<Windowed<unknown>, unknown>[],
  window: Window,
): number {
  const { length } = entries
  if (length === 0) return 0
  const newest = compareWindows(
    (entries[length - 1] as CacheEntry<Windowed<unknown>, unknown>).key.window,
    window,
  )
  if (newest < 0) return length
  if (newest === 0) return length - 1
  let low = 0
  let high = length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = entries[middle] as CacheEntry<Windowed<unknown>, unknown>
    if (compareWindows(entry.key.window, window) < 0) low = middle + 1
    else high = middle
  }
  return low
}
