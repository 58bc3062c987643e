import { JavaTreeSet, hashSetOrder } from './java-order.ts'
import type { TopologyNode } from './node.ts'

/** A node while a sub-topology is described. Java's InternalTopologyBuilder.AbstractNode. */
export interface Described {
  readonly node: TopologyNode
  /** Steps below it, itself included; a step that is reached on two ways counts twice. */
  size: number
  readonly predecessors: JavaTreeSet<Described>
  readonly successors: JavaTreeSet<Described>
}

/** Larger sub-trees first, then by name. */
function compare(left: Described, right: Described): number {
  if (left === right) return 0
  if (left.size !== right.size) return right.size - left.size
  return left.node.name < right.node.name ? -1 : 1
}

/**
 * The nodes of a sub-topology, sorted, with those above and below each.
 *
 * They are connected in the order of Java's hash map. That order is visible: parents and children
 * are kept in sorted sets whose elements go on growing, so a set may not end up sorted.
 */
export function arrange(nodes: readonly TopologyNode[]): Described[] {
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
  const open = [described]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    next.size += size
    open.push(...next.predecessors.items())
  }
}
