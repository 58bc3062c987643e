/**
 * A window store that keeps all that is put under one key and start: each row gets a number of its own
 * (org.apache.kafka.streams.state.internals.RocksDBWindowStore and ChangeLoggingWindowBytesStore with
 * retainDuplicates). Such a store is not cached: a cache would keep the last one only (KAFKA-9921).
 *
 * As in Java, rows and changelog records are numbered each for itself from 1 when a store is opened, and
 * a put of nothing does nothing but write a tombstone under a number of its own. Unlike there, a number
 * that a row from before has is passed over.
 */
import type { KvRange } from '../kv/kv.ts'
import { keyText } from '../kv/sorted-rows.ts'
import type { ByteTable } from './byte-table.ts'
import { DecodedRows } from './changelogged-table.ts'
import type { EntryRows, EntryTable } from './entry-table.ts'
import type { ValueAndTimestamp } from './key-value-store.ts'
import { segmentBytes } from './segment-tables.ts'
import type { ChangelogWriter, RecordContext } from './state-store.ts'
import type { StoreSerdes } from './store-serdes.ts'
import { noTimestamp } from './stored-value.ts'
import type { WindowKeys } from './windowed-keys.ts'
import type { Windowed } from './windowed.ts'

const numberMask = 0x7fff_ffff

export interface DuplicatesTableOptions<K, V> {
  readonly bytes: ByteTable
  /** Of the key alone, and of the value. */
  readonly keySerdes: StoreSerdes<K, V>
  readonly serdes: StoreSerdes<Windowed<K>, V>
  readonly keys: WindowKeys
  readonly record: RecordContext
  readonly changelog: ChangelogWriter | undefined
  readonly isTimestamped: boolean
  /** In memory, a put of nothing moves the time of the store, and is counted when it comes too late. */
  readonly persistent: boolean
}

/** Objects over bytes, with a changelog and with duplicates. */
export class DuplicatesTable<K, V> implements EntryTable<Windowed<K>, V> {
  readonly #bytes: ByteTable
  readonly #keySerdes: StoreSerdes<K, V>
  readonly #serdes: StoreSerdes<Windowed<K>, V>
  readonly #keys: WindowKeys
  readonly #record: RecordContext
  readonly #changelog: ChangelogWriter | undefined
  readonly #isTimestamped: boolean
  readonly #persistent: boolean
  #number = 0
  #changelogNumber = 0
  /** There were rows before the first put: their numbers are taken. Undefined: nothing was put yet. */
  #hadRows: boolean | undefined

  constructor(options: DuplicatesTableOptions<K, V>) {
    this.#bytes = options.bytes
    this.#keySerdes = options.keySerdes
    this.#serdes = options.serdes
    this.#keys = options.keys
    this.#record = options.record
    this.#changelog = options.changelog
    this.#isTimestamped = options.isTimestamped
    this.#persistent = options.persistent
  }

  /** The last one that was put. */
  get({ key, window }: Windowed<K>): ValueAndTimestamp<V> | undefined {
    const keyBytes = this.#keySerdes.writeKey(key)
    const range = {
      from: this.#keys.write(keyBytes, window, 0),
      to: this.#keys.write(keyBytes, window, numberMask),
      reverse: true,
    }
    using rows = this.scan(range)
    const row = rows.next()
    return row && { value: row.value, timestamp: row.timestamp }
  }

  peek(key: Windowed<K>): ValueAndTimestamp<V> | undefined {
    return this.get(key)
  }

  put({ key, window }: Windowed<K>, value: V | undefined, timestamp: number): void {
    const keyBytes = this.#keySerdes.writeKey(key)
    const valueBytes = value === undefined ? null : this.#serdes.writeValue(value)
    let rowKey: Buffer | undefined
    if (valueBytes !== null) {
      rowKey = this.#freeKey(keyBytes, window)
      this.#bytes.put(rowKey, keyText(rowKey), valueBytes, timestamp)
    } else if (!this.#persistent) {
      // No row has this number.
      const nowhere = this.#keys.write(keyBytes, window, 0)
      this.#bytes.put(nowhere, keyText(nowhere), null, noTimestamp)
    }
    this.#changelogNumber = (this.#changelogNumber + 1) & numberMask
    // Where numbers begin anew, that of a tombstone could be one of a row.
    if (rowKey === undefined && this.#hadRows === true) return
    const isSame = rowKey !== undefined && (this.#hadRows || this.#changelogNumber === this.#number)
    const logged = isSame ? rowKey : this.#keys.write(keyBytes, window, this.#changelogNumber)
    const isOwn = this.#isTimestamped && valueBytes !== null
    this.#changelog?.write(
      this.#serdes.store,
      (logged as Buffer).subarray(segmentBytes),
      valueBytes,
      isOwn ? timestamp : this.#record.timestamp,
    )
  }

  /** The key of a new row. */
  #freeKey(keyBytes: Buffer, window: Windowed<K>['window']): Buffer {
    this.#hadRows ??= this.#bytes.approximateEntryCount() > 0
    for (;;) {
      this.#number = (this.#number + 1) & numberMask
      const rowKey = this.#keys.write(keyBytes, window, this.#number)
      if (!this.#hadRows || this.#bytes.get(rowKey, keyText(rowKey)) === undefined) return rowKey
    }
  }

  /** Does nothing, as a put of nothing. */
  remove(key: Windowed<K>): void {
    this.put(key, undefined, noTimestamp)
  }

  scan(range: KvRange): EntryRows<Windowed<K>, V> {
    return new DecodedRows(this.#bytes.scan(range), this.#serdes)
  }

  flush(): boolean {
    // Every change was written at once.
    return false
  }

  setFlushListener(): boolean {
    return false
  }

  cachedBytes(): number {
    return 0
  }

  close(): void {
    this.#bytes.close()
  }
}
