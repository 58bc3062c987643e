import type { ProcessorNode, RepartitionTopic, SinkNode, SourceNode, StoreNode } from './node.ts'

/**
 * Nodes and stores that hang together: what one task runs on one partition number. Java's
 * subtopology; numbered as Java numbers them.
 */
export interface Subtopology {
  readonly id: number
  readonly sources: readonly SourceNode[]
  readonly processors: readonly ProcessorNode[]
  readonly sinks: readonly SinkNode[]
  readonly stores: readonly StoreNode[]
  /** Repartition topics that it reads, without prefix. */
  readonly repartitionSources: readonly RepartitionTopic[]
}

/**
 * A frozen description of a program: sources, processors, stores, sinks, cut into sub-topologies.
 * Building one has no effects; `KafkaStreams` and `TopologyTestDriver` run it.
 */
export interface Topology {
  readonly subtopologies: readonly Subtopology[]
  /** The text that Java's `Topology#describe()` prints. */
  describe(): string
}
