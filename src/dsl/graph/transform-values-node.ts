import type { Stores } from '../../processor/local-store.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import { addStores } from '../../topology/given-stores.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { ProcessorGraphNode, type StoreOfStep } from './processor-graph-node.ts'

/** Transforms the rows of a table by code of the user, with its stores. */
export class TransformValuesNode extends ProcessorGraphNode {
  readonly #stores: Stores

  constructor(
    name: string,
    supplier: () => NodeSupplier,
    options: { store: () => StoreOfStep | undefined; stores: Stores },
  ) {
    super(name, supplier, options.store)
    this.#stores = options.stores
  }

  override write(topology: InternalTopologyBuilder, parents: readonly string[]): void {
    super.write(topology, parents)
    addStores(topology, this.#stores, [this.name])
  }
}
