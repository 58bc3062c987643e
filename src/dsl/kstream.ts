import type { AsyncCall, AsyncOptions } from './async-options.ts'
import type { Stores, NoStores } from '../processor/local-store.ts'
import type {
  FixedKeyProcessorSupplier,
  ProcessorSupplier,
} from '../processor/processor-supplier.ts'
import type { ProcessOptions, ProcessValuesOptions } from './kstream-process.ts'
import type { Named } from './naming.ts'
import type { KGroupedStream } from './kgrouped-stream.ts'
import type { KTable } from './ktable.ts'
import type { TableStoreRef } from './materialized.ts'
import type { TopicNameExtractor } from '../topology/node.ts'
import type { RepartitionOptions } from './kstream-repartition.ts'
import type { Branches, BranchPredicates, SplitOptions } from './kstream-split.ts'
import type { StreamJoins } from './stream-joins.ts'
import type { ToNamedTopicOptions, ToOptions } from './kstream-to.ts'
import type { PrintOptions } from './operators/kstream-print.ts'
import type { SerdeOf, SinkTopic } from './topic.ts'

/**
 * A stream of records with keys K and values V. Every operator gives a new stream and leaves this
 * one as it is: several may go on from it. Functions get the value first, the key second, and
 * everything that follows from a record keeps its timestamp and headers. Java's KStream.
 *
 * An operator that may change the key (`map`, `flatMap`, `selectKey`, `groupBy`) costs a round trip
 * through a repartition topic as soon as something below it needs equal keys in one place.
 */
export interface KStream<K, V> extends StreamJoins<K, V> {
  /**
   * Keeps the records for which the predicate holds.
   *
   * @example
   * const large = orders.filter((order) => order.total > 100)
   */
  filter<W extends V>(predicate: (value: V, key: K) => value is W, options?: Named): KStream<K, W>
  filter(predicate: (value: V, key: K) => boolean, options?: Named): KStream<K, V>

  /**
   * Keeps the records for which the predicate does not hold.
   *
   * @example
   * const others = orders.filterNot((order) => order.country === 'AT')
   */
  filterNot(predicate: (value: V, key: K) => boolean, options?: Named): KStream<K, V>

  /**
   * Replaces key and value. State the serdes of what the mapper gives when a step below stores or
   * repartitions it.
   *
   * @example
   * orders.map((order) => [order.customerId, order.total], { key: serdes.string })
   */
  map<K2, V2>(
    mapper: (value: V, key: K) => readonly [key: K2, value: V2],
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V2> },
  ): KStream<K2, V2>

  /**
   * Replaces the value. The key stays, so nothing is repartitioned because of it.
   *
   * @example
   * const totals = orders.mapValues((order) => order.total, { value: serdes.double })
   */
  mapValues<V2>(
    mapper: (value: V, key: K) => V2,
    options?: Named & { value?: SerdeOf<V2> },
  ): KStream<K, V2>

  /**
   * Replaces a record by any number of records.
   *
   * @example
   * const words = answers.flatMap((text) => text.split(' ').map((word) => [word, 1] as const), {
   *   key: serdes.string,
   *   value: serdes.long,
   * })
   */
  flatMap<K2, V2>(
    mapper: (value: V, key: K) => Iterable<readonly [key: K2, value: V2]>,
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V2> },
  ): KStream<K2, V2>

  /**
   * Replaces a value by any number of values under the same key.
   *
   * @example
   * const words = builder.stream(lines).flatMapValues((line) => line.split(' '))
   */
  flatMapValues<V2>(
    mapper: (value: V, key: K) => Iterable<V2> & object,
    options?: Named & { value?: SerdeOf<V2> },
  ): KStream<K, V2>

  /**
   * Replaces the key.
   *
   * @example
   * const byCustomer = orders.selectKey((order) => order.customerId, { key: serdes.string })
   */
  selectKey<K2>(
    selector: (value: V, key: K) => K2,
    options?: Named & { key?: SerdeOf<K2> },
  ): KStream<K2, V>

  /**
   * Shows each record to an action and passes it on unchanged. A promise is refused, with
   * `PROCESSOR_ASYNC`.
   *
   * @example
   * orders.peek((order, key) => console.log(key, order.total)).filter((order) => order.total > 100)
   */
  peek(action: (value: V, key: K) => void, options?: Named): KStream<K, V>

  /**
   * Replaces the value by what a promise gives: for calls of other services. Results go on in the order
   * of the records, `concurrency` calls run at the same time, and a commit waits for those that
   * run, so that after a crash they are made again. A call that fails or takes longer than `timeout`
   * fails the record. Java has nothing like it.
   *
   * @example
   * const scored = orders.mapValuesAsync(
   *   async (order, _key, { signal }) => {
   *     const response = await fetch(`http://risk/score/${order.id}`, { signal })
   *     return { ...order, risk: Number(await response.text()) }
   *   },
   *   { concurrency: 32, timeout: 5_000 },
   * )
   */
  mapValuesAsync<V2>(
    mapper: (value: V, key: K, call: AsyncCall) => PromiseLike<V2>,
    options?: Named & AsyncOptions & { value?: SerdeOf<V2> },
  ): KStream<K, V2>

  /**
   * Waits for an action on each record; the stream ends here. Else as {@link KStream.mapValuesAsync}.
   *
   * @example
   * orders.forEachAsync(
   *   async (order, _key, { signal }) => {
   *     await fetch(`http://mail/orders/${order.id}`, { method: 'POST', signal })
   *   },
   *   { concurrency: 8 },
   * )
   */
  forEachAsync(
    action: (value: V, key: K, call: AsyncCall) => PromiseLike<unknown>,
    options?: Named & AsyncOptions,
  ): void

  /**
   * Shows each record to an action; the stream ends here. A promise is refused, with `PROCESSOR_ASYNC`:
   * {@link KStream.forEachAsync} waits for it.
   *
   * @example
   * orders.forEach((order, key) => console.log(key, order.total))
   */
  forEach(action: (value: V, key: K) => void, options?: Named): void

  /**
   * Writes a line `[label]: key, value` for each record; the stream ends here. For a look at a program
   * while it is written.
   *
   * @example
   * orders.print({ label: 'orders', format: (order, key) => `${key} ${order.total}` })
   */
  print(options?: PrintOptions<K, V>): void

  /**
   * Gives each record to the first of several streams whose predicate holds; what no predicate takes
   * is in `rest`, if the program asks for it, and else goes nowhere. A predicate that narrows the type
   * of the value gives a stream of that type. Steps are named after the branches; in an array they are
   * counted from 1.
   *
   * @example
   * const { large, rest } = orders.split({ large: (order) => order.total > 100 })
   * const [even, odd] = numbers.split([(n) => n % 2 === 0, (n) => n % 2 !== 0])
   */
  split<const P extends BranchPredicates<K, V>>(
    predicates: P,
    options?: SplitOptions,
  ): Branches<K, V, P>

  /**
   * The records of this stream and of another one, in no particular order. Serdes go on only when
   * both streams have the same.
   *
   * @example
   * const all = clicks.merge(views)
   */
  merge(other: KStream<K, V>, options?: Named): KStream<K, V>

  /**
   * Groups by the key that the records have. Serdes that the stream does not carry can be stated; a
   * name becomes that of the repartition topic, when there must be one.
   *
   * @example
   * const ordersOfKey = orders.groupByKey().count({ store: 'orders-of-key' })
   */
  groupByKey(
    options?: Named & { key?: SerdeOf<K>; value?: SerdeOf<V> },
  ): KGroupedStream<NonNullable<K>, V>

  /**
   * Groups by another key: `selectKey` and `groupByKey` in one. A record for which the selector gives
   * null is left out.
   *
   * @example
   * words.groupBy((word) => word, { key: serdes.string, value: serdes.string })
   */
  groupBy<K2>(
    selector: (value: V, key: K) => K2,
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V> },
  ): KGroupedStream<NonNullable<K2>, V>

  /**
   * Takes the records as the changes of a table: the last value of a key counts, null deletes.
   * Records without a key are dropped. Without a `store` the table is kept only if a step below
   * needs it.
   *
   * @example
   * const latest = orders.toTable({ store: 'latest-orders' })
   */
  toTable(
    options?: Named & { store?: TableStoreRef<NonNullable<K>, NonNullable<V>> },
  ): KTable<NonNullable<K>, NonNullable<V>, V>

  /**
   * Writes the records to a topic of the engine and reads them back: equal keys are then in one
   * partition, and as many instances can go on as the topic has partitions. Steps that need equal
   * keys in one place do this by themselves where the key may have changed. Records without a key are
   * dropped, unless a left or outer join follows.
   *
   * @example
   * readings.selectKey((reading) => reading.room).repartition({ partitions: 12, key: serdes.string })
   */
  repartition(options?: RepartitionOptions<K, V>): KStream<K, V>

  /**
   * Gives each record to a processor of one's own, which may forward any records at any time, keep
   * stores, and be called at intervals. The stores in the options are added to the topology and
   * connected; a descriptor that several steps name is one store, and that of a table is the table's.
   *
   * The key may change: what needs equal keys in one place below costs a repartition topic. State the
   * serdes of what is forwarded when it has other types, or when a step below stores or repartitions
   * it; the types follow from them. Without, what is forwarded has the types of what comes in.
   *
   * @example
   * const lastSeen = keyValueStore('last-seen', { key: serdes.string, value: serdes.long })
   * const ended = clicks.process(({ stores, schedule, forward }) => {
   *   schedule(seconds(10), 'wall-clock-time', (now) => {
   *     for (const [session, seen] of stores.lastSeen.range()) {
   *       if (now - seen < seconds(30)) continue
   *       forward({ key: session, value: seen, timestamp: now })
   *       stores.lastSeen.delete(session)
   *     }
   *   })
   *   return ({ value, timestamp }) => stores.lastSeen.put(value.session, timestamp)
   * }, { name: 'end-idle-sessions', stores: { lastSeen }, key: serdes.string, value: serdes.long })
   */
  process<K2 = K, V2 = V, S extends Stores = NoStores>(
    supplier: ProcessorSupplier<K, V, K2, V2, S>,
    options?: ProcessOptions<K2, V2, S>,
  ): KStream<K2, V2>

  /**
   * As {@link KStream.process}, by a processor that cannot change the key: it forwards only what is
   * derived from the record at hand. So nothing is repartitioned because of it.
   *
   * @example
   * const numbered = orders.processValues(({ stores, forward }) => (record) => {
   *   const number = (stores.counts.get(record.key) ?? 0) + 1
   *   stores.counts.put(record.key, number)
   *   forward(record.withValue({ ...record.value, number }))
   * }, { stores: { counts }, value: serdes.json<NumberedOrder>() })
   */
  processValues<V2 = V, S extends Stores = NoStores>(
    supplier: FixedKeyProcessorSupplier<K, V, V2, S>,
    options?: ProcessValuesOptions<V2, S>,
  ): KStream<K, V2>

  /**
   * Writes each record to the topic that a function names for it. The topics must exist: a record for
   * one that does not stops the instance with `SINK_TOPIC_MISSING`.
   *
   * @example
   * orders.to((order) => `orders-${order.country}`)
   */
  to(topic: TopicNameExtractor<K, V>, options?: ToNamedTopicOptions<K, V>): void

  // The last one, because errors of the compiler tell about the last.
  /**
   * Writes the records to a topic, with the topic's serdes. The partition is Kafka's default for the
   * key's bytes unless a `partitioner` chooses it.
   */
  to(topic: SinkTopic<K, V>, options?: ToOptions<K, V>): void
}
