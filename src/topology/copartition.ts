import { StreamsError } from '../errors.ts'
import type { RepartitionTopic } from './node.ts'
import { internalTopicName, type Topology } from './topology.ts'

/**
 * Unites groups that share a topic: what is read beside a topic in one step, and what in another, must
 * have equally many partitions as it, and so as each other.
 */
export function unitedGroups(groups: readonly (readonly string[])[]): string[][] {
  const united: Set<string>[] = []
  for (const group of groups) {
    const whole = new Set(group)
    for (const other of united.filter((set) => group.some((topic) => set.has(topic)))) {
      for (const topic of other) whole.add(topic)
      united.splice(united.indexOf(other), 1)
    }
    united.push(whole)
  }
  return united.filter((group) => group.size > 1).map((group) => [...group].sort())
}

/** Refuses repartition topics that are read together and for which the program states other counts. */
export function assertAgreedCounts(
  groups: readonly (readonly string[])[],
  repartitionTopics: ReadonlyMap<string, RepartitionTopic>,
): void {
  for (const group of groups) {
    const stated = group.flatMap((topic) => {
      const count = repartitionTopics.get(topic)?.partitionCount
      return count === undefined ? [] : [[topic, count] as const]
    })
    assertSame(new Map(stated))
  }
}

/**
 * Gives the repartition topics for which no count is stated as many partitions as the topics beside
 * which they are read. Java's CopartitionedTopicsEnforcer; unlike there, topics are also compared when
 * the program has no repartition topics at all.
 *
 * @param counts partitions by full name, as far as they follow from the topics above.
 * @throws StreamsError `TOPOLOGY_INVALID` when topics that are read together have different counts.
 */
export function alignCounts(
  topology: Topology,
  applicationId: string,
  counts: Map<string, number>,
): void {
  const repartition = new Map(
    topology.subtopologies.flatMap(({ repartitionSources }) =>
      repartitionSources.map((topic) => [topic.name, topic] as const),
    ),
  )
  for (const group of topology.copartitionGroups) {
    const fixed = new Map<string, number>()
    const flexible: string[] = []
    for (const name of group) {
      const topic = repartition.get(name)
      const fullName = topic === undefined ? name : internalTopicName(applicationId, name)
      const isFixed = topic === undefined || topic.partitionCount !== undefined
      if (isFixed) fixed.set(fullName, counts.get(fullName) ?? 0)
      else flexible.push(fullName)
    }
    assertSame(fixed)
    const [agreed] = fixed.values()
    const count = agreed ?? Math.max(...flexible.map((name) => counts.get(name) ?? 0))
    for (const name of flexible) counts.set(name, count)
  }
}

function assertSame(counts: ReadonlyMap<string, number>): void {
  if (new Set(counts.values()).size <= 1) return
  const list = [...counts].map(([topic, count]) => `${topic}: ${count}`).join(', ')
  const detail = `topics that are read together must have equally many partitions (${list})`
  throw new StreamsError('TOPOLOGY_INVALID', { detail })
}
