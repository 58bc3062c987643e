import type { NodeSupplier } from '../../processor/processor.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { droppedNullKey } from './dropped-reason.ts'
import { KeptTable } from './kept-table.ts'
import type { Table } from './table-forwarder.ts'

/**
 * Takes a stream as the changes of a table: the last value of a key counts, also when it is older
 * by its timestamp, and null deletes. Only a table that keeps versions puts a late one in its place.
 * Java's KTableSource.
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
    const kept = new KeptTable(context, { storeName, sendOldValues })
    return {
      process(key, value) {
        if (key === null || key === undefined) {
          context.dropped(droppedNullKey)
          return
        }
        const oldValue = sendOldValues ? kept.get(key)?.value : undefined
        kept.put(key, value ?? undefined, oldValue, context.timestamp)
      },
    }
  }
}
