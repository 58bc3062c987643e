import { assert } from '../../base/assert.ts'
import { mappedView, storedView, type RowMapping, type TableView } from './table-view.ts'

/** Where the rows of a table are. */
export interface TableStateOptions {
  /** The store that the step writes, or would write if a step below needed it. */
  readonly store?: string | undefined
  /** `on-demand`: the store is made only if a step below needs it. Default `always`. */
  readonly kept?: 'always' | 'on-demand'
  /** The table that this one is worked out from, and how; neither for sources and aggregations. */
  readonly above?: { readonly table: TableState; readonly mapping: RowMapping }
}

/**
 * What the step that makes a table and the steps below it agree on while the program is written.
 * Java's KTableImpl and the suppliers of its processors keep it between them.
 */
export class TableState {
  readonly #store: string | undefined
  readonly #above: TableStateOptions['above']
  #isKept: boolean
  #sendOldValues = false

  constructor(options: TableStateOptions) {
    const { store, kept = 'always', above } = options
    this.#store = store
    this.#above = above
    this.#isKept = store !== undefined && kept === 'always'
  }

  /** The store that the step writes; undefined: the table is not kept. */
  get storeName(): string | undefined {
    return this.#isKept ? this.#store : undefined
  }

  /** A step below wants the values that changes replace. */
  get sendOldValues(): boolean {
    return this.#sendOldValues
  }

  /**
   * Asks for the values that changes replace. False: they cannot be had, because neither this table
   * nor any above it is kept. `force`: then a table above is kept for it, if only it can be.
   */
  enableSendingOldValues({ force }: { force: boolean } = { force: false }): boolean {
    if (this.#sendOldValues) return true
    if (force && this.#store !== undefined) this.#isKept = true
    this.#sendOldValues =
      this.#isKept || this.#above?.table.enableSendingOldValues({ force }) === true
    return this.#sendOldValues
  }

  /**
   * Asks the table above for the values that changes replace, and sends them on when it has them: a
   * filter then knows which of its deletions are of rows that were never there.
   */
  inheritOldValues(): void {
    this.#sendOldValues = this.#above?.table.enableSendingOldValues() === true
  }

  /** How a step below reads the rows. A table that can be kept is kept from then on. */
  view(): TableView {
    if (this.#store !== undefined) {
      this.#isKept = true
      return storedView(this.#store)
    }
    const above = this.#above
    assert(above !== undefined, 'a table that is not kept is worked out from another one')
    return mappedView(above.table.view(), above.mapping)
  }
}
