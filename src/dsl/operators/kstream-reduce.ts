import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import { KeptTable } from './kept-table.ts'
import type { StoredTable } from './table-forwarder.ts'
import type { AggregateFunction } from './user-function.ts'

/**
 * Combines the values of a key, beginning with the first. Its timestamp is the latest of the
 * records; a reducer that returns null or undefined deletes it. Java's KStreamReduce.
 */
export function kstreamReduce(table: StoredTable, reducer: AggregateFunction): NodeSupplier {
  return (context) => {
    const kept = new KeptTable(context, table)
    return {
      process(key: unknown, value: unknown) {
        if (key === null || key === undefined || value === null || value === undefined) {
          context.dropped(droppedNullKeyOrValue)
          return
        }
        const entry = kept.get(key)
        let timestamp = context.timestamp
        let oldAggregate: unknown
        let newAggregate: unknown = value
        if (entry !== undefined) {
          oldAggregate = entry.value
          if (entry.timestamp > timestamp) timestamp = entry.timestamp
          newAggregate = settled(reducer(entry.value, value, key), context.node) ?? undefined
        }
        kept.put(key, newAggregate, oldAggregate, timestamp)
      },
    }
  }
}
