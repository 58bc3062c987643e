import type { NodeSupplier } from '../../processor/processor.ts'
import type { TableView } from '../operators/table-view.ts'
import type { SubscriptionResponseWrapper } from './subscription-response-wrapper.ts'
import { instructions, type SubscriptionWrapper } from './subscription-wrapper.ts'

/**
 * Answers a row of the left table with the value of its foreign key. Java's
 * SubscriptionJoinProcessorSupplier.
 */
export function subscriptionJoin(foreignRows: TableView): NodeSupplier {
  return (context) => {
    const getter = foreignRows.open(context)
    return {
      process(foreignKey: unknown, wrapper: SubscriptionWrapper) {
        const { instruction, hash, primaryKey, primaryPartition } = wrapper
        const found = foreignKey === null ? undefined : getter.get(foreignKey)
        const timestamp =
          found === undefined ? context.timestamp : Math.max(context.timestamp, getter.timestamp)
        switch (instruction) {
          case instructions.deleteNoPropagate:
            return
          case instructions.propagateOnlyIfValue:
            if (found === undefined) return
            break
          case instructions.deleteAndPropagate:
          case instructions.propagateNullIfNoValue:
            break
          default:
            throw new TypeError(instruction satisfies never)
        }
        const response: SubscriptionResponseWrapper = {
          hash,
          foreignValue: instruction === instructions.deleteAndPropagate ? undefined : found,
          primaryPartition,
        }
        context.forwardAt(primaryKey, response, timestamp)
      },
      close: () => getter.close?.(),
    }
  }
}
