import type { NoStores, Stores } from '../processor/local-store.ts'
import type { ValueTransformerSupplier } from '../processor/value-transformer.ts'
import type { Emitted } from './kgrouped-stream.ts'
import type { KGroupedTable } from './kgrouped-table.ts'
import type { KStream } from './kstream.ts'
import type { ForeignKeyJoinOptions } from './ktable-foreign-key-join.ts'
import type { KTableJoinOptions } from './ktable-ktable-join.ts'
import type { TransformValuesOptions } from './ktable-transform-values.ts'
import type { TableStoreRef } from './materialized.ts'
import type { Named } from './naming.ts'
import type { Windowed } from '../serde/windowed.ts'
import type { SuppressedUntilTimeLimit, SuppressedUntilWindowCloses } from './suppressed.ts'
import type { SerdeOf } from './topic.ts'

/** What the changes of a table carry after `mapValues`: a null when E or the mapper's result has one. */
export type MappedEmission<V2, E> =
  | NonNullable<V2>
  | Extract<E, null>
  | Extract<V2, null>
  | (undefined extends V2 ? null : never)

/**
 * A table: the last value V of each key K. E is what its stream of changes carries, with a null
 * for each row that goes away; a count, whose rows never go, carries no null. Java's KTable.
 */
export interface KTable<K, V, E = V | null> {
  /** The store that can be queried; undefined unless one was named. */
  readonly queryableStoreName: string | undefined

  /**
   * Keeps the rows for which the predicate holds. A row that is left out is deleted below, also when
   * it never was there. With a `store` the result is kept and can be queried.
   *
   * @example
   * const large = orders.filter((order) => order.total > 100, { store: 'large-orders' })
   */
  filter<W extends V>(
    predicate: (value: V, key: K) => value is W,
    options?: Named & { store?: TableStoreRef<K, W> },
  ): KTable<K, W, W | null>
  filter(
    predicate: (value: V, key: K) => boolean,
    options?: Named & { store?: TableStoreRef<K, V> },
  ): KTable<K, V>

  /**
   * Keeps the rows for which the predicate does not hold; else as {@link KTable.filter}.
   *
   * @example
   * const small = orders.filterNot((order) => order.total > 100)
   */
  filterNot(
    predicate: (value: V, key: K) => boolean,
    options?: Named & { store?: TableStoreRef<K, V> },
  ): KTable<K, V>

  /**
   * Replaces the value of each row. A mapper that gives null deletes the row. With a `store` the
   * result is kept and can be queried.
   *
   * @example
   * const names = customers.mapValues((customer) => customer.name, { value: serdes.string })
   */
  mapValues<V2>(
    mapper: (value: V, key: K) => V2,
    options?: Named & { value?: SerdeOf<V2>; store?: TableStoreRef<K, NonNullable<V2>> },
  ): KTable<K, NonNullable<V2>, MappedEmission<V2, E>>

  /**
   * As {@link KTable.mapValues}, by code that sees its task and may have stores and timers. It is
   * also called for rows that go away, with undefined. Without a `store`, it is called again
   * whenever a step below looks a row up.
   *
   * @example
   * const seen = keyValueStore('seen', { key: serdes.string, value: serdes.long })
   * orders.transformValues(
   *   ({ stores }) => (order, id) => {
   *     const times = (stores.seen.get(id) ?? 0) + 1
   *     stores.seen.put(id, times)
   *     return order && { ...order, times }
   *   },
   *   { stores: { seen } },
   * )
   */
  transformValues<V2, S extends Stores = NoStores>(
    supplier: ValueTransformerSupplier<K, V, V2, S>,
    options?: TransformValuesOptions<K, V2, S>,
  ): KTable<K, NonNullable<V2>, Emitted<NonNullable<V2>, V2>>

  /**
   * Joins each row with the row of another table that it refers to, by the `foreignKey`: the result
   * has this table's keys. It changes with each of the two; many rows may refer to one. The tables
   * may have different numbers of partitions.
   *
   * It costs two repartition topics, and a store with a row for each row of this table. Names as
   * Kafka Streams gives them, or made of `name`.
   *
   * @example
   * orders.join(customers, (order, customer) => ({ ...order, customer: customer.name }), {
   *   foreignKey: (order) => order.customerId,
   *   value: serdes.json<NamedOrder>(),
   * })
   */
  join<K2, V2, E2, R>(
    other: KTable<K2, V2, E2>,
    joiner: (value: V, otherValue: V2, key: K) => R,
    options: ForeignKeyJoinOptions<K, V, K2, R>,
  ): KTable<K, NonNullable<R>, NonNullable<R> | null>
  /**
   * Joins the rows of two tables by their keys: the result has a row wherever both have one. It
   * changes with each of them, and has the later timestamp of the two. A joiner that gives null
   * deletes the row. Both tables are kept for the purpose, and must have equally many partitions.
   *
   * @example
   * const shipped = orders.join(shipments, (order, shipment) => ({ ...order, sent: shipment.day }), {
   *   store: keyValueStore('shipped', { key: serdes.string, value: serdes.json<Shipped>() }),
   * })
   */
  join<V2, E2, R>(
    other: KTable<K, V2, E2>,
    joiner: (value: V, otherValue: V2, key: K) => R,
    options?: KTableJoinOptions<K, R>,
  ): KTable<K, NonNullable<R>, MappedEmission<R, E | E2>>

  /**
   * As {@link KTable.join} by a `foreignKey`, with a row for each row of this table, also when it
   * refers to nothing: the joiner then gets undefined.
   *
   * @example
   * orders.leftJoin(customers, (order, customer) => ({ ...order, customer: customer?.name ?? '?' }), {
   *   foreignKey: (order) => order.customerId,
   * })
   */
  leftJoin<K2, V2, E2, R>(
    other: KTable<K2, V2, E2>,
    joiner: (value: V, otherValue: V2 | undefined, key: K) => R,
    options: ForeignKeyJoinOptions<K, V, K2, R>,
  ): KTable<K, NonNullable<R>, MappedEmission<R, E>>
  /**
   * As {@link KTable.join}, with a row for each row of this table: where the other one has none, the
   * joiner gets undefined for it.
   *
   * @example
   * orders.leftJoin(shipments, (order, shipment) => ({ ...order, sent: shipment?.day }))
   */
  leftJoin<V2, E2, R>(
    other: KTable<K, V2, E2>,
    joiner: (value: V, otherValue: V2 | undefined, key: K) => R,
    options?: KTableJoinOptions<K, R>,
  ): KTable<K, NonNullable<R>, MappedEmission<R, E>>

  /**
   * As {@link KTable.join}, with a row wherever one of the two tables has one: the joiner gets
   * undefined for what is missing.
   *
   * @example
   * orders.outerJoin(shipments, (order, shipment) => ({ total: order?.total, sent: shipment?.day }))
   */
  outerJoin<V2, E2, R>(
    other: KTable<K, V2, E2>,
    joiner: (value: V | undefined, otherValue: V2 | undefined, key: K) => R,
    options?: KTableJoinOptions<K, R>,
  ): KTable<K, NonNullable<R>, MappedEmission<R, E | E2>>

  /**
   * Groups the rows by another key: the selector gives the key of the group, and what of the row is
   * to be aggregated there. A row for which it gives null, or a null key or value, is in no group. It
   * is called for what a row was and for what it is, and must give the same for the same row.
   *
   * State the serdes of both; a name becomes that of the repartition topic.
   *
   * @example
   * customers.groupBy((customer, id) => [customer.city, id], { key: serdes.string, value: serdes.string })
   */
  groupBy<K2, V2>(
    selector: (value: V, key: K) => readonly [key: K2, value: V2] | null | undefined,
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V2> },
  ): KGroupedTable<NonNullable<K2>, NonNullable<V2>>

  /**
   * Holds changes back, so that of many of a key only the last one goes on.
   *
   * `until: 'window-closes'`, for tables of windows or sessions: one final result for each, when stream
   * time has passed its end by the grace of the windows. `until: { timeLimit }`: so many milliseconds of
   * stream time after the first change of a key. Stream time moves only with records: without new
   * ones, the last results wait. The record that a change came with goes on with it: timestamp, headers,
   * offset.
   *
   * What is held is in memory, and in a changelog from which it comes back. A buffer that is full
   * emits early, or shuts the instance down with `SUPPRESSION_BUFFER_FULL`. The rows of the table,
   * for steps below, are those that were emitted.
   *
   * @example
   * counts.suppress({ until: 'window-closes', buffer: 'unbounded' }).toStream().to(finalCounts)
   * @example
   * totals.suppress({
   *   until: { timeLimit: minutes(1) },
   *   buffer: { maxRecords: 10_000, onFull: 'emit-early' },
   * })
   * @throws StreamsError `TOPOLOGY_INVALID` when no windowed aggregation is above `window-closes`, when
   *   the table is kept in a versioned store, and for limits that are none.
   */
  suppress(
    options: K extends Windowed<unknown> ? SuppressedUntilWindowCloses : never,
  ): KTable<K, V, V>
  suppress(options: SuppressedUntilTimeLimit): KTable<K, V, E>

  /**
   * The changes of the table as a stream: the new value, or null when the row is gone. With a
   * selector, its records get another key, as by `selectKey`.
   *
   * @example
   * totals.toStream().to(topic('totals', { key: serdes.string, value: nullable(serdes.double) }))
   * const byKeyAlone = counts.toStream((_count, { key }) => key, { key: serdes.string })
   */
  toStream<K2>(
    selector: (value: E, key: K) => K2,
    options?: Named & { key?: SerdeOf<K2> },
  ): KStream<K2, E>
  toStream(options?: Named): KStream<K, E>
}
