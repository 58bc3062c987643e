import { StreamsError } from '../errors.ts'
import type { TopologyNode } from './node.ts'

/**
 * Steps in a row. A record goes down by calls, each within the one before: about four for a step, more
 * where a cache is emptied, and below them the user's code needs its own. Kafka Streams refuses nothing,
 * and overflows its stack with the first record.
 */
const stepsInRowMax = 1_000

/** Refuses a sub-topology in which a record would pass too many steps, one below the other. */
export function assertDepth(nodes: readonly TopologyNode[]): void {
  // In the order of insertion: parents come first.
  const depths = new Map<string, number>()
  for (const node of nodes) {
    let depth = 1
    if (node.kind !== 'source') {
      for (const parent of node.parents) depth = Math.max(depth, 1 + (depths.get(parent) ?? 0))
    }
    depths.set(node.name, depth)
    if (depth <= stepsInRowMax) continue
    const detail = `${node.name} has more than ${stepsInRowMax} steps above it; write to a topic on the way, with repartition()`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
}
