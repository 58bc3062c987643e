import type { Change } from '../../processor/change.ts'
import type { NodeSupplier } from '../../processor/processor.ts'

/** The changes of a table as a stream of its new values; null: the row is gone. Java's KTable#toStream. */
export function ktableToStream(): NodeSupplier {
  return (context) => ({
    process(key: unknown, { newValue }: Change) {
      context.forward(key, newValue === undefined ? null : newValue)
    },
  })
}
