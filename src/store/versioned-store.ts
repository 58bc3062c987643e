import type { StoreIterator } from './key-value-store.ts'

/** A value, and the time in which it was the value of its key. Java's VersionedRecord. */
export interface VersionedRecord<V> {
  readonly value: V
  /** From when on: the timestamp of the record that brought it. */
  readonly timestamp: number
  /** Until when, exclusive: the timestamp of the next version. Undefined: it is the latest. */
  readonly validTo?: number
}

/** Reads of a versioned store. */
export interface ReadOnlyVersionedStore<K, V> {
  readonly name: string
  /**
   * The latest version, or the one that was valid at the time `asOf`. Undefined: there was none, it
   * was a deletion, or `asOf` is older than the history that is kept.
   */
  get(key: K, asOf?: number): VersionedRecord<V> | undefined
  /**
   * The versions of a key that were valid at any time in [from, to], the newest first; `reverse`:
   * the oldest first. Deletions are left out.
   */
  versions(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<VersionedRecord<V>>
}

/** What became of a version that was put: until when it is valid, undefined when it is the latest. */
export type PutVersion = number | undefined | 'not-put'

/** A versioned store inside a task: synchronous. Java's VersionedKeyValueStore. */
export interface VersionedStore<K, V> extends ReadOnlyVersionedStore<K, V> {
  /**
   * Puts a version; `value` undefined (or null) is a deletion from that time on. Returns until when
   * it is valid, undefined when it is the latest, `not-put` when it is older than the history that
   * is kept.
   *
   * @throws StreamsError `STORE_TIME_INVALID` for a timestamp that is no time.
   */
  put(key: K, value: V | undefined, timestamp: number): PutVersion
  /** As a put of undefined; returns the version that was valid at that time before. */
  delete(key: K, timestamp: number): VersionedRecord<V> | undefined
}
