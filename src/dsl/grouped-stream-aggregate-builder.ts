import { assertName } from '../base/legal-name.ts'
import type { GraphNode } from './graph/graph-node.ts'
import { RepartitionNode } from './graph/repartition-node.ts'
import type { StreamState } from './kstream-impl.ts'
import type { AnySerde } from './topic.ts'

/** The store of an aggregation, as far as its repartition topic needs to know it. */
export interface AggregationStore {
  readonly storeName: string
  /** Of the records, not of their windows. */
  readonly key: AnySerde | undefined
}

/** A grouped stream, and how aggregations come below it. Java's GroupedStreamAggregateBuilder. */
export class GroupedStreamAggregateBuilder {
  readonly state: StreamState
  /** The grouping, for messages. */
  readonly step: string
  readonly #repartitionName: string | undefined
  /** Made once when the user named it: all aggregations of this group then share the topic. */
  #namedRepartition: RepartitionNode | undefined

  constructor(state: StreamState, step: string, repartitionName: string | undefined) {
    this.state = state
    this.step = step
    this.#repartitionName = repartitionName
  }

  /**
   * Puts the step of an aggregation below the stream, behind a repartition topic if the key may have
   * changed. Call it when the step has its name: the topic's names take numbers. Returns the source
   * nodes of the sub-topology that the step is in.
   */
  place(step: GraphNode, store: AggregationStore): ReadonlySet<string> {
    const { graph, node: parent, sources, repartitionRequired } = this.state
    if (!repartitionRequired) {
      graph.add(step, [parent])
      return sources
    }
    const repartition = this.#repartition(store)
    graph.add(repartition, [parent])
    graph.add(step, [repartition])
    return new Set([repartition.name])
  }

  #repartition(store: AggregationStore): RepartitionNode {
    const repartition = this.newRepartition(store)
    if (this.#namedRepartition !== undefined) return this.#namedRepartition
    if (this.#repartitionName !== undefined) this.#namedRepartition = repartition
    return repartition
  }

  /** A repartition step that is not placed yet. Its names take their numbers also when it is not used. */
  newRepartition({ storeName, key: storeKey }: AggregationStore): RepartitionNode {
    const { graph, key, value } = this.state
    // As in Java, the name counts only when a topic has it.
    if (this.#repartitionName !== undefined) assertName(this.#repartitionName, 'a grouping')
    return new RepartitionNode(graph.names.repartition(this.#repartitionName ?? storeName), {
      // A key serde in the store's descriptor is for the same keys.
      key: key ?? storeKey,
      value,
      step: this.step,
    })
  }
}
