import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'
import type { BuildPlan } from './build-plan.ts'

/**
 * A step of the program as the user wrote it, before it becomes one or more nodes of the topology.
 * The steps are kept as a graph first, so that it can be rewritten as a whole. Java's GraphNode.
 */
export abstract class GraphNode {
  /** The node of the topology that forwards to the children. */
  readonly name: string
  readonly parents = new Set<GraphNode>()
  readonly children = new Set<GraphNode>()
  /** When the step was added; steps are written in this order, parents first. */
  priority = 0
  /** What may be another one behind this step: decides which repartition topics can be merged. */
  changes: 'key' | 'value' | 'nothing' = 'nothing'
  /** Streams meet here. */
  isMerge = false
  /** Records without a key are of use here: repartition topics above pass them on (KIP-962). */
  takesNullKeys = false

  constructor(name: string) {
    this.name = name
  }

  /** Adds what the step stands for. `parents` are nodes of the topology. */
  abstract write(
    topology: InternalTopologyBuilder,
    parents: readonly string[],
    plan: BuildPlan,
  ): void
}
