import { assertOptions } from '../base/assert-options.ts'
import type { NodeSupplier } from '../processor/processor.ts'
import { serdes } from '../serde/serdes.ts'
import type { GraphNode } from './graph/graph-node.ts'
import { GroupedTableRepartitionNode } from './graph/grouped-table-repartition-node.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import type { Emitted } from './kgrouped-stream.ts'
import type { KGroupedTable } from './kgrouped-table.ts'
import type { KTable } from './ktable.ts'
import { KTableImpl, type KTableState } from './ktable-impl.ts'
import { Materialized, requiredSerde, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { ktableAggregate, ktableReduce } from './operators/ktable-aggregate.ts'
import type { Pair } from './operators/kstream-map.ts'
import { ktableRepartitionMap } from './operators/ktable-repartition-map.ts'
import type { StoredTable } from './operators/table-forwarder.ts'
import { TableState } from './operators/table-state.ts'
import type { UserFunction } from './operators/user-function.ts'
import type { StreamGraph } from './stream-graph.ts'
import type { AnySerde, SerdeOf } from './topic.ts'

/** What a grouped table is while the program is written. */
export interface KGroupedTableState {
  readonly graph: StreamGraph
  /** The step that selects the new keys and values. */
  readonly node: GraphNode
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
  /** Named by the user: all aggregations then share one repartition topic. */
  readonly repartitionName: string | undefined
}

const zero = (): number => 0
const increment = (count: number): number => count + 1
const decrement = (count: number): number => count - 1

/** Of all aggregations, those that reduce too: as in Java. */
const storePrefix = 'KTABLE-AGGREGATE-'

/** Java's KTableImpl#groupBy. */
export function groupTable<K, V>(
  { graph, node: parent, table }: KTableState,
  selector: UserFunction<Pair | null | undefined>,
  options: (Named & { key?: AnySerde; value?: AnySerde }) | undefined,
): KGroupedTable<K, V> {
  assertFunction(selector, 'the selector of groupBy')
  assertOptions(options, 'groupBy')
  const name = graph.names.step('KTABLE-SELECT-', options?.name)
  const node = new ProcessorGraphNode(name, () => {
    const key = requiredSerde(options?.key, 'key', `groupBy ${name}`)
    return ktableRepartitionMap({ selector, key, isVersioned: table.isVersioned })
  })
  graph.add(node, [parent])
  table.enableSendingOldValues({ force: true })
  return new KGroupedTableImpl<K, V>({
    graph,
    node,
    key: options?.key,
    value: options?.value,
    repartitionName: options?.name,
  })
}

/** Java's KGroupedTableImpl. */
export class KGroupedTableImpl<K, V> implements KGroupedTable<K, V> {
  readonly #state: KGroupedTableState
  #namedRepartition: GroupedTableRepartitionNode | undefined

  constructor(state: KGroupedTableState) {
    this.#state = state
  }

  count(options?: Named & { store?: TableStoreRef<K, number> }): KTable<K, number, number> {
    const functions = { initializer: zero, adder: increment, subtractor: decrement }
    return this.#aggregate('KTABLE-AGGREGATE-', options, serdes.long, (table) =>
      ktableAggregate(table, functions),
    )
  }

  reduce<R extends V | null | undefined>(
    adder: (aggregate: V, value: V) => R,
    subtractor: (aggregate: V, value: V) => R,
    options?: Named & { store?: TableStoreRef<K, V> },
  ): KTable<K, V, Emitted<V, R>> {
    assertFunction(adder, 'the adder of reduce')
    assertFunction(subtractor, 'the subtractor of reduce')
    return this.#aggregate('KTABLE-REDUCE-', options, this.#state.value, (table) =>
      ktableReduce(table, { adder, subtractor }),
    )
  }

  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, no literals
  aggregate<A extends NonNullable<unknown>, R extends A | null | undefined = A>(
    initializer: () => A,
    adder: (aggregate: A, value: V, key: K) => R,
    subtractor: (aggregate: A, value: V, key: K) => R,
    options?: Named & { store?: TableStoreRef<K, A>; value?: SerdeOf<A> },
  ): KTable<K, A, Emitted<A, R>> {
    assertFunction(initializer, 'the initializer of aggregate')
    assertFunction(adder, 'the adder of aggregate')
    assertFunction(subtractor, 'the subtractor of aggregate')
    return this.#aggregate('KTABLE-AGGREGATE-', options, options?.value, (table) =>
      ktableAggregate(table, { initializer, adder, subtractor }),
    )
  }

  #aggregate<A, E>(
    prefix: string,
    options: (Named & { store?: TableStoreRef<K, A> }) | undefined,
    value: AnySerde | undefined,
    supplier: (table: StoredTable) => NodeSupplier,
  ): KTable<K, A, E> {
    const { graph, node: parent, key } = this.#state
    const { names } = graph
    assertOptions(options, `the aggregation below ${parent.name}`)
    // The store takes its number before the topic's nodes, and these before the step.
    const store = Materialized.of(options?.store, {
      names,
      prefix: storePrefix,
      step: `groupBy ${parent.name}`,
      inherited: { key, value },
    })
    const sink = names.suffixedStep('KSTREAM-SINK-', '-sink', options?.name)
    const source = names.suffixedStep('KSTREAM-SOURCE-', '-source', options?.name)
    const name = names.step(prefix, options?.name)
    const { storeName } = store
    const table = new TableState({ store: storeName, versioned: store.isVersioned })
    const node = new ProcessorGraphNode(
      name,
      () => supplier({ storeName, sendOldValues: table.sendOldValues }),
      () => store,
    )
    const repartition = this.#repartition(store, { sink, source })
    graph.add(repartition, [parent])
    graph.add(node, [repartition])
    return new KTableImpl({
      graph,
      node,
      key: store.key,
      value: store.value,
      sources: new Set([repartition.name]),
      table,
      queryableStoreName: store.queryableName,
    })
  }

  #repartition(
    store: Materialized,
    { sink, source }: { sink: string; source: string },
  ): GroupedTableRepartitionNode {
    if (this.#namedRepartition !== undefined) return this.#namedRepartition
    const { node, key, value, repartitionName } = this.#state
    const repartition = new GroupedTableRepartitionNode(source, {
      topic: `${repartitionName ?? store.storeName}-repartition`,
      sink,
      key,
      value,
      step: `groupBy ${node.name}`,
    })
    if (repartitionName !== undefined) this.#namedRepartition = repartition
    return repartition
  }
}
