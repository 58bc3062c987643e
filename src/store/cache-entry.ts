import type { SortedRow } from '../kv/sorted-rows.ts'
import type { Used } from './stamp-order.ts'
import {
  noHeaders,
  type RecordContext,
  type RecordHeaders,
  type SourceBytes,
} from './state-store.ts'

/** What finds a key in a Map: see `Serde.identity`; without one, the latin1 string of its bytes. */
export type CacheKey = string | number | bigint | boolean

/**
 * One key in a record cache (org.apache.kafka.streams.state.internals.LRUCacheEntry and
 * NamedCache.LRUNode): its value as an object, where its last update came from, and its stamps, of
 * which the order of use and the order of the dirty ones are made (see stamp-order.ts).
 */
export class CacheEntry<K, V> implements SortedRow, Used {
  readonly id: CacheKey
  readonly key: K
  /** How many scans of the cache had begun when the entry was made. */
  readonly epoch: number
  /** Estimated bytes of all but the value. */
  readonly keySize: number
  /** Estimated bytes of all. */
  size = 0

  /** The stamp of the last access; -1 once it has left the cache. */
  usedAt = 0
  /** The stamp of the last update. */
  updatedAt = 0
  /** The serialized key, once somebody needed it, and its latin1 string. */
  keyBytes: Buffer | undefined = undefined
  text = ''
  /** Undefined: deleted. */
  value: V | undefined = undefined
  /** Of the value; -1 in stores without timestamps. */
  timestamp = -1
  isDirty = false
  /** A flush has taken it, and has not written it yet. */
  isFlushing = false
  /** False: the store below has never had the key. */
  mayBeBelow = true

  #recordTimestamp = -1
  #offset = -1
  #topic = ''
  #partition = -1
  #headers: RecordHeaders = noHeaders
  #source: SourceBytes | undefined = undefined

  constructor(id: CacheKey, key: K, options: { epoch: number; keySize: number }) {
    this.id = id
    this.key = key
    this.epoch = options.epoch
    this.keySize = options.keySize
  }

  /** Of the record that made the last update. */
  get recordTimestamp(): number {
    return this.#recordTimestamp
  }

  /** Notes the record that makes an update. */
  remember(record: RecordContext): void {
    this.#recordTimestamp = record.timestamp
    this.#offset = record.offset
    this.#topic = record.topic
    this.#partition = record.partition
    this.#headers = record.headers
    this.#source = record.source
  }

  /** Makes the record that made the last update the present one. */
  recall(record: RecordContext): void {
    record.timestamp = this.#recordTimestamp
    record.offset = this.#offset
    record.topic = this.#topic
    record.partition = this.#partition
    record.headers = this.#headers
    record.source = this.#source
  }
}
