import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { droppedSupersededVersion } from '../operators/dropped-reason.ts'
import type { AnySerde } from '../topic.ts'
import { combinedKeyPrefix } from './combined-key.ts'
import type { SubscriptionStore } from './subscription-receive.ts'
import type { SubscriptionResponseWrapper } from './subscription-response-wrapper.ts'

/**
 * Tells each row of the left table that refers to a foreign key when the value of that has changed.
 * Java's ForeignTableJoinProcessorSupplier.
 */
export function foreignTableJoin(options: {
  readonly storeName: string
  readonly foreignKey: AnySerde
  /** Late versions are among the changes: they do not count. */
  readonly isVersioned: boolean
}): NodeSupplier {
  const { storeName, foreignKey: foreignKeySerde, isVersioned } = options
  return (context) => {
    const store = context.store(storeName) as SubscriptionStore
    return {
      process(foreignKey: unknown, { newValue, isLatest }: Change) {
        if (isVersioned && !isLatest) {
          context.dropped(droppedSupersededVersion)
          return
        }
        const prefix = combinedKeyPrefix(foreignKeySerde.serialize(foreignKey))
        using rows = store.prefix(prefix)
        for (const [, { value }] of rows) {
          const { hash, primaryKey, primaryPartition } = value
          const response: SubscriptionResponseWrapper = {
            hash,
            foreignValue: newValue,
            primaryPartition,
          }
          context.forward(primaryKey, response)
        }
      },
    }
  }
}
