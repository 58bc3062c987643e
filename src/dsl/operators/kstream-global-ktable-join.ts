import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore } from '../../store/key-value-store.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import type { UserFunction } from './user-function.ts'

/** Joins a value with the row that was looked up; the row is undefined when there is none. */
export type GlobalJoiner = (
  // oxlint-disable-next-line typescript/no-explicit-any -- variance: a function of any types fits
  ...args: [value: any, row: any, key: any, lookupKey: any]
) => unknown

/**
 * Joins each record with the row of a global table that it names. A record whose value is null is
 * dropped; so is one that names no row, unless the join is a left one. Java's
 * KStreamGlobalKTableJoin.
 */
export function kstreamGlobalKTableJoin(
  storeName: string,
  lookup: UserFunction<unknown>,
  joiner: GlobalJoiner,
  kind: 'inner' | 'left',
): NodeSupplier {
  return (context) => {
    const rows = context.store(storeName) as TimestampedKeyValueStore<unknown, unknown>
    return {
      process(key: unknown, value: unknown) {
        if (value === null || value === undefined) {
          context.dropped(droppedNullKeyOrValue)
          return
        }
        const lookupKey = settled(lookup(value, key), context.node)
        const hasKey = lookupKey !== null && lookupKey !== undefined
        if (!hasKey && kind === 'inner') {
          context.dropped(droppedNullKeyOrValue)
          return
        }
        const row = hasKey ? rows.get(lookupKey)?.value : undefined
        if (row === undefined && kind === 'inner') return
        context.forward(key, settled(joiner(value, row, key, lookupKey), context.node))
      },
    }
  }
}
