import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { UserFunction } from './user-function.ts'

/**
 * Passes on the records for which the predicate holds ('keep') or does not hold ('drop'). Java's
 * KStreamFilter.
 */
export function kstreamFilter(
  predicate: UserFunction<unknown>,
  mode: 'keep' | 'drop',
): NodeSupplier {
  const wanted = mode === 'keep'
  return (context) => ({
    process(key: unknown, value: unknown) {
      if (Boolean(settled(predicate(value, key), context.node)) === wanted)
        context.forward(key, value)
    },
  })
}
