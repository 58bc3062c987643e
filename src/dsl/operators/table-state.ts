/** What the step that makes a table and the steps below it agree on while the program is written. */
export interface TableState {
  /** The store that the step writes; undefined: the table is not kept. */
  readonly storeName: string | undefined
  /** A step below needs the values that changes replace. */
  sendOldValues: boolean
}

/** A table whose step always has a store: an aggregation. */
export interface StoredTableState extends TableState {
  readonly storeName: string
}
