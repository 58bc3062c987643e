import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { Topology } from './topology.ts'

/** Refuses what a program without types gave in place of a topology, with `TOPOLOGY_INVALID`. */
export function assertTopology(given: unknown): asserts given is Topology {
  const { subtopologies } = (given ?? {}) as { subtopologies?: unknown }
  if (Array.isArray(subtopologies)) return
  const isBuilder = typeof (given as { build?: unknown } | undefined | null)?.build === 'function'
  const instead = isBuilder ? 'the builder itself' : shownValue(given)
  const detail = `the first argument must be what builder.build() returns, not ${instead}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
