import { RepartitionNode } from './graph/repartition-node.ts'
import { KStreamImpl } from './kstream-impl.ts'
import type { AnySerde } from './topic.ts'

/** How one side of a join is repartitioned. */
export interface JoinSide {
  /** The name that the user has given to the topic; absent: that of the stream's step. */
  readonly name: string | undefined
  readonly key: AnySerde | undefined
  readonly value: AnySerde | undefined
}

/**
 * The stream as a join can read it: repartitioned when its key may have changed. Joins that give the
 * topic no name of its own share it. Java's KStreamImpl#repartitionForJoin.
 */
export function repartitionForJoin<K, V>(
  stream: KStreamImpl<K, V>,
  side: JoinSide,
): KStreamImpl<K, V> {
  const { graph, node: parent, repartitionRequired } = stream.state
  if (!repartitionRequired) return stream
  const prefix = side.name ?? parent.name
  // The names take their numbers also when the node is there already.
  const names = graph.names.repartition(prefix)
  const key = side.key ?? stream.state.key
  const value = side.value ?? stream.state.value
  let node = stream.joinRepartition
  if (node === undefined || prefix !== parent.name) {
    node = new RepartitionNode(names, { key, value, step: `a join below ${parent.name}` })
    graph.add(node, [parent])
    stream.joinRepartition = node
  }
  const sources = new Set([node.name])
  return new KStreamImpl({ graph, node, key, value, sources, repartitionRequired: false })
}
