import { settled } from '../../processor/assert-done.ts'
import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { KeptTable } from './kept-table.ts'
import type { Table } from './table-forwarder.ts'
import type { RowMapping } from './table-view.ts'
import type { UserFunction } from './user-function.ts'

/** A row for which the predicate does not hold ('keep') or holds ('drop') is left out. */
export function filtered(predicate: UserFunction<unknown>, mode: 'keep' | 'drop'): RowMapping {
  const wanted = mode === 'keep'
  return (value, key, node) =>
    value !== undefined && Boolean(settled(predicate(value, key), node)) === wanted
      ? value
      : undefined
}

/**
 * Leaves out rows: what the mapping leaves out is deleted below. `above` tells of the table that is
 * filtered. Java's KTableFilter.
 */
export function ktableFilter(
  table: Table,
  mapping: RowMapping,
  above: { readonly isVersioned: boolean },
): NodeSupplier {
  const { storeName, sendOldValues } = table
  // Nothing was below and nothing comes: only known when old values are sent. That a version is
  // deleted is told in any case: there may have been an earlier one.
  const skipsNothing = sendOldValues && !above.isVersioned
  return (context) => {
    if (storeName === undefined) {
      const changes = new ChangeForwarder(context)
      return {
        process(key: unknown, change: Change) {
          const { isLatest } = change
          const newValue = mapping(change.newValue, key, context.node)
          const oldValue = sendOldValues ? mapping(change.oldValue, key, context.node) : undefined
          if (skipsNothing && newValue === undefined && oldValue === undefined) return
          changes.forward(key, newValue, oldValue, context.timestamp, isLatest)
        },
      }
    }
    const kept = new KeptTable(context, { storeName, sendOldValues })
    return {
      process(key: unknown, change: Change) {
        const newValue = mapping(change.newValue, key, context.node)
        const oldValue = sendOldValues ? kept.get(key)?.value : undefined
        if (skipsNothing && newValue === undefined && oldValue === undefined) return
        kept.put(key, newValue, oldValue, context.timestamp)
      },
    }
  }
}
