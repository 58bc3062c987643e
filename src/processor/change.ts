/**
 * What flows between tables: the new value of a key and, where a step downstream asked for it, the
 * one it replaces; undefined where there is none. Java's Change.
 */
export class Change<V = unknown> {
  newValue: V | undefined
  oldValue: V | undefined
  /** False: a late version of a versioned table, which a later one has superseded already. */
  isLatest: boolean

  constructor(newValue: V | undefined, oldValue: V | undefined, isLatest = true) {
    this.newValue = newValue
    this.oldValue = oldValue
    this.isLatest = isLatest
  }
}
