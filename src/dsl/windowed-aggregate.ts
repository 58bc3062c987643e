import type { NodeSupplier } from '../processor/processor.ts'
import type { EmitStrategy } from './emit-strategy.ts'
import { GracePeriodGraphNode } from './graph/grace-period-graph-node.ts'
import type { GroupedStreamAggregateBuilder } from './grouped-stream-aggregate-builder.ts'
import { KTableImpl } from './ktable-impl.ts'
import type { Named } from './naming.ts'
import { TableState } from './operators/table-state.ts'
import type { WindowedTable } from './operators/windowed-table.ts'
import { windowedView } from './operators/windowed-views.ts'
import type { AnySerde } from './topic.ts'
import { WindowedMaterialized, type WindowedStoreOptions } from './windowed-materialized.ts'
import { closingTimeOf, type Windows } from './windows.ts'

/** One call of `count`, `reduce` or `aggregate` on windows. */
export interface WindowedAggregateCall {
  /** Of generated names. */
  readonly prefix: string
  readonly options: (Named & WindowedStoreOptions) | undefined
  /** The serde of the aggregate, for a store without a descriptor. */
  readonly value: AnySerde | undefined
  readonly supplier: (table: WindowedTable) => NodeSupplier
}

/** Adds a windowed aggregation below a grouped stream. Java's GroupedStreamAggregateBuilder#buildWindowed. */
export function windowedAggregate<K, A, E>(
  grouped: GroupedStreamAggregateBuilder,
  { windows, emit }: { windows: Windows; emit: EmitStrategy },
  { prefix, options, value, supplier }: WindowedAggregateCall,
): KTableImpl<K, A, E> {
  const { graph, key } = grouped.state
  // The store takes its number before the step, and both before the repartition step.
  const store = new WindowedMaterialized(options, {
    names: graph.names,
    prefix,
    step: grouped.step,
    inherited: { key, value },
    windows,
    emit,
  })
  const name = graph.names.step(prefix, options?.name)
  const { storeName } = store
  const table = new TableState({ store: storeName, view: windowedView(windows, storeName) })
  const node = new GracePeriodGraphNode(name, {
    supplier: () => supplier({ storeName, sendOldValues: table.sendOldValues, emit }),
    store,
    gracePeriod: closingTimeOf(windows),
  })
  return new KTableImpl({
    graph,
    node,
    key: store.windowedKey,
    value: store.value,
    sources: grouped.place(node, store),
    table,
    queryableStoreName: store.queryableName,
  })
}

/** A number that Java takes for a count whose store has options and no name. */
export function burnStoreName(
  grouped: GroupedStreamAggregateBuilder,
  prefix: string,
  options: WindowedStoreOptions | undefined,
): void {
  const isUnnamed = options?.store === undefined && options?.retention !== undefined
  if (isUnnamed) grouped.state.graph.names.store(prefix)
}
