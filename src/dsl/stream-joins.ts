import type { GlobalKTable } from './global-ktable.ts'
import type { GlobalJoinOptions } from './kstream-global-ktable-join.ts'
import type { StreamJoinOptions } from './kstream-kstream-join.ts'
import type { TableJoinOptions } from './kstream-ktable-join.ts'
import type { KStream } from './kstream.ts'
import type { KTable } from './ktable.ts'

/** The joins of a {@link KStream}: with another stream, with a table, with a global table. */
export interface StreamJoins<K, V> {
  /**
   * Joins each record with the row that a table has for its key, and gives what the joiner makes of
   * them, with the record's time. A later change of the table gives nothing. Records without a key or
   * a value are dropped and counted; those without a row give nothing. Stream and table must have
   * equally many partitions; a stream whose key may have changed is repartitioned.
   *
   * A table in a versioned store is asked for the row that was valid at the record's time; with a
   * `grace`, records wait so long for late changes of it.
   *
   * @example
   * orders.join(customers, (order, customer) => ({ ...order, name: customer.name }))
   */
  join<V2, R>(
    table: KTable<NonNullable<K>, V2, unknown>,
    joiner: (value: NonNullable<V>, row: V2, key: NonNullable<K>) => R,
    options?: TableJoinOptions<K, V>,
  ): KStream<NonNullable<K>, R>

  /**
   * As the join with a table, but records without a row, or without a key, are joined with undefined.
   * Only those without a value are dropped.
   */
  leftJoin<V2, R>(
    table: KTable<NonNullable<K>, V2, unknown>,
    joiner: (value: NonNullable<V>, row: V2 | undefined, key: K) => R,
    options?: TableJoinOptions<K, V>,
  ): KStream<K, R>

  /**
   * Joins each record with the row of a global table whose key `lookup` names: any key that can be
   * worked out from the record. The result has the record's key and time. A record without a value,
   * or without a key to look up, is dropped and counted; so is, uncounted, one without a row.
   *
   * @example
   * orders.join(countries, (order, country) => ({ ...order, country: country.name }), {
   *   lookup: (order) => order.countryCode,
   * })
   */
  join<GK, GV, R>(
    table: GlobalKTable<GK, GV>,
    joiner: (value: NonNullable<V>, row: GV, key: K, lookupKey: GK) => R,
    options: GlobalJoinOptions<V, K, NoInfer<GK>>,
  ): KStream<K, R>

  /**
   * As the join with a global table, but records without a row, or without a key to look up, are
   * joined with undefined. Only those without a value are dropped.
   */
  leftJoin<GK, GV, R>(
    table: GlobalKTable<GK, GV>,
    joiner: (
      value: NonNullable<V>,
      row: GV | undefined,
      key: K,
      lookupKey: GK | null | undefined,
    ) => R,
    options: GlobalJoinOptions<V, K, NoInfer<GK>>,
  ): KStream<K, R>

  // Those with another stream are the last ones, because errors of the compiler tell about the last.
  /**
   * Joins each record with all records of another stream that have its key and a time near its own, as
   * `windows` says; a pair is given once, with the later of both times and the headers of the record
   * that came second. Records without a key or a value are dropped and counted. Both streams must have
   * equally many partitions; one whose key may have changed is repartitioned. Each is kept in a store
   * for as long as its records can meet others.
   *
   * @example
   * const answered = questions.join(answers, (question, answer) => ({ question, answer }), {
   *   windows: joinWindows({ before: 0, after: hours(1), grace: minutes(5) }),
   * })
   */
  join<V2, R>(
    other: KStream<K, V2>,
    joiner: (value: NonNullable<V>, otherValue: NonNullable<V2>, key: NonNullable<K>) => R,
    options: StreamJoinOptions<K, V, V2>,
  ): KStream<NonNullable<K>, R>

  /**
   * As the join with another stream; a record of this stream that has met none is joined with
   * undefined, with its own time: when stream time has passed its window and the grace, or at once when
   * it comes too late to meet any or has no key.
   *
   * @example
   * const withAnswers = questions.leftJoin(answers, (question, answer) => ({ question, answer }), {
   *   windows: joinWindows({ before: 0, after: hours(1), grace: minutes(5) }),
   * })
   */
  leftJoin<V2, R>(
    other: KStream<K, V2>,
    joiner: (value: NonNullable<V>, otherValue: NonNullable<V2> | undefined, key: K) => R,
    options: StreamJoinOptions<K, V, V2>,
  ): KStream<K, R>

  /**
   * As the left join, for the records of both streams.
   *
   * @example
   * const matched = questions.outerJoin(answers, (question, answer) => ({ question, answer }), {
   *   windows: joinWindows({ difference: hours(1), grace: minutes(5) }),
   * })
   */
  outerJoin<V2, R>(
    other: KStream<K, V2>,
    joiner: (
      value: NonNullable<V> | undefined,
      otherValue: NonNullable<V2> | undefined,
      key: K,
    ) => R,
    options: StreamJoinOptions<K, V, V2>,
  ): KStream<K, R>
}
