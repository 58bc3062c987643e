import { settled } from '../../processor/assert-done.ts'
import type { Change } from '../../processor/change.ts'
import type { NodeContext, NodeSupplier } from '../../processor/processor.ts'
import { KeptTable } from './kept-table.ts'
import type { StoredTable } from './table-forwarder.ts'
import type { AggregateFunction } from './user-function.ts'

/**
 * Folds the rows of each group into an aggregate: what a row was is subtracted, then what it is is
 * added. The aggregate's timestamp is the latest of its changes; null or undefined deletes it. Java's
 * KTableAggregate.
 */
export function ktableAggregate(
  table: StoredTable,
  functions: {
    readonly initializer: () => unknown
    readonly adder: AggregateFunction
    readonly subtractor: AggregateFunction
  },
): NodeSupplier {
  const { initializer, adder, subtractor } = functions
  return foldChanges(table, subtractor, (aggregate, value, key, node) =>
    adder(aggregate ?? settled(initializer(), node), value, key),
  )
}

/**
 * Combines the rows of each group; the first stands as it is. Otherwise as {@link ktableAggregate}.
 * Java's KTableReduce.
 */
export function ktableReduce(
  table: StoredTable,
  { adder, subtractor }: { adder: AggregateFunction; subtractor: AggregateFunction },
): NodeSupplier {
  return foldChanges(table, subtractor, (aggregate, value, key) =>
    aggregate === undefined ? value : adder(aggregate, value, key),
  )
}

/** `add` gets undefined where there is no aggregate. */
function foldChanges(
  table: StoredTable,
  subtract: AggregateFunction,
  add: (aggregate: unknown, value: unknown, key: unknown, node: string) => unknown,
): NodeSupplier {
  return (context) => {
    const kept = new KeptTable(context, table)
    return {
      process(key: unknown, change: Change | null) {
        const { newValue, oldValue } = wholeChange(key, change, context)
        const entry = kept.get(key)
        const oldAggregate = entry?.value
        let { timestamp } = context
        if (entry !== undefined && entry.timestamp > timestamp) timestamp = entry.timestamp
        let aggregate = oldAggregate
        if (oldValue !== undefined && aggregate !== undefined) {
          aggregate = settled(subtract(aggregate, oldValue, key), context.node) ?? undefined
        }
        if (newValue !== undefined) {
          aggregate =
            settled(add(aggregate, newValue, key, context.node), context.node) ?? undefined
        }
        kept.put(key, aggregate, oldAggregate, timestamp)
      },
    }
  }
}

/** The topic above is the engine's: a record without key or value was written by somebody else. */
function wholeChange(key: unknown, change: Change | null, { node }: NodeContext): Change {
  if (key === null || key === undefined || change === null) {
    const missing = change === null ? 'value' : 'key'
    throw new TypeError(`The repartition topic of ${node} has a record without a ${missing}.`)
  }
  return change
}
