import { StreamsError } from '../errors.ts'
import { alignCounts } from './copartition.ts'
import { additionalRetentionDefault, changelogConfigs } from './changelog-configs.ts'
import { hashSetOrder } from './java-order.ts'
import type { StoreNode } from './node.ts'
import {
  changelogTopic,
  internalTopicName,
  sourceTopics,
  taskCount,
  topicOfSink,
  type Subtopology,
  type Topology,
} from './topology.ts'

/** A topic that the engine creates before a topology can run. */
export interface InternalTopic {
  /** The full name, with the application's prefix. */
  readonly name: string
  readonly kind: 'repartition' | 'changelog'
  /** The sub-topology that reads it, or whose store it keeps. */
  readonly subtopology: number
  /** The store that a changelog keeps. */
  readonly store?: string
  readonly partitionCount: number
  /** Topic configs by Kafka's names. */
  readonly configs: Readonly<Record<string, string>>
}

const createTime = { 'message.timestamp.type': 'CreateTime' }
/** Java's RepartitionTopicConfig: kept until the engine deletes what it has processed. */
const repartitionConfigs = {
  'cleanup.policy': 'delete',
  'segment.bytes': String(50 * 1024 * 1024),
  'retention.ms': '-1',
}

/**
 * The repartition and changelog topics that a topology needs, with Java's names, partition counts
 * and configs. Java's RepartitionTopics, CopartitionedTopicsEnforcer and InternalTopicConfig.
 *
 * @param partitionCounts partitions of each topic that the user's sources read, by name.
 * @param topicConfigs configs for all internal topics; those of a store win over them.
 * @param additionalRetention milliseconds that windows stay in changelogs after stores forgot them.
 * @throws StreamsError `SOURCE_TOPIC_MISSING` when a count is missing, `TOPOLOGY_INVALID` when topics
 *   that are read side by side have different counts.
 */
export function internalTopics(
  topology: Topology,
  applicationId: string,
  partitionCounts: ReadonlyMap<string, number>,
  topicConfigs: Readonly<Record<string, string>> = {},
  additionalRetention: number = additionalRetentionDefault,
): InternalTopic[] {
  const counts = allPartitionCounts(topology, applicationId, partitionCounts)
  const topics = new Map<string, InternalTopic>()
  for (const subtopology of topology.subtopologies) {
    for (const { name: shortName } of subtopology.repartitionSources) {
      const name = internalTopicName(applicationId, shortName)
      const partitionCount = counts.get(name)
      // Who writes it has a pattern that nothing matches yet: nobody writes or reads it.
      if (partitionCount === undefined) continue
      const configs = configsOfRepartition(topicConfigs)
      const topic = { name, subtopology: subtopology.id, partitionCount, configs }
      topics.set(name, { kind: 'repartition', ...topic })
    }
    const partitionCount = taskCount(applicationId, subtopology, counts)
    if (partitionCount === 0) continue
    for (const store of subtopology.stores) {
      const name = changelogTopic(applicationId, store)
      if (name === undefined || store.sourceTopic !== undefined) continue
      const configs = configsOfChangelog(store, topicConfigs, additionalRetention)
      const topic = { name, subtopology: subtopology.id, partitionCount, configs }
      topics.set(name, { kind: 'changelog', store: store.descriptor.name, ...topic })
    }
  }
  return [...topics.values()]
}

/** The configs of a repartition topic; `topicConfigs` are those for all internal topics. */
export function configsOfRepartition(
  topicConfigs: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return { ...createTime, ...repartitionConfigs, ...topicConfigs }
}

/** The configs of a store's changelog topic; arguments as of {@link internalTopics}. */
export function configsOfChangelog(
  store: StoreNode,
  topicConfigs: Readonly<Record<string, string>>,
  additionalRetention: number = additionalRetentionDefault,
): Readonly<Record<string, string>> {
  return { ...createTime, ...changelogConfigs(store, topicConfigs, additionalRetention) }
}

/**
 * Partitions of every topic that the topology reads, by full name: the given ones, and those of
 * the repartition topics, which follow from the sources above them. Errors as {@link internalTopics}.
 */
export function allPartitionCounts(
  topology: Topology,
  applicationId: string,
  partitionCounts: ReadonlyMap<string, number>,
): Map<string, number> {
  const counts = new Map<string, number>()
  /** Repartition topics without a count yet, with the sub-topologies that write them. */
  const open = new Map<string, readonly Subtopology[]>()
  for (const subtopology of topology.subtopologies) {
    for (const { topics, internal } of subtopology.sources) {
      if (internal) continue
      for (const topic of topics) counts.set(topic, existingCount(partitionCounts, topic))
    }
    const asked = new Map<string, number | undefined>()
    for (const { name: shortName, partitionCount } of subtopology.repartitionSources) {
      asked.set(internalTopicName(applicationId, shortName), partitionCount)
    }
    // The order in which Java goes through them; see settle.
    for (const name of hashSetOrder([...asked.keys()])) {
      const partitionCount = asked.get(name)
      if (partitionCount !== undefined) counts.set(name, partitionCount)
      else open.set(name, writersOf(topology, applicationId, name))
    }
  }
  settle(applicationId, open, counts)
  alignCounts(topology, applicationId, counts)
  return counts
}

function existingCount(partitionCounts: ReadonlyMap<string, number>, topic: string): number {
  const count = partitionCounts.get(topic)
  if (count === undefined) throw new StreamsError('SOURCE_TOPIC_MISSING', { topic })
  return count
}

function writersOf(topology: Topology, applicationId: string, topic: string): Subtopology[] {
  return topology.subtopologies.filter(({ sinks }) =>
    sinks.some((sink) => topicOfSink(applicationId, sink) === topic),
  )
}

/**
 * Gives each open topic as many partitions as the widest topic that its writers read, of those whose
 * count is known at that moment: so that a step may merge a table's changes into the stream that made
 * it. The order therefore matters, and is Java's. Java's RepartitionTopics.
 */
function settle(
  applicationId: string,
  open: Map<string, readonly Subtopology[]>,
  counts: Map<string, number>,
): void {
  while (open.size > 0) {
    const before = open.size
    for (const [topic, writers] of open) {
      const upstream = writers.flatMap((writer) => sourceTopics(applicationId, writer))
      const known = upstream.flatMap((name) => counts.get(name) ?? [])
      if (known.length > 0) counts.set(topic, Math.max(...known))
      // Nothing matches the patterns of who writes it: it is left without a count.
      const isIdle = upstream.every((name) => !counts.has(name) && !open.has(name))
      if (known.length > 0 || isIdle) open.delete(topic)
    }
    if (open.size === before) {
      const detail = `the partition counts of ${[...open.keys()].join(', ')} depend on each other`
      throw new StreamsError('TOPOLOGY_INVALID', { detail })
    }
  }
}
