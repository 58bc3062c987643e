import { assertOptions } from '../base/assert-options.ts'
import { assertName } from '../base/legal-name.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import { assertSerde } from '../serde/assert-serde.ts'
import type { Serde } from '../serde/serde.ts'

/** What all store descriptors share. */
export interface StoreOptions {
  /** Keep the state in files below `stateDir` (default), or only in memory. Both are restored from the changelog. */
  readonly persistent?: boolean
  /**
   * Collect updates of a key in the record cache and forward the last one at the commit. Default:
   * true for stores of the DSL (as Java's Materialized).
   */
  readonly caching?: boolean
  /** Write every change to a compacted changelog topic (default). An object: with these topic configs. */
  readonly changelog?: boolean | { readonly [config: string]: string }
}

/** A key-value store: its name, its serdes, and how it is kept. Made by {@link keyValueStore}. */
export interface KeyValueStoreDescriptor<K, V> extends StoreOptions {
  readonly kind: 'key-value'
  readonly name: string
  readonly key: Serde<K>
  readonly value: Serde<V>
}

/** What {@link windowStore} takes beside the serdes. */
export interface WindowStoreOptions extends StoreOptions {
  /**
   * Milliseconds of stream time for which a window is kept, counted from its start. A windowed
   * operator states it when it is absent (as long as its windows need); elsewhere it is needed.
   */
  readonly retention?: number
  /** Milliseconds from the start to the end of a window. As `retention`: a windowed operator states it. */
  readonly windowSize?: number
  /** Keep all that is put under one key and start, instead of the last. Such stores are not cached. */
  readonly retainDuplicates?: boolean
}

/** A store of windows of a fixed size. Made by {@link windowStore}. */
export interface WindowStoreDescriptor<K, V> extends WindowStoreOptions {
  readonly kind: 'window'
  readonly name: string
  readonly key: Serde<K>
  readonly value: Serde<V>
}

/** What {@link sessionStore} takes beside the serdes. */
export interface SessionStoreOptions extends StoreOptions {
  /**
   * Milliseconds of stream time for which a session is kept, counted from its end. A session
   * aggregation states it when it is absent (as long as its windows need); elsewhere it is needed.
   */
  readonly retention?: number
}

/** A store of sessions: windows that are as long as somebody was active. Made by {@link sessionStore}. */
export interface SessionStoreDescriptor<K, V> extends SessionStoreOptions {
  readonly kind: 'session'
  readonly name: string
  readonly key: Serde<K>
  readonly value: Serde<V>
}

/** What {@link versionedStore} takes beside the serdes. Versioned stores are never cached. */
export interface VersionedStoreOptions extends Omit<StoreOptions, 'caching'> {
  /** Milliseconds of stream time for which old versions are kept and late ones are taken. */
  readonly historyRetention: number
  /** Milliseconds in one piece of history, which expires as a whole. Default: a third of a short retention to a 24th of a long one, as in Java. */
  readonly segmentInterval?: number
}

/** A store of the values that keys had over time. Made by {@link versionedStore}. */
export interface VersionedStoreDescriptor<K, V> extends VersionedStoreOptions {
  readonly kind: 'versioned'
  readonly name: string
  readonly key: Serde<K>
  readonly value: Serde<V>
  readonly caching?: false
}

/** A store of any kind. */
export type AnyStore =
  // oxlint-disable-next-line typescript/no-explicit-any -- variance: a descriptor of any types fits
  | KeyValueStoreDescriptor<any, any>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  | WindowStoreDescriptor<any, any>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  | SessionStoreDescriptor<any, any>
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  | VersionedStoreDescriptor<any, any>

/**
 * Names a key-value store and the serdes of its keys and values. The same value materializes a
 * table, opens the store for queries, and types the remote client.
 *
 * @throws StreamsError `TOPOLOGY_INVALID` for a name that Kafka does not allow (letters, digits, `.`,
 *   `_` and `-`, at most 249: it names a topic and a file) or what is no serde, `SERDE_MISSING`.
 * @example
 * const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })
 */
export function keyValueStore<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & StoreOptions,
): KeyValueStoreDescriptor<K, V> {
  assertStore(name, options)
  return Object.freeze({ kind: 'key-value', name, ...options })
}

/** Refuses a name that is not allowed, and what a program without types may give as options. */
function assertStore(name: unknown, options: unknown): void {
  assertName(name, 'a store')
  const of = `the store ${name}`
  assertOptions(options, of)
  const { key, value } = (options ?? {}) as { key?: unknown; value?: unknown }
  assertSerde(key, { part: 'key', of })
  assertSerde(value, { part: 'value', of })
}

interface LengthUse {
  readonly what: string
  readonly store: string
  readonly least?: number
  /** Only what keeps its exact value in a number, as what a program states; sums of such may be more. */
  readonly isExact?: boolean
}

/** Refuses what is no length of time; Infinity is one, of what is never deleted. */
function assertMs(given: unknown, { what, store, least = 0, isExact = false }: LengthUse): void {
  if (given === Infinity) return
  const isWhole = isExact ? Number.isSafeInteger(given) : Number.isInteger(given)
  if (isWhole && (given as number) >= least) return
  const range = isExact ? `${least} to 2^53 - 1` : String(least)
  const detail = `the ${what} of the store ${store} must be a whole number of milliseconds from ${range}, not ${shownValue(given)}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}

/** Refuses a time that a number does not hold exactly. */
function assertExact<O extends 'retention' | 'windowSize'>(
  store: { readonly name: string } & { readonly [option in O]?: number },
  what: O,
): void {
  const given = store[what]
  if (given !== undefined) assertMs(given, { what, store: store.name, isExact: true })
}

/**
 * Names a store of windows and the serdes of its keys and values. The same value materializes a
 * windowed aggregation and opens the store for queries.
 *
 * @example
 * const clicksByMinute = windowStore('clicks-by-minute', { key: serdes.string, value: serdes.long })
 */
export function windowStore<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & WindowStoreOptions,
): WindowStoreDescriptor<K, V> {
  const store = windowStoreOf(name, options)
  assertExact(store, 'retention')
  assertExact(store, 'windowSize')
  return store
}

/** As {@link windowStore}, also for times that the engine has summed up, which a number need not hold exactly. */
export function windowStoreOf<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & WindowStoreOptions,
): WindowStoreDescriptor<K, V> {
  assertStore(name, options)
  const { retention, windowSize } = options
  if (retention !== undefined) assertMs(retention, { what: 'retention', store: name })
  if (windowSize !== undefined) assertMs(windowSize, { what: 'windowSize', store: name })
  if (retention !== undefined && windowSize !== undefined && retention < windowSize) {
    const detail = `the store ${name} keeps windows of ${windowSize} ms for only ${retention} ms; its retention is at least its windowSize`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  return Object.freeze({ kind: 'window', name, ...options })
}

/**
 * Names a store of sessions and the serdes of its keys and values. The same value materializes a
 * session aggregation and opens the store for queries.
 *
 * @example
 * const visits = sessionStore('visits', { key: serdes.string, value: serdes.long })
 */
export function sessionStore<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & SessionStoreOptions,
): SessionStoreDescriptor<K, V> {
  const store = sessionStoreOf(name, options)
  assertExact(store, 'retention')
  return store
}

/** As {@link sessionStore}, as {@link windowStoreOf}. */
export function sessionStoreOf<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & SessionStoreOptions,
): SessionStoreDescriptor<K, V> {
  assertStore(name, options)
  const { retention } = options
  if (retention !== undefined) assertMs(retention, { what: 'retention', store: name })
  return Object.freeze({ kind: 'session', name, ...options })
}

/**
 * Names a store that remembers which value a key had at what time, for late records to be joined with
 * what was true then.
 *
 * @example
 * const prices = versionedStore('prices', {
 *   key: serdes.string,
 *   value: serdes.double,
 *   historyRetention: hours(6),
 * })
 */
export function versionedStore<K, V>(
  name: string,
  options: { key: Serde<K>; value: Serde<V> } & VersionedStoreOptions,
): VersionedStoreDescriptor<K, V> {
  assertStore(name, options)
  const { historyRetention, segmentInterval } = options
  assertMs(historyRetention, { what: 'historyRetention', store: name, isExact: true })
  if (segmentInterval !== undefined) {
    assertMs(segmentInterval, { what: 'segmentInterval', store: name, least: 1, isExact: true })
  }
  return Object.freeze({ kind: 'versioned', name, ...options })
}
