/**
 * One scan over layers: each has rows in key order, and of two rows with one key the upper layer's
 * is the truth (org.apache.kafka.streams.state.internals.AbstractMergedSortedCacheStoreIterator).
 */
import type { SortedRow } from '../kv/sorted-rows.ts'

/** A layer's rows, one after the other; undefined at the end. */
export interface RowSource<T extends SortedRow> {
  next(): T | undefined
}

interface Head<T extends SortedRow> {
  readonly source: RowSource<T>
  row: T | undefined
}

/** The rows of all layers. Those that say that a row is deleted are among them: pass over them. */
export class MergedRows<T extends SortedRow> implements RowSource<T> {
  readonly #heads: Head<T>[]
  readonly #isReverse: boolean

  /** The uppermost layer first. */
  constructor(sources: readonly RowSource<T>[], options: { reverse: boolean }) {
    this.#heads = sources.map((source) => ({ source, row: source.next() }))
    this.#isReverse = options.reverse
  }

  next(): T | undefined {
    let first: T | undefined
    for (const { row } of this.#heads) {
      if (row !== undefined && (first === undefined || this.#isBefore(row, first))) first = row
    }
    if (first === undefined) return undefined
    for (const head of this.#heads) if (head.row?.text === first.text) head.row = head.source.next()
    return first
  }

  #isBefore(a: SortedRow, b: SortedRow): boolean {
    return this.#isReverse ? a.text > b.text : a.text < b.text
  }
}
