import { descriptorOf, type StoreAccess } from '../processor/local-store.ts'
import type { ProcessorSupplier } from '../processor/processor-supplier.ts'
import type { Serde } from '../serde/serde.ts'
import { assertStoreAccess } from '../topology/given-stores.ts'
import type { Topology } from '../topology/topology.ts'
import { assertExplicitNames } from './explicit-names.ts'
import { StateStoreNode } from './graph/state-store-node.ts'
import { sourceNode, type PatternOptions } from './graph/stream-source-node.ts'
import { TableSourceNode } from './graph/table-source-node.ts'
import type { GlobalKTable } from './global-ktable.ts'
import { addGlobalStore } from './global-store.ts'
import { addGlobalTable, type GlobalTableStoreRef } from './global-ktable-impl.ts'
import type { KStream } from './kstream.ts'
import { KStreamImpl } from './kstream-impl.ts'
import type { KTable } from './ktable.ts'
import { KTableImpl } from './ktable-impl.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { optimizationsOf, type Optimization, type Optimizations } from './optimization.ts'
import { ktableSource } from './operators/ktable-source.ts'
import { TableState } from './operators/table-state.ts'
import { StreamGraph } from './stream-graph.ts'
import { assertTopic, type RawKey, type Topic } from './topic.ts'

/** How a program is built. */
export interface StreamsBuilderOptions {
  /**
   * How the program may be rewritten when it is built: Java's `topology.optimization`. It decides which
   * internal topics there are, so it cannot be changed for an application that has run. Default `none`.
   */
  readonly optimize?: Optimizations
  /**
   * Refuse to build a program in which a store or an internal topic has a generated name: a step that
   * is added later would rename it, and what it holds would be left behind. Java's
   * `ensure.explicit.internal.resource.naming`. Default false.
   */
  readonly explicitNames?: boolean
}

/**
 * Where a program begins: it names the topics that are read, and gives the finished topology. Writing
 * a program has no effects. Java's StreamsBuilder.
 *
 * @example
 * const builder = new StreamsBuilder()
 * builder.stream(lines).filter((line) => line !== '').to(kept)
 * const topology = builder.build()
 */
export class StreamsBuilder {
  readonly #graph = new StreamGraph()
  readonly #optimizations: ReadonlySet<Optimization>
  readonly #explicitNames: boolean

  constructor(options: StreamsBuilderOptions = {}) {
    this.#optimizations = optimizationsOf(options.optimize ?? 'none')
    this.#explicitNames = options.explicitNames ?? false
  }

  /**
   * Reads a topic, or several of the same types in no particular order, as a stream.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` when topics that are read together differ in their serdes
   *   or options.
   */
  stream<K, V>(topic: Topic<K, V> | readonly Topic<K, V>[], options?: Named): KStream<K, V>
  /**
   * Reads all topics whose whole name matches, also those that are made while the application runs:
   * they are found within five minutes, and cost a rebalance. The application's own internal topics
   * are left out.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` when another source reads a topic that matches.
   * @example
   * builder.stream(/orders-.+/, { key: serdes.string, value: serdes.json<Order>() })
   */
  stream<K, V>(pattern: RegExp, options: PatternOptions<K, V> & { key: Serde<K> }): KStream<K, V>
  stream<V>(
    pattern: RegExp,
    options: PatternOptions<RawKey, V> & { key?: undefined },
  ): KStream<RawKey, V>
  stream<K, V>(
    topics: Topic<K, V> | readonly Topic<K, V>[] | RegExp,
    options?: Named | PatternOptions<K, V>,
  ): KStream<K, V> {
    const name = this.#graph.names.step('KSTREAM-SOURCE-', options?.name)
    const node = sourceNode(name, topics, options)
    this.#graph.addSource(node)
    const { key, value } = node.reading
    return new KStreamImpl({
      graph: this.#graph,
      node,
      key,
      value,
      sources: new Set([name]),
      repartitionRequired: false,
    })
  }

  /**
   * Reads a topic as a table: the last value of a key counts, a null value deletes the row, records
   * without a key are dropped. Without a `store` the table is kept only if a step below needs it.
   *
   * @example
   * const customers = builder.table(customersTopic, { store: 'customers-by-id' })
   */
  table<K, V>(
    topic: Topic<K, V>,
    options?: Named & { store?: TableStoreRef<NonNullable<K>, NonNullable<V>> },
  ): KTable<NonNullable<K>, NonNullable<V>, NonNullable<V> | null> {
    assertTopic(topic, 'table')
    const { names } = this.#graph
    const store = Materialized.of(options?.store, {
      names,
      prefix: `${topic.name}-`,
      step: `table(${topic.name})`,
      inherited: topic,
    })
    const source = names.suffixedStep('KSTREAM-SOURCE-', '-source', options?.name)
    const name = names.step('KTABLE-SOURCE-', options?.name)
    const kept = store.queryableName === undefined ? 'on-demand' : 'always'
    const table = new TableState({ store: store.storeName, kept, versioned: store.isVersioned })
    const node = new TableSourceNode(name, {
      source,
      topic: topic as Topic<unknown, unknown>,
      supplier: () => ktableSource(table),
      store: () => (table.storeName === undefined ? undefined : store),
    })
    this.#graph.addSource(node)
    return new KTableImpl({
      graph: this.#graph,
      node,
      key: store.key,
      value: store.value,
      sources: new Set([source]),
      table,
      queryableStoreName: store.queryableName,
    })
  }

  /**
   * Reads a topic as a table that every instance holds whole: a stream joins it by any key. The last
   * value of a key counts, a null value deletes the row, records without a key are dropped.
   *
   * It is restored before anything is processed. There is no changelog: what is in the topic goes into
   * the store as it is, with the topic's serdes, whatever a descriptor says. Rows have the time of
   * their records; the topic's `timestamp` and `offsetReset` are not asked.
   *
   * @example
   * const countries = builder.globalTable(countriesTopic, { store: 'countries' })
   */
  globalTable<K, V>(
    topic: Topic<K, V>,
    options?: Named & { store?: GlobalTableStoreRef<NonNullable<K>, NonNullable<V>> },
  ): GlobalKTable<NonNullable<K>, NonNullable<V>> {
    assertTopic(topic, 'globalTable')
    return addGlobalTable(this.#graph, topic, options)
  }

  /**
   * Adds a store that no step has named yet: `store(descriptor)` in the context of a processor finds
   * it, when the step is connected to it. Stores in the options of `process` need not be added.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for what is no descriptor.
   * @example
   * builder.addStateStore(keyValueStore('seen', { key: serdes.string, value: serdes.long }))
   */
  addStateStore(store: StoreAccess): this {
    assertStoreAccess(store, 'addStateStore')
    this.#graph.addSource(new StateStoreNode(descriptorOf(store).name, store))
    return this
  }

  /**
   * Adds a store that every instance holds whole, kept by a processor from all partitions of a topic;
   * in its context, the store is `stores.store`. All other processors may read it, without being
   * connected: `store(descriptor)`. It writes nothing but its store: it forwards to nobody, schedules
   * nothing, and knows no stream time.
   *
   * The topic is what the store is restored from: it goes through the processor again, without the
   * records that have no key. The topic's `timestamp` and `offsetReset` are not asked.
   *
   * @throws StreamsError `TOPOLOGY_INVALID`.
   * @example
   * const rates = keyValueStore('rates', { key: serdes.string, value: serdes.double })
   * builder.addGlobalStore(rates, ratesTopic, ({ stores }) => ({ key, value }) => {
   *   stores.store.put(key, value.toEuro)
   * })
   */
  addGlobalStore<K, V, D extends StoreAccess>(
    store: D,
    topic: Topic<K, V>,
    supplier: ProcessorSupplier<K, V, never, never, { readonly store: D }>,
    options?: Named,
  ): this {
    assertStoreAccess(store, 'addGlobalStore')
    assertTopic(topic, 'addGlobalStore')
    assertFunction(supplier, 'the supplier of addGlobalStore')
    addGlobalStore(this.#graph, store, topic, { ...options, supplier: supplier as never })
    return this
  }

  /**
   * The finished topology. The builder can be used further; what was built does not change.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for what cannot be run, such as two steps of one name, and
   *   for what lacks a name when `explicitNames` demands one; `SERDE_MISSING` when a store or a
   *   repartition topic needs a serde that no step states.
   */
  build(): Topology {
    const topology = this.#graph.build(this.#optimizations)
    if (this.#explicitNames) assertExplicitNames(topology, this.#graph.names)
    return topology
  }
}
