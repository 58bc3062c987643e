import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import { KeptTable } from './kept-table.ts'
import type { StoredTable } from './table-forwarder.ts'
import type { AggregateFunction } from './user-function.ts'

/**
 * Folds the values of a key into an aggregate. The aggregate's timestamp is the latest of its
 * records; an aggregator that returns null or undefined deletes it. Java's KStreamAggregate.
 */
export function kstreamAggregate(
  table: StoredTable,
  initializer: () => unknown,
  aggregator: AggregateFunction,
): NodeSupplier {
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
        if (entry === undefined) {
          oldAggregate = settled(initializer(), context.node)
        } else {
          oldAggregate = entry.value
          if (entry.timestamp > timestamp) timestamp = entry.timestamp
        }
        const newAggregate =
          settled(aggregator(oldAggregate, value, key), context.node) ?? undefined
        // As in Java, the old value of a new key is what the initializer gave.
        kept.put(key, newAggregate, oldAggregate ?? undefined, timestamp)
      },
    }
  }
}
