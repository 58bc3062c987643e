import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { UserFunction } from './user-function.ts'

/** A step below a split, and the records that go there. */
export interface Branch {
  readonly child: string
  readonly predicate: UserFunction<unknown>
}

/**
 * Gives each record to the first branch whose predicate holds, else to the step for the rest, when
 * there is one. Java's KStreamBranch.
 */
export function kstreamBranch(branches: readonly Branch[], rest: string | undefined): NodeSupplier {
  return (context) => ({
    process(key: unknown, value: unknown) {
      const { timestamp, headers } = context
      for (const { child, predicate } of branches) {
        if (!settled(predicate(value, key), context.node)) continue
        context.forwardRecord(key, value, timestamp, headers, child)
        return
      }
      if (rest !== undefined) context.forwardRecord(key, value, timestamp, headers, rest)
    },
  })
}
