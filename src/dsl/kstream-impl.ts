import { StreamsError } from '../errors.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import type { StreamPartitioner } from '../topology/node.ts'
import type { GlobalKTable } from './global-ktable.ts'
import type { GraphNode } from './graph/graph-node.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import { RepartitionNode } from './graph/repartition-node.ts'
import { StreamSinkNode } from './graph/stream-sink-node.ts'
import type { KGroupedStream } from './kgrouped-stream.ts'
import { KGroupedStreamImpl } from './kgrouped-stream-impl.ts'
import type { KStream } from './kstream.ts'
import { joinGlobalTable, type GlobalJoinOptions } from './kstream-global-ktable-join.ts'
import type { KTable } from './ktable.ts'
import { KTableImpl } from './ktable-impl.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { kstreamFilter } from './operators/kstream-filter.ts'
import { kstreamFlatMap } from './operators/kstream-flat-map.ts'
import { kstreamFlatMapValues } from './operators/kstream-flat-map-values.ts'
import { kstreamMap } from './operators/kstream-map.ts'
import { kstreamMapValues } from './operators/kstream-map-values.ts'
import { kstreamForEach, kstreamPeek } from './operators/kstream-peek.ts'
import { kstreamSelectKey } from './operators/kstream-select-key.ts'
import { ktableSource } from './operators/ktable-source.ts'
import { passThrough } from './operators/pass-through.ts'
import { TableState } from './operators/table-state.ts'
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
    mapper: (value: V, key: K) => Iterable<V2>,
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

  forEach(action: (value: V, key: K) => void, options?: Named): void {
    assertFunction(action, 'the action of forEach')
    this.#next('KSTREAM-FOREACH-', () => kstreamForEach(action), options)
  }

  merge(other: KStream<K, V>, options?: Named): KStream<K, V> {
    const { graph, node, key, value, sources, repartitionRequired } = this.state
    if (!(other instanceof KStreamImpl) || other.state.graph !== graph) {
      const detail = 'merge needs a stream of the same StreamsBuilder'
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
    const name = graph.names.step('KSTREAM-MERGE-', options?.name)
    const merged = new ProcessorGraphNode(name, passThrough)
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

  join<GK, GV, R>(
    table: GlobalKTable<GK, GV>,
    joiner: (value: NonNullable<V>, row: GV, key: K, lookupKey: GK) => R,
    options: GlobalJoinOptions<V, K, NoInfer<GK>>,
  ): KStream<K, R> {
    return new KStreamImpl(
      joinGlobalTable(this.state, table, joiner, { ...options, kind: 'inner' }),
    )
  }

  leftJoin<GK, GV, R>(
    table: GlobalKTable<GK, GV>,
    joiner: (
      value: NonNullable<V>,
      row: GV | undefined,
      key: K,
      lookupKey: GK | null | undefined,
    ) => R,
    options: GlobalJoinOptions<V, K, NoInfer<GK>>,
  ): KStream<K, R> {
    return new KStreamImpl(joinGlobalTable(this.state, table, joiner, { ...options, kind: 'left' }))
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

  to(
    topic: SinkTopic<K, V>,
    options?: Named & {
      partitioner?: (topic: string, key: K, value: V, partitionCount: number) => number
    },
  ): void {
    const { graph, node } = this.state
    const name = graph.names.step('KSTREAM-SINK-', options?.name)
    const partitioner = options?.partitioner as StreamPartitioner | undefined
    if (partitioner !== undefined) assertFunction(partitioner, 'the partitioner of to')
    const sink = {
      topic: topic.name,
      key: topic.key as AnySerde,
      value: topic.value as AnySerde,
      partitioner,
    }
    graph.add(new StreamSinkNode(name, sink), [node])
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
    graph.add(node, [parent])
    return new KStreamImpl({ ...this.state, ...changes, node })
  }
}
