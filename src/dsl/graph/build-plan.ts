import type { GraphNode } from './graph-node.ts'

interface Edges {
  readonly parents: Set<GraphNode>
  readonly children: Set<GraphNode>
}

/**
 * The graph of steps as it is about to be written: a copy of its edges, which may be rewritten, and
 * what the rewriting has decided. The graph itself stays as the user wrote it, and may grow.
 */
export class BuildPlan {
  readonly root: GraphNode
  /** Steps in the order in which they were first added. */
  readonly nodes: readonly GraphNode[]
  /** Tables use the topic that they read as their changelog. */
  reusesSourceTopics = false
  /** Repartition steps that pass on records without a key. */
  readonly keepingNullKeys = new Set<GraphNode>()
  /** Joins of a stream with itself that need only one store. */
  readonly selfJoins = new Set<GraphNode>()
  readonly #edges = new Map<GraphNode, Edges>()
  readonly #priorities = new Map<GraphNode, number>()
  /** Names of sources that others have taken the place of. */
  readonly #replaced = new Map<string, string>()

  constructor(root: GraphNode, nodes: Iterable<GraphNode>) {
    this.root = root
    this.nodes = [...nodes]
    for (const node of [root, ...this.nodes]) {
      this.#edges.set(node, { parents: new Set(node.parents), children: new Set(node.children) })
    }
  }

  parentsOf(node: GraphNode): ReadonlySet<GraphNode> {
    return this.#of(node).parents
  }

  childrenOf(node: GraphNode): ReadonlySet<GraphNode> {
    return this.#of(node).children
  }

  /** When the node is written, among those whose parents are. */
  priorityOf(node: GraphNode): number {
    return this.#priorities.get(node) ?? node.priority
  }

  connect(parent: GraphNode, child: GraphNode): void {
    this.#of(parent).children.add(child)
    this.#of(child).parents.add(parent)
  }

  disconnect(parent: GraphNode, child: GraphNode): void {
    this.#of(parent).children.delete(child)
    this.#of(child).parents.delete(parent)
  }

  /** Adds a node that the program does not have, to be written as early as another one. */
  add(node: GraphNode, options: { as: GraphNode }): void {
    this.#priorities.set(node, this.priorityOf(options.as))
    this.#of(node)
  }

  /** The source node of that name is not written; what it read comes from the other one. */
  replaceSource(name: string, by: string): void {
    this.#replaced.set(name, by)
  }

  /** The name of the source node that is written in the place of the one of that name. */
  sourceInPlaceOf(name: string): string {
    return this.#replaced.get(name) ?? name
  }

  /** The node itself when the condition holds, else the nearest node above it for which it does. */
  nearestAbove(node: GraphNode, condition: (node: GraphNode) => boolean): GraphNode | undefined {
    const seen = new Set<GraphNode>()
    const open = [node]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue
      seen.add(next)
      if (condition(next)) return next
      // The first parent, and all above it, come before the second.
      open.push(...[...this.parentsOf(next)].reverse())
    }
    return undefined
  }

  #of(node: GraphNode): Edges {
    let edges = this.#edges.get(node)
    if (edges === undefined) {
      edges = { parents: new Set(), children: new Set() }
      this.#edges.set(node, edges)
    }
    return edges
  }
}
