import type { NodeSupplier } from '../../processor/processor.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { Materialized } from '../materialized.ts'
import { GraphNode } from './graph-node.ts'

/** A step that takes the changes of one of the tables that are joined. */
interface JoinSide {
  readonly name: string
  /** The step that makes the table. */
  readonly parent: string
  readonly supplier: () => NodeSupplier
  /** Stores of the other table. */
  readonly storeNames: readonly string[]
}

/** Joins two tables of the same keys. Java's KTableKTableJoinNode. */
export class TableJoinNode extends GraphNode {
  readonly #left: JoinSide
  readonly #right: JoinSide
  readonly #merge: () => NodeSupplier
  readonly #store: Materialized | undefined

  /** The node has the name of the step where both sides meet. */
  constructor(
    name: string,
    options: {
      left: JoinSide
      right: JoinSide
      merge: () => NodeSupplier
      store: Materialized | undefined
    },
  ) {
    super(name)
    this.#left = options.left
    this.#right = options.right
    this.#merge = options.merge
    this.#store = options.store
  }

  override write(topology: InternalTopologyBuilder): void {
    const sides = [this.#left, this.#right]
    for (const { name, parent, supplier } of sides) {
      topology.addProcessor(name, supplier(), [parent])
    }
    topology.addProcessor(
      this.name,
      this.#merge(),
      sides.map(({ name }) => name),
    )
    if (this.#store !== undefined) topology.addStore(this.#store.storeNode(), [this.name])
    for (const { name, storeNames } of sides) topology.connectProcessorAndStores(name, storeNames)
  }
}
