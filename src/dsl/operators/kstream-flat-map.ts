import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { assertPair, type Pair } from './kstream-map.ts'
import type { UserFunction } from './user-function.ts'

/** Replaces a record by any number of records. Java's KStreamFlatMap. */
export function kstreamFlatMap(mapper: UserFunction<Iterable<Pair>>): NodeSupplier {
  return (context) => {
    const forwardPair = (pair: Pair): void => {
      assertPair(pair, context.node)
      context.forward(pair[0], pair[1])
    }
    return {
      process(key: unknown, value: unknown) {
        const pairs = mapper(value, key)
        if (Array.isArray(pairs)) {
          // By index: no iterator for each record.
          for (let i = 0; i < pairs.length; i += 1) forwardPair(pairs[i])
          return
        }
        assertIterable(pairs, context.node)
        for (const pair of pairs) forwardPair(pair)
      },
    }
  }
}

/** Refuses what cannot be iterated: a mapper that forgot to return, or that gave a single item. */
export function assertIterable(items: unknown, node: string): asserts items is Iterable<unknown> {
  if (typeof items === 'object' && items !== null && Symbol.iterator in items) return
  settled(items, node)
  // A text can be iterated, but nobody means its characters: it is one item, not in a list.
  const isText = typeof items === 'string'
  const hint = isText ? ': give [text] for one item, [...text] for its characters' : ''
  throw new TypeError(
    `The mapper of ${node} must give an iterable, it gave ${typeof items}${hint}.`,
  )
}
