import type { BuildPlan } from './build-plan.ts'
import type { GraphNode } from './graph-node.ts'
import { RepartitionNode } from './repartition-node.ts'

/**
 * Finds the repartition steps that pass on records without a key: those with a step anywhere below
 * that takes them, such as a left join. Java's NodesWithRelaxedNullKeyJoinDownstream.
 */
export function keepNullKeys(plan: BuildPlan): void {
  const known = new Map<GraphNode, boolean>()
  const isAbove = (node: GraphNode): boolean => {
    let answer = known.get(node)
    if (answer === undefined) {
      answer = false
      for (const child of plan.childrenOf(node)) {
        if (isAbove(child) || child.takesNullKeys) answer = true
      }
      known.set(node, answer)
      if (answer && node instanceof RepartitionNode) plan.keepingNullKeys.add(node)
    }
    return answer
  }
  isAbove(plan.root)
}
