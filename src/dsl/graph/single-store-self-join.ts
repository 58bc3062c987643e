import { assert } from '../../base/assert.ts'
import type { BuildPlan } from './build-plan.ts'
import { StreamStreamJoinNode } from './stream-stream-join-node.ts'

/**
 * Finds the joins of a stream with itself, and takes the step away that would keep its records a
 * second time. Java's InternalStreamsBuilder#rewriteSingleStoreSelfJoin.
 */
export function singleStoreSelfJoins(plan: BuildPlan): void {
  for (const node of plan.nodes) {
    if (!(node instanceof StreamStreamJoinNode)) continue
    const [parent, other] = plan.parentsOf(node)
    if (parent === undefined || other !== undefined) continue
    const right = [...plan.childrenOf(parent)].find(({ name }) => name === node.windowed.right)
    assert(right !== undefined, `the stream of ${node.name} is kept for both sides`)
    plan.disconnect(parent, right)
    plan.selfJoins.add(node)
  }
}
