import { equalBytes } from '../../base/bytes.ts'
import { settled } from '../../processor/assert-done.ts'
import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { AnySerde } from '../topic.ts'
import { ChangeForwarder } from './change-forwarder.ts'
import { assertPair, type Pair } from './kstream-map.ts'
import type { UserFunction } from './user-function.ts'

/**
 * Gives each row another key and value, both for what it was and for what it is: what was leaves one
 * group, what is comes to another. When both are in the same group, one change says so, and what is
 * aggregated there is never without the row. A row with no key or no value is in no group. Java's
 * KTableRepartitionMap.
 */
export function ktableRepartitionMap(options: {
  readonly selector: UserFunction<Pair | null | undefined>
  /** Of the new keys. */
  readonly key: AnySerde
  /** Late versions are among the changes: they do not count. */
  readonly isVersioned: boolean
}): NodeSupplier {
  const { selector, key: keySerde, isVersioned } = options
  return (context) => {
    const changes = new ChangeForwarder(context)
    const select = (key: unknown, value: unknown): Pair | undefined => {
      if (value === undefined) return undefined
      const pair = settled(selector(value, key), context.node) ?? undefined
      if (pair === undefined) return undefined
      assertPair(pair, context.node)
      return isMissing(pair[0]) || isMissing(pair[1]) ? undefined : pair
    }
    return {
      process(key: unknown, { newValue, oldValue, isLatest }: Change) {
        if (isVersioned && !isLatest) return
        const { timestamp } = context
        const now = select(key, newValue)
        const before = select(key, oldValue)
        if (now !== undefined && before !== undefined && isSameKey(now[0], before[0], keySerde)) {
          changes.forward(before[0], now[1], before[1], timestamp, isLatest)
          return
        }
        // What was goes first, as in an aggregation: nothing is ever counted twice.
        if (before !== undefined) {
          changes.forward(before[0], undefined, before[1], timestamp, isLatest)
        }
        if (now !== undefined) changes.forward(now[0], now[1], undefined, timestamp, isLatest)
      },
    }
  }
}

function isMissing(item: unknown): boolean {
  return item === null || item === undefined
}

function isSameKey(left: unknown, right: unknown, serde: AnySerde): boolean {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  return equalBytes(serde.serialize(left), serde.serialize(right))
}
