import type { Gauge } from '../metrics/registry.ts'
import type { EntryRow, Rows } from './entry-table.ts'
import type { StoreIterator } from './key-value-store.ts'

/** Makes of a row what a reader sees. */
export type Shape<K, V, T> = (row: EntryRow<K, V>) => T

/** The rows of a scan in the shape that a reader wants; counted while it is open. */
export class RowIterator<R, T> implements StoreIterator<T> {
  /** Undefined once it has ended. */
  #rows: Rows<R> | undefined
  readonly #shape: (row: R) => T
  readonly #open: Gauge

  constructor(rows: Rows<R>, shape: (row: R) => T, open: Gauge) {
    this.#rows = rows
    this.#shape = shape
    this.#open = open
    open.value += 1
  }

  next(): IteratorResult<T, undefined> {
    const row = this.#rows?.next()
    return row === undefined ? this.return() : { done: false, value: this.#shape(row) }
  }

  return(): IteratorReturnResult<undefined> {
    const rows = this.#rows
    if (rows !== undefined) {
      this.#rows = undefined
      this.#open.value -= 1
      rows[Symbol.dispose]()
    }
    return { done: true, value: undefined }
  }

  [Symbol.iterator](): this {
    return this
  }

  [Symbol.dispose](): void {
    this.return()
  }
}
