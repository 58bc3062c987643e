import type { BuildPlan } from './build-plan.ts'
import type { GraphNode } from './graph-node.ts'
import { RepartitionNode } from './repartition-node.ts'

/**
 * Finds the repartition steps that pass on records without a key: those with a step anywhere below
 * that takes them, such as a left join. Java's NodesWithRelaxedNullKeyJoinDownstream.
 */
export function keepNullKeys(plan: BuildPlan): void {
  const above = new Set<GraphNode>()
  const open = plan.nodes.filter(({ takesNullKeys }) => takesNullKeys)
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const parent of plan.parentsOf(node)) {
      if (above.has(parent)) continue
      above.add(parent)
      open.push(parent)
      if (parent instanceof RepartitionNode) plan.keepingNullKeys.add(parent)
    }
  }
}
