import { assert } from '../base/assert.ts'
import { StreamsError } from '../errors.ts'
import type { Topology } from '../topology/topology.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import { GraphNode } from './graph/graph-node.ts'
import { StreamSourceNode } from './graph/stream-source-node.ts'
import { NameProvider } from './naming.ts'

class RootNode extends GraphNode {
  override write(): void {
    // The root stands above all sources; nothing of it reaches the topology.
  }
}

/**
 * The steps of a program as a graph, and the counter that names them. Java's InternalStreamsBuilder.
 */
export class StreamGraph {
  readonly names = new NameProvider()
  readonly #root = new RootNode('root')
  #nextPriority = 0

  /** Adds a step that reads topics. */
  addSource(node: GraphNode): void {
    this.add(node, [this.#root])
  }

  /** Adds a step below others. A step that is added again keeps its parents and moves back in order. */
  add(node: GraphNode, parents: readonly GraphNode[]): void {
    for (const parent of parents) {
      parent.children.add(node)
      node.parents.add(parent)
      node.priority = this.#nextPriority
      this.#nextPriority += 1
    }
  }

  /** Writes the steps to a new topology. The graph stays as it is, and may grow afterwards. */
  build(): Topology {
    const topology = new InternalTopologyBuilder()
    const parentsOf = this.#mergeSources()
    const written = new Set<GraphNode>([this.#root])
    const open = [...parentsOf.keys()].sort((left, right) => left.priority - right.priority)
    while (open.length > 0) {
      const index = open.findIndex((node) => isSubset(parentsOf.get(node), written))
      const [node] = open.splice(index, 1)
      assert(index !== -1 && node !== undefined, 'the graph of steps has no cycle')
      const parents = [...(parentsOf.get(node) ?? [])].map((parent) => parent.name)
      node.write(topology, parents)
      written.add(node)
    }
    return topology.build()
  }

  /**
   * The parents of each step, after every source that reads the topics of an earlier one has given
   * its children to that: a topic has one source node, however often the program reads it.
   */
  #mergeSources(): Map<GraphNode, Set<GraphNode>> {
    const parentsOf = new Map<GraphNode, Set<GraphNode>>()
    const pending = [...this.#root.children]
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      if (parentsOf.has(node)) continue
      parentsOf.set(node, new Set(node.parents))
      pending.push(...node.children)
    }
    const sourceOfTopic = new Map<string, StreamSourceNode>()
    for (const node of this.#root.children) {
      if (!(node instanceof StreamSourceNode)) continue
      const main = mainSource(node, sourceOfTopic)
      if (main === undefined) continue
      parentsOf.delete(node)
      for (const child of node.children) {
        const parents = parentsOf.get(child)
        if (parents?.delete(node) === true) parents.add(main)
      }
    }
    return parentsOf
  }
}

/** The earlier source of the same topics; undefined when this is the first, which is then noted. */
function mainSource(
  node: StreamSourceNode,
  sourceOfTopic: Map<string, StreamSourceNode>,
): StreamSourceNode | undefined {
  const mains = new Set(node.topicNames.map((topic) => sourceOfTopic.get(topic)))
  const [main] = mains
  if (mains.size === 1 && main === undefined) {
    for (const topic of node.topicNames) sourceOfTopic.set(topic, node)
    return undefined
  }
  if (mains.size !== 1 || main?.topicNames.length !== node.topicNames.length) {
    const detail = `two sources read some of the same topics (${node.topicNames.join(', ')}), but not all`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  main.assertMergeable(node)
  return main
}

function isSubset(nodes: Set<GraphNode> | undefined, of: Set<GraphNode>): boolean {
  for (const node of nodes ?? []) if (!of.has(node)) return false
  return true
}
