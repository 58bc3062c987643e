import type { StoreAccess } from '../../processor/local-store.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { addStores } from '../../topology/given-stores.ts'
import { GraphNode } from './graph-node.ts'

/** A store that the program adds for processors to be connected to. Java's StateStoreNode. */
export class StateStoreNode extends GraphNode {
  readonly #store: StoreAccess

  constructor(name: string, store: StoreAccess) {
    super(name)
    this.#store = store
  }

  override write(topology: InternalTopologyBuilder): void {
    addStores(topology, { store: this.#store }, [])
  }
}
