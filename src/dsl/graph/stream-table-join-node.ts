import type { NodeSupplier } from '../../processor/processor.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { GraphNode } from './graph-node.ts'

/** Joins a stream with a table, whose stores it reads. Java's StreamTableJoinNode. */
export class StreamTableJoinNode extends GraphNode {
  readonly #supplier: NodeSupplier
  readonly #storeNames: readonly string[]

  constructor(name: string, options: { supplier: NodeSupplier; storeNames: readonly string[] }) {
    super(name)
    this.#supplier = options.supplier
    this.#storeNames = options.storeNames
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    topology.addProcessor(this.name, this.#supplier, parents)
    topology.connectProcessorAndStores(this.name, this.#storeNames)
  }
}
