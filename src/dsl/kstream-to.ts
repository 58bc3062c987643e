import type { StreamPartitioner, TopicNameExtractor } from '../topology/node.ts'
import { StreamSinkNode } from './graph/stream-sink-node.ts'
import type { StreamState } from './kstream-impl.ts'
import { requiredSerde } from './materialized.ts'
import { assertFunction, type Named } from './naming.ts'
import type { Partitioner } from './partitioner.ts'
import { assertTopic, type AnySerde, type SerdeOf, type SinkTopic } from './topic.ts'

/** How a stream is written to a topic. Java's Produced. */
export interface ToOptions<K, V> extends Named {
  /** Default: Kafka's choice for the key's bytes. */
  readonly partitioner?: Partitioner<K, V>
}

/** The same for topics that each record names. */
export interface ToNamedTopicOptions<K, V> extends ToOptions<K, V> {
  /** Serdes of the topics; default: those that the stream carries. */
  readonly key?: SerdeOf<K>
  readonly value?: SerdeOf<V>
}

/** Java's KStreamImpl#to. */
export function writeStream<K, V>(
  state: StreamState,
  topic: SinkTopic<K, V> | TopicNameExtractor<K, V>,
  options: ToNamedTopicOptions<K, V> | undefined,
): void {
  const { graph, node } = state
  const name = graph.names.step('KSTREAM-SINK-', options?.name)
  const partitioner = options?.partitioner as StreamPartitioner | undefined
  if (partitioner !== undefined) assertFunction(partitioner, 'the partitioner of to')
  if (typeof topic === 'function') {
    const key = requiredSerde(options?.key ?? state.key, 'key', `the sink ${name}`)
    const value = requiredSerde(options?.value ?? state.value, 'value', `the sink ${name}`)
    const named = { topic: topic as TopicNameExtractor, key, value, partitioner }
    graph.add(new StreamSinkNode(name, named), [node])
    return
  }
  assertTopic(topic, 'to')
  const [key, value] = [topic.key as AnySerde, topic.value as AnySerde]
  graph.add(new StreamSinkNode(name, { topic: topic.name, key, value, partitioner }), [node])
}
