import type { RangeOptions, StoreIterator } from './key-value-store.ts'
import type { Windowed } from './windowed.ts'

/** Reads of a session store. Java's ReadOnlySessionStore. */
export interface ReadOnlySessionStore<K, A> {
  readonly name: string
  /** Sessions of a key that end at `earliestEnd` or later and start at `latestStart` or earlier. */
  findSessions(
    key: K,
    earliestEnd: number,
    latestStart: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[Windowed<K>, A]>
  /** As `findSessions`, of all keys within bounds, both inclusive. */
  findSessionsRange(
    range: { from?: K; to?: K },
    earliestEnd: number,
    latestStart: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[Windowed<K>, A]>
  /** Undefined: there is no session of that key with exactly these bounds. */
  fetchSession(key: K, start: number, end: number): A | undefined
  /** All sessions of a key, by their end. */
  fetch(key: K, options?: { reverse?: boolean }): StoreIterator<[Windowed<K>, A]>
  /** All sessions of the keys within bounds. */
  range(options?: RangeOptions<K>): StoreIterator<[Windowed<K>, A]>
}

/** A session store inside a task: synchronous. Java's SessionStore. */
export interface SessionStore<K, A> extends ReadOnlySessionStore<K, A> {
  /**
   * `aggregate` undefined (or null) removes the session.
   *
   * @throws StreamsError `STORE_TIME_INVALID` for bounds that are no times, or an end before the start.
   */
  put(session: Windowed<K>, aggregate: A | undefined): void
  /** Removes the session with exactly these bounds, if there is one. Throws as `put` does. */
  remove(session: Windowed<K>): void
  /**
   * Sessions of all keys whose end lies in [earliestEnd, latestEnd], by end, start and serialized
   * key: what a store that emits on close is asked. Only of stores that are time-ordered or in memory.
   */
  findSessionsByEnd(earliestEnd: number, latestEnd: number): StoreIterator<[Windowed<K>, A]>
}
