import type { NodeSupplier } from '../../processor/processor.ts'
import type { TopologyBuilder } from '../../topology/topology-builder.ts'
import type { Materialized } from '../materialized.ts'
import { GraphNode } from './graph-node.ts'

/** Runs an operator, with a store or without. Java's ProcessorGraphNode. */
export class ProcessorGraphNode extends GraphNode {
  readonly #supplier: () => NodeSupplier
  readonly #store: Materialized | undefined

  /** `supplier` is asked when the topology is built: then it is known what steps below need. */
  constructor(name: string, supplier: () => NodeSupplier, store?: Materialized) {
    super(name)
    this.#supplier = supplier
    this.#store = store
  }

  override write(topology: TopologyBuilder, parents: readonly string[]): void {
    topology.addProcessor(this.name, this.#supplier(), parents)
    if (this.#store !== undefined) topology.addStore(this.#store.storeNode(), [this.name])
  }
}
