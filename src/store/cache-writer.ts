import { isStreamsError } from '../errors.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { CacheEntry } from './cache-entry.ts'
import type { ChangeloggedTable } from './changelogged-table.ts'
import type { FlushListener, RecordContext } from './state-store.ts'
import type { StoreSerdes } from './store-serdes.ts'

/** See `RecordCacheOptions.unwritable`. */
export type UnwritableRow<K, V> =
  | ((row: { key: K; value: V | undefined }, error: unknown) => void)
  | undefined

export interface CacheWriterOptions<K, V> {
  readonly below: ChangeloggedTable<K, V>
  readonly record: RecordContext
  readonly unwritable: UnwritableRow<K, V>
  /** The entry is below, with a value of so many bytes; without, when it was not written at all. */
  readonly settled: (entry: CacheEntry<K, V>, size: number | undefined) => void
  /** The serdes refuse the entry, and it is to be forgotten. */
  readonly givenUp: (entry: CacheEntry<K, V>) => void
}

/** Gives an entry the bytes of its key. */
export function withKeyBytes<K, V>(
  entry: CacheEntry<K, V>,
  serdes: StoreSerdes<K, V>,
): CacheEntry<K, V> {
  if (entry.keyBytes === undefined) {
    entry.keyBytes = serdes.writeKey(entry.key)
    entry.text = keyText(entry.keyBytes)
  }
  return entry
}

/** Takes entries of a record cache down, and tells of them, each in the context of its last update. */
export class CacheWriter<K, V> {
  readonly #options: CacheWriterOptions<K, V>
  #listener: FlushListener<K, V> | undefined
  #sendOldValues = false

  constructor(options: CacheWriterOptions<K, V>) {
    this.#options = options
  }

  setListener(listener: FlushListener<K, V>, options: { sendOldValues: boolean }): void {
    this.#listener = listener
    this.#sendOldValues = options.sendOldValues
  }

  /** Somebody hears of what goes down, and of nothing else. */
  get hasListener(): boolean {
    return this.#listener !== undefined
  }

  write(entry: CacheEntry<K, V>): void {
    const { record } = this.#options
    const { timestamp, offset, topic, partition, headers, source } = record
    entry.recall(record)
    try {
      this.#write(entry)
    } finally {
      record.timestamp = timestamp
      record.offset = offset
      record.topic = topic
      record.partition = partition
      record.headers = headers
      record.source = source
    }
  }

  #write(entry: CacheEntry<K, V>): void {
    const { below, settled } = this.#options
    const { key, value } = entry
    let oldValue: V | undefined
    let size: number | undefined
    try {
      const keyBytes = withKeyBytes(entry, below.serdes).keyBytes as Buffer
      if (this.#listener !== undefined && (value === undefined || this.#sendOldValues)) {
        const stored = below.bytes.get(keyBytes, entry.text)
        if (value === undefined && stored === undefined) {
          // It came and went within the cache: nobody below has heard of it.
          settled(entry, undefined)
          return
        }
        if (this.#sendOldValues && stored !== undefined)
          oldValue = below.serdes.readValue(stored.value)
      }
      size = below.putBytes(keyBytes, entry.text, value, entry.timestamp)
    } catch (error) {
      if (!isStreamsError(error, 'SERDE_FAILED')) throw error
      this.#giveUp(entry, error)
      return
    }
    settled(entry, size)
    this.#listener?.(key, value, oldValue, this.#timestampOf(entry, value))
  }

  /** What is below shows again, unless that is not to be. */
  #giveUp(entry: CacheEntry<K, V>, error: unknown): void {
    const { unwritable, givenUp } = this.#options
    if (unwritable === undefined) throw error
    const { key, value } = entry
    unwritable({ key, value }, error)
    givenUp(entry)
  }

  #timestampOf(entry: CacheEntry<K, V>, value: V | undefined): number {
    const isOwn = this.#options.below.isTimestamped && value !== undefined
    return isOwn ? entry.timestamp : entry.recordTimestamp
  }
}
