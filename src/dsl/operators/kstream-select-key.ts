import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { UserFunction } from './user-function.ts'

/** Replaces the key. Java's KStreamMap as `selectKey` and `groupBy` use it. */
export function kstreamSelectKey(selector: UserFunction<unknown>): NodeSupplier {
  return (context) => ({
    process(key: unknown, value: unknown) {
      context.forward(settled(selector(value, key), context.node), value)
    },
  })
}
