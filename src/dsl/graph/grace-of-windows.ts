import { StreamsError } from '../../errors.ts'
import { GracePeriodGraphNode } from './grace-period-graph-node.ts'
import type { GraphNode } from './graph-node.ts'

/**
 * When the windows of a table close: as the windowed aggregation says that is above it, of several the
 * one that waits longest. Java's GraphGraceSearchUtil.
 *
 * @throws StreamsError `TOPOLOGY_INVALID` when a way up leads to no windowed aggregation.
 */
export function graceOfWindows(node: GraphNode, below: readonly string[] = []): number {
  if (node instanceof GracePeriodGraphNode) return node.gracePeriod
  const way = [node.name, ...below]
  if (node.parents.size === 0) {
    const detail = `only windows close, and there is no windowed aggregation in ${way.join('->')}`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  return Math.max(...[...node.parents].map((parent) => graceOfWindows(parent, way)))
}
