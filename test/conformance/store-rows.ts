import { serdes } from '../../src/serde/serdes.ts'
import type { AnyStore } from '../../src/store/descriptor.ts'
import type { JoinSideKey, SideValue } from '../../src/store/outer-join-store.ts'
import { TypedVersionedStore } from '../../src/store/typed-versioned-store.ts'
import type { VersionedStore } from '../../src/store/versioned-store.ts'
import type { Window } from '../../src/store/windowed.ts'
import type { TopologyTestDriver } from '../../src/testing/topology-test-driver.ts'
import type { StoreNode } from '../../src/topology/node.ts'
import type { ProducedRow } from './case.ts'
import { hex } from './formats.ts'

/**
 * The rows of a store in its own order, as readers see them through its cache:
 *
 *     key-value   key, value, timestamp             without timestamp where the store has none
 *     window      key, value, timestamp, start, end
 *     session     key, value, start, end
 *     versioned   segment and key, row              as they lie on disk
 */
export function storeRows(driver: TopologyTestDriver, node: StoreNode): ProducedRow[] {
  const { descriptor, timestamped } = node
  const pair = (key: unknown, value: unknown): [string | null, string | null] => [
    hex(descriptor.key.serialize(key)),
    hex(descriptor.value.serialize(value)),
  ]
  switch (descriptor.kind) {
    case 'key-value': {
      // Kafka Streams shows nothing of what a suppression holds.
      if (node.buffer !== undefined) return []
      if (descriptor.value.name.startsWith('list(held back ')) return heldBackRows(driver, node)
      if (!timestamped) {
        return [...driver.store(descriptor).range()].map(([key, value]) => pair(key, value))
      }
      const rows = driver.timestampedStore(descriptor).range()
      return [...rows].map(([key, { value, timestamp }]) => [...pair(key, value), timestamp])
    }
    case 'window': {
      if (!timestamped) {
        const rows = driver.windowStore(descriptor).range()
        return [...rows].map(([{ key, window }, value]) => [
          ...pair(key, value),
          window.start,
          endOf(window),
        ])
      }
      const rows = driver.timestampedWindowStore(descriptor).range()
      return [...rows].map(([{ key, window }, { value, timestamp }]) => [
        ...pair(key, value),
        timestamp,
        window.start,
        endOf(window),
      ])
    }
    case 'session': {
      const rows = driver.sessionStore(descriptor).range()
      return [...rows].map(([{ key, window }, value]) => [
        ...pair(key, value),
        window.start,
        endOf(window),
      ])
    }
    case 'versioned':
      return versionRows(driver.versionedStore(descriptor))
    default:
      return descriptor satisfies never
  }
}

/** Kafka Streams shows each value of a list as a row. */
function heldBackRows(driver: TopologyTestDriver, { descriptor }: StoreNode): ProducedRow[] {
  const values = serdes.list(serdes.bytes)
  const store = driver.store(descriptor as AnyStore & { readonly kind: 'key-value' })
  return [...(store.range() as Iterable<[JoinSideKey, SideValue[]]>)].flatMap(([key, list]) =>
    values
      .deserialize(descriptor.value.serialize(list))
      .map((value) => [hex(descriptor.key.serialize(key)), hex(value)]),
  )
}

function versionRows(store: VersionedStore<unknown, unknown>): ProducedRow[] {
  if (!(store instanceof TypedVersionedStore)) throw new TypeError('the store is versioned')
  using scan = store.storedRows()
  const rows: ProducedRow[] = []
  for (let row = scan.next(); row !== undefined; row = scan.next()) {
    rows.push([hex(row.key), hex(row.value)])
  }
  return rows
}

/** As Kafka Streams writes that of unlimited windows. */
function endOf({ end }: Window): number {
  return end === Infinity ? 2 ** 63 : end
}
