import { settled } from '../../processor/assert-done.ts'
import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { KeptTable } from './kept-table.ts'
import type { Table } from './table-forwarder.ts'
import type { RowMapping } from './table-view.ts'
import type { UserFunction } from './user-function.ts'

/** A row for which the mapper gives null or undefined is left out. */
export function mapped(mapper: UserFunction<unknown>): RowMapping {
  return (value, key, node) =>
    value === undefined ? undefined : (settled(mapper(value, key), node) ?? undefined)
}

/** Replaces the value of each row; what the mapping leaves out is deleted. Java's KTableMapValues. */
export function ktableMapValues(table: Table, mapping: RowMapping): NodeSupplier {
  const { storeName, sendOldValues } = table
  return (context) => {
    if (storeName === undefined) {
      const changes = new ChangeForwarder(context)
      return {
        process(key: unknown, change: Change) {
          const { isLatest } = change
          const newValue = mapping(change.newValue, key, context.node)
          const oldValue = sendOldValues ? mapping(change.oldValue, key, context.node) : undefined
          changes.forward(key, newValue, oldValue, context.timestamp, isLatest)
        },
      }
    }
    const kept = new KeptTable(context, { storeName, sendOldValues })
    return {
      process(key: unknown, change: Change) {
        const newValue = mapping(change.newValue, key, context.node)
        const oldValue = sendOldValues ? kept.get(key)?.value : undefined
        kept.put(key, newValue, oldValue, context.timestamp)
      },
    }
  }
}
