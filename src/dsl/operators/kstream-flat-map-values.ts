import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { assertIterable } from './kstream-flat-map.ts'
import type { UserFunction } from './user-function.ts'

/** Replaces a value by any number of values, under the same key. Java's KStreamFlatMapValues. */
export function kstreamFlatMapValues(mapper: UserFunction<Iterable<unknown>>): NodeSupplier {
  return (context) => ({
    process(key: unknown, value: unknown) {
      const values = mapper(value, key)
      if (Array.isArray(values)) {
        // By index: no iterator for each record.
        for (let i = 0; i < values.length; i += 1) {
          context.forward(key, settled(values[i], context.node))
        }
        return
      }
      assertIterable(values, context.node)
      for (const item of values) context.forward(key, settled(item, context.node))
    },
  })
}
