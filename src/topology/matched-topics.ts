/**
 * Topics of sources that have a pattern: they are known when the cluster has been asked, and change
 * while the application runs. A topology stays as it is; what matches makes another one of it.
 */
import { StreamsError } from '../errors.ts'
import { unitedGroups } from './copartition.ts'
import type { SourceNode } from './node.ts'
import { changelogTopic, internalTopicName, type Subtopology, type Topology } from './topology.ts'

/** True: some source has a pattern. */
export function hasPatterns(topology: Topology): boolean {
  return patternSources(topology).length > 0
}

function patternSources({ subtopologies }: Topology): SourceNode[] {
  return subtopologies.flatMap(({ sources }) =>
    sources.filter(({ pattern }) => pattern !== undefined),
  )
}

/**
 * Of these topics those that some pattern matches, in order. Topics of the application itself are none
 * of them: its changelogs would come back as input.
 */
export function matchingTopics(
  topology: Topology,
  applicationId: string,
  topics: Iterable<string>,
): string[] {
  const patterns = patternSources(topology).map(({ pattern }) => pattern)
  const own = ownTopics(topology, applicationId)
  const matching = [...new Set(topics)].filter(
    (topic) => !own.has(topic) && patterns.some((pattern) => pattern?.matches(topic)),
  )
  return matching.sort()
}

/** Internal topics, and those that a source names itself. */
function ownTopics(topology: Topology, applicationId: string): ReadonlySet<string> {
  const { subtopologies, globalStores } = topology
  const own = subtopologies.flatMap(({ sources, repartitionSources, stores }) => [
    ...sources.flatMap((source) => source.topics),
    ...repartitionSources.map(({ name }) => internalTopicName(applicationId, name)),
    ...stores.flatMap((store) => changelogTopic(applicationId, store) ?? []),
  ])
  return new Set([...own, ...globalStores.flatMap(({ source }) => source.topics)])
}

/**
 * The topology in which the sources with patterns read those of these topics that they match.
 *
 * @param topics as {@link matchingTopics} gives them.
 * @throws StreamsError `TOPOLOGY_INVALID` when two patterns match one topic.
 */
export function withTopics(topology: Topology, topics: readonly string[]): Topology {
  if (!hasPatterns(topology)) return topology
  const sourceOfTopic = new Map<string, string>()
  for (const { name, pattern } of patternSources(topology)) {
    for (const topic of topics) {
      if (pattern?.matches(topic) !== true) continue
      const other = sourceOfTopic.get(topic)
      if (other !== undefined) {
        const detail = `the topic ${topic} matches the patterns of two sources, ${other} and ${name}`
        throw new StreamsError('TOPOLOGY_INVALID', { detail })
      }
      sourceOfTopic.set(topic, name)
    }
  }
  const subtopologies = topology.subtopologies.map((one) => withTopicsOf(one, sourceOfTopic))
  const topicsOf = new Map(
    subtopologies.flatMap(({ sources }) => sources.map(({ name, topics: read }) => [name, read])),
  )
  const groups = topology.copartitionedSources.map((sources) =>
    sources.flatMap((source) => topicsOf.get(source) ?? []),
  )
  return Object.freeze({
    ...topology,
    subtopologies: Object.freeze(subtopologies),
    copartitionGroups: Object.freeze(unitedGroups(groups)),
  })
}

function withTopicsOf(
  subtopology: Subtopology,
  sourceOfTopic: ReadonlyMap<string, string>,
): Subtopology {
  const topicsOf = (name: string): string[] =>
    [...sourceOfTopic].flatMap(([topic, source]) => (source === name ? topic : []))
  const sources = new Map(
    subtopology.sources.map((source) => [
      source.name,
      source.pattern === undefined
        ? source
        : Object.freeze({ ...source, topics: Object.freeze(topicsOf(source.name)) }),
    ]),
  )
  return Object.freeze({
    ...subtopology,
    nodes: subtopology.nodes.map((node) => sources.get(node.name) ?? node),
    sources: [...sources.values()],
  })
}
