import { equalBytes } from '../../base/bytes.ts'
import { murmur3Hash128 } from '../../base/murmur3.ts'
import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { droppedStaleResponse } from '../operators/dropped-reason.ts'
import type { TableView } from '../operators/table-view.ts'
import type { JoinFunction } from '../operators/user-function.ts'
import type { AnySerde } from '../topic.ts'
import type { SubscriptionResponseWrapper } from './subscription-response-wrapper.ts'

/**
 * Joins what a foreign key answers with the row of the left table, unless that has changed meanwhile:
 * then another answer is on its way. Java's ResponseJoinProcessorSupplier.
 */
export function responseJoin(options: {
  readonly kind: 'inner' | 'left'
  readonly joiner: JoinFunction
  readonly leftRows: TableView
  /** Of the left values. */
  readonly value: AnySerde
}): NodeSupplier {
  const { kind, joiner, leftRows, value: valueSerde } = options
  return (context) => {
    const getter = leftRows.open(context)
    return {
      process(key: unknown, response: SubscriptionResponseWrapper | null) {
        if (response === null) {
          throw new TypeError(`The response topic of ${context.node} has a record without a value.`)
        }
        const { hash, foreignValue } = response
        const left = getter.get(key)
        const leftHash = left === undefined ? null : murmur3Hash128(valueSerde.serialize(left))
        if (!isSameHash(hash, leftHash)) {
          context.dropped(droppedStaleResponse)
          return
        }
        const isGone = left === undefined || (foreignValue === undefined && kind === 'inner')
        const result = isGone
          ? null
          : (settled(joiner(left, foreignValue, key), context.node) ?? null)
        context.forward(key, result)
      },
      close: () => getter.close?.(),
    }
  }
}

function isSameHash(left: Buffer | null, right: Buffer | null): boolean {
  if (left === null || right === null) return left === right
  return equalBytes(left, right)
}
