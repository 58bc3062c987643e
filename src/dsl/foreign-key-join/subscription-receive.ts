import type { NodeSupplier } from '../../processor/processor.ts'
import type { TimestampedKeyValueStore } from '../../store/key-value-store.ts'
import { droppedNullForeignKey } from '../operators/dropped-reason.ts'
import type { AnySerde } from '../topic.ts'
import { combinedKey } from './combined-key.ts'
import { instructions, type SubscriptionWrapper } from './subscription-wrapper.ts'

/** Rows of the left table by the foreign key that they refer to. */
export type SubscriptionStore = TimestampedKeyValueStore<Uint8Array, SubscriptionWrapper>

/**
 * Remembers for each foreign key which rows of the left table refer to it. Java's
 * SubscriptionReceiveProcessorSupplier.
 */
export function subscriptionReceive(options: {
  readonly storeName: string
  readonly foreignKey: AnySerde
  readonly primaryKey: AnySerde
}): NodeSupplier {
  const { storeName, foreignKey: foreignKeySerde, primaryKey: primaryKeySerde } = options
  return (context) => {
    const store = context.store(storeName) as SubscriptionStore
    return {
      process(foreignKey: unknown, wrapper: SubscriptionWrapper | null) {
        if (wrapper === null) {
          throw new TypeError(
            `The subscription topic of ${context.node} has a record without a value.`,
          )
        }
        const { instruction } = wrapper
        if (foreignKey === null || foreignKey === undefined) {
          // A row of a left join that refers to nothing: it only wants its answer.
          if (instruction !== instructions.propagateNullIfNoValue) {
            context.dropped(droppedNullForeignKey)
            return
          }
        } else {
          const isGone =
            instruction === instructions.deleteAndPropagate ||
            instruction === instructions.deleteNoPropagate
          const key = combinedKey(
            foreignKeySerde.serialize(foreignKey),
            primaryKeySerde.serialize(wrapper.primaryKey),
          )
          store.put(key, isGone ? undefined : wrapper, context.timestamp)
        }
        context.forward(foreignKey, wrapper)
      },
    }
  }
}
