import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore } from '../../store/key-value-store.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { TableForwarder, type Table } from './table-forwarder.ts'
import type { RowMapping } from './table-view.ts'
import type { UserFunction } from './user-function.ts'

/** A row for which the predicate does not hold ('keep') or holds ('drop') is left out. */
export function filtered(predicate: UserFunction<unknown>, mode: 'keep' | 'drop'): RowMapping {
  const wanted = mode === 'keep'
  return (value, key) =>
    value !== undefined && Boolean(predicate(value, key)) === wanted ? value : undefined
}

/** Leaves out rows: what the mapping leaves out is deleted below. Java's KTableFilter. */
export function ktableFilter(table: Table, mapping: RowMapping): NodeSupplier {
  const { storeName, sendOldValues } = table
  return (context) => {
    if (storeName === undefined) {
      const changes = new ChangeForwarder(context)
      return {
        process(key: unknown, change: Change) {
          const newValue = mapping(change.newValue, key)
          const oldValue = sendOldValues ? mapping(change.oldValue, key) : undefined
          // Nothing was below and nothing comes: only known when old values are sent.
          if (sendOldValues && newValue === undefined && oldValue === undefined) return
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
        if (sendOldValues && newValue === undefined && oldValue === undefined) return
        store.put(key, newValue, timestamp)
        forwarder.maybeForward(key, newValue, oldValue, timestamp)
      },
    }
  }
}
