import { assertDone } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { UserFunction } from './user-function.ts'

/** Shows each record to an action, then passes it on. Java's KStreamPeek. */
export function kstreamPeek(action: UserFunction<void>): NodeSupplier {
  return (context) => ({
    process(key: unknown, value: unknown) {
      assertDone(action(value, key), context.node)
      context.forward(key, value)
    },
  })
}

/** Shows each record to an action; nothing comes after it. Java's KStreamForeach. */
export function kstreamForEach(action: UserFunction<void>): NodeSupplier {
  return (context) => ({
    process(key: unknown, value: unknown) {
      assertDone(action(value, key), context.node)
    },
  })
}
