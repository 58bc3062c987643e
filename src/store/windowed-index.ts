import { asBuffer } from '../base/bytes.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { Serde } from '../serde/serde.ts'
import type { CacheEntry, CacheKey } from './cache-entry.ts'
import type { CacheIndex } from './cache-index.ts'
import { ClosingIndex } from './closing-index.ts'
import type { WindowedQuery } from './windowed-keys.ts'
import type { Window, Windowed } from './windowed.ts'

/** What an entry takes in an order of time: its place there, and a part of what its time takes. */
const closingBytes = 100

/** By the end, then by the start. */
export const compareWindows = (a: Window, b: Window): number =>
  a.end === b.end ? a.start - b.start : a.end - b.end

/** The windows of one key that are in the cache, by their time. */
interface WindowsOfKey<K, V> {
  readonly id: CacheKey
  readonly key: K
  /** Beside the entries, in an array of numbers: a search reads nothing else. */
  readonly times: number[]
  /** The same array where the times are the starts. */
  readonly starts: number[]
  readonly entries: CacheEntry<Windowed<K>, V>[]
}

/**
 * The entries of a cache of windows: a Map finds the windows of a key, a search among them the one.
 * Nothing is made for a look-up: the windows of a key are few, and the newest are asked for most.
 */
export class WindowedIndex<K, V> implements CacheIndex<Windowed<K>, V> {
  readonly #serde: Serde<K>
  /** Of sessions, several may end together. */
  readonly #isOfSessions: boolean
  readonly #windows = new Map<CacheKey, WindowsOfKey<K, V>>()
  /** By time, for an operator that emits what has closed. */
  readonly #closing:
    | ClosingIndex<CacheEntry<Windowed<K>, V>, CacheEntry<Windowed<K>, V>>
    | undefined
  /**
   * The key that was found last: its windows follow one another. It may have none, for a moment: a
   * session that grows leaves and comes again.
   */
  #latest: WindowsOfKey<K, V> | undefined
  #size = 0

  constructor(serde: Serde<K>, { of, closes }: { of: 'windows' | 'sessions'; closes: boolean }) {
    this.#serde = serde
    this.#isOfSessions = of === 'sessions'
    this.#closing = closes ? new ClosingIndex() : undefined
  }

  /** In memory, for each entry. */
  get entryBytes(): number {
    return this.#closing === undefined ? 0 : closingBytes
  }

  /**
   * Takes out of the order of time what lies in [from, to], deleted entries too; they stay in the index.
   * Undefined: some were taken before, or there is no such order.
   */
  takeClosed(from: number, to: number): CacheEntry<Windowed<K>, V>[] | undefined {
    const closing = this.#closing
    if (closing === undefined || from < closing.floor) return undefined
    return closing.take(to).filter(({ key }) => this.timeOf(key.window) >= from)
  }

  get size(): number {
    return this.#size
  }

  /** What windows of a key are sought by: their start, or the end of sessions. */
  timeOf(window: Window): number {
    return this.#isOfSessions ? window.end : window.start
  }

  find({ key, window }: Windowed<K>): CacheEntry<Windowed<K>, V> | undefined {
    const windows = this.#windowsOf(key)
    if (windows === undefined) return undefined
    const at = this.#placeOf(windows, window)
    return this.#isAt(windows, at, window) ? windows.entries[at] : undefined
  }

  #windowsOf(key: K): WindowsOfKey<K, V> | undefined {
    const latest = this.#latest
    // Two objects may have the same bytes, and one may have changed; zero is not negative zero.
    if (latest !== undefined && typeof key !== 'object' && Object.is(latest.key, key)) return latest
    const windows = this.#windows.get(this.#idOf(key))
    if (windows !== undefined) this.#remember(windows)
    return windows
  }

  #remember(windows: WindowsOfKey<K, V>): void {
    const latest = this.#latest
    if (latest === windows) return
    if (latest?.entries.length === 0) this.#windows.delete(latest.id)
    this.#latest = windows
  }

  #idOf(key: K): CacheKey {
    const { identity } = this.#serde
    if (identity !== undefined) return identity(key)
    const bytes = this.#serde.serialize(key)
    return keyText(asBuffer(bytes))
  }

  /** Index of the first window that is not before. */
  #placeOf({ times, starts }: WindowsOfKey<K, V>, window: Window): number {
    const time = this.timeOf(window)
    let at = lowerBound(times, time)
    if (!this.#isOfSessions) return at
    while (times[at] === time && (starts[at] as number) < window.start) at += 1
    return at
  }

  #isAt({ times, starts }: WindowsOfKey<K, V>, at: number, { start, end }: Window): boolean {
    return starts[at] === start && (!this.#isOfSessions || times[at] === end)
  }

  /** Tells of the windows of a key whose times are those of a query, by their time. */
  forEachOf(
    key: K,
    { lowest, highest, latestEnd = Infinity }: WindowedQuery,
    tell: (entry: CacheEntry<Windowed<K>, V>) => void,
  ): void {
    const windows = this.#windowsOf(key)
    if (windows === undefined) return
    const { times, starts, entries } = windows
    const latest = this.#isOfSessions ? latestEnd : highest
    for (let at = lowerBound(times, lowest); (times[at] as number) <= latest; at += 1) {
      if ((starts[at] as number) <= highest) tell(entries[at] as CacheEntry<Windowed<K>, V>)
    }
  }

  identify({ key, window }: Windowed<K>): { id: CacheKey; key: Windowed<K> } {
    const { start, end } = window
    return { id: this.#idOf(key), key: { key, window: { start, end } } }
  }

  set(entry: CacheEntry<Windowed<K>, V>): void {
    const { id, key } = entry
    let windows = this.#windows.get(id)
    if (windows === undefined) {
      const times: number[] = []
      const starts = this.#isOfSessions ? [] : times
      windows = { id, key: key.key, times, starts, entries: [] }
      this.#windows.set(id, windows)
    }
    this.#remember(windows)
    const { times, starts, entries } = windows
    const { window } = key
    const at = this.#placeOf(windows, window)
    const time = this.timeOf(window)
    if (this.#isAt(windows, at, window)) {
      this.#closing?.delete(time, entries[at] as CacheEntry<Windowed<K>, V>)
      this.#closing?.add(time, entry, entry)
      entries[at] = entry
      return
    }
    this.#closing?.add(time, entry, entry)
    insertAt(entries, at, entry)
    insertAt(starts, at, window.start)
    if (this.#isOfSessions) insertAt(times, at, window.end)
    this.#size += 1
  }

  delete(entry: CacheEntry<Windowed<K>, V>): boolean {
    const windows = this.#windows.get(entry.id)
    if (windows === undefined) return false
    const { times, starts, entries } = windows
    const at = this.#placeOf(windows, entry.key.window)
    if (entries[at] !== entry) return false
    this.#closing?.delete(this.timeOf(entry.key.window), entry)
    removeAt(entries, at)
    removeAt(starts, at)
    if (this.#isOfSessions) removeAt(times, at)
    if (entries.length === 0 && windows !== this.#latest) this.#windows.delete(entry.id)
    this.#size -= 1
    return true
  }

  *values(): Iterable<CacheEntry<Windowed<K>, V>> {
    for (const { entries } of this.#windows.values()) yield* entries
  }

  clear(): void {
    this.#windows.clear()
    this.#closing?.clear()
    this.#latest = undefined
    this.#size = 0
  }
}

/** Most often at the end. */
function insertAt<T>(items: T[], at: number, item: T): void {
  if (at === items.length) items.push(item)
  else items.splice(at, 0, item)
}

function removeAt(items: unknown[], at: number): void {
  if (at === items.length - 1) items.pop()
  else items.splice(at, 1)
}

/** Index of the first time that is not before; the newest are looked at first. */
function lowerBound(times: readonly number[], time: number): number {
  let high = times.length
  if (high === 0 || (times[high - 1] as number) < time) return high
  let low = 0
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] as number) < time) low = middle + 1
    else high = middle
  }
  return low
}
