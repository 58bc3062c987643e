import { assertOptions } from '../base/assert-options.ts'
import { StreamsError } from '../errors.ts'
import {
  descriptorOf,
  type NoStores,
  type StoreAccess,
  type Stores,
} from '../processor/local-store.ts'
import type { FixedKeyProcessorContext } from '../processor/processor-context.ts'
import type {
  FixedKeyProcessFunction,
  FixedKeyProcessor,
  ProcessorSupplier,
} from '../processor/processor-supplier.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import { userFixedKeyProcessor, userProcessor } from '../processor/user-processor.ts'
import { assertSerde } from '../serde/assert-serde.ts'
import type { Serde } from '../serde/serde.ts'
import { addStores, assertStoreAccess, assertStores } from '../topology/given-stores.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import type { StreamPartitioner, TopicNameExtractor } from '../topology/node.ts'
import type { DescribeOptions, Topology } from '../topology/topology.ts'
import { sourceNode, type PatternOptions } from './graph/stream-source-node.ts'
import { assertFunction } from './naming.ts'
import type { Partitioner } from './partitioner.ts'
import { assertTopic, type AnySerde, type RawKey, type SinkTopic, type Topic } from './topic.ts'

/** Names of nodes: one, or several. */
export type NodeNames = string | readonly string[]

/** Where a processor stands, and what it uses. */
export interface AddProcessorOptions<S extends Stores = Stores> {
  /** Whose records it is given. */
  readonly parents: NodeNames
  /** Descriptors of its stores, alone or `timestamped`: added and connected. */
  readonly stores?: S
}

/** Where a sink stands. */
export interface AddSinkOptions<K, V> {
  /** Whose records it writes. */
  readonly parents: NodeNames
  /** Default: Kafka's choice for the key's bytes. */
  readonly partitioner?: Partitioner<K, V>
}

/** The nodes that keep a store up to date with a topic. */
export interface TopicStoreOptions<K, V> {
  /** Name of the node that reads the topic. */
  readonly source: string
  readonly topic: Topic<K, V>
  /** Name of the node that writes the store. */
  readonly processor: string
  /** What it does: as a rule `({ store }) => ({ key, value }) => store(descriptor).put(key, value)`. */
  readonly supplier: ProcessorSupplier<K, V, never, never>
}

/**
 * Writes a topology node by node, where `StreamsBuilder` writes it operator by operator: sources,
 * processors and sinks by names of one's own, and stores between them. Nodes that are connected, or
 * share a store, are run together. Java's Topology.
 *
 * @example
 * const topology = new TopologyBuilder()
 *   .addSource('clicks', topic('clicks', { key: serdes.string, value: serdes.string }))
 *   .addProcessor('count', ({ stores, forward }) => (record: StreamRecord<string, string>) => {
 *     const count = (stores.counts.get(record.key) ?? 0) + 1
 *     stores.counts.put(record.key, count)
 *     forward({ ...record, value: count })
 *   }, { parents: 'clicks', stores: { counts } })
 *   .addSink('out', topic('counts', { key: serdes.string, value: serdes.long }), { parents: 'count' })
 *   .build()
 */
export class TopologyBuilder {
  readonly #topology = new InternalTopologyBuilder()

  /**
   * Adds a node that reads a topic, or several of the same types.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for a name that is taken, or a topic that another node reads.
   * @example
   * new TopologyBuilder().addSource('lines', topic('lines', { value: serdes.string }))
   */
  addSource<K, V>(name: string, topics: Topic<K, V> | readonly Topic<K, V>[]): this
  /** Adds a node that reads all topics whose whole name matches, also those that are yet to be made. */
  addSource<K, V>(
    name: string,
    pattern: RegExp,
    options: Omit<PatternOptions<K, V>, 'name'> & { key: Serde<K> },
  ): this
  addSource<V>(
    name: string,
    pattern: RegExp,
    options: Omit<PatternOptions<RawKey, V>, 'name'> & { key?: undefined },
  ): this
  addSource<K, V>(
    name: string,
    topics: Topic<K, V> | readonly Topic<K, V>[] | RegExp,
    options?: PatternOptions<K, V>,
  ): this {
    sourceNode(name, topics, options).write(this.#topology)
    return this
  }

  /**
   * Adds a node that runs a processor on what its parents forward. Its stores are added and connected;
   * a descriptor is one store, however many nodes name it.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for a name that is taken, parents that are not there, or
   *   another store of the same name.
   * @example
   * new TopologyBuilder()
   *   .addSource('lines', lines)
   *   .addProcessor(
   *     'show',
   *     () =>
   *       ({ value }: StreamRecord<unknown, string>) =>
   *         console.log(value),
   *     { parents: 'lines' },
   *   )
   */
  addProcessor<K, V, K2, V2, S extends Stores = NoStores>(
    name: string,
    supplier: ProcessorSupplier<K, V, K2, V2, S>,
    options: AddProcessorOptions<S>,
  ): this {
    assertFunction(supplier, `the supplier of ${name}`)
    return this.#addProcessor(name, (stores) => userProcessor(supplier, stores), options)
  }

  /**
   * As {@link TopologyBuilder.addProcessor}, of a processor that cannot change the key.
   *
   * @example
   * new TopologyBuilder()
   *   .addSource('lines', lines)
   *   .addFixedKeyProcessor(
   *     'lengths',
   *     ({ forward }) =>
   *       (record: FixedKeyRecord<unknown, string>) =>
   *         forward(record.withValue(record.value.length)),
   *     { parents: 'lines' },
   *   )
   */
  addFixedKeyProcessor<K, V, V2, S extends Stores = NoStores>(
    name: string,
    supplier: (
      // Of the keys the records say what they are.
      context: FixedKeyProcessorContext<unknown, V2, S>,
    ) => FixedKeyProcessFunction<K, V> | FixedKeyProcessor<K, V>,
    options: AddProcessorOptions<S>,
  ): this {
    assertFunction(supplier, `the supplier of ${name}`)
    return this.#addProcessor(name, (stores) => userFixedKeyProcessor(supplier, stores), options)
  }

  #addProcessor(
    name: string,
    supplier: (stores: Stores) => NodeSupplier,
    options: AddProcessorOptions,
  ): this {
    assertOptions(options, name)
    const { parents, stores = {} } = options
    assertStores(stores, `the processor ${name}`)
    this.#topology.addProcessor(name, supplier(stores), namesOf(parents))
    addStores(this.#topology, stores, [name])
    return this
  }

  /**
   * Adds a node that writes what its parents forward to a topic.
   *
   * @example
   * new TopologyBuilder().addSource('lines', lines).addSink('copies', kept, { parents: 'lines' })
   */
  addSink<K, V>(name: string, topic: SinkTopic<K, V>, options: AddSinkOptions<K, V>): this
  /** Adds a node that writes each record to the topic that a function names for it. */
  addSink<K, V>(
    name: string,
    topic: TopicNameExtractor<K, V>,
    options: AddSinkOptions<K, V> & { key: Serde<K>; value: Serde<V> },
  ): this
  addSink<K, V>(
    name: string,
    topic: SinkTopic<K, V> | TopicNameExtractor<K, V>,
    options: AddSinkOptions<K, V> & { key?: Serde<K>; value?: Serde<V> },
  ): this {
    assertOptions(options, name)
    const { parents, partitioner, key, value } = options
    if (partitioner !== undefined) assertFunction(partitioner, `the partitioner of ${name}`)
    const sink = {
      ...targetOf(name, topic, { key, value }),
      partitioner: partitioner as StreamPartitioner,
    }
    this.#topology.addSink(name, sink, namesOf(parents))
    return this
  }

  /**
   * Adds a store, and connects it to processors that are there already.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` for another store of the same name.
   * @example
   * new TopologyBuilder()
   *   .addSource('lines', lines)
   *   .addProcessor('show', () => () => undefined, { parents: 'lines' })
   *   .addStateStore(counts, { processors: 'show' })
   */
  addStateStore(store: StoreAccess, options: { readonly processors?: NodeNames } = {}): this {
    assertStoreAccess(store, 'addStateStore')
    addStores(this.#topology, { store }, namesOf(options.processors))
    return this
  }

  /**
   * Adds a store that a topic of others keeps up to date (KIP-813): a source, a processor that writes
   * what it reads, and the topic as changelog. Other processors may be connected to it, to read. When
   * it is restored, what is in the topic goes into the store as it is, past the processor.
   *
   * @example
   * new TopologyBuilder().addReadOnlyStateStore(counts, {
   *   source: 'counts',
   *   topic: topic('counts', { key: serdes.string, value: serdes.long }),
   *   processor: 'keep-counts',
   *   supplier:
   *     ({ store }) =>
   *     ({ key, value }) =>
   *       store(counts).put(key, value),
   * })
   */
  addReadOnlyStateStore<K, V>(store: StoreAccess, options: TopicStoreOptions<K, V>): this {
    assertStoreAccess(store, 'addReadOnlyStateStore')
    const { source, topic, processor, supplier } = topicStoreOf('addReadOnlyStateStore', options)
    this.addSource(source, { ...topic, offsetReset: 'earliest' })
    this.#topology.addProcessor(processor, supplier, [source])
    this.#topology.addGivenStore(descriptorOf(store), {
      timestamped: store.kind === 'timestamped',
      sourceTopic: topic.name,
      processors: [processor],
    })
    return this
  }

  /**
   * Adds a store that every instance holds whole, and keeps up to date with all partitions of a topic.
   * All processors may read it, without being connected: `store(descriptor)`. When it is restored, the
   * topic is processed again.
   *
   * @example
   * new TopologyBuilder().addGlobalStore(counts, {
   *   source: 'counts',
   *   topic: topic('counts', { key: serdes.string, value: serdes.long }),
   *   processor: 'keep-counts',
   *   supplier:
   *     ({ store }) =>
   *     ({ key, value }) =>
   *       store(counts).put(key, value),
   * })
   */
  addGlobalStore<K, V>(store: StoreAccess, options: TopicStoreOptions<K, V>): this {
    assertStoreAccess(store, 'addGlobalStore')
    const { source, topic, processor, supplier } = topicStoreOf('addGlobalStore', options)
    const { name, key, value } = topic as Topic<unknown, unknown>
    const descriptor = { ...descriptorOf(store), caching: descriptorOf(store).caching ?? false }
    this.#topology.addGlobalStore(
      Object.freeze({
        descriptor: Object.freeze(descriptor) as typeof descriptor & { caching: false },
        timestamped: store.kind === 'timestamped',
      }),
      { topic: name, key, value, source, processor, supplier, reprocessOnRestore: true },
    )
    return this
  }

  /**
   * Connects a processor with stores that were added.
   *
   * @throws StreamsError `TOPOLOGY_INVALID` when the processor or a store is not there, or a store is
   *   global, which needs no connection.
   * @example
   * new TopologyBuilder()
   *   .addSource('lines', lines)
   *   .addProcessor('show', () => () => undefined, { parents: 'lines' })
   *   .addStateStore(counts)
   *   .connectProcessorAndStateStores('show', counts)
   */
  connectProcessorAndStateStores(processor: string, ...stores: readonly StoreAccess[]): this {
    for (const store of stores) assertStoreAccess(store, 'connectProcessorAndStateStores')
    const names = stores.map((store) => descriptorOf(store).name)
    this.#topology.connectProcessorAndStores(processor, names)
    return this
  }

  /** The finished topology. The builder can be used further; what was built does not change. */
  build(): Topology {
    return this.#topology.build()
  }

  /** What `build().describe()` gives. */
  describe(options?: DescribeOptions): string {
    return this.build().describe(options)
  }
}

function namesOf(names: NodeNames | undefined): readonly string[] {
  if (names === undefined) return []
  return typeof names === 'string' ? [names] : names
}

function targetOf(
  name: string,
  topic: unknown,
  { key, value }: { key: unknown; value: unknown },
): { topic: string | TopicNameExtractor; key: AnySerde; value: AnySerde } {
  if (typeof topic === 'function') {
    assertSerde(key, { part: 'key', of: `the sink ${name}` })
    assertSerde(value, { part: 'value', of: `the sink ${name}` })
    return { topic: topic as TopicNameExtractor, key, value }
  }
  assertTopic(topic, 'addSink')
  const sink = topic as Topic<unknown, unknown>
  return { topic: sink.name, key: sink.key, value: sink.value }
}

function topicStoreOf<K, V>(method: string, options: TopicStoreOptions<K, V>) {
  assertOptions(options, method)
  const { source, topic, processor, supplier } = options
  assertTopic(topic, method)
  assertFunction(supplier, `the supplier of ${processor}`)
  if (source === processor) {
    const detail = `the source and the processor of ${method} must have different names, not ${source}`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  return { source, topic, processor, supplier: userProcessor(supplier, {}) }
}
