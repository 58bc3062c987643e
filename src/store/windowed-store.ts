/**
 * What stores of windows and of sessions share: the outermost layer, with typed keys
 * (org.apache.kafka.streams.state.internals.MeteredWindowStore and MeteredSessionStore).
 */
import { asBuffer } from '../base/bytes.ts'
import { StreamsError } from '../errors.ts'
import type { Serde } from '../serde/serde.ts'
import type { EntryRows } from './entry-table.ts'
import { LayeredStore, type LayeredStoreOptions } from './layered-store.ts'
import type { RetentionTable } from './retention-table.ts'
import type { SegmentTables } from './segment-tables.ts'
import type { StoreSerdes } from './store-serdes.ts'
import type { WindowedKeys, WindowedQuery } from './windowed-keys.ts'
import {
  scanByTime,
  scanKey,
  scanKeys,
  type WindowedCache,
  type WindowedTable,
} from './windowed-scan.ts'
import type { ViewedWindows } from './windowed-read-views.ts'
import type { Windowed } from './windowed.ts'

export interface WindowedStoreOptions<K, V, Keys extends WindowedKeys> extends LayeredStoreOptions<
  Windowed<K>,
  V
> {
  readonly bytes: RetentionTable
  /** Of the key alone. */
  readonly keySerdes: StoreSerdes<K, V>
  readonly keys: Keys
  readonly segments: SegmentTables
  readonly cache: WindowedCache<K, V> | undefined
  /** Scans over several keys give rows by time first. */
  readonly timeOrdered: boolean
}

/** A row's key as a serde: key and window to the bytes of the row, and back. */
export function windowedKeySerde<K>(key: Serde<K>, keys: WindowedKeys): Serde<Windowed<K>> {
  const { sizeOf } = key
  return {
    name: key.name,
    serialize: ({ key: inner, window }) => keys.write(key.serialize(inner), window),
    deserialize: (bytes) => {
      const row = asBuffer(bytes)
      return { key: key.deserialize(keys.keyOf(row)), window: keys.windowOf(row) }
    },
    ...(sizeOf && { sizeOf: ({ key: inner }: Windowed<K>) => sizeOf(inner) }),
  }
}

/** A store of keys in windows; what reading and writing look like is for its heirs. */
export abstract class WindowedStore<K, V, Keys extends WindowedKeys> extends LayeredStore<
  Windowed<K>,
  V
> {
  protected readonly keys: Keys
  protected readonly table: WindowedTable<K, V>
  readonly #keySerdes: StoreSerdes<K, V>
  readonly #isByTime: boolean
  readonly #sought: { key: K; window: { start: number; end: number } }

  constructor(options: WindowedStoreOptions<K, V, Keys>) {
    super(options)
    const { bytes, serdes, keys, segments, cache, keySerdes } = options
    this.keys = keys
    this.table = { bytes, serdes, keys, segments, cache }
    this.#keySerdes = keySerdes
    this.#isByTime = options.timeOrdered
    this.#sought = { key: undefined as K, window: { start: 0, end: 0 } }
  }

  /** One object for all look-ups: nobody keeps it. */
  protected sought(key: K, start: number, end: number): Windowed<K> {
    this.assertKey(key)
    const sought = this.#sought
    sought.key = key
    sought.window.start = start
    sought.window.end = end
    return sought
  }

  protected assertKey(key: K): void {
    if (key !== null && key !== undefined) return
    throw new StreamsError('KEY_INVALID', { store: this.name, detail: `it is ${String(key)}` })
  }

  protected keyBytes(key: K): Buffer {
    return this.#keySerdes.writeKey(key)
  }

  protected queryOfKey(
    key: K,
    lowest: number,
    highest: number,
    options: { reverse?: boolean } | undefined,
  ): WindowedQuery {
    const bytes = this.keyBytes(key)
    return { from: bytes, to: bytes, lowest, highest, reverse: options?.reverse === true }
  }

  protected queryOfKeys(
    { from, to }: { from?: K; to?: K },
    lowest: number,
    highest: number,
    options: { reverse?: boolean } | undefined,
  ): WindowedQuery {
    return {
      from: from === undefined ? undefined : this.keyBytes(from),
      to: to === undefined ? undefined : this.keyBytes(to),
      lowest,
      highest,
      reverse: options?.reverse === true,
    }
  }

  /** What a view of the store reads. */
  protected viewed(): ViewedWindows<K, V> {
    return {
      name: this.name,
      isOpen: () => this.isOpen,
      peek: (key, start, end) => this.entries.peek(this.sought(key, start, end)),
      rowsOf: (key, lowest, highest, options) =>
        this.scanKey(key, this.queryOfKey(key, lowest, highest, options)),
      rowsBetween: (range, lowest, highest, options) =>
        this.scanKeys(this.queryOfKeys(range, lowest, highest, options)),
      iterate: (rows, shape) => this.iterate(rows, shape),
    }
  }

  protected scanKey(key: K, query: WindowedQuery): EntryRows<Windowed<K>, V> {
    return scanKey(this.table, key, query)
  }

  /** Of keys in a range; in memory by time first. */
  protected scanKeys(query: WindowedQuery): EntryRows<Windowed<K>, V> {
    return this.#isByTime ? scanByTime(this.table, query) : scanKeys(this.table, query)
  }
}
