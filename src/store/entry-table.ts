import type { KvRange } from '../kv/kv.ts'
import type { ValueAndTimestamp } from './key-value-store.ts'
import type { FlushListener } from './state-store.ts'

/** A row of a scan with its key and value as objects. */
export interface EntryRow<K, V> {
  readonly key: K
  /** The serialized key: its place in the order. */
  readonly keyBytes: Buffer
  readonly value: V
  /** Milliseconds; -1 in stores without timestamps. */
  readonly timestamp: number
}

/** Rows of a scan, as they were when it began. */
export interface Rows<R> extends Disposable {
  /** Undefined at the end, and ever after. */
  next(): R | undefined
}

/** Rows in the order of the serialized keys. */
export type EntryRows<K, V> = Rows<EntryRow<K, V>>

/** What a store asks of the layer below it, whatever its rows are. */
export interface ObjectLayer<K, V> {
  /** Writes what a cache has not written yet; false: there was nothing. */
  flush(): boolean
  /** False: there is no cache, the listener is never called. */
  setFlushListener(listener: FlushListener<K, V>, options: { sendOldValues: boolean }): boolean
  /** Bytes in a cache. */
  cachedBytes(): number
  close(): void
}

/** The layer of objects of a store: with a record cache, or without. */
export interface EntryTable<K, V> extends ObjectLayer<K, V> {
  /** What a key has. The live entry of a cache: read it at once. */
  get(key: K): ValueAndTimestamp<V> | undefined
  /** As `get`, from outside of the task: leaves a cache as it is. */
  peek(key: K): ValueAndTimestamp<V> | undefined
  /** `value` undefined deletes. The timestamp is of no use in stores without. */
  put(key: K, value: V | undefined, timestamp: number): void
  /** As a put of undefined; of a session that is too old nothing is counted. */
  remove(key: K): void
  scan(range: KvRange): EntryRows<K, V>
}
