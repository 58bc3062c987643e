/** Why an operator drops a record: labels of the metric, hence a small fixed set. */
export const droppedNullKey = 'null-key'
/** Neither an aggregate nor a reduction has a place for it. */
export const droppedNullKeyOrValue = 'null-key-or-value'
