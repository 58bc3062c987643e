/**
 * What both key-value stores share: the outermost layer, with typed keys and values
 * (org.apache.kafka.streams.state.internals.MeteredKeyValueStore).
 */
import { keyRange, prefixRange } from './key-range.ts'
import type { RangeOptions, StoreIterator } from './key-value-store.ts'
import { LayeredStore } from './layered-store.ts'
import { ReadView } from './read-view.ts'
import type { Shape } from './row-iterator.ts'
import type { ChangelogRow } from './state-store.ts'

/** A store of keys and values; what reading and writing look like is for its heirs. */
export abstract class TypedStore<K, V> extends LayeredStore<K, V> {
  protected scan<T>(options: RangeOptions<K> | undefined, shape: Shape<K, V, T>): StoreIterator<T> {
    const range = keyRange((key: K) => this.serdes.writeKey(key), options)
    return this.iterate(this.entries.scan(range), shape)
  }

  protected scanPrefix<T>(
    prefix: Uint8Array,
    options: { reverse?: boolean } | undefined,
    shape: Shape<K, V, T>,
  ): StoreIterator<T> {
    return this.iterate(this.entries.scan(prefixRange(this.name, prefix, options)), shape)
  }

  restoreRow(row: ChangelogRow): void {
    const { bytes } = this
    if (bytes.restoreRow !== undefined) {
      bytes.restoreRow(row)
      return
    }
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = row
    const value = row.hasValue ? buffer.subarray(valueStart, valueEnd) : null
    this.restore(buffer.subarray(keyStart, keyEnd), value, row.timestamp)
  }

  /** What queries read: see {@link ReadView}. */
  readView(): ReadView<K, V> {
    return new ReadView({
      serdes: this.serdes,
      entries: this.entries,
      iterate: (rows, shape) => this.iterate(rows, shape),
      approximateEntryCount: () => this.approximateEntryCount(),
      isOpen: () => this.isOpen,
    })
  }
}
