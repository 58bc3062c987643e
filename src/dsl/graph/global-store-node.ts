import type { NodeSupplier } from '../../processor/processor.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { StoreNode } from '../../topology/node.ts'
import type { Topic } from '../topic.ts'
import { GraphNode } from './graph-node.ts'

export interface GlobalStoreNodeOptions {
  /** Name of the node that reads the topic. */
  readonly source: string
  readonly topic: Topic<unknown, unknown>
  readonly store: StoreNode
  readonly supplier: NodeSupplier
  readonly reprocessOnRestore: boolean
}

/** Reads a topic into a store that every instance holds whole. Java's GlobalStoreNode. */
export class GlobalStoreNode extends GraphNode {
  readonly #options: GlobalStoreNodeOptions

  constructor(name: string, options: GlobalStoreNodeOptions) {
    super(name)
    this.#options = options
  }

  override write(topology: InternalTopologyBuilder): void {
    const { topic, store, ...nodes } = this.#options
    const { name, key, value } = topic
    topology.addGlobalStore(store, { ...nodes, topic: name, key, value, processor: this.name })
  }
}
