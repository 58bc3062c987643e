import type { Stores } from '../../processor/local-store.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { addStores } from '../../topology/given-stores.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { GraphNode } from './graph-node.ts'

/** Runs a processor of the user, with its stores. Java's ProcessorToStateConnectorNode. */
export class UserProcessorNode extends GraphNode {
  /**
   * Repartition topics below it stay there: what it forwards may have other keys and values. (Kafka
   * Streams pulls them over it, and groups by wrong keys then, unless an internal config forbids it.)
   */
  override changes: GraphNode['changes'] = 'value'
  readonly #supplier: NodeSupplier
  readonly #stores: Stores

  constructor(name: string, supplier: NodeSupplier, stores: Stores) {
    super(name)
    this.#supplier = supplier
    this.#stores = stores
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    topology.addProcessor(this.name, this.#supplier, parents)
    addStores(topology, this.#stores, [this.name])
  }
}
