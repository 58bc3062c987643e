import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore } from '../../store/key-value-store.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { TableForwarder, type Table } from './table-forwarder.ts'
import type { RowMapping } from './table-view.ts'
import type { UserFunction } from './user-function.ts'

/** A row for which the mapper gives null or undefined is left out. */
export function mapped(mapper: UserFunction<unknown>): RowMapping {
  return (value, key) => (value === undefined ? undefined : (mapper(value, key) ?? undefined))
}

/** Replaces the value of each row; what the mapping leaves out is deleted. Java's KTableMapValues. */
export function ktableMapValues(table: Table, mapping: RowMapping): NodeSupplier {
  const { storeName, sendOldValues } = table
  return (context) => {
    if (storeName === undefined) {
      const changes = new ChangeForwarder(context)
      return {
        process(key: unknown, change: Change) {
          const newValue = mapping(change.newValue, key)
          const oldValue = sendOldValues ? mapping(change.oldValue, key) : undefined
          changes.forward(key, newValue, oldValue, context.timestamp)
        },
      }
    }
    const store = context.store(storeName) as TimestampedKeyValueStore<unknown, unknown>
    const forwarder = new TableForwarder(context, storeName, { sendOldValues })
    return {
      process(key: unknown, change: Change) {
        const { timestamp } = context
        const newValue = mapping(change.newValue, key)
        const oldValue = sendOldValues ? store.get(key)?.value : undefined
        store.put(key, newValue, timestamp)
        forwarder.maybeForward(key, newValue, oldValue, timestamp)
      },
    }
  }
}
