/**
 * The record cache of a store (org.apache.kafka.streams.state.internals.CachingKeyValueStore, NamedCache
 * and ThreadCache): it folds the updates of a key into one, and decides when that is forwarded and
 * written. Values are held as objects and serialized when they leave, so that an update of a key in
 * the cache is one look into a Map.
 *
 * - Dirty entries leave in the order of their last updates: at a flush, or all together when a dirty
 *   entry has to make room, which then leaves first. Exactly as in Kafka Streams.
 * - While an entry leaves, the record context is that of its last update.
 * - The budget is one for all caches of a task. A put makes room in its own cache only.
 *
 * An update changes its entry in place, unless somebody still looks at it: a scan, or a flush whose
 * listener caused the update. Then a new entry takes its place.
 *
 * A listener that throws ends the task: what was not written yet is forgotten, as the commit is.
 */
import { StreamsError } from '../errors.ts'
import type { KvRange } from '../kv/kv.ts'
import { keyText } from '../kv/sorted-rows.ts'
import { assertKeyLength } from './assert-key-length.ts'
import type { CacheBudget } from './cache-budget.ts'
import { CacheEntry } from './cache-entry.ts'
import { KeyIndex, type CacheIndex } from './cache-index.ts'
import { CacheOrder } from './cache-order.ts'
import { CacheWriter, withKeyBytes, type UnwritableRow } from './cache-writer.ts'
import { CachedRows } from './cached-rows.ts'
import type { ChangeloggedTable } from './changelogged-table.ts'
import { DirtyEntries } from './dirty-entries.ts'
import type { EntryRows, EntryTable, Rows } from './entry-table.ts'
import type { ValueAndTimestamp } from './key-value-store.ts'
import { EvictionOrder, sortedByStamp, stampLimit } from './stamp-order.ts'
import type { FlushListener, RecordContext } from './state-store.ts'
import type { StoreSerdes } from './store-serdes.ts'
import { noTimestamp } from './stored-value.ts'
import { ValueSizer } from './value-sizer.ts'

/** An entry in memory: its object, its place in the Map, its key's bytes, without key and value. */
const entryOverheadBytes = 280
/** A key of which the serde tells at most this size is too long for no engine, roughly as it tells it. */
const shortKeyBytes = 1000
/** A key whose serde does not tell its size. */
const keyBytesDefault = 64
/** Flushes that may follow one another because listeners make entries dirty again. */
const flushRoundsMax = 1000

/** A flush that is under way. */
interface Flush<K, V> {
  readonly entries: readonly CacheEntry<K, V>[]
  /** The next one to be written. */
  next: number
}

/** What the cache of a store of windows asks about their times. */
export interface WindowTimes<K> {
  timeOf(key: K): number
  /** The latest time of what came into the store below, but not through the cache; -1: nothing did. */
  newestBelow(): number
}

export interface RecordCacheOptions<K, V> {
  readonly below: ChangeloggedTable<K, V>
  readonly budget: CacheBudget
  readonly record: RecordContext
  /** How keys are found. Default: one entry a key. */
  readonly index?: CacheIndex<K, V>
  /**
   * Of windows and sessions, whose caches differ in Java: what is read from below does not come into
   * the cache, and a scan shows also what is written already.
   */
  readonly windowed?: WindowTimes<K> | undefined
  /**
   * Decides about an update that the serdes refuse, which shows when it leaves: it throws, or the cache
   * forgets the update. Default: throws `SERDE_FAILED`. Kafka Streams serializes before, in `put`.
   */
  readonly unwritable?: UnwritableRow<K, V>
}

/** Updates on their way to a store. */
export class RecordCache<K, V> implements EntryTable<K, V> {
  readonly #below: ChangeloggedTable<K, V>
  readonly #serdes: StoreSerdes<K, V>
  readonly #budget: CacheBudget
  readonly #record: RecordContext
  readonly #keySizeOf: ((key: K) => number) | undefined
  readonly #sizer: ValueSizer<V>
  readonly #writer: CacheWriter<K, V>
  readonly #entries: CacheIndex<K, V>
  readonly #windowed: WindowTimes<K> | undefined
  /** The latest time of an entry of windows that is below but left the cache. */
  #newestBelow = -1
  readonly #evictionOrder = new EvictionOrder<CacheEntry<K, V>>()
  readonly #dirty = new DirtyEntries<K, V>()
  /** The last stamp. */
  #stamp = 0
  #bytes = 0
  /** Under way; a listener may cause another one. */
  readonly #flushes: Flush<K, V>[] = []
  readonly #order = new CacheOrder<K, V>(() => this.#toBeScanned())

  constructor(options: RecordCacheOptions<K, V>) {
    const { below, budget, record, index, windowed, unwritable } = options
    this.#below = below
    this.#serdes = below.serdes
    this.#budget = budget
    this.#record = record
    this.#entries = index ?? new KeyIndex(below.serdes)
    this.#windowed = windowed
    this.#keySizeOf = below.serdes.key.sizeOf
    this.#sizer = new ValueSizer(below.serdes.value)
    this.#writer = new CacheWriter({
      below,
      record,
      unwritable,
      settled: (entry, size) => this.#settle(entry, size),
      givenUp: (entry) => this.#giveUp(entry),
    })
  }

  setFlushListener(listener: FlushListener<K, V>, options: { sendOldValues: boolean }): boolean {
    this.#writer.setListener(listener, options)
    return true
  }

  get(key: K): ValueAndTimestamp<V> | undefined {
    const entry = this.#entries.find(key)
    if (entry === undefined) return this.#windowed === undefined ? this.#load(key) : this.peek(key)
    entry.usedAt = this.#nextStamp()
    return visible(entry)
  }

  peek(key: K): ValueAndTimestamp<V> | undefined {
    const entry = this.#entries.find(key)
    if (entry !== undefined) return visible(entry)
    const windowed = this.#windowed
    if (windowed !== undefined && this.hasAllFrom(windowed.timeOf(key))) return undefined
    return this.#below.get(key)
  }

  /** Of windows: nothing is below, from that time on, that is not in the cache. */
  hasAllFrom(time: number): boolean {
    const windowed = this.#windowed
    return windowed !== undefined && time > this.#newestBelow && time > windowed.newestBelow()
  }

  put(key: K, value: V | undefined, timestamp: number): void {
    let entry = this.#entries.find(key)
    if (value !== undefined && entry?.value === undefined) this.#assertStorable(key)
    if (entry === undefined) entry = this.#insert(key)
    else if (value === undefined && this.#isUnheardOf(entry)) return this.#drop(entry)
    else if (entry.isFlushing || this.#order.shows(entry)) entry = this.#replace(entry)
    entry.value = value
    entry.timestamp = timestamp
    entry.remember(this.#record)
    const stamp = this.#nextStamp()
    entry.usedAt = stamp
    entry.updatedAt = stamp
    if (!entry.isDirty) this.#markDirty(entry)
    this.#resize(entry)
  }

  /** Nobody below has heard of it: it may go as it came. */
  #isUnheardOf(entry: CacheEntry<K, V>): boolean {
    const isNew = !entry.mayBeBelow && !entry.isFlushing
    return isNew && this.#writer.hasListener && !this.#order.isKept
  }

  #drop(entry: CacheEntry<K, V>): void {
    this.#dirty.drop(entry)
    this.#forget(entry)
  }

  #markDirty(entry: CacheEntry<K, V>): void {
    if (this.#order.isKept) this.#order.add(this.#withKeyBytes(entry))
    this.#dirty.add(entry)
  }

  #nextStamp(): number {
    if (this.#stamp === stampLimit) this.#renumber()
    this.#stamp += 1
    return this.#stamp
  }

  /** Stamps begin anew: the same orders, with small numbers. */
  #renumber(): void {
    const used = sortedByStamp([...this.#entries.values()], ({ usedAt }) => usedAt)
    for (const [index, entry] of used.entries()) entry.usedAt = index
    const updated = this.#dirty.inOrder()
    for (const [index, entry] of updated.entries()) entry.updatedAt = index
    this.#evictionOrder.clear()
    this.#stamp = used.length + updated.length
  }

  /** What lies below comes into the cache; that there is nothing does not. */
  #load(key: K): ValueAndTimestamp<V> | undefined {
    const keyBytes = this.#serdes.writeKey(key)
    const text = keyText(keyBytes)
    const stored = this.#below.bytes.get(keyBytes, text)
    if (stored === undefined) return undefined
    const { length } = stored.value
    const loaded = this.#below.decode(stored)
    const entry = this.#insert(key)
    entry.keyBytes = keyBytes
    entry.text = text
    entry.value = loaded.value
    entry.timestamp = loaded.timestamp
    entry.usedAt = this.#nextStamp()
    this.#sizer.sample(length)
    this.#resize(entry)
    return loaded
  }

  /** When the entry leaves is too late: then it is no matter of a record any more. */
  #assertStorable(key: K): void {
    const { keyBytesMax } = this.#below.bytes
    if (keyBytesMax === Infinity) return
    if (this.#keySizeOf !== undefined && this.#keySizeOf(key) <= shortKeyBytes) return
    assertKeyLength(this.#serdes.store, this.#serdes.writeKey(key), keyBytesMax)
  }

  #insert(key: K): CacheEntry<K, V> {
    const overhead = entryOverheadBytes + this.#entries.entryBytes
    const keySize = overhead + (this.#keySizeOf?.(key) ?? keyBytesDefault)
    const { id, key: own } = this.#entries.identify(key)
    const entry = new CacheEntry<K, V>(id, own, { epoch: this.#order.epoch, keySize })
    const windowed = this.#windowed
    if (windowed !== undefined) entry.mayBeBelow = !this.hasAllFrom(windowed.timeOf(own))
    this.#entries.set(entry)
    return entry
  }

  /** A new entry for the key; the old one stays as it is for those who look at it. */
  #replace(entry: CacheEntry<K, V>): CacheEntry<K, V> {
    const { id, key, keySize, keyBytes, text } = entry
    this.#dirty.delete(entry)
    this.#forget(entry)
    const fresh = new CacheEntry<K, V>(id, key, { epoch: this.#order.epoch, keySize })
    fresh.keyBytes = keyBytes
    fresh.text = text
    fresh.mayBeBelow = entry.isFlushing || entry.mayBeBelow
    this.#entries.set(fresh)
    return fresh
  }

  #withKeyBytes(entry: CacheEntry<K, V>): CacheEntry<K, V> {
    return withKeyBytes(entry, this.#serdes)
  }

  #resize(entry: CacheEntry<K, V>): void {
    const { value, keySize } = entry
    const size = keySize + (value === undefined ? 0 : this.#sizer.sizeOf(value))
    this.#account(size - entry.size)
    entry.size = size
    if (this.#budget.bytes > this.#budget.bytesMax) this.#makeRoom()
  }

  #account(bytes: number): void {
    this.#bytes += bytes
    this.#budget.bytes += bytes
  }

  /** Takes an entry out of the cache, without a flush. */
  #forget(entry: CacheEntry<K, V>): void {
    if (!this.#entries.delete(entry)) return
    entry.usedAt = -1
    this.#account(-entry.size)
  }

  #makeRoom(): void {
    while (this.#budget.bytes > this.#budget.bytesMax) {
      const oldest = this.#evictionOrder.oldest(this.#entries)
      // An entry on its way down is not below yet: forgetting it would show what was there before.
      // The flush that has it makes room when it is done.
      if (oldest === undefined || oldest.isFlushing) return
      this.#forget(oldest)
      this.#noteBelow(oldest)
      if (oldest.isDirty) this.#flushDirty(oldest)
    }
  }

  /** Below is what the cache does not have any more. */
  #noteBelow(entry: CacheEntry<K, V>): void {
    const time = this.#windowed?.timeOf(entry.key) ?? -1
    if (time > this.#newestBelow) this.#newestBelow = time
  }

  flush(): boolean {
    const hasEntries = this.#dirty.count > 0
    for (let round = 0; this.#dirty.count > 0; round += 1) {
      if (round === flushRoundsMax) {
        throw new StreamsError('STORE_FLUSH_ENDLESS', { store: this.#serdes.store })
      }
      this.#flushDirty()
    }
    return hasEntries
  }

  /** Flushes all dirty entries; the evicted one, which is forgotten already, first. */
  #flushDirty(evicted?: CacheEntry<K, V>): void {
    if (evicted !== undefined) this.#dirty.delete(evicted)
    const entries = this.#dirty.inOrder()
    if (evicted !== undefined) entries.unshift(evicted)
    for (const entry of entries) {
      entry.isDirty = false
      entry.isFlushing = true
    }
    this.#dirty.clear()
    const flush = { entries, next: 0 }
    this.#flushes.push(flush)
    this.#order.clear()
    try {
      for (const entry of entries) {
        this.#writer.write(entry)
        flush.next += 1
      }
    } finally {
      this.#flushes.pop()
      this.#order.clear()
    }
    this.#makeRoom()
  }

  /** What is below shows again. */
  #giveUp(entry: CacheEntry<K, V>): void {
    entry.isFlushing = false
    this.#forget(entry)
    this.#noteBelow(entry)
  }

  /** What the entry says is below. Windows seldom change once they are written: their bytes go. */
  #settle(entry: CacheEntry<K, V>, size: number | undefined): void {
    entry.isFlushing = false
    if (entry.value === undefined) this.#forget(entry)
    else {
      entry.mayBeBelow = true
      if (size !== undefined) this.#sizer.sample(size)
    }
    if (this.#windowed !== undefined && this.#order.isIdle) {
      entry.keyBytes = undefined
      entry.text = ''
    }
  }

  remove(key: K): void {
    this.put(key, undefined, noTimestamp)
  }

  scan(range: KvRange): EntryRows<K, V> {
    if (this.#order.size === 0) return this.#below.scan(range)
    return new CachedRows({ cached: this.scanCached(range), below: this.#below, range })
  }

  /** The serialized key of an entry. */
  keyBytesOf(entry: CacheEntry<K, V>): Buffer {
    return this.#withKeyBytes(entry).keyBytes as Buffer
  }

  /** The entries alone, those that say that a row is deleted included. */
  scanCached(range: KvRange): Rows<CacheEntry<K, V>> {
    return this.#order.scan(range)
  }

  /** What is not written yet; of windows, all that is here. */
  *#toBeScanned(): Generator<CacheEntry<K, V>, undefined> {
    for (const { entries, next } of this.#flushes) {
      for (const entry of entries.slice(next)) if (entry.isFlushing) yield this.#withKeyBytes(entry)
    }
    const others = this.#windowed === undefined ? this.#dirty.values() : this.#entries.values()
    for (const entry of others) yield this.#withKeyBytes(entry)
    return undefined
  }

  cachedBytes(): number {
    return this.#bytes
  }

  close(): void {
    this.#account(-this.#bytes)
    this.#entries.clear()
    this.#evictionOrder.clear()
    this.#dirty.clear()
    this.#order.clear()
    this.#below.close()
  }
}

function visible<K, V>(entry: CacheEntry<K, V>): ValueAndTimestamp<V> | undefined {
  return entry.value === undefined ? undefined : (entry as ValueAndTimestamp<V>)
}
