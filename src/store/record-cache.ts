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
import { StreamsError, isStreamsError } from '../errors.ts'
import type { KvRange } from '../kv/kv.ts'
import { SortedRows, keyText } from '../kv/sorted-rows.ts'
import { assertKeyLength } from './assert-key-length.ts'
import type { CacheBudget } from './cache-budget.ts'
import { CacheEntry } from './cache-entry.ts'
import { KeyIndex, type CacheIndex } from './cache-index.ts'
import { CachedRows } from './cached-rows.ts'
import type { ChangeloggedTable } from './changelogged-table.ts'
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
/** Entries that are kept at most though they were dropped, unless there are as many others. */
const droppedEntriesMax = 1024
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
  readonly unwritable?: (row: { key: K; value: V | undefined }, error: unknown) => void
}

/** Updates on their way to a store. */
export class RecordCache<K, V> implements EntryTable<K, V> {
  readonly #below: ChangeloggedTable<K, V>
  readonly #serdes: StoreSerdes<K, V>
  readonly #budget: CacheBudget
  readonly #record: RecordContext
  readonly #keySizeOf: ((key: K) => number) | undefined
  readonly #sizer: ValueSizer<V>
  #listener: FlushListener<K, V> | undefined
  #sendOldValues = false

  readonly #entries: CacheIndex<K, V>
  readonly #windowed: WindowTimes<K> | undefined
  /** The latest time of an entry of windows that is below but left the cache. */
  #newestBelow = -1
  readonly #unwritable: RecordCacheOptions<K, V>['unwritable']
  readonly #evictionOrder = new EvictionOrder<CacheEntry<K, V>>()
  /** Those that became dirty since the last flush, in that order; some may be clean again. */
  #dirty: CacheEntry<K, V>[] = []
  #dirtyCount = 0
  /** The last stamp. */
  #stamp = 0
  #bytes = 0
  /** Under way; a listener may cause another one. */
  readonly #flushes: Flush<K, V>[] = []
  /** What is not written yet, in key order; made when somebody scans. */
  #order: SortedRows<CacheEntry<K, V>> | undefined
  #scanCount = 0
  #openScans = 0

  constructor(options: RecordCacheOptions<K, V>) {
    const { below, budget, record, index, windowed } = options
    this.#unwritable = options.unwritable
    this.#below = below
    this.#serdes = below.serdes
    this.#budget = budget
    this.#record = record
    this.#entries = index ?? new KeyIndex(below.serdes)
    this.#windowed = windowed
    this.#keySizeOf = below.serdes.key.sizeOf
    this.#sizer = new ValueSizer(below.serdes.value)
  }

  setFlushListener(listener: FlushListener<K, V>, options: { sendOldValues: boolean }): boolean {
    this.#listener = listener
    this.#sendOldValues = options.sendOldValues
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
    else if (entry.isFlushing || this.#isScanned(entry)) entry = this.#replace(entry)
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
    return isNew && this.#listener !== undefined && this.#order === undefined
  }

  #drop(entry: CacheEntry<K, V>): void {
    this.#markClean(entry)
    this.#forget(entry)
    const dirty = this.#dirty
    if (dirty.at(-1) === entry) dirty.pop()
    else if (dirty.length > 2 * this.#dirtyCount + droppedEntriesMax) {
      this.#dirty = dirty.filter(({ isDirty }) => isDirty)
    }
  }

  #markDirty(entry: CacheEntry<K, V>): void {
    if (this.#order !== undefined) this.#order.add(this.#withKeyBytes(entry))
    entry.isDirty = true
    this.#dirty.push(entry)
    this.#dirtyCount += 1
  }

  #markClean(entry: CacheEntry<K, V>): void {
    if (!entry.isDirty) return
    entry.isDirty = false
    this.#dirtyCount -= 1
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
    const updated = this.#dirtyEntries()
    for (const [index, entry] of updated.entries()) entry.updatedAt = index
    this.#evictionOrder.clear()
    this.#stamp = used.length + updated.length
  }

  /** In the order of their last updates. */
  #dirtyEntries(): CacheEntry<K, V>[] {
    const dirty = this.#dirty.filter(({ isDirty }) => isDirty)
    return sortedByStamp(dirty, ({ updatedAt }) => updatedAt)
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
    const keySize = entryOverheadBytes + (this.#keySizeOf?.(key) ?? keyBytesDefault)
    const { id, key: own } = this.#entries.identify(key)
    const entry = new CacheEntry<K, V>(id, own, { epoch: this.#scanCount, keySize })
    const windowed = this.#windowed
    if (windowed !== undefined) entry.mayBeBelow = !this.hasAllFrom(windowed.timeOf(own))
    this.#entries.set(entry)
    return entry
  }

  /** A scan began before this entry's next update, and still shows what it is. */
  #isScanned(entry: CacheEntry<K, V>): boolean {
    return this.#openScans > 0 && entry.epoch < this.#scanCount
  }

  /** A new entry for the key; the old one stays as it is for those who look at it. */
  #replace(entry: CacheEntry<K, V>): CacheEntry<K, V> {
    const { id, key, keySize, keyBytes, text } = entry
    this.#markClean(entry)
    this.#forget(entry)
    const fresh = new CacheEntry<K, V>(id, key, { epoch: this.#scanCount, keySize })
    fresh.keyBytes = keyBytes
    fresh.text = text
    fresh.mayBeBelow = entry.isFlushing || entry.mayBeBelow
    this.#entries.set(fresh)
    return fresh
  }

  #withKeyBytes(entry: CacheEntry<K, V>): CacheEntry<K, V> {
    if (entry.keyBytes === undefined) {
      entry.keyBytes = this.#serdes.writeKey(entry.key)
      entry.text = keyText(entry.keyBytes)
    }
    return entry
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
    const hasEntries = this.#dirtyCount > 0
    for (let round = 0; this.#dirtyCount > 0; round += 1) {
      if (round === flushRoundsMax) {
        throw new StreamsError('STORE_FLUSH_ENDLESS', { store: this.#serdes.store })
      }
      this.#flushDirty()
    }
    return hasEntries
  }

  /** Flushes all dirty entries; the evicted one, which is forgotten already, first. */
  #flushDirty(evicted?: CacheEntry<K, V>): void {
    if (evicted !== undefined) this.#markClean(evicted)
    const entries = this.#dirtyEntries()
    if (evicted !== undefined) entries.unshift(evicted)
    for (const entry of entries) {
      entry.isDirty = false
      entry.isFlushing = true
    }
    this.#dirty = []
    this.#dirtyCount = 0
    const flush = { entries, next: 0 }
    this.#flushes.push(flush)
    this.#order = undefined
    try {
      for (const entry of entries) {
        this.#flushEntry(entry)
        flush.next += 1
      }
    } finally {
      this.#flushes.pop()
      this.#order = undefined
    }
    this.#makeRoom()
  }

  #flushEntry(entry: CacheEntry<K, V>): void {
    const record = this.#record
    const { timestamp, offset, topic, partition, headers, source } = record
    entry.recall(record)
    try {
      this.#writeEntry(entry)
    } finally {
      record.timestamp = timestamp
      record.offset = offset
      record.topic = topic
      record.partition = partition
      record.headers = headers
      record.source = source
    }
  }

  #writeEntry(entry: CacheEntry<K, V>): void {
    const { key, value } = entry
    let oldValue: V | undefined
    try {
      const keyBytes = this.#withKeyBytes(entry).keyBytes as Buffer
      if (this.#listener !== undefined && (value === undefined || this.#sendOldValues)) {
        const stored = this.#below.bytes.get(keyBytes, entry.text)
        if (value === undefined && stored === undefined) {
          // It came and went within the cache: nobody below has heard of it.
          this.#settle(entry)
          return
        }
        if (this.#sendOldValues && stored !== undefined)
          oldValue = this.#serdes.readValue(stored.value)
      }
      const size = this.#below.putBytes(keyBytes, entry.text, value, entry.timestamp)
      if (value !== undefined) this.#sizer.sample(size)
    } catch (error) {
      if (!isStreamsError(error, 'SERDE_FAILED')) throw error
      this.#giveUp(entry, error)
      return
    }
    this.#settle(entry)
    this.#listener?.(key, value, oldValue, this.#timestampOf(entry, value))
  }

  /** What is below shows again, unless that is not to be. */
  #giveUp(entry: CacheEntry<K, V>, error: unknown): void {
    if (this.#unwritable === undefined) throw error
    const { key, value } = entry
    this.#unwritable({ key, value }, error)
    entry.isFlushing = false
    this.#forget(entry)
    this.#noteBelow(entry)
  }

  #timestampOf(entry: CacheEntry<K, V>, value: V | undefined): number {
    const isOwn = this.#below.isTimestamped && value !== undefined
    return isOwn ? entry.timestamp : entry.recordTimestamp
  }

  /** What the entry says is below. Windows seldom change once they are written: their bytes go. */
  #settle(entry: CacheEntry<K, V>): void {
    entry.isFlushing = false
    if (entry.value === undefined) this.#forget(entry)
    else entry.mayBeBelow = true
    if (this.#windowed !== undefined && this.#order === undefined && this.#openScans === 0) {
      entry.keyBytes = undefined
      entry.text = ''
    }
  }

  remove(key: K): void {
    this.put(key, undefined, noTimestamp)
  }

  scan(range: KvRange): EntryRows<K, V> {
    if (this.#sorted().size === 0) return this.#below.scan(range)
    return new CachedRows({ cached: this.scanCached(range), below: this.#below, range })
  }

  /** The entries alone, those that say that a row is deleted included. */
  scanCached(range: KvRange): Rows<CacheEntry<K, V>> {
    const { from, to, toExclusive, reverse } = range
    const bounds = { from: from && keyText(from), to: to && keyText(to), toExclusive, reverse }
    const cursor = this.#sorted().view().cursor(bounds)
    this.#scanCount += 1
    this.#openScans += 1
    let isOpen = true
    return {
      next: () => (isOpen ? cursor.next() : undefined),
      [Symbol.dispose]: () => {
        if (isOpen) this.#openScans -= 1
        isOpen = false
      },
    }
  }

  #sorted(): SortedRows<CacheEntry<K, V>> {
    if (this.#order === undefined) {
      const order = new SortedRows<CacheEntry<K, V>>()
      for (const { entries, next } of this.#flushes) {
        for (const entry of entries.slice(next))
          if (entry.isFlushing) order.add(this.#withKeyBytes(entry))
      }
      if (this.#windowed !== undefined) {
        for (const entry of this.#entries.values()) order.add(this.#withKeyBytes(entry))
      } else {
        for (const entry of this.#dirty) if (entry.isDirty) order.add(this.#withKeyBytes(entry))
      }
      this.#order = order
    }
    return this.#order
  }

  cachedBytes(): number {
    return this.#bytes
  }

  close(): void {
    this.#account(-this.#bytes)
    this.#entries.clear()
    this.#evictionOrder.clear()
    this.#dirty = []
    this.#dirtyCount = 0
    this.#order = undefined
    this.#below.close()
  }
}

function visible<K, V>(entry: CacheEntry<K, V>): ValueAndTimestamp<V> | undefined {
  return entry.value === undefined ? undefined : (entry as ValueAndTimestamp<V>)
}
