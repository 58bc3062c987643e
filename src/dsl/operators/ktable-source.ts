import type { NodeSupplier } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore } from '../../store/key-value-store.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { droppedNullKey } from './dropped-reason.ts'
import { TableForwarder, type Table } from './table-forwarder.ts'

/**
 * Takes a stream as the changes of a table: the last value of a key counts, also when it is older
 * by its timestamp, and null deletes. Java's KTableSource.
 */
export function ktableSource(table: Table): NodeSupplier {
  const { storeName, sendOldValues } = table
  return (context) => {
    if (storeName === undefined) {
      const changes = new ChangeForwarder(context)
      return {
        process(key, value) {
          if (key === null || key === undefined) context.dropped(droppedNullKey)
          else changes.forward(key, value ?? undefined, undefined, context.timestamp)
        },
      }
    }
    const store = context.store(storeName) as TimestampedKeyValueStore<unknown, unknown>
    const forwarder = new TableForwarder(context, storeName, { sendOldValues })
    return {
      process(key, value) {
        if (key === null || key === undefined) {
          context.dropped(droppedNullKey)
          return
        }
        const { timestamp } = context
        const newValue = value ?? undefined
        const oldValue = sendOldValues ? store.get(key)?.value : undefined
        store.put(key, newValue, timestamp)
        forwarder.maybeForward(key, newValue, oldValue, timestamp)
      },
    }
  }
}
