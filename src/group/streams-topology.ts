/**
 * A topology in the words of KIP-1071, byte for byte as Kafka Streams sends it (its StreamThread and
 * StreamsGroupHeartbeatRequestManager). The coordinator keeps what the first member sent and refuses
 * whoever sends something else: the order of every list is part of it.
 */
import type { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestInputOf } from '../protocol/schema.ts'
import { configsOfChangelog, configsOfRepartition } from '../topology/internal-topics.ts'
import { copiedSetOfSetsOrder, hashSetOrder } from '../topology/java-order.ts'
import {
  changelogTopic,
  internalTopicName,
  topicOfSink,
  topicsOfSource,
  type Subtopology,
  type Topology,
} from '../topology/topology.ts'

/** A topology as a member sends it when it joins. */
export type WireTopology = NonNullable<RequestInputOf<typeof streamsGroupHeartbeat>['topology']>
type WireSubtopology = WireTopology['subtopologies'][number]
type TopicInfo = WireSubtopology['stateChangelogTopics'][number]
type CopartitionGroup = WireSubtopology['copartitionGroups'][number]
type Configs = Readonly<Record<string, string>>

/** What a {@link streamsTopology} is made of. */
export interface StreamsTopologyOptions {
  readonly topology: Topology
  readonly applicationId: string
  /** Of internal topics; -1: the brokers' default. */
  readonly replicationFactor: number
  /** Configs for internal topics, over the defaults. */
  readonly topicConfigs: Configs
  /** Milliseconds that windows stay in changelogs after stores forgot them. Default a day. */
  readonly windowStoreChangelogAdditionalRetention?: number
}

/** As in Java, where topologies of one application never have another epoch. */
const topologyEpoch = 0

/** The topology as it is sent. It must not have sources with patterns, which brokers do not know. */
export function streamsTopology(options: StreamsTopologyOptions): WireTopology {
  const { topology, applicationId } = options
  const repartition = new Set(
    topology.subtopologies.flatMap(({ repartitionSources }) =>
      repartitionSources.map(({ name }) => internalTopicName(applicationId, name)),
    ),
  )
  const groups = copartitionGroups(topology, applicationId)
  const subtopologies = topology.subtopologies.map((subtopology): WireSubtopology => {
    const sources = subtopology.sources.flatMap((source) => topicsOfSource(applicationId, source))
    const sourceTopics = sorted(sources.filter((topic) => !repartition.has(topic)))
    const repartitionSourceTopics = repartitionTopics(subtopology, options)
    const ownGroups = groups.filter((group) => [...group].every((topic) => sources.includes(topic)))
    const sinks = subtopology.sinks.flatMap((sink) => topicOfSink(applicationId, sink) ?? [])
    return {
      subtopologyId: String(subtopology.id),
      sourceTopics,
      sourceTopicRegex: [],
      stateChangelogTopics: changelogTopics(subtopology, options),
      repartitionSinkTopics: sorted(sinks.filter((topic) => repartition.has(topic))),
      repartitionSourceTopics,
      copartitionGroups: ownGroups.map((group) =>
        numbered(
          group,
          sourceTopics,
          repartitionSourceTopics.map(({ name }) => name),
        ),
      ),
    }
  })
  return {
    epoch: topologyEpoch,
    subtopologies: subtopologies.sort((a, b) => compare(a.subtopologyId, b.subtopologyId)),
  }
}

function repartitionTopics(
  subtopology: Subtopology,
  { applicationId, replicationFactor, topicConfigs }: StreamsTopologyOptions,
): TopicInfo[] {
  const topics = subtopology.repartitionSources.map(({ name, partitionCount }) => ({
    name: internalTopicName(applicationId, name),
    partitions: partitionCount ?? 0,
    replicationFactor,
    topicConfigs: keyValues(configsOfRepartition(topicConfigs)),
  }))
  return topics.sort((a, b) => compare(a.name, b.name))
}

/** Also a source topic that is a changelog: the coordinator checks its partitions. */
function changelogTopics(subtopology: Subtopology, options: StreamsTopologyOptions): TopicInfo[] {
  const { applicationId, replicationFactor, topicConfigs } = options
  const { windowStoreChangelogAdditionalRetention: additionalRetention } = options
  const topics = new Map<string, TopicInfo>()
  for (const store of subtopology.stores) {
    const name = changelogTopic(applicationId, store)
    if (name === undefined) continue
    const configs = configsOfChangelog(store, topicConfigs, additionalRetention)
    topics.set(name, {
      name,
      partitions: 0,
      replicationFactor,
      topicConfigs: keyValues(configs),
    })
  }
  return [...topics.values()].sort((a, b) => compare(a.name, b.name))
}

/**
 * Topics that must have equally many partitions, of each step that reads several sources. Groups that
 * share a topic become one, unless both were there before: Java's InternalTopologyBuilder, whose hash
 * sets decide about the order.
 */
function copartitionGroups(topology: Topology, applicationId: string): ReadonlySet<string>[] {
  const topicsOf = new Map(
    topology.subtopologies.flatMap(({ sources }) =>
      sources.map((source) => [source.name, topicsOfSource(applicationId, source)] as const),
    ),
  )
  const groupOf = new Map<string, Set<string>>()
  for (const sources of topology.copartitionedSources) {
    const topics = hashSetOrder(sources.flatMap((source) => topicsOf.get(source) ?? []))
    const shared = topics.find((topic) => groupOf.has(topic))
    const group = (shared === undefined ? undefined : groupOf.get(shared)) ?? new Set()
    for (const topic of topics) {
      group.add(topic)
      groupOf.set(topic, group)
    }
  }
  return copiedSetOfSetsOrder([...new Set(groupOf.values())], groupOf.size)
}

/** The topics of a group as places in the lists of the sub-topology. */
function numbered(
  group: ReadonlySet<string>,
  sourceTopics: readonly string[],
  repartitionSourceTopics: readonly string[],
): CopartitionGroup {
  const topics = hashSetOrder([...group])
  const placesIn = (list: readonly string[]): number[] =>
    topics.map((topic) => list.indexOf(topic)).filter((place) => place >= 0)
  return {
    sourceTopics: placesIn(sourceTopics),
    sourceTopicRegex: [],
    repartitionSourceTopics: placesIn(repartitionSourceTopics),
  }
}

function keyValues(configs: Configs): { key: string; value: string }[] {
  const entries = Object.entries(configs).map(([key, value]) => ({ key, value }))
  return entries.sort((a, b) => compare(a.key, b.key))
}

function sorted(topics: readonly string[]): string[] {
  return [...new Set(topics)].sort(compare)
}

/** By code units, as Java compares strings. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
