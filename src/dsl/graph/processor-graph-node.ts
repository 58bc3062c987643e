import type { NodeSupplier } from '../../processor/processor.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { Materialized } from '../materialized.ts'
import { GraphNode } from './graph-node.ts'

/** Runs an operator, with a store or without. Java's ProcessorGraphNode. */
export class ProcessorGraphNode extends GraphNode {
  readonly #supplier: () => NodeSupplier
  readonly #store: () => Materialized | undefined

  /** Both are asked when the topology is built: then it is known what steps below need. */
  constructor(
    name: string,
    supplier: () => NodeSupplier,
    store: () => Materialized | undefined = () => undefined,
  ) {
    super(name)
    this.#supplier = supplier
    this.#store = store
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    topology.addProcessor(this.name, this.#supplier(), parents)
    const store = this.#store()
    if (store !== undefined) topology.addStore(store.storeNode(), [this.name])
  }
}
