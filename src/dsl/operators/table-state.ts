/**
 * What the step that makes a table and the steps below it agree on while the program is written.
 * Java's KTableImpl and the suppliers of its processors keep it between them.
 */
export class TableState {
  /** The store that the step writes; undefined: the table is not kept. */
  readonly storeName: string | undefined
  readonly #parent: TableState | undefined
  #sendOldValues = false

  /** `parent` is the table that this one is computed from; undefined for sources and aggregations. */
  constructor(storeName: string | undefined, parent?: TableState) {
    this.storeName = storeName
    this.#parent = parent
  }

  /** A step below wants the values that changes replace. */
  get sendOldValues(): boolean {
    return this.#sendOldValues
  }

  /**
   * Asks for the values that changes replace. False: they cannot be had, because neither this table
   * nor any above it is kept.
   */
  enableSendingOldValues(): boolean {
    if (!this.#sendOldValues) {
      const isKnown = this.storeName !== undefined || this.#parent?.enableSendingOldValues()
      this.#sendOldValues = isKnown === true
    }
    return this.#sendOldValues
  }

  /**
   * Asks the table above for the values that changes replace, and sends them on when it has them: a
   * filter then knows which of its deletions are of rows that were never there.
   */
  inheritOldValues(): void {
    this.#sendOldValues = this.#parent?.enableSendingOldValues() === true
  }
}
