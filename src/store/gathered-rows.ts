import type { Rows } from './entry-table.ts'

/** Rows that are there already. */
export class GatheredRows<R> implements Rows<R> {
  readonly #rows: readonly R[]
  #next = 0

  constructor(rows: readonly R[]) {
    this.#rows = rows
  }

  next(): R | undefined {
    const row = this.#rows[this.#next]
    this.#next += 1
    return row
  }

  [Symbol.dispose](): void {
    this.#next = this.#rows.length
  }
}
