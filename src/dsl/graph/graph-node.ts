import type { InternalTopologyBuilder } from '../../topology/internal-topology-builder.ts'

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

  constructor(name: string) {
    this.name = name
  }

  /** Adds what the step stands for. `parents` are nodes of the topology. */
  abstract write(topology: InternalTopologyBuilder, parents: readonly string[]): void
}
