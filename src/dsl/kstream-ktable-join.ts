import { StreamsError } from '../errors.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { StoreNode } from '../topology/node.ts'
import type { StoreOfStep } from './graph/processor-graph-node.ts'
import { StreamTableJoinNode } from './graph/stream-table-join-node.ts'
import type { KStreamImpl, StreamState } from './kstream-impl.ts'
import type { KTableImpl } from './ktable-impl.ts'
import { requiredSerde } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import { kstreamKTableJoin } from './operators/kstream-ktable-join.ts'
import type { JoinFunction } from './operators/user-function.ts'
import { repartitionForJoin } from './repartition-for-join.ts'
import type { AnySerde, SerdeOf } from './topic.ts'
import { assertMilliseconds } from './windows.ts'

/** How a stream is joined with a table. Java's Joined. */
export interface TableJoinOptions<K, V> extends Named {
  /**
   * Serdes of the stream, when it must be repartitioned or kept back for a `grace`; default: those that
   * it carries.
   */
  readonly key?: SerdeOf<K>
  readonly value?: SerdeOf<V>
  /**
   * Milliseconds of stream time for which records wait for late changes of the table, in a store of
   * their own; then they go on, in the order of their times (KIP-923). The table must be in a versioned
   * store whose history is at least as long. Default: they do not wait.
   */
  readonly grace?: number
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
  const { key, value, grace } = options ?? {}
  if (grace !== undefined) assertMilliseconds(operator, { grace }, 0)
  const left = repartitionForJoin(stream, { name: options?.name, key, value })
  const sources = new Set([...left.state.sources, ...table.state.sources])
  graph.copartition(sources)
  const prefix = kind === 'inner' ? 'KSTREAM-JOIN-' : 'KSTREAM-LEFTJOIN-'
  const name = graph.names.step(prefix, options?.name)
  const view = table.state.table.view()
  const serdes = { key: key ?? left.state.key, value: value ?? left.state.value }
  const buffer = grace === undefined ? undefined : { store: bufferOf(name, serdes), grace }
  const node = new StreamTableJoinNode(name, {
    supplier: kstreamKTableJoin({
      table: view,
      joiner,
      kind,
      buffer: grace === undefined ? undefined : { storeName: bufferName(name), grace },
    }),
    storeNames: view.storeNames,
    buffer,
  })
  node.takesNullKeys = kind === 'left'
  graph.add(node, [left.state.node])
  return { ...left.state, node, key: serdes.key, value: undefined, sources }
}

const bufferName = (join: string): string => `${join}-Buffer`

/** The store of a join that lets records wait. */
function bufferOf(
  join: string,
  serdes: { key: AnySerde | undefined; value: AnySerde | undefined },
): StoreOfStep {
  let made: StoreNode | undefined
  const make = (): StoreNode => {
    const name = bufferName(join)
    const key = requiredSerde(serdes.key, 'key', `the store ${name}`)
    const value = requiredSerde(serdes.value, 'value', `the store ${name}`)
    const descriptor = keyValueStore(name, { key, value, caching: false })
    return Object.freeze({ descriptor, timestamped: false, buffer: 'records' })
  }
  return { storeNode: () => (made ??= make()) }
}
