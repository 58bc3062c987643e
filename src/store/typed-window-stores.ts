/** The outermost layer of window stores (org.apache.kafka.streams.state.internals.MeteredWindowStore). */
import { assertTime } from './assert-time.ts'
import type { EntryRow } from './entry-table.ts'
import type { StoreIterator, ValueAndTimestamp } from './key-value-store.ts'
import { noTimestamp } from './stored-value.ts'
import type { TimestampedWindowStore, WindowRangeOptions, WindowStore } from './window-store.ts'
import type { WindowKeys } from './windowed-keys.ts'
import { WindowReadView } from './windowed-read-views.ts'
import { scanClosed } from './closed-windows.ts'
import { WindowedStore } from './windowed-store.ts'
import type { Windowed } from './windowed.ts'
import type { Shape } from './row-iterator.ts'

type Row<K, V> = EntryRow<Windowed<K>, V>

const startAndValue = <K, V>({ key, value }: Row<K, V>): [number, V] => [key.window.start, value]
const keyAndValue = <K, V>({ key, value }: Row<K, V>): [Windowed<K>, V] => [key, value]
const startAndStamped = <K, V>({
  key,
  value,
  timestamp,
}: Row<K, V>): [number, ValueAndTimestamp<V>] => [key.window.start, { value, timestamp }]
const keyAndStamped = <K, V>({
  key,
  value,
  timestamp,
}: Row<K, V>): [Windowed<K>, ValueAndTimestamp<V>] => [key, { value, timestamp }]

abstract class AnyWindowStore<K, V> extends WindowedStore<K, V, WindowKeys> {
  protected find(key: K, start: number): ValueAndTimestamp<V> | undefined {
    return this.entries.get(this.#at(key, start))
  }

  #at(key: K, start: number): Windowed<K> {
    return this.sought(key, start, this.keys.endOf(start))
  }

  protected write(key: K, value: V | undefined, timestamp: number, start: number): void {
    assertTime(start, 'start of a window', this.name)
    this.entries.put(this.#at(key, start), value ?? undefined, timestamp)
  }

  /** What queries read. */
  readView(): WindowReadView<K, V> {
    return new WindowReadView(this.viewed(), (start) => this.keys.endOf(start))
  }

  protected fetchRows<T>(
    key: K,
    from: number,
    to: number,
    options: { reverse?: boolean } | undefined,
    shape: Shape<Windowed<K>, V, T>,
  ): StoreIterator<T> {
    return this.iterate(this.scanKey(key, this.queryOfKey(key, from, to, options)), shape)
  }

  protected rangeRows<T>(
    options: WindowRangeOptions<K> = {},
    shape: Shape<Windowed<K>, V, T>,
  ): StoreIterator<T> {
    const { timeFrom = 0, timeTo = Infinity } = options
    return this.iterate(this.scanKeys(this.queryOfKeys(options, timeFrom, timeTo, options)), shape)
  }
}

/** A window store without timestamps. Java's WindowStore. */
export class PlainWindowStore<K, V> extends AnyWindowStore<K, V> implements WindowStore<K, V> {
  fetch(key: K, windowStart: number): V | undefined {
    return this.find(key, windowStart)?.value
  }

  put(key: K, value: V | undefined, windowStart: number): void {
    this.write(key, value, noTimestamp, windowStart)
  }

  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[number, V]> {
    return this.fetchRows(key, from, to, options, startAndValue<K, V>)
  }

  range(options?: WindowRangeOptions<K>): StoreIterator<[Windowed<K>, V]> {
    return this.rangeRows(options, keyAndValue<K, V>)
  }
}

/** The store of a windowed aggregation: each value with its timestamp. Java's TimestampedWindowStore. */
export class StampedWindowStore<K, V>
  extends AnyWindowStore<K, V>
  implements TimestampedWindowStore<K, V>
{
  fetch(key: K, windowStart: number): ValueAndTimestamp<V> | undefined {
    return this.find(key, windowStart)
  }

  put(key: K, value: V | undefined, timestamp: number, windowStart: number): void {
    if (timestamp !== noTimestamp) assertTime(timestamp, 'timestamp of a value', this.name)
    this.write(key, value, timestamp, windowStart)
  }

  fetchRange(
    key: K,
    from: number,
    to: number,
    options?: { reverse?: boolean },
  ): StoreIterator<[number, ValueAndTimestamp<V>]> {
    return this.fetchRows(key, from, to, options, startAndStamped<K, V>)
  }

  /** Windows by their start, for an operator that asks for none twice. */
  closedWindows(
    earliest: number,
    latest: number,
  ): StoreIterator<[Windowed<K>, ValueAndTimestamp<V>]> {
    const query = this.queryOfKeys({}, earliest, latest, undefined)
    return this.iterate(scanClosed(this.table, query), keyAndStamped<K, V>)
  }

  range(options?: WindowRangeOptions<K>): StoreIterator<[Windowed<K>, ValueAndTimestamp<V>]> {
    return this.rangeRows(options, keyAndStamped<K, V>)
  }
}
