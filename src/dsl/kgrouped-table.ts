import type { Emitted } from './kgrouped-stream.ts'
import type { KTable } from './ktable.ts'
import type { TableStoreRef } from './materialized.ts'
import type { Named } from './naming.ts'
import type { SerdeOf } from './topic.ts'

/**
 * A table whose rows are grouped by another key. A row that changes leaves its group and comes back,
 * maybe to another one: each aggregation has one function for rows that come and one for rows that
 * go. Java's KGroupedTable.
 *
 * The result is a table with one row for each group. Its timestamp is the latest of the changes that
 * went into it. Grouping costs a round trip through a repartition topic.
 */
export interface KGroupedTable<K, V> {
  /**
   * Counts the rows of each group; the row of a group that has become empty is 0.
   *
   * @example
   * const customersByCity = customers
   *   .groupBy((customer, id) => [customer.city, id], { key: serdes.string, value: serdes.string })
   *   .count({ store: 'customers-by-city' })
   */
  count(options?: Named & { store?: TableStoreRef<K, number> }): KTable<K, number, number>

  /**
   * Combines the values of each group; the first stands as it is. The subtractor takes a value out
   * again. A function that gives null deletes the group's row. Both return a new value: what they
   * are given may be held by the store and by steps below.
   *
   * @example
   * balances
   *   .groupBy((account) => [account.owner, account.cents], { key: serdes.string, value: serdes.long })
   *   .reduce((sum, cents) => sum + cents, (sum, cents) => sum - cents)
   */
  reduce<R extends V | null | undefined>(
    adder: (aggregate: V, value: V) => R,
    subtractor: (aggregate: V, value: V) => R,
    options?: Named & { store?: TableStoreRef<K, V> },
  ): KTable<K, V, Emitted<V, R>>

  /**
   * Folds the values of each group into an aggregate of any type, beginning with what the initializer
   * gives. Otherwise as {@link KGroupedTable.reduce}. The aggregate's serde comes from the store's
   * descriptor, or from `value`.
   *
   * @example
   * tasks.groupBy((task, id) => [task.owner, id], { key: serdes.string, value: serdes.string }).aggregate(
   *   (): string[] => [],
   *   (ids, id) => [...ids, id],
   *   (ids, id) => ids.filter((each) => each !== id),
   *   { value: serdes.json<string[]>() },
   * )
   */
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    initializer: () => A,
    adder: (aggregate: A, value: V, key: K) => R,
    subtractor: (aggregate: A, value: V, key: K) => R,
    options?: Named & { store?: TableStoreRef<K, A>; value?: SerdeOf<A> },
  ): KTable<K, A, Emitted<A, R>>
}
