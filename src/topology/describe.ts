import { JavaTreeSet, copiedHashSetOrder, hashSetOrder } from './java-order.ts'
import type { SinkNode, SourceNode, TopologyNode } from './node.ts'
import type { GlobalSubtopology, Subtopology } from './topology.ts'

/** A node while a sub-topology is described. Java's InternalTopologyBuilder.AbstractNode. */
interface Described {
  readonly node: TopologyNode
  /** Steps below it, itself included; a step that is reached on two ways counts twice. */
  size: number
  readonly predecessors: JavaTreeSet<Described>
  readonly successors: JavaTreeSet<Described>
}

/** The text of Java's TopologyDescription#toString, byte for byte. */
export function describeTopology(
  subtopologies: readonly Subtopology[],
  globalStores: readonly GlobalSubtopology[],
): string {
  const texts = [
    ...subtopologies.map((one) => ({ id: one.id, text: describeSubtopology(one) })),
    ...globalStores.map((one) => ({ id: one.id, text: describeGlobalStore(one) })),
  ]
  texts.sort((left, right) => left.id - right.id)
  return `Topologies:\n ${texts.map(({ text }) => text).join('')}`
}

function describeSubtopology({ id, nodes }: Subtopology): string {
  const texts = arrange(nodes).map((described) => `    ${describeNode(described)}\n`)
  return `  Sub-topology: ${id}\n${texts.join('')}\n`
}

function describeGlobalStore({ id, source, processor }: GlobalSubtopology): string {
  const texts = arrange([source, processor]).map((described) => `    ${describeNode(described)}\n`)
  return `  Sub-topology: ${id} for global store (will not generate tasks)\n${texts.join('')}`
}

/** Larger sub-trees first, then by name. */
function compare(left: Described, right: Described): number {
  if (left === right) return 0
  if (left.size !== right.size) return right.size - left.size
  return left.node.name < right.node.name ? -1 : 1
}

/**
 * Connects the nodes in the order of Java's hash map. That order is visible: parents and children
 * are kept in sorted sets whose elements go on growing, so a set may not end up sorted.
 */
function arrange(nodes: readonly TopologyNode[]): Described[] {
  const byName = new Map<string, Described>()
  for (const node of nodes) {
    byName.set(node.name, {
      node,
      size: 1,
      predecessors: new JavaTreeSet(compare),
      successors: new JavaTreeSet(compare),
    })
  }
  for (const name of hashSetOrder(nodes.map(({ name }) => name))) {
    const described = byName.get(name)
    if (described === undefined || described.node.kind === 'source') continue
    for (const parentName of described.node.parents) {
      const parent = byName.get(parentName)
      if (parent === undefined) continue
      described.predecessors.add(parent)
      parent.successors.add(described)
      grow(parent, described.size)
    }
  }
  return [...byName.values()].sort(compare)
}

function grow(described: Described, size: number): void {
  described.size += size
  for (const predecessor of described.predecessors.items()) grow(predecessor, size)
}

function describeNode({ node, predecessors, successors }: Described): string {
  const out = `\n      --> ${names(successors)}`
  const inward = `\n      <-- ${names(predecessors)}`
  switch (node.kind) {
    case 'source':
      return `Source: ${node.name} (topics: ${describeTopics(node)})${out}`
    case 'processor': {
      const stores = copiedHashSetOrder(hashSetOrder(node.stores))
      return `Processor: ${node.name} (stores: [${stores.join(', ')}])${out}${inward}`
    }
    case 'sink':
      return `Sink: ${node.name} (${describeTarget(node.topic)})${inward}`
    default:
      throw new TypeError(node satisfies never)
  }
}

function describeTopics({ topics, pattern }: SourceNode): string {
  return pattern === undefined ? `[${copiedHashSetOrder(topics).join(', ')}]` : pattern.text
}

function describeTarget(topic: SinkNode['topic']): string {
  return typeof topic === 'string' ? `topic: ${topic}` : `extractor class: ${topic.name}`
}

function names(nodes: JavaTreeSet<Described>): string {
  const items = nodes.items()
  return items.length === 0 ? 'none' : items.map(({ node }) => node.name).join(', ')
}
