import { StreamsError } from '../errors.ts'
import { GlobalKTableImpl } from './global-ktable-impl.ts'
import type { GlobalKTable } from './global-ktable.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import type { StreamState } from './kstream-impl.ts'
import { assertFunction, type Named } from './naming.ts'
import {
  kstreamGlobalKTableJoin,
  type GlobalJoiner,
} from './operators/kstream-global-ktable-join.ts'
import type { UserFunction } from './operators/user-function.ts'

/** How a stream finds its row in a global table. */
export interface GlobalJoinOptions<V, K, GK> extends Named {
  /** The key of the row for a record; null or undefined: there is none. */
  readonly lookup: (value: NonNullable<V>, key: K) => GK | null | undefined
}

/** True for what `StreamsBuilder.globalTable` gives. */
export function isGlobalTable(other: unknown): other is GlobalKTable<unknown, unknown> {
  return other instanceof GlobalKTableImpl
}

/** The stream that a join with a global table gives. */
export function joinGlobalTable(
  stream: StreamState,
  table: GlobalKTable<unknown, unknown>,
  joiner: GlobalJoiner,
  { kind, ...options }: Named & { kind: 'inner' | 'left'; lookup: UserFunction<unknown> },
): StreamState {
  const { graph } = stream
  const operator = kind === 'inner' ? 'join' : 'leftJoin'
  if (!(table instanceof GlobalKTableImpl) || table.graph !== graph) {
    const detail = `${operator} needs a global table of the same StreamsBuilder`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  assertFunction(joiner, `the joiner of ${operator}`)
  assertFunction(options.lookup, `the lookup of ${operator}`)
  // Both kinds of join have this name in Kafka Streams.
  const name = graph.names.step('KSTREAM-LEFTJOIN-', options.name)
  const { queryableStoreName } = table
  const node = new ProcessorGraphNode(name, () =>
    kstreamGlobalKTableJoin(queryableStoreName, options.lookup, joiner, kind),
  )
  node.takesNullKeys = kind === 'left'
  graph.add(node, [stream.node])
  return { ...stream, node, value: undefined }
}
