/** Why an operator drops a record: labels of the metric, hence a small fixed set. */
export const droppedNullKey = 'null-key'
/** Neither an aggregate nor a reduction has a place for it. */
export const droppedNullKeyOrValue = 'null-key-or-value'
/** A late version of a row: what is joined is what is true now. */
export const droppedSupersededVersion = 'superseded-version'
/** A row of an inner join that refers to nothing. */
export const droppedNullForeignKey = 'null-foreign-key'
/** An answer to a row that has changed since it asked. */
export const droppedStaleResponse = 'stale-response'
/** Too late for a window, which has closed. */
export const droppedExpiredWindow = 'expired-window'
