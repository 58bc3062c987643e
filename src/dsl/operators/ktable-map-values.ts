import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore } from '../../store/key-value-store.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { TableForwarder, type Table } from './table-forwarder.ts'
import type { UserFunction } from './user-function.ts'

/**
 * Replaces the value of each row; a mapper that gives null or undefined deletes it. Java's
 * KTableMapValues.
 */
export function ktableMapValues(table: Table, mapper: UserFunction<unknown>): NodeSupplier {
  const mapped = (value: unknown, key: unknown): unknown =>
    value === undefined ? undefined : (mapper(value, key) ?? undefined)
  const { storeName, sendOldValues } = table
  return (context) => {
    if (storeName === undefined) {
      const changes = new ChangeForwarder(context)
      return {
        process(key: unknown, change: Change) {
          const newValue = mapped(change.newValue, key)
          const oldValue = sendOldValues ? mapped(change.oldValue, key) : undefined
          changes.forward(key, newValue, oldValue, context.timestamp)
        },
      }
    }
    const store = context.store(storeName) as TimestampedKeyValueStore<unknown, unknown>
    const forwarder = new TableForwarder(context, storeName, { sendOldValues })
    return {
      process(key: unknown, change: Change) {
        const { timestamp } = context
        const newValue = mapped(change.newValue, key)
        const oldValue = sendOldValues ? store.get(key)?.value : undefined
        store.put(key, newValue, timestamp)
        forwarder.maybeForward(key, newValue, oldValue, timestamp)
      },
    }
  }
}
