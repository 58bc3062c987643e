import type { NodeSupplier } from '../../processor/processor.ts'
import type { JoinSide } from '../../store/outer-join-store.ts'
import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import { passThrough } from '../operators/pass-through.ts'
import type { StreamJoinStores } from '../stream-join-stores.ts'
import type { BuildPlan } from './build-plan.ts'
import { GraphNode } from './graph-node.ts'

export interface StreamStreamJoinOptions {
  readonly stores: StreamJoinStores
  /** The steps that keep the records of each side. */
  readonly windowed: Readonly<Record<JoinSide, string>>
  readonly names: Readonly<Record<JoinSide, string>>
  readonly suppliers: Readonly<Record<JoinSide, NodeSupplier>>
  /** Stands in the place of both sides when the stream is joined with itself. */
  readonly selfJoin: NodeSupplier
}

/** Joins two streams: both sides, and where their results meet. Java's StreamStreamJoinNode. */
export class StreamStreamJoinNode extends GraphNode {
  readonly windowed: Readonly<Record<JoinSide, string>>
  readonly #options: StreamStreamJoinOptions

  constructor(name: string, options: StreamStreamJoinOptions) {
    super(name)
    this.windowed = options.windowed
    this.#options = options
  }

  override write(
    topology: InternalTopologyBuilder,
    _parents: readonly string[],
    plan: BuildPlan,
  ): void {
    const { stores, names, suppliers, selfJoin } = this.#options
    const { left, right } = this.windowed
    if (plan.selfJoins.has(this)) {
      topology.addProcessor(this.name, selfJoin, [left])
      topology.addStore(stores.left.storeNode(), [this.name])
      return
    }
    this.#addSide(topology, names.left, {
      supplier: suppliers.left,
      parent: left,
      reads: stores.right,
    })
    this.#addSide(topology, names.right, {
      supplier: suppliers.right,
      parent: right,
      reads: stores.left,
    })
    topology.addProcessor(this.name, passThrough(), [names.left, names.right])
  }

  #addSide(
    topology: InternalTopologyBuilder,
    name: string,
    side: { supplier: NodeSupplier; parent: string; reads: StreamJoinStores['left'] },
  ): void {
    topology.addProcessor(name, side.supplier, [side.parent])
    topology.addStore(side.reads.storeNode(), [name])
    const { outer } = this.#options.stores
    if (outer !== undefined) topology.addStore(outer.storeNode(), [name])
  }
}
