import { assertName } from '../base/legal-name.ts'
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { StreamPartitioner } from '../topology/node.ts'
import { RepartitionNode } from './graph/repartition-node.ts'
import { KStreamImpl, type StreamState } from './kstream-impl.ts'
import { assertFunction, type Named } from './naming.ts'
import type { Partitioner } from './partitioner.ts'
import type { SerdeOf } from './topic.ts'

/** How a stream is repartitioned. Java's Repartitioned. */
export interface RepartitionOptions<K, V> extends Named {
  /** Serdes of the topic; default: those that the stream carries. */
  readonly key?: SerdeOf<K>
  readonly value?: SerdeOf<V>
  /** Partitions of the topic. Default: as many as the widest topic above has. */
  readonly partitions?: number
  /** Default: Kafka's choice for the key's bytes. */
  readonly partitioner?: Partitioner<K, V>
}

/** Java's KStreamImpl#repartition. */
export function repartitionStream<K, V>(
  state: StreamState,
  options: RepartitionOptions<K, V> | undefined,
): KStreamImpl<K, V> {
  const { graph, node: parent } = state
  const { partitions, partitioner } = options ?? {}
  if (partitions !== undefined && !(Number.isInteger(partitions) && partitions > 0)) {
    const detail = `the partitions of a repartition must be a positive number, not ${shownValue(partitions)}`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  if (partitioner !== undefined) assertFunction(partitioner, 'the partitioner of repartition')
  if (options?.name !== undefined) assertName(options.name, 'a repartition')
  // As in Java, a number is taken only when there is no name.
  const prefix = options?.name ?? graph.names.step('KSTREAM-REPARTITION-')
  const key = options?.key ?? state.key
  const value = options?.value ?? state.value
  const node = new RepartitionNode(graph.names.repartition(prefix), {
    key,
    value,
    step: `repartition below ${parent.name}`,
    isExplicit: true,
    partitionCount: partitions,
    partitioner: partitioner as StreamPartitioner | undefined,
  })
  graph.add(node, [parent])
  const sources = new Set([node.name])
  return new KStreamImpl({ graph, node, key, value, sources, repartitionRequired: false })
}
