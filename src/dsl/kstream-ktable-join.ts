import { StreamsError } from '../errors.ts'
import { StreamTableJoinNode } from './graph/stream-table-join-node.ts'
import type { KStreamImpl, StreamState } from './kstream-impl.ts'
import type { KTableImpl } from './ktable-impl.ts'
import { assertFunction, type Named } from './naming.ts'
import { kstreamKTableJoin } from './operators/kstream-ktable-join.ts'
import type { JoinFunction } from './operators/user-function.ts'
import { repartitionForJoin } from './repartition-for-join.ts'
import type { SerdeOf } from './topic.ts'

/** How a stream is joined with a table. Java's Joined. */
export interface TableJoinOptions<K, V> extends Named {
  /** Serdes of the stream, when it must be repartitioned; default: those that it carries. */
  readonly key?: SerdeOf<K>
  readonly value?: SerdeOf<V>
}

/** The stream that a join with a table gives. Java's KStreamImpl#doStreamTableJoin. */
export function joinTable(
  stream: KStreamImpl<unknown, unknown>,
  table: KTableImpl<unknown, unknown, unknown>,
  join: {
    joiner: JoinFunction
    kind: 'inner' | 'left'
    options: TableJoinOptions<unknown, unknown> | undefined
  },
): StreamState {
  const { joiner, kind, options } = join
  const { graph } = stream.state
  const operator = kind === 'inner' ? 'join' : 'leftJoin'
  assertFunction(joiner, `the joiner of ${operator}`)
  if (table.state.graph !== graph) {
    const detail = `${operator} needs a table of the same StreamsBuilder`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  const { key, value } = options ?? {}
  const left = repartitionForJoin(stream, { name: options?.name, key, value })
  const sources = new Set([...left.state.sources, ...table.state.sources])
  graph.copartition(sources)
  const prefix = kind === 'inner' ? 'KSTREAM-JOIN-' : 'KSTREAM-LEFTJOIN-'
  const name = graph.names.step(prefix, options?.name)
  const view = table.state.table.view()
  const node = new StreamTableJoinNode(name, {
    supplier: kstreamKTableJoin(view, joiner, kind),
    storeNames: view.storeNames,
  })
  node.takesNullKeys = kind === 'left'
  graph.add(node, [left.state.node])
  return { ...left.state, node, key: key ?? left.state.key, value: undefined, sources }
}
