import { StreamsError } from '../../errors.ts'
import type { BuildPlan } from './build-plan.ts'
import { StreamSourceNode } from './stream-source-node.ts'

/**
 * A topic has one source node, however often the program reads it: each source that reads the topics
 * of an earlier one gives its children to that.
 */
export function mergeSources(plan: BuildPlan): void {
  const sourceOfTopic = new Map<string, StreamSourceNode>()
  for (const node of plan.childrenOf(plan.root)) {
    if (!(node instanceof StreamSourceNode)) continue
    const main = mainSource(node, sourceOfTopic)
    if (main === undefined) continue
    for (const child of plan.childrenOf(node)) {
      plan.disconnect(node, child)
      plan.connect(main, child)
    }
    plan.disconnect(plan.root, node)
    plan.replaceSource(node.name, main.name)
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
