import { assert } from '../../base/assert.ts'
import { storedView, type TableView } from './table-view.ts'

/** Where the rows of a table are. */
export interface TableStateOptions {
  /** The store that the step writes, or would write if a step below needed it. */
  readonly store?: string | undefined
  /** `on-demand`: the store is made only if a step below needs it. Default `always`. */
  readonly kept?: 'always' | 'on-demand'
  /** The store keeps versions. Default false. */
  readonly versioned?: boolean
  /** How the rows of a store are read that holds other rows than the table's. Default: as they are. */
  readonly view?: TableView
  /**
   * The tables that this one is worked out from: one, or two that are joined; and the way to its rows
   * when it is not kept, given the ways to theirs. Absent for sources and aggregations.
   */
  readonly above?: {
    readonly tables: readonly [TableState] | readonly [TableState, TableState]
    readonly view: (above: TableView, other: TableView | undefined) => TableView
  }
}

/**
 * What the step that makes a table and the steps below it agree on while the program is written.
 * Java's KTableImpl and the suppliers of its processors keep it between them.
 */
export class TableState {
  readonly #store: string | undefined
  readonly #isStoreVersioned: boolean
  readonly #view: TableView | undefined
  readonly #above: TableStateOptions['above']
  #isKept: boolean
  #sendOldValues = false

  constructor(options: TableStateOptions) {
    const { store, kept = 'always', versioned = false, view, above } = options
    this.#store = store
    this.#isStoreVersioned = versioned
    this.#view = view
    this.#above = above
    this.#isKept = store !== undefined && kept === 'always'
  }

  /** The store that the step writes; undefined: the table is not kept. */
  get storeName(): string | undefined {
    return this.#isKept ? this.#store : undefined
  }

  /**
   * Late versions may be among its changes: it is kept with versions, or worked out row by row from a
   * table that is. The result of a join is not, unless its own store is.
   */
  get isVersioned(): boolean {
    if (this.#store !== undefined) return this.#isStoreVersioned
    const [only, other] = this.#above?.tables ?? []
    return other === undefined && only?.isVersioned === true
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
    const [table, other] = this.#above?.tables ?? []
    if (other !== undefined) {
      // The old value of a joined row is made of those on both sides, also when the result is kept.
      table?.enableSendingOldValues({ force: true })
      other.enableSendingOldValues({ force: true })
      this.#sendOldValues = true
      return true
    }
    if (force && this.#store !== undefined) this.#isKept = true
    this.#sendOldValues = this.#isKept || table?.enableSendingOldValues({ force }) === true
    return this.#sendOldValues
  }

  /**
   * Asks the table above for the values that changes replace, and sends them on when it has them: a
   * filter then knows which of its deletions are of rows that were never there.
   */
  inheritOldValues(): void {
    this.#sendOldValues = this.#above?.tables[0].enableSendingOldValues() === true
  }

  /** How a step below reads the rows. A table that can be kept is kept from then on. */
  view(): TableView {
    if (this.#store !== undefined) {
      this.#isKept = true
      return this.#view ?? storedView(this.#store)
    }
    const above = this.#above
    assert(above !== undefined, 'a table that is not kept is worked out from another one')
    const [table, other] = above.tables
    return above.view(table.view(), other?.view())
  }
}
