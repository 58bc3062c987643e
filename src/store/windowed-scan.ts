import { compareBytes } from '../base/bytes.ts'
import type { EntryRow, EntryRows, EntryTable } from './entry-table.ts'
import { GatheredRows } from './gathered-rows.ts'
import type { SegmentTables } from './segment-tables.ts'
import type { WindowedKeys, WindowedQuery } from './windowed-keys.ts'
import type { Windowed } from './windowed.ts'

/** What the scans of one store read. */
export interface WindowedTable<K, V> {
  readonly entries: EntryTable<Windowed<K>, V>
  readonly segments: SegmentTables
  readonly keys: WindowedKeys
}

/**
 * The rows of a query, as they are at this moment: segment by segment, each in the order of its keys
 * (org.apache.kafka.streams.state.internals.SegmentIterator).
 */
export function scanWindows<K, V>(
  { entries, segments, keys }: WindowedTable<K, V>,
  query: WindowedQuery,
): EntryRows<Windowed<K>, V> {
  const { from, to, reverse } = query
  const isEmpty = from !== undefined && to !== undefined && compareBytes(from, to) > 0
  const ids = isEmpty ? [] : segments.between(keys.firstSegment(query), keys.lastSegment(query))
  if (reverse) ids.reverse()
  const scans = ids.map((id) => entries.scan(keys.rangeIn(id, query)))
  return new WindowedRows(scans, (row) => keys.isOf(row, query))
}

/** As `scanWindows`, in the order of a store in memory: by time first. */
export function scanByTime<K, V>(
  table: WindowedTable<K, V>,
  query: WindowedQuery,
): EntryRows<Windowed<K>, V> {
  using scan = scanWindows(table, { ...query, reverse: false })
  const rows: EntryRow<Windowed<K>, V>[] = []
  for (let row = scan.next(); row !== undefined; row = scan.next()) rows.push(row)
  rows.sort((a, b) => table.keys.compareInMemory(a.keyBytes, b.keyBytes))
  if (query.reverse) rows.reverse()
  return new GatheredRows(rows)
}

/** Several scans, one after the other, without the rows that nobody asked for. */
class WindowedRows<K, V> implements EntryRows<Windowed<K>, V> {
  readonly #scans: readonly EntryRows<Windowed<K>, V>[]
  readonly #isAsked: (keyBytes: Buffer) => boolean
  #current = 0

  constructor(scans: readonly EntryRows<Windowed<K>, V>[], isAsked: (keyBytes: Buffer) => boolean) {
    this.#scans = scans
    this.#isAsked = isAsked
  }

  next(): EntryRow<Windowed<K>, V> | undefined {
    while (this.#current < this.#scans.length) {
      const row = this.#scans[this.#current]?.next()
      if (row === undefined) this.#current += 1
      else if (this.#isAsked(row.keyBytes)) return row
    }
    return undefined
  }

  [Symbol.dispose](): void {
    for (const scan of this.#scans) scan[Symbol.dispose]()
    this.#current = this.#scans.length
  }
}
