import { StreamsError } from '../errors.ts'
import type { Stores } from '../processor/local-store.ts'
import type {
  FixedKeyProcessorSupplier,
  ProcessorSupplier,
} from '../processor/processor-supplier.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import type { TopicNameExtractor } from '../topology/node.ts'
import { assertAsyncOptions, type AsyncCall, type AsyncOptions } from './async-options.ts'
import type { GraphNode } from './graph/graph-node.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import { RepartitionNode } from './graph/repartition-node.ts'
import type { KGroupedStream } from './kgrouped-stream.ts'
import { KGroupedStreamImpl } from './kgrouped-stream-impl.ts'
import type { KStream } from './kstream.ts'
import { joinWith } from './kstream-join.ts'
import {
  processStream,
  processValuesOfStream,
  type ProcessOptions,
  type ProcessValuesOptions,
} from './kstream-process.ts'
import { repartitionStream, type RepartitionOptions } from './kstream-repartition.ts'
import {
  splitStream,
  type Branches,
  type BranchPredicates,
  type SplitOptions,
} from './kstream-split.ts'
import { writeStream, type ToNamedTopicOptions } from './kstream-to.ts'
import type { KTable } from './ktable.ts'
import { KTableImpl } from './ktable-impl.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { kstreamForEachAsync, kstreamMapValuesAsync } from './operators/kstream-async.ts'
import { kstreamFilter } from './operators/kstream-filter.ts'
import { kstreamFlatMap } from './operators/kstream-flat-map.ts'
import { kstreamFlatMapValues } from './operators/kstream-flat-map-values.ts'
import { kstreamMap } from './operators/kstream-map.ts'
import { kstreamMapValues } from './operators/kstream-map-values.ts'
import { kstreamForEach, kstreamPeek } from './operators/kstream-peek.ts'
import {
  keyAndValue,
  kstreamPrint,
  toStandardOutput,
  type PrintOptions,
} from './operators/kstream-print.ts'
import { kstreamSelectKey } from './operators/kstream-select-key.ts'
import { ktableSource } from './operators/ktable-source.ts'
import { passThrough } from './operators/pass-through.ts'
import { TableState } from './operators/table-state.ts'
import type { JoinFunction } from './operators/user-function.ts'
import type { StreamGraph } from './stream-graph.ts'
import type { AnySerde, SerdeOf, SinkTopic } from './topic.ts'

/** What a stream is while the program is written: the step that gives it, and what is known of it. */
export interface StreamState {
  readonly graph: StreamGraph
  readonly node: GraphNode
  /** Serdes as far as they are known; a step that lacks one says so when the topology is built. */
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
  /** Source nodes of the sub-topology that the stream is in. */
  readonly sources: ReadonlySet<string>
  /** The key may have changed: equal keys can be in different partitions. */
  readonly repartitionRequired: boolean
}

/** Java's KStreamImpl. */
export class KStreamImpl<K, V> implements KStream<K, V> {
  readonly state: StreamState
  /** Made once when joins give its topic no name of their own: they share it. */
  joinRepartition: RepartitionNode | undefined

  constructor(state: StreamState) {
    this.state = state
  }

  filter<W extends V>(predicate: (value: V, key: K) => boolean, options?: Named): KStream<K, W> {
    assertFunction(predicate, 'the predicate of filter')
    return this.#next('KSTREAM-FILTER-', () => kstreamFilter(predicate, 'keep'), options)
  }

  filterNot(predicate: (value: V, key: K) => boolean, options?: Named): KStream<K, V> {
    assertFunction(predicate, 'the predicate of filterNot')
    return this.#next('KSTREAM-FILTER-', () => kstreamFilter(predicate, 'drop'), options)
  }

  map<K2, V2>(
    mapper: (value: V, key: K) => readonly [key: K2, value: V2],
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V2> },
  ): KStream<K2, V2> {
    assertFunction(mapper, 'the mapper of map')
    return this.#next('KSTREAM-MAP-', () => kstreamMap(mapper), options, {
      key: options?.key,
      value: options?.value,
      repartitionRequired: true,
    })
  }

  mapValues<V2>(
    mapper: (value: V, key: K) => V2,
    options?: Named & { value?: SerdeOf<V2> },
  ): KStream<K, V2> {
    assertFunction(mapper, 'the mapper of mapValues')
    return this.#next('KSTREAM-MAPVALUES-', () => kstreamMapValues(mapper), options, {
      value: options?.value,
    })
  }

  flatMap<K2, V2>(
    mapper: (value: V, key: K) => Iterable<readonly [key: K2, value: V2]>,
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V2> },
  ): KStream<K2, V2> {
    assertFunction(mapper, 'the mapper of flatMap')
    return this.#next('KSTREAM-FLATMAP-', () => kstreamFlatMap(mapper), options, {
      key: options?.key,
      value: options?.value,
      repartitionRequired: true,
    })
  }

  flatMapValues<V2>(
    mapper: (value: V, key: K) => Iterable<V2> & object,
    options?: Named & { value?: SerdeOf<V2> },
  ): KStream<K, V2> {
    assertFunction(mapper, 'the mapper of flatMapValues')
    return this.#next('KSTREAM-FLATMAPVALUES-', () => kstreamFlatMapValues(mapper), options, {
      value: options?.value,
    })
  }

  selectKey<K2>(
    selector: (value: V, key: K) => K2,
    options?: Named & { key?: SerdeOf<K2> },
  ): KStream<K2, V> {
    assertFunction(selector, 'the selector of selectKey')
    return this.#selectKey(selector, options)
  }

  peek(action: (value: V, key: K) => void, options?: Named): KStream<K, V> {
    assertFunction(action, 'the action of peek')
    return this.#next('KSTREAM-PEEK-', () => kstreamPeek(action), options)
  }

  mapValuesAsync<V2>(
    mapper: (value: V, key: K, call: AsyncCall) => PromiseLike<V2>,
    options: Named & AsyncOptions & { value?: SerdeOf<V2> } = {},
  ): KStream<K, V2> {
    assertFunction(mapper, 'the mapper of mapValuesAsync')
    assertAsyncOptions(options, 'mapValuesAsync')
    const supplier = (): NodeSupplier => kstreamMapValuesAsync(mapper, options)
    return this.#next('KSTREAM-MAPVALUES-ASYNC-', supplier, options, { value: options.value })
  }

  forEachAsync(
    action: (value: V, key: K, call: AsyncCall) => PromiseLike<unknown>,
    options: Named & AsyncOptions = {},
  ): void {
    assertFunction(action, 'the action of forEachAsync')
    assertAsyncOptions(options, 'forEachAsync')
    this.#next('KSTREAM-FOREACH-ASYNC-', () => kstreamForEachAsync(action, options), options)
  }

  forEach(action: (value: V, key: K) => void, options?: Named): void {
    assertFunction(action, 'the action of forEach')
    this.#next('KSTREAM-FOREACH-', () => kstreamForEach(action), options)
  }

  print(options: PrintOptions<K, V> = {}): void {
    const { label = this.state.node.name, format = keyAndValue, to = toStandardOutput } = options
    assertFunction(format, 'the format of print')
    assertFunction(to, 'the sink of print')
    this.#next('KSTREAM-PRINTER-', () => kstreamPrint(to, { label, format }), options)
  }

  split<P extends BranchPredicates<K, V>>(
    predicates: P,
    options?: SplitOptions,
  ): Branches<K, V, P> {
    return splitStream(this.state, predicates, options) as Branches<K, V, P>
  }

  merge(other: KStream<K, V>, options?: Named): KStream<K, V> {
    const { graph, node, key, value, sources, repartitionRequired } = this.state
    if (!(other instanceof KStreamImpl) || other.state.graph !== graph) {
      const detail = 'merge needs a stream of the same StreamsBuilder'
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    const name = graph.names.step('KSTREAM-MERGE-', options?.name)
    const merged = new ProcessorGraphNode(name, passThrough)
    merged.isMerge = true
    graph.add(merged, [node, other.state.node])
    return new KStreamImpl({
      graph,
      node: merged,
      key: key === other.state.key ? key : undefined,
      value: value === other.state.value ? value : undefined,
      sources: new Set([...sources, ...other.state.sources]),
      repartitionRequired: repartitionRequired || other.state.repartitionRequired,
    })
  }

  join<K2 extends K, R>(other: unknown, joiner: JoinFunction, options?: object): KStream<K2, R> {
    return joinWith(this, other, { kind: 'inner', joiner, options })
  }

  leftJoin<R>(other: unknown, joiner: JoinFunction, options?: object): KStream<K, R> {
    return joinWith(this, other, { kind: 'left', joiner, options })
  }

  outerJoin<R>(other: unknown, joiner: JoinFunction, options: object): KStream<K, R> {
    return joinWith(this, other, { kind: 'outer', joiner, options })
  }

  groupByKey(
    options?: Named & { key?: SerdeOf<K>; value?: SerdeOf<V> },
  ): KGroupedStream<NonNullable<K>, V> {
    const key = options?.key ?? this.state.key
    const value = options?.value ?? this.state.value
    const step = `groupByKey below ${this.state.node.name}`
    return new KGroupedStreamImpl({ ...this.state, key, value }, step, options?.name)
  }

  groupBy<K2>(
    selector: (value: V, key: K) => K2,
    options?: Named & { key?: SerdeOf<K2>; value?: SerdeOf<V> },
  ): KGroupedStream<NonNullable<K2>, V> {
    assertFunction(selector, 'the selector of groupBy')
    const { state } = this.#selectKey(selector, options)
    const value = options?.value ?? this.state.value
    return new KGroupedStreamImpl({ ...state, value }, `groupBy ${state.node.name}`, options?.name)
  }

  toTable(
    options?: Named & { store?: TableStoreRef<NonNullable<K>, NonNullable<V>> },
  ): KTable<NonNullable<K>, NonNullable<V>, V> {
    const { graph, node: parent, key, value, sources, repartitionRequired } = this.state
    const name = graph.names.step('KSTREAM-TOTABLE-', options?.name)
    const step = `toTable ${name}`
    const store = Materialized.of(options?.store, {
      names: graph.names,
      prefix: 'KSTREAM-TOTABLE-',
      step,
      inherited: { key, value },
    })
    // A table that nobody can query is not kept, as long as no step below needs it.
    const kept = store.queryableName === undefined ? 'on-demand' : 'always'
    const table = new TableState({ store: store.storeName, kept, versioned: store.isVersioned })
    const node = new ProcessorGraphNode(
      name,
      () => ktableSource(table),
      () => (table.storeName === undefined ? undefined : store),
    )
    const state = {
      graph,
      node,
      key: store.key,
      value: store.value,
      table,
      queryableStoreName: store.queryableName,
    }
    if (!repartitionRequired) {
      graph.add(node, [parent])
      return new KTableImpl({ ...state, sources })
    }
    const repartition = new RepartitionNode(graph.names.repartition(name), {
      key: store.key,
      value: store.value,
      step,
    })
    graph.add(repartition, [parent])
    graph.add(node, [repartition])
    return new KTableImpl({ ...state, sources: new Set([repartition.name]) })
  }

  repartition(options?: RepartitionOptions<K, V>): KStream<K, V> {
    return repartitionStream(this.state, options)
  }

  process<K2, V2, S extends Stores>(
    supplier: ProcessorSupplier<K, V, K2, V2, S>,
    options?: ProcessOptions<K2, V2, S>,
  ): KStream<K2, V2> {
    return new KStreamImpl(processStream(this.state, supplier, options))
  }

  processValues<V2, S extends Stores>(
    supplier: FixedKeyProcessorSupplier<K, V, V2, S>,
    options?: ProcessValuesOptions<V2, S>,
  ): KStream<K, V2> {
    return new KStreamImpl(processValuesOfStream(this.state, supplier, options))
  }

  to(topic: SinkTopic<K, V> | TopicNameExtractor<K, V>, options?: ToNamedTopicOptions<K, V>): void {
    writeStream(this.state, topic, options)
  }

  #selectKey<K2>(
    selector: (value: V, key: K) => K2,
    options: (Named & { key?: SerdeOf<K2> }) | undefined,
  ): KStreamImpl<K2, V> {
    return this.#next('KSTREAM-KEY-SELECT-', () => kstreamSelectKey(selector), options, {
      key: options?.key,
      repartitionRequired: true,
    })
  }

  /** Adds a step below this one; what does not change is inherited. */
  #next<K2, V2>(
    prefix: string,
    supplier: () => NodeSupplier,
    options: Named | undefined,
    changes: Partial<StreamState> = {},
  ): KStreamImpl<K2, V2> {
    const { graph, node: parent } = this.state
    const node = new ProcessorGraphNode(graph.names.step(prefix, options?.name), supplier)
    if (changes.repartitionRequired === true) node.changes = 'key'
    else if ('value' in changes) node.changes = 'value'
    graph.add(node, [parent])
    return new KStreamImpl({ ...this.state, ...changes, node })
  }
}
