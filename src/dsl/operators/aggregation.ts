import type { AggregateFunction } from './user-function.ts'

/** The functions of an aggregation; where nothing is known of a key, the aggregate is undefined. */
export interface Aggregation {
  initializer(): unknown
  readonly aggregator: AggregateFunction
}

/** Counts from nothing. */
export const counting: Aggregation = {
  initializer: () => 0,
  aggregator: (count: number) => count + 1,
}

/** The first value stands as it is. */
export function reducing(reducer: AggregateFunction): Aggregation {
  return {
    initializer: () => undefined,
    aggregator: (aggregate, value, key) =>
      aggregate === undefined || aggregate === null ? value : reducer(aggregate, value, key),
  }
}
