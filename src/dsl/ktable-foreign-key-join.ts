import { partitionForKey } from '../protocol/murmur2.ts'
import { serdes as allSerdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { StoreNode, StreamPartitioner } from '../topology/node.ts'
import {
  foreignKeyJoinNames,
  type ForeignKeyJoinNames,
} from './foreign-key-join/foreign-key-join-names.ts'
import { ForeignKeyJoinSerdes } from './foreign-key-join/foreign-key-join-serdes.ts'
import { foreignTableJoin } from './foreign-key-join/foreign-table-join.ts'
import { responseJoin } from './foreign-key-join/response-join.ts'
import { subscriptionJoin } from './foreign-key-join/subscription-join.ts'
import { subscriptionReceive } from './foreign-key-join/subscription-receive.ts'
import type { SubscriptionResponseWrapper } from './foreign-key-join/subscription-response-wrapper.ts'
import { subscriptionSend } from './foreign-key-join/subscription-send.ts'
import type { GraphNode } from './graph/graph-node.ts'
import { InternalSinkNode, InternalSourceNode } from './graph/internal-topic-nodes.ts'
import { ProcessorGraphNode, type StoreOfStep } from './graph/processor-graph-node.ts'
import type { KTableState } from './ktable-impl.ts'
import { tableOfSameBuilder, type KTableJoinOptions } from './ktable-ktable-join.ts'
import { Materialized } from './materialized.ts'
import { assertFunction } from './naming.ts'
import { ktableSource } from './operators/ktable-source.ts'
import { TableState } from './operators/table-state.ts'
import type { JoinFunction, UserFunction } from './operators/user-function.ts'
import type { Partitioner } from './partitioner.ts'
import type { AnySerde } from './topic.ts'

/** How a table is joined with another one by what its rows refer to. Java's TableJoined is among it. */
export interface ForeignKeyJoinOptions<K, V, K2, R> extends KTableJoinOptions<K, R> {
  /** The key of the other table's row that a row refers to; null: none. The same for the same row. */
  readonly foreignKey: (value: V, key: K) => K2 | null | undefined
  /** How this table's topic is partitioned, if not by Kafka's default. Called without a value. */
  readonly partitioner?: Partitioner<K, null>
  /** How the other table's topic is partitioned, if not by Kafka's default. Called without a value. */
  readonly otherPartitioner?: Partitioner<K2, null>
}

// oxlint-disable-next-line typescript/no-explicit-any -- variance: a partitioner of any types fits
type AnyPartitioner = Partitioner<any, null>

/** The same with types that were checked where the program was written. */
// oxlint-disable-next-line typescript/no-explicit-any -- variance: as above
interface CheckedOptions extends KTableJoinOptions<any, any> {
  readonly foreignKey: UserFunction<unknown>
  readonly partitioner?: AnyPartitioner | undefined
  readonly otherPartitioner?: AnyPartitioner | undefined
}

/** What the parts of a join have in common. */
interface ForeignKeyJoin {
  readonly left: KTableState
  readonly right: KTableState
  readonly kind: 'inner' | 'left'
  readonly joiner: JoinFunction
  readonly options: CheckedOptions
  readonly names: ForeignKeyJoinNames
  readonly serdes: ForeignKeyJoinSerdes
}

/**
 * Java's KTableImpl#doJoinOnForeignKey. A row of the left table tells its foreign key, in the partition
 * of that, to remember and to answer it; a change of the foreign row answers all that are remembered.
 *
 *     left ► send ► [subscriptions] ► receive ► join ─┐
 *                                remembered ▼         ├► [responses] ► response join ► result
 *                     right ► foreign table join ─────┘             left rows ▲
 */
export function joinForeignKey(
  left: KTableState,
  other: unknown,
  joiner: JoinFunction,
  kind: 'inner' | 'left',
  options: CheckedOptions,
): KTableState {
  const operator = kind === 'inner' ? 'join' : 'leftJoin'
  const right = tableOfSameBuilder(left, other, operator)
  assertFunction(joiner, `the joiner of ${operator}`)
  assertFunction(options.foreignKey, `the foreignKey of ${operator}`)
  for (const partitioner of ['partitioner', 'otherPartitioner'] as const) {
    if (options[partitioner] !== undefined) {
      assertFunction(options[partitioner], `the ${partitioner} of ${operator}`)
    }
  }
  right.table.enableSendingOldValues({ force: true })
  left.table.enableSendingOldValues({ force: true })
  const names = foreignKeyJoinNames(left.graph.names, options.name)
  const serdes = new ForeignKeyJoinSerdes({ left, right, step: `${operator} ${names.send}` })
  const join = { left, right, kind, joiner, options, names, serdes }
  return resolve(join, answer(join, subscribe(join)))
}

/** Left rows go to their foreign keys. The step that reads what they tell. */
function subscribe({ left, right, kind, options, names, serdes }: ForeignKeyJoin): GraphNode {
  const { graph, table } = left
  const { foreignKey: foreignKeyOf, otherPartitioner } = options
  const send = new ProcessorGraphNode(names.send, () => {
    const { foreignKey, leftValue } = serdes
    const { isVersioned } = table
    return subscriptionSend({ kind, foreignKeyOf, foreignKey, value: leftValue, isVersioned })
  })
  const topicSerdes = (): { key: AnySerde; value: AnySerde } => ({
    key: serdes.foreignKey,
    value: serdes.subscription,
  })
  const sink = new InternalSinkNode(names.subscriptionSink, names.subscriptionTopic, () => ({
    ...topicSerdes(),
    ...(otherPartitioner !== undefined && { partitioner: withoutValue(otherPartitioner) }),
  }))
  const source = new InternalSourceNode(
    names.subscriptionSource,
    names.subscriptionTopic,
    topicSerdes,
  )
  graph.add(send, [left.node])
  graph.add(sink, [send])
  graph.add(source, [sink])
  graph.copartition(new Set([...right.sources, source.name]))
  return source
}

/** Foreign keys remember left rows, and answer them. The step that reads the answers. */
function answer(join: ForeignKeyJoin, subscriptions: GraphNode): GraphNode {
  const { left, right, options, names, serdes } = join
  const { graph } = left
  const { store: storeName } = names
  const store = subscriptionStore(storeName, serdes)
  const receive = new ProcessorGraphNode(
    names.receive,
    () => {
      const { foreignKey, primaryKey } = serdes
      return subscriptionReceive({ storeName, foreignKey, primaryKey })
    },
    () => store,
  )
  const foreignRows = right.table.view()
  const joinStep = new ProcessorGraphNode(
    names.join,
    () => subscriptionJoin(foreignRows),
    undefined,
    foreignRows.storeNames,
  )
  const foreignTable = new ProcessorGraphNode(
    names.foreignTableJoin,
    () => {
      const { foreignKey } = serdes
      return foreignTableJoin({ storeName, foreignKey, isVersioned: right.table.isVersioned })
    },
    () => store,
  )
  const topicSerdes = (): { key: AnySerde; value: AnySerde } => ({
    key: serdes.primaryKey,
    value: serdes.response,
  })
  const { partitioner } = options
  const sink = new InternalSinkNode(names.responseSink, names.responseTopic, () => ({
    ...topicSerdes(),
    partitioner:
      partitioner === undefined ? toPrimaryPartition(serdes.primaryKey) : withoutValue(partitioner),
  }))
  const source = new InternalSourceNode(names.responseSource, names.responseTopic, topicSerdes)
  graph.add(receive, [subscriptions])
  graph.add(joinStep, [receive])
  graph.add(foreignTable, [right.node])
  graph.add(sink, [joinStep, foreignTable])
  graph.add(source, [sink])
  graph.copartition(new Set([...left.sources, source.name]))
  return source
}

/** Answers become rows of the result, as far as they are for rows as these are now. */
function resolve(join: ForeignKeyJoin, responses: GraphNode): KTableState {
  const { left, kind, joiner, options, names, serdes } = join
  const { graph } = left
  const leftRows = left.table.view()
  const resolver = new ProcessorGraphNode(
    names.responseJoin,
    () => responseJoin({ kind, joiner, leftRows, value: serdes.leftValue }),
    undefined,
    leftRows.storeNames,
  )
  const store = Materialized.of(options.store, {
    names: graph.names,
    prefix: 'KTABLE-FK-JOIN-OUTPUT-',
    step: `the result of ${names.send}`,
    inherited: { key: left.key, value: options.value },
  })
  const table = new TableState({
    store: store.storeName,
    kept: store.queryableName === undefined ? 'on-demand' : 'always',
    versioned: store.isVersioned,
  })
  const node = new ProcessorGraphNode(
    names.result,
    () => ktableSource(table),
    () => (table.storeName === undefined ? undefined : store),
  )
  graph.add(resolver, [responses])
  graph.add(node, [resolver])
  return {
    graph,
    node,
    key: store.key,
    value: store.value,
    sources: new Set([...left.sources, responses.name]),
    table,
    queryableStoreName: store.queryableName,
  }
}

/** The store in which foreign keys remember left rows. Java's SubscriptionStoreFactory. */
function subscriptionStore(name: string, serdes: ForeignKeyJoinSerdes): StoreOfStep {
  let node: StoreNode | undefined
  return {
    storeNode: () => {
      const key = allSerdes.bytes
      node ??= Object.freeze({
        descriptor: keyValueStore(name, { key, value: serdes.subscription, caching: false }),
        timestamped: true,
        logsHeaders: true,
      })
      return node
    },
  }
}

/** Java's ForeignResponseSinkPartitioner and SubscriptionSinkPartitioner. */
function withoutValue(partitioner: AnyPartitioner): StreamPartitioner {
  return (topic, key, _value, partitionCount) => partitioner(topic, key, null, partitionCount)
}

/**
 * To where the left row is; a subscription of version 0 does not say it. Java's
 * DefaultForeignResponseSinkPartitioner.
 */
function toPrimaryPartition(primaryKey: AnySerde): StreamPartitioner {
  return (_topic, key, response, partitionCount) => {
    const { primaryPartition } = response as SubscriptionResponseWrapper
    return primaryPartition ?? partitionForKey(primaryKey.serialize(key), partitionCount)
  }
}
