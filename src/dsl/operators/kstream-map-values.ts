import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { UserFunction } from './user-function.ts'

/** Replaces the value. Java's KStreamMapValues. */
export function kstreamMapValues(mapper: UserFunction<unknown>): NodeSupplier {
  return (context) => ({
    process(key: unknown, value: unknown) {
      context.forward(key, settled(mapper(value, key), context.node))
    },
  })
}
