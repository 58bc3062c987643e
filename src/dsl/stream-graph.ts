import { assert } from '../base/assert.ts'
import type { Topology } from '../topology/topology.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import { BuildPlan } from './graph/build-plan.ts'
import { GraphNode } from './graph/graph-node.ts'
import { keepNullKeys } from './graph/keep-null-keys.ts'
import { mergeRepartitionTopics } from './graph/merge-repartition-topics.ts'
import { mergeSources } from './graph/merge-sources.ts'
import { singleStoreSelfJoins } from './graph/single-store-self-join.ts'
import { NameProvider } from './naming.ts'
import type { Optimization } from './optimization.ts'

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
  readonly #nodes = new Set<GraphNode>()
  readonly #copartitioned: ReadonlySet<string>[] = []
  #nextPriority = 0

  /** Adds a step that reads topics. */
  addSource(node: GraphNode): void {
    this.add(node, [this.#root])
  }

  /** Adds a step below others. A step that is added again keeps its parents and moves back in order. */
  add(node: GraphNode, parents: readonly GraphNode[]): void {
    this.#nodes.add(node)
    for (const parent of parents) {
      parent.children.add(node)
      node.parents.add(parent)
      node.priority = this.#nextPriority
      this.#nextPriority += 1
    }
  }

  /** Demands equally many partitions of all topics that these source nodes read: they meet in a join. */
  copartition(sources: ReadonlySet<string>): void {
    this.#copartitioned.push(sources)
  }

  /** Writes the steps to a new topology. The graph stays as it is, and may grow afterwards. */
  build(optimizations: ReadonlySet<Optimization>): Topology {
    const topology = new InternalTopologyBuilder()
    const plan = this.#plan(optimizations)
    for (const [node, parents] of inOrder(plan)) node.write(topology, parents, plan)
    for (const sources of this.#copartitioned) {
      const written = new Set([...sources].map((name) => plan.sourceInPlaceOf(name)))
      topology.copartitionSources([...written])
    }
    return topology.build()
  }

  /** The steps of Java's optimizeTopology, in its order. */
  #plan(optimizations: ReadonlySet<Optimization>): BuildPlan {
    const plan = new BuildPlan(this.#root, this.#nodes)
    mergeSources(plan)
    plan.reusesSourceTopics = optimizations.has('reuse-ktable-source-topics')
    if (optimizations.has('merge-repartition-topics')) {
      mergeRepartitionTopics(plan, this.names.copy())
    }
    if (optimizations.has('single-store-self-join')) singleStoreSelfJoins(plan)
    keepNullKeys(plan)
    return plan
  }
}

/** The steps with the names of their parents, each behind its parents, else as they were added. */
function* inOrder(plan: BuildPlan): Generator<readonly [GraphNode, readonly string[]]> {
  const open = new Set(plan.childrenOf(plan.root))
  const written = new Set([plan.root])
  while (open.size > 0) {
    const node = first(plan, open, written)
    open.delete(node)
    written.add(node)
    const parents = [...plan.parentsOf(node)].filter((parent) => parent !== plan.root)
    yield [node, parents.map(({ name }) => name)]
    for (const child of plan.childrenOf(node)) open.add(child)
  }
}

/** Of the nodes whose parents are written, the one that was added first. */
function first(
  plan: BuildPlan,
  open: ReadonlySet<GraphNode>,
  written: ReadonlySet<GraphNode>,
): GraphNode {
  let found: GraphNode | undefined
  for (const node of open) {
    if (found !== undefined && plan.priorityOf(node) >= plan.priorityOf(found)) continue
    if ([...plan.parentsOf(node)].every((parent) => written.has(parent))) found = node
  }
  assert(found !== undefined, 'the graph of steps has no cycle')
  return found
}
