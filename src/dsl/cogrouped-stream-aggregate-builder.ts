import type { NodeSupplier } from '../processor/processor.ts'
import type { StoreNode } from '../topology/node.ts'
import { GracePeriodGraphNode } from './graph/grace-period-graph-node.ts'
import type { GraphNode } from './graph/graph-node.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import type {
  AggregationStore,
  GroupedStreamAggregateBuilder,
} from './grouped-stream-aggregate-builder.ts'
import { KTableImpl } from './ktable-impl.ts'
import { passThrough } from './operators/pass-through.ts'
import { TableState, type TableStateOptions } from './operators/table-state.ts'
import type { AggregateFunction } from './operators/user-function.ts'
import type { AnySerde } from './topic.ts'

export const cogroupAggregatePrefix = 'COGROUPKSTREAM-AGGREGATE-'
const mergePrefix = 'COGROUPKSTREAM-MERGE-'

/** The streams of a cogroup with their aggregators, in the order in which they were added. */
export type CogroupPatterns = Map<GroupedStreamAggregateBuilder, AggregateFunction>

/** One call of `aggregate` on cogrouped streams. */
export interface CogroupAggregateCall {
  readonly name: string | undefined
  readonly store: AggregationStore & {
    readonly value: AnySerde | undefined
    readonly queryableName: string | undefined
    storeNode(): StoreNode
  }
  /** The serde of the table's keys. */
  readonly key: AnySerde | undefined
  readonly table: Omit<TableStateOptions, 'store'>
  readonly supplier: (aggregator: AggregateFunction, sendOldValues: boolean) => NodeSupplier
  /** Of a windowed aggregation: when windows close. */
  readonly gracePeriod?: number
}

/**
 * Adds a step for each stream of a cogroup, all with one store, and a step below in which they meet.
 * Java's CogroupedStreamAggregateBuilder.
 */
export class CogroupedStreamAggregateBuilder {
  readonly #patterns: CogroupPatterns
  /** Where the aggregation of a stream comes: behind its repartition topic, which all calls share. */
  readonly #parents = new Map<GroupedStreamAggregateBuilder, GraphNode>()

  constructor(patterns: CogroupPatterns) {
    this.#patterns = patterns
  }

  /** The store has its name already; the names of the steps take their numbers here. */
  build<K, A, E>(call: CogroupAggregateCall): KTableImpl<K, A, E> {
    const { name, store, supplier, gracePeriod } = call
    const [first] = this.#patterns.keys()
    if (first === undefined) throw new TypeError('a cogroup has a stream')
    const { graph } = first.state
    this.#placeRepartitions(store)
    const table = new TableState({ ...call.table, store: store.storeName })
    const steps = [...this.#patterns].map(([grouped, aggregator], index) => {
      const suffix = `-cogroup-agg-${index}`
      const stepName = graph.names.suffixedStep(cogroupAggregatePrefix, suffix, name)
      const operator = (): NodeSupplier => supplier(aggregator, table.sendOldValues)
      const step =
        gracePeriod === undefined
          ? new ProcessorGraphNode(stepName, operator, () => store)
          : new GracePeriodGraphNode(stepName, { supplier: operator, store, gracePeriod })
      graph.add(step, [this.#parents.get(grouped) ?? grouped.state.node])
      return step
    })
    const mergeName = graph.names.suffixedStep(mergePrefix, '-cogroup-merge', name)
    const merge = new ProcessorGraphNode(mergeName, passThrough)
    graph.add(merge, steps)
    return new KTableImpl({
      graph,
      node: merge,
      key: call.key,
      value: store.value,
      sources: new Set([mergeName]),
      table,
      queryableStoreName: store.queryableName,
    })
  }

  #placeRepartitions(store: AggregationStore): void {
    const sources = new Set<string>()
    for (const grouped of this.#patterns.keys()) {
      const { state } = grouped
      // As in Java, the topics that the program reads are compared, not those in between.
      for (const source of state.sources) sources.add(source)
      if (!state.repartitionRequired) {
        this.#parents.set(grouped, state.node)
        continue
      }
      const repartition = grouped.newRepartition(store)
      if (this.#parents.has(grouped)) continue
      state.graph.add(repartition, [state.node])
      this.#parents.set(grouped, repartition)
    }
    const [first] = this.#patterns.keys()
    first?.state.graph.copartition(sources)
  }
}
