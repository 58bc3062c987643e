import { assert } from '../../base/assert.ts'
import type { NameProvider } from '../naming.ts'
import type { BuildPlan } from './build-plan.ts'
import type { GraphNode } from './graph-node.ts'
import { RepartitionNode } from './repartition-node.ts'

/**
 * Pulls the repartition steps below a step that changes the key together into one, right below it:
 * what lies between runs behind the topic. Java's InternalStreamsBuilder#mergeRepartitionTopics.
 */
export function mergeRepartitionTopics(plan: BuildPlan, names: NameProvider): void {
  for (const [changer, repartitions] of repartitionsByChanger(plan)) {
    const [first] = repartitions
    if (first === undefined) continue
    const merged = mergedNode(first, repartitions, names)
    plan.add(merged, { as: changer })
    for (const repartition of repartitions) moveBehind(plan, { changer, repartition, merged })
    plan.connect(changer, merged)
  }
}

/** The topic keeps the name of the first, and takes the first serdes that are known. */
function mergedNode(
  first: RepartitionNode,
  all: ReadonlySet<RepartitionNode>,
  names: NameProvider,
): RepartitionNode {
  const options = [...all].map((repartition) => repartition.options)
  return new RepartitionNode(names.repartition(first.names.topic), {
    key: options.find(({ key }) => key !== undefined)?.key,
    value: options.find(({ value }) => value !== undefined)?.value,
    step: first.options.step,
  })
}

function moveBehind(
  plan: BuildPlan,
  nodes: { changer: GraphNode; repartition: RepartitionNode; merged: RepartitionNode },
): void {
  const { changer, repartition, merged } = nodes
  // What is between may have been moved already, for another repartition step. (Kafka Streams fails then.)
  const top = plan.nearestAbove(repartition, (node) => {
    const parents = plan.parentsOf(node)
    return parents.has(changer) || parents.has(merged)
  })
  assert(top !== undefined, `${repartition.name} is below ${changer.name}`)
  plan.connect(merged, top)
  plan.disconnect(changer, top)
  const parents = [...plan.parentsOf(repartition)]
  const children = [...plan.childrenOf(repartition)]
  for (const parent of parents) {
    for (const child of children) plan.connect(parent, child)
    plan.disconnect(parent, repartition)
  }
  for (const child of children) plan.disconnect(repartition, child)
  plan.replaceSource(repartition.name, merged.name)
}

type Repartitions = Map<GraphNode, Set<RepartitionNode>>

/**
 * The steps behind which repartition steps can be pulled together, each with those below it, in the
 * order of the program.
 */
function repartitionsByChanger(plan: BuildPlan): Repartitions {
  const found: Repartitions = new Map()
  for (const node of plan.nodes) {
    if (node.changes === 'key') found.set(node, new Set())
    if (!(node instanceof RepartitionNode) || node.options.isExplicit === true) continue
    // When a value was changed since the key was, the topic holds what the changer does not have.
    const above = plan.nearestAbove(node, ({ changes }) => changes !== 'nothing')
    if (above?.changes === 'key') found.get(above)?.add(node)
  }
  pullBehindMerges(plan, found)
  return found
}

/** Where streams with changed keys meet, the topic goes behind the place where they meet. */
function pullBehindMerges(plan: BuildPlan, found: Repartitions): void {
  const changersOfMerge = new Map<GraphNode, GraphNode[]>()
  for (const merge of plan.nodes) {
    if (!merge.isMerge) continue
    const changers = [...found].filter(
      ([changer, repartitions]) =>
        [...repartitions].every((node) => isBelow(plan, node, merge)) &&
        isBelow(plan, merge, changer),
    )
    changersOfMerge.set(
      merge,
      changers.map(([changer]) => changer),
    )
  }
  for (const [merge, changers] of changersOfMerge) {
    found.set(merge, new Set(changers.flatMap((changer) => [...(found.get(changer) ?? [])])))
  }
  for (const changer of [...changersOfMerge.values()].flat()) found.delete(changer)
}

function isBelow(plan: BuildPlan, node: GraphNode, above: GraphNode): boolean {
  return plan.nearestAbove(node, (one) => plan.parentsOf(one).has(above)) !== undefined
}
