import type { NodeSupplier } from '../../processor/processor.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { StoreNode } from '../../topology/node.ts'
import { GraphNode } from './graph-node.ts'

/** The store of a step as far as it is known while the program is written. */
export interface StoreOfStep {
  /** Asked when the topology is built; the same object each time. */
  storeNode(): StoreNode
}

/**
 * Runs an operator, with a store or without. Java's ProcessorGraphNode and
 * ProcessorToStateConnectorNode.
 */
export class ProcessorGraphNode extends GraphNode {
  readonly #supplier: () => NodeSupplier
  readonly #store: () => StoreOfStep | undefined
  readonly #storesOfOthers: readonly string[]

  /**
   * Both functions are asked when the topology is built: then it is known what steps below need.
   * `storesOfOthers` are stores of steps above that the operator reads too.
   */
  constructor(
    name: string,
    supplier: () => NodeSupplier,
    store: () => StoreOfStep | undefined = () => undefined,
    storesOfOthers: readonly string[] = [],
  ) {
    super(name)
    this.#supplier = supplier
    this.#store = store
    this.#storesOfOthers = storesOfOthers
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    topology.addProcessor(this.name, this.#supplier(), parents)
    const store = this.#store()
    if (store !== undefined) topology.addStore(store.storeNode(), [this.name])
    if (this.#storesOfOthers.length > 0) {
      topology.connectProcessorAndStores(this.name, this.#storesOfOthers)
    }
  }
}
