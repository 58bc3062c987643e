import type { NodeSupplier } from '../../processor/processor.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import type { TableView } from './table-view.ts'
import type { JoinFunction } from './user-function.ts'

/**
 * Joins each record of a stream with the row that a table has for its key: the latest, or of a table
 * that keeps versions the one of the record's time. Changes of the table give nothing. Java's
 * KStreamKTableJoin.
 */
export function kstreamKTableJoin(
  table: TableView,
  joiner: JoinFunction,
  kind: 'inner' | 'left',
): NodeSupplier {
  const isLeft = kind === 'left'
  return (context) => {
    const rows = table.open(context)
    return {
      process(key: unknown, value: unknown) {
        const hasKey = key !== null && key !== undefined
        if (value === null || value === undefined || !(hasKey || isLeft)) {
          context.dropped(droppedNullKeyOrValue)
          return
        }
        let row: unknown
        if (hasKey) row = rows.isVersioned ? rows.getAsOf(key, context.timestamp) : rows.get(key)
        if (row === undefined && !isLeft) return
        context.forward(key, joiner(value, row, key))
      },
    }
  }
}
