import type { NodeSupplier } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore } from '../../store/key-value-store.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import { TableForwarder, type StoredTable } from './table-forwarder.ts'
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
  const { storeName, sendOldValues } = table
  return (context) => {
    const store = context.store(storeName) as TimestampedKeyValueStore<unknown, unknown>
    const forwarder = new TableForwarder(context, storeName, { sendOldValues })
    return {
      process(key: unknown, value: unknown) {
        if (key === null || key === undefined || value === null || value === undefined) {
          context.dropped(droppedNullKeyOrValue)
          return
        }
        const entry = store.get(key)
        let timestamp = context.timestamp
        let oldAggregate: unknown
        if (entry === undefined) {
          oldAggregate = initializer()
        } else {
          oldAggregate = entry.value
          if (entry.timestamp > timestamp) timestamp = entry.timestamp
        }
        const newAggregate = aggregator(oldAggregate, value, key) ?? undefined
        store.put(key, newAggregate, timestamp)
        // As in Java, the old value of a new key is what the initializer gave.
        forwarder.maybeForward(key, newAggregate, oldAggregate ?? undefined, timestamp)
      },
    }
  }
}
