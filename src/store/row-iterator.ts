import type { EntryRow, EntryRows } from './entry-table.ts'
import type { StoreIterator } from './key-value-store.ts'

/** The rows of a scan in the shape that a reader wants. */
export class RowIterator<K, V, T> implements StoreIterator<T> {
  /** Undefined once it has ended. */
  #rows: EntryRows<K, V> | undefined
  readonly #shape: (row: EntryRow<K, V>) => T

  constructor(rows: EntryRows<K, V>, shape: (row: EntryRow<K, V>) => T) {
    this.#rows = rows
    this.#shape = shape
  }

  next(): IteratorResult<T, undefined> {
    const row = this.#rows?.next()
    return row === undefined ? this.return() : { done: false, value: this.#shape(row) }
  }

  return(): IteratorReturnResult<undefined> {
    const rows = this.#rows
    this.#rows = undefined
    rows?.[Symbol.dispose]()
    return { done: true, value: undefined }
  }

  [Symbol.iterator](): this {
    return this
  }

  [Symbol.dispose](): void {
    this.return()
  }
}
