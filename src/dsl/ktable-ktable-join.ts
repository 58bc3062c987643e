import { assertOptions } from '../base/assert-options.ts'
import { StreamsError } from '../errors.ts'
import { TableJoinNode } from './graph/table-join-node.ts'
import { KTableImpl, type KTableState } from './ktable-impl.ts'
import { Materialized, type TableStoreRef } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import {
  joinedView,
  ktableJoinMerge,
  ktableKTableJoin,
  type TableJoinKind,
} from './operators/ktable-ktable-join.ts'
import { TableState } from './operators/table-state.ts'
import type { JoinFunction } from './operators/user-function.ts'
import type { AnySerde, SerdeOf } from './topic.ts'

/** How the result of a join of two tables is named and kept. */
export interface KTableJoinOptions<K, R> extends Named {
  /** Keeps the result, so that it can be queried. Without, it is worked out when it is needed. */
  readonly store?: TableStoreRef<K, NonNullable<R>>
  /** The serde of the result, for steps below that need one. */
  readonly value?: SerdeOf<R>
}

/** Java's KTableImpl#join, leftJoin and outerJoin with a table of the same keys. */
export function joinTables<K, R>(
  left: KTableState,
  other: unknown,
  joiner: JoinFunction,
  kind: TableJoinKind,
  options: KTableJoinOptions<K, R> | undefined,
): KTableState {
  const operator = { inner: 'join', left: 'leftJoin', outer: 'outerJoin' }[kind]
  const right = tableOfSameBuilder(left, other, operator)
  assertFunction(joiner, `the joiner of ${operator}`)
  assertOptions(options, operator)
  const { graph, node: leftNode, table: leftTable, key } = left
  const { node: rightNode, table: rightTable } = right
  const sources = new Set([...left.sources, ...right.sources])
  const { names } = graph
  const name = names.step('KTABLE-MERGE-', options?.name)
  if (kind !== 'inner') leftTable.enableSendingOldValues({ force: true })
  if (kind === 'outer') rightTable.enableSendingOldValues({ force: true })
  // Both are kept from here on, or worked out from tables that are.
  const views = { left: leftTable.view(), right: rightTable.view() }
  const inherited = { key, value: options?.value }
  const store =
    options?.store === undefined
      ? undefined
      : Materialized.of(options.store, { names, prefix: 'KTABLE-MERGE-', step: name, inherited })
  const table = new TableState({
    store: store?.storeName,
    versioned: store?.isVersioned,
    above: { tables: [leftTable, rightTable], view: () => joinedView(kind, joiner, views) },
  })
  const node = new TableJoinNode(name, {
    left: {
      name: names.suffixedStep('KTABLE-JOINTHIS-', '-join-this', options?.name),
      parent: leftNode.name,
      supplier: () =>
        ktableKTableJoin({
          joiner,
          otherRows: views.right,
          needsOwn: kind !== 'outer',
          needsOther: kind === 'inner',
          sendOldValues: table.sendOldValues,
          isVersioned: leftTable.isVersioned,
        }),
      storeNames: views.right.storeNames,
    },
    right: {
      name: names.suffixedStep('KTABLE-JOINOTHER-', '-join-other', options?.name),
      parent: rightNode.name,
      supplier: () =>
        ktableKTableJoin({
          joiner: (value, leftValue, ofKey) => joiner(leftValue, value, ofKey),
          otherRows: views.left,
          needsOwn: kind === 'inner',
          needsOther: kind !== 'outer',
          sendOldValues: table.sendOldValues,
          isVersioned: rightTable.isVersioned,
        }),
      storeNames: views.left.storeNames,
    },
    merge: () => ktableJoinMerge(table),
    store,
  })
  graph.copartition(sources)
  graph.add(node, [leftNode])
  graph.add(node, [rightNode])
  const value: AnySerde | undefined = options?.value
  return {
    graph,
    node,
    key: store?.key ?? key,
    value: store?.value ?? value,
    sources,
    table,
    queryableStoreName: store?.storeName,
  }
}

/** The other table as it is inside; refuses what is none, and one of another program. */
export function tableOfSameBuilder(
  { graph }: KTableState,
  other: unknown,
  operator: string,
): KTableState {
  if (other instanceof KTableImpl && other.state.graph === graph) return other.state
  const detail = `${operator} needs a table of the same StreamsBuilder`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
