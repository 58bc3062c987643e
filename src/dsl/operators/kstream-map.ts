import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { UserFunction } from './user-function.ts'

/** A key and a value, as `map` and `flatMap` give them. */
export type Pair = readonly [key: unknown, value: unknown]

/** Refuses what is not a pair: a mapper that forgot to return, or returned only a value or a promise. */
export function assertPair(pair: unknown, node: string): asserts pair is Pair {
  if (Array.isArray(pair) && pair.length === 2) {
    settled(pair[0], node)
    settled(pair[1], node)
    return
  }
  settled(pair, node)
  const given = Array.isArray(pair) ? `an array of ${pair.length}` : typeof pair
  throw new TypeError(`The mapper of ${node} must give pairs [key, value], it gave ${given}.`)
}

/** Replaces key and value. Java's KStreamMap. */
export function kstreamMap(mapper: UserFunction<Pair>): NodeSupplier {
  return (context) => ({
    process(key: unknown, value: unknown) {
      const pair = mapper(value, key)
      assertPair(pair, context.node)
      context.forward(pair[0], pair[1])
    },
  })
}
