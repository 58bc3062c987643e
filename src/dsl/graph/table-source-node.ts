import type { NodeSupplier } from '../../processor/processor.ts'
import type { TopologyBuilder } from '../../topology/topology-builder.ts'
import type { Materialized } from '../materialized.ts'
import type { Topic } from '../topic.ts'
import { GraphNode } from './graph-node.ts'

/** Reads a topic as a table. Java's TableSourceNode. */
export class TableSourceNode extends GraphNode {
  readonly #source: string
  readonly #topic: Topic<unknown, unknown>
  readonly #supplier: () => NodeSupplier
  readonly #store: Materialized | undefined

  constructor(
    name: string,
    options: {
      source: string
      topic: Topic<unknown, unknown>
      supplier: () => NodeSupplier
      store: Materialized | undefined
    },
  ) {
    super(name)
    this.#source = options.source
    this.#topic = options.topic
    this.#supplier = options.supplier
    this.#store = options.store
  }

  override write(topology: TopologyBuilder): void {
    const { name, key, value, timestamp, offsetReset } = this.#topic
    topology.addSource(this.#source, { topics: [name], key, value, timestamp, offsetReset })
    topology.addProcessor(this.name, this.#supplier(), [this.#source])
    if (this.#store !== undefined) topology.addStore(this.#store.storeNode(), [this.name])
  }
}
