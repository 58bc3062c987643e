import type {
  ProcessorNode,
  RepartitionTopic,
  SinkNode,
  SourceNode,
  StoreNode,
  TopologyNode,
} from './node.ts'

/**
 * Nodes and stores that hang together: what one task runs on one partition number. Java's
 * subtopology; numbered as Java numbers them.
 */
export interface Subtopology {
  readonly id: number
  /**
   * All nodes in the order of their insertion: parents come first, and a parent forwards to its
   * children in this order, so it decides the order of what they write.
   */
  readonly nodes: readonly TopologyNode[]
  readonly sources: readonly SourceNode[]
  readonly processors: readonly ProcessorNode[]
  readonly sinks: readonly SinkNode[]
  readonly stores: readonly StoreNode[]
  /** Repartition topics that it reads, without prefix. */
  readonly repartitionSources: readonly RepartitionTopic[]
}

/**
 * A store that every instance holds whole, with the two nodes that keep it. It has a number among the
 * sub-topologies, and no tasks. Java's GlobalStore.
 */
export interface GlobalSubtopology {
  readonly id: number
  /** Reads one topic. */
  readonly source: SourceNode
  /** Writes the store; nothing is below it. */
  readonly processor: ProcessorNode
  readonly store: StoreNode
  /** Restored records go through the processor; false: into the store as they are. */
  readonly reprocessOnRestore: boolean
}

/**
 * A frozen description of a program: sources, processors, stores, sinks, cut into sub-topologies.
 * Building one has no effects; `KafkaStreams` and `TopologyTestDriver` run it.
 */
export interface Topology {
  /** What tasks run. Their numbers have gaps where global stores have theirs. */
  readonly subtopologies: readonly Subtopology[]
  readonly globalStores: readonly GlobalSubtopology[]
  /** Names of all nodes in the order of their insertion, across sub-topologies and global stores. */
  readonly nodeNames: readonly string[]
  /**
   * Topics that must have equally many partitions because a step reads them side by side; names
   * without prefix. Steps that read one topic alone are not listed.
   */
  readonly copartitionGroups: readonly (readonly string[])[]
  /** The same as names of source nodes: topics of a pattern are not known when it is built. */
  readonly copartitionedSources: readonly (readonly string[])[]
  /**
   * The topology for people and tools: by default the text that Java's `Topology#describe()` prints,
   * as JSON, or as a Mermaid flowchart.
   */
  describe(options?: DescribeOptions): string
}

/** How a topology is described. */
export interface DescribeOptions {
  /** Default `text`. */
  readonly format?: DescribeFormat
}

/** The formats of {@link Topology.describe}. */
export type DescribeFormat = 'text' | 'json' | 'mermaid'

/** The full name of a topic that the engine owns: `<applicationId>-<name>`. */
export function internalTopicName(applicationId: string, name: string): string {
  return `${applicationId}-${name}`
}

/** The topic from which a store is restored; undefined when the store writes no changelog. */
export function changelogTopic(applicationId: string, store: StoreNode): string | undefined {
  if (store.sourceTopic !== undefined) return store.sourceTopic
  const { changelog, name } = store.descriptor
  return changelog === false ? undefined : internalTopicName(applicationId, `${name}-changelog`)
}

/** Full names of the topics that a source node reads. */
export function topicsOfSource(applicationId: string, source: SourceNode): readonly string[] {
  if (!source.internal) return source.topics
  return source.topics.map((topic) => internalTopicName(applicationId, topic))
}

/** Full name of the topic that a sink node writes; undefined: each record has its own. */
export function topicOfSink(applicationId: string, sink: SinkNode): string | undefined {
  if (typeof sink.topic !== 'string') return undefined
  return sink.internal ? internalTopicName(applicationId, sink.topic) : sink.topic
}

/** Full names of all topics that a sub-topology reads. */
export function sourceTopics(applicationId: string, subtopology: Subtopology): string[] {
  return subtopology.sources.flatMap((source) => topicsOfSource(applicationId, source))
}

/** A global store by name; undefined: there is none of that name. */
export function findGlobalStore(topology: Topology, name: string): GlobalSubtopology | undefined {
  return topology.globalStores.find(({ store }) => store.descriptor.name === name)
}

/** A store by name, with the sub-topology whose tasks hold it; undefined: no task has one of that name. */
export function findStore(
  topology: Topology,
  name: string,
): { subtopology: Subtopology; store: StoreNode } | undefined {
  for (const subtopology of topology.subtopologies) {
    const store = subtopology.stores.find(({ descriptor }) => descriptor.name === name)
    if (store !== undefined) return { subtopology, store }
  }
  return undefined
}

/**
 * How many tasks a sub-topology has: the partitions of the widest topic that it reads.
 * `partitionCounts` has every topic that it reads, repartition topics included, by full name.
 */
export function taskCount(
  applicationId: string,
  subtopology: Subtopology,
  partitionCounts: ReadonlyMap<string, number>,
): number {
  let count = 0
  for (const topic of sourceTopics(applicationId, subtopology)) {
    count = Math.max(count, partitionCounts.get(topic) ?? 0)
  }
  return count
}
