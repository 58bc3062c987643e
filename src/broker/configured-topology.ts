/**
 * The topology of a streams group on the topics that there are
 * (org.apache.kafka.coordinator.group.streams.topics.InternalTopicManager): how many tasks each
 * sub-topology has, and which internal topics are to be made.
 */
import {
  streamsStatus,
  type streamsGroupHeartbeat,
} from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf } from '../protocol/schema.ts'

export type WireTopology = NonNullable<RequestOf<typeof streamsGroupHeartbeat>['topology']>
export type WireSubtopology = WireTopology['subtopologies'][number]

/** An internal topic with the number of partitions that follows from the topology. */
export interface InternalTopic {
  readonly name: string
  readonly partitionCount: number
  readonly configs: ReadonlyMap<string, string>
}

export interface ConfiguredSubtopology {
  readonly id: string
  readonly taskCount: number
  readonly isStateful: boolean
}

/** What keeps a group from working. */
export interface TopologyProblem {
  readonly statusCode: number
  readonly statusDetail: string
}

export interface ConfiguredTopology {
  readonly subtopologies: readonly ConfiguredSubtopology[]
  /** All internal topics by name, those that exist included. */
  readonly internalTopics: ReadonlyMap<string, InternalTopic>
}

/** Partitions of a topic that exists. */
type CountOf = (topic: string) => number | undefined

class Unconfigurable extends Error {
  readonly statusCode: number

  constructor(statusCode: number, detail: string) {
    super(detail)
    this.statusCode = statusCode
  }
}

/** Finds out what a topology comes to, or why it cannot run. */
export function configureTopology(
  topology: WireTopology,
  countOf: CountOf,
): ConfiguredTopology | TopologyProblem {
  try {
    return configure(topology, countOf)
  } catch (error) {
    if (!(error instanceof Unconfigurable)) throw error
    return { statusCode: error.statusCode, statusDetail: error.message }
  }
}

function configure({ subtopologies }: WireTopology, countOf: CountOf): ConfiguredTopology {
  const counts = sourceCounts(subtopologies, countOf)
  settleRepartitionTopics(subtopologies, counts)
  alignCopartitioned(subtopologies, counts)
  const internalTopics = new Map<string, InternalTopic>()
  const configured = subtopologies.map((subtopology): ConfiguredSubtopology => {
    const { subtopologyId: id, stateChangelogTopics, repartitionSourceTopics } = subtopology
    const read = topicsReadBy(subtopology)
    const taskCount = Math.max(0, ...read.map((topic) => counts.get(topic) ?? 0))
    for (const topic of repartitionSourceTopics) add(topic, counts.get(topic.name) ?? 0)
    for (const topic of stateChangelogTopics) add(topic, taskCount)
    return { id, taskCount, isStateful: stateChangelogTopics.length > 0 }
  })
  return { subtopologies: configured, internalTopics }

  function add(topic: WireSubtopology['stateChangelogTopics'][number], partitionCount: number) {
    const { name, topicConfigs } = topic
    const existing = countOf(name)
    if (existing !== undefined && existing !== partitionCount) {
      throw new Unconfigurable(
        streamsStatus.incorrectlyPartitionedTopics,
        `Existing topic ${name} has different number of partitions: expected ${partitionCount}, found ${existing}`,
      )
    }
    const configs = new Map(topicConfigs.map(({ key, value }) => [key, value]))
    internalTopics.set(name, { name, partitionCount, configs })
  }
}

function topicsReadBy({ sourceTopics, repartitionSourceTopics }: WireSubtopology): string[] {
  return [...sourceTopics, ...repartitionSourceTopics.map(({ name }) => name)]
}

function sourceCounts(
  subtopologies: readonly WireSubtopology[],
  countOf: CountOf,
): Map<string, number> {
  const counts = new Map<string, number>()
  const missing: string[] = []
  for (const { sourceTopics, repartitionSourceTopics } of subtopologies) {
    for (const topic of sourceTopics) {
      const count = countOf(topic)
      if (count === undefined) missing.push(topic)
      else counts.set(topic, count)
    }
    for (const { name, partitions } of repartitionSourceTopics) {
      if (partitions > 0) counts.set(name, partitions)
    }
  }
  if (missing.length === 0) return counts
  const names = [...new Set(missing)].sort().join(', ')
  throw new Unconfigurable(streamsStatus.missingSourceTopics, `Source topics ${names} are missing.`)
}

/** A repartition topic has as many partitions as the widest topic that its writers read. */
function settleRepartitionTopics(
  subtopologies: readonly WireSubtopology[],
  counts: Map<string, number>,
): void {
  const open = new Set(
    subtopologies.flatMap(({ repartitionSourceTopics }) =>
      repartitionSourceTopics.filter(({ name }) => !counts.has(name)).map(({ name }) => name),
    ),
  )
  while (open.size > 0) {
    const before = open.size
    for (const topic of open) {
      const known = subtopologies
        .filter(({ repartitionSinkTopics }) => repartitionSinkTopics.includes(topic))
        .flatMap((writer) => topicsReadBy(writer))
        .flatMap((name) => counts.get(name) ?? [])
      if (known.length === 0) continue
      counts.set(topic, Math.max(...known))
      open.delete(topic)
    }
    if (open.size < before) continue
    throw new Unconfigurable(
      streamsStatus.missingSourceTopics,
      `Failed to compute number of partitions for repartition topics ${[...open].join(', ')}`,
    )
  }
}

/** Topics that are read side by side have equally many partitions. */
function alignCopartitioned(
  subtopologies: readonly WireSubtopology[],
  counts: Map<string, number>,
): void {
  for (const { sourceTopics, repartitionSourceTopics, copartitionGroups } of subtopologies) {
    for (const group of copartitionGroups) {
      const repartition = group.repartitionSourceTopics.flatMap(
        (index) => repartitionSourceTopics[index] ?? [],
      )
      const flexible = repartition.filter(({ partitions }) => partitions === 0)
      const fixed = [
        ...group.sourceTopics.flatMap((index) => sourceTopics[index] ?? []),
        ...repartition.filter(({ partitions }) => partitions > 0).map(({ name }) => name),
      ]
      assertEqualCounts(fixed, counts)
      const [first] = fixed
      const count =
        first === undefined
          ? Math.max(...flexible.map(({ name }) => counts.get(name) ?? 0))
          : (counts.get(first) ?? 0)
      for (const { name } of flexible) counts.set(name, count)
    }
  }
}

function assertEqualCounts(topics: readonly string[], counts: ReadonlyMap<string, number>): void {
  const distinct = new Set(topics.map((topic) => counts.get(topic)))
  if (distinct.size <= 1) return
  const list = topics.map((topic) => `${topic}: ${counts.get(topic) ?? 0}`).join(', ')
  throw new Unconfigurable(
    streamsStatus.incorrectlyPartitionedTopics,
    `Topics are not copartitioned: ${list}`,
  )
}
