import { serdes } from '../../src/serde/serdes.ts'
import { keyValueStore, windowStore, type AnyStore } from '../../src/store/descriptor.ts'
import type { TimestampedStore } from '../../src/store/timestamped-key-value-store.ts'
import type { StampedWindowStore } from '../../src/store/typed-window-stores.ts'
import type { StoreInstance } from './store-instance.ts'

const json = serdes.json<{ readonly n: number }>()

/** Numbers by text, objects by text, and windows of objects. */
export const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
export const details = keyValueStore('details', { key: serdes.string, value: json })
export const clicks = windowStore('clicks', {
  key: serdes.string,
  value: json,
  retention: 1_000_000,
  windowSize: 1_000,
})

export const threadStores: readonly AnyStore[] = [counts, details, clicks]

/** The key of a row. */
export const keyOf = (row: number): string => `key-${100_000 + row}`

/** The same rows in every thread: so many values, and so many windows of the first key. */
export function fillStores(target: StoreInstance, rows: number): void {
  for (let n = 0; n < rows; n += 1) {
    const key = keyOf(n)
    const number = target.of(key, 'counts') as TimestampedStore<unknown, unknown>
    number.put(key, n, 1000 + n)
    const detail = target.of(key, 'details') as TimestampedStore<unknown, unknown>
    detail.put(key, { n }, 1000 + n)
    const first = target.of(keyOf(0), 'clicks') as StampedWindowStore<unknown, unknown>
    first.put(keyOf(0), { n }, 1000 + n, n)
  }
}
