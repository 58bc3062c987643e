import { assert } from '../../base/assert.ts'
import type { Log } from '../../base/log.ts'
import { Admin } from '../../client/admin.ts'
import type { KafkaClient } from '../../client/kafka-client.ts'
import { StreamsError } from '../../errors.ts'
import { parseTaskId, taskId, type TaskId } from '../../processor/record-metadata.ts'
import { encodeConsumerAssignment } from '../../protocol/consumer-protocol.ts'
import {
  allPartitionCounts,
  internalTopics,
  type InternalTopic,
} from '../../topology/internal-topics.ts'
import { hasPatterns, matchingTopics, withTopics } from '../../topology/matched-topics.ts'
import { sourceTopics, taskCount, type Topology } from '../../topology/topology.ts'
import type { Endpoint, HostMap, TaskSet } from '../membership.ts'
import { sortedTaskIds } from '../task-ids.ts'
import { encodeAssignment, hostKey, type SubscriptionData } from '../user-data.ts'
import { assignSticky, type AssignableTask } from './sticky-assignor.ts'

/** What the leader sees of a member. */
export interface MemberSubscription {
  readonly memberId: string
  readonly generation: number
  readonly data: SubscriptionData
}

/** What a {@link Leader} is made of. */
export interface LeaderOptions {
  readonly client: KafkaClient
  readonly topology: Topology
  readonly applicationId: string
  /** Of internal topics that are created; -1: the brokers' default. */
  readonly replicationFactor: number
  /** Configs for internal topics, over the defaults. */
  readonly topicConfigs: Readonly<Record<string, string>>
  /** Milliseconds that windows stay in changelogs after stores forgot them. Default a day. */
  readonly windowStoreChangelogAdditionalRetention?: number
  readonly log: Log
}

/** What a leader gives to all. */
export interface LedRound {
  /** By member id, in the bytes of SyncGroup. */
  readonly assignments: Map<string, Uint8Array>
  /** Topics that the patterns of the topology matched. */
  readonly matchedTopics: readonly string[]
}

const nobody: TaskSet = { active: new Set(), standby: new Set() }

/**
 * What the member that leads a round does for all: sees to the internal topics, lists the tasks,
 * gives them out, and tells who has what. Java's StreamsPartitionAssignor.
 */
export class Leader {
  readonly #options: LeaderOptions

  constructor(options: LeaderOptions) {
    this.#options = options
  }

  /** True: which topics are read depends on which there are. */
  get hasPatterns(): boolean {
    return hasPatterns(this.#options.topology)
  }

  /** Topics that the patterns match at present; none without patterns. Rejects as the client does. */
  async matchedTopics(signal: AbortSignal): Promise<readonly string[]> {
    const { client, topology, applicationId } = this.#options
    if (!this.hasPatterns) return []
    const topics = await new Admin(client).listTopics({ signal })
    const names = [...topics].flatMap(([name, { internal }]) => (internal ? [] : name))
    return matchingTopics(topology, applicationId, names)
  }

  /**
   * Gives out the tasks. Throws `SOURCE_TOPIC_MISSING`, `INTERNAL_TOPIC_INVALID`, `TOPOLOGY_INVALID`
   * when two patterns match one topic, `APPLICATION_STOPPED` when a member asks for it, and what the
   * client throws.
   */
  async assign(members: readonly MemberSubscription[], signal: AbortSignal): Promise<LedRound> {
    refuseWhenStopped(members)
    const matchedTopics = await this.matchedTopics(signal)
    const topology = withTopics(this.#options.topology, matchedTopics)
    const partitionCounts = await this.#prepareTopics(topology, matchedTopics, signal)
    const target = assignSticky(
      this.#tasks(topology, partitionCounts),
      members.map(({ memberId, generation, data }) => ({
        memberId,
        generation,
        processId: data.processId,
        held: data.held.active,
        stored: new Set(data.stored),
      })),
    )
    const granted = withoutTasksInTransit(target, members)
    const hosts = hostsOf(granted, members)
    const assignments = new Map(
      members.map(({ memberId }) => {
        const active = granted.get(memberId) ?? new Set()
        const userData = encodeAssignment({
          error: undefined,
          tasks: { active, standby: new Set() },
          hosts,
          matchedTopics,
        })
        const assignedPartitions = this.#partitionsOf(topology, active, partitionCounts)
        return [memberId, encodeConsumerAssignment({ assignedPartitions, userData })] as const
      }),
    )
    return { assignments, matchedTopics }
  }

  /** What every member is told when nothing could be assigned. */
  refuse(
    members: readonly { readonly memberId: string }[],
    error: StreamsError,
  ): Map<string, Uint8Array> {
    const nothing = { tasks: nobody, hosts: new Map(), matchedTopics: [] }
    const userData = encodeAssignment({ error, ...nothing })
    const assignment = encodeConsumerAssignment({ assignedPartitions: [], userData })
    return new Map(members.map(({ memberId }) => [memberId, assignment]))
  }

  /**
   * Creates the internal topics that are missing, and checks those that exist. Returns the partition
   * counts of all topics that are read.
   */
  async #prepareTopics(
    topology: Topology,
    matchedTopics: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, number>> {
    const { client, applicationId, topicConfigs } = this.#options
    const { windowStoreChangelogAdditionalRetention: additionalRetention } = this.#options
    const external = await this.#externalCounts(topology, matchedTopics, signal)
    const internal = internalTopics(
      topology,
      applicationId,
      external,
      topicConfigs,
      additionalRetention,
    )
    const existing = await client.topicMetadata(
      internal.map(({ name }) => name),
      { fresh: true, signal },
    )
    const missing = internal.filter(({ name }) => !existing.has(name))
    if (missing.length > 0) await this.#create(missing, signal)
    for (const { name, partitionCount } of internal) {
      const actual = existing.get(name)?.partitions.length ?? client.partitionCount(name)
      if (actual !== undefined && actual !== partitionCount) {
        throw new StreamsError('INTERNAL_TOPIC_INVALID', {
          topic: name,
          actual,
          expected: partitionCount,
        })
      }
    }
    return allPartitionCounts(topology, applicationId, external)
  }

  async #create(missing: readonly InternalTopic[], signal: AbortSignal): Promise<void> {
    const { client, replicationFactor, log } = this.#options
    const outcomes = await new Admin(client).createTopics(
      missing.map(({ name, partitionCount, configs }) => ({
        topic: name,
        partitions: partitionCount,
        replicationFactor,
        configs,
      })),
      { signal },
    )
    for (const [topic, outcome] of outcomes) {
      if (outcome === 'created') log.info('created an internal topic', { topic })
    }
  }

  async #externalCounts(
    topology: Topology,
    matchedTopics: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, number>> {
    const { client } = this.#options
    const topics = topology.subtopologies.flatMap(({ sources }) =>
      sources.filter(({ internal }) => !internal).flatMap((source) => source.topics),
    )
    const metadata = await client.topicMetadata([...new Set(topics)], { fresh: true, signal })
    return new Map(
      topics.map((topic) => {
        const found = metadata.get(topic)
        if (found === undefined) throw missing(topic, matchedTopics)
        return [topic, found.partitions.length]
      }),
    )
  }

  #tasks(topology: Topology, partitionCounts: ReadonlyMap<string, number>): AssignableTask[] {
    const { applicationId } = this.#options
    return topology.subtopologies.flatMap((subtopology) => {
      const stateful = subtopology.stores.length > 0
      const count = taskCount(applicationId, subtopology, partitionCounts)
      return Array.from({ length: count }, (_, partition) => ({
        id: taskId(subtopology.id, partition),
        stateful,
      }))
    })
  }

  /** For Kafka's tools, which show partitions: a task reads its partition of each topic that has one. */
  #partitionsOf(
    topology: Topology,
    tasks: ReadonlySet<TaskId>,
    partitionCounts: ReadonlyMap<string, number>,
  ): { topic: string; partitions: number[] }[] {
    const { applicationId } = this.#options
    const partitions = new Map<string, number[]>()
    for (const id of sortedTaskIds(tasks)) {
      const { subtopology: number, partition } = parseTaskId(id)
      const subtopology = topology.subtopologies.find((one) => one.id === number)
      assert(subtopology !== undefined, `task ${id} is one of the topology`)
      for (const topic of sourceTopics(applicationId, subtopology)) {
        if (partition >= (partitionCounts.get(topic) ?? 0)) continue
        const list = partitions.get(topic)
        if (list === undefined) partitions.set(topic, [partition])
        else list.push(partition)
      }
    }
    return [...partitions].map(([topic, numbers]) => ({ topic, partitions: numbers }))
  }
}

function refuseWhenStopped(members: readonly MemberSubscription[]): void {
  for (const { data } of members) {
    const { processId, stopReason: detail } = data
    if (detail !== undefined) throw new StreamsError('APPLICATION_STOPPED', { processId, detail })
  }
}

/** One that was listed a moment ago was deleted since: the next list will not have it. */
function missing(topic: string, matchedTopics: readonly string[]): StreamsError {
  if (!matchedTopics.includes(topic)) return new StreamsError('SOURCE_TOPIC_MISSING', { topic })
  return new StreamsError('KAFKA_ERROR', {
    api: 'Metadata',
    subject: topic,
    error: 'UNKNOWN_TOPIC_OR_PARTITION',
    kafkaRetriable: true,
  })
}

/**
 * The first of two phases: a task that somebody else still holds is given to nobody. Its owner finds
 * it missing, commits, closes it and joins again; that next round gives it out. Any claim blocks,
 * however old: two owners at a time are worse than one round more.
 */
function withoutTasksInTransit(
  target: ReadonlyMap<string, ReadonlySet<TaskId>>,
  members: readonly MemberSubscription[],
): Map<string, Set<TaskId>> {
  const holders = new Map<TaskId, string[]>()
  for (const { memberId, data } of members) {
    for (const id of data.held.active) {
      const others = holders.get(id)
      if (others === undefined) holders.set(id, [memberId])
      else others.push(memberId)
    }
  }
  return new Map(
    [...target].map(([memberId, tasks]) => [
      memberId,
      new Set([...tasks].filter((id) => holders.get(id)?.every((one) => one === memberId) ?? true)),
    ]),
  )
}

/** Who has what after this round. Members of one process share an endpoint. */
function hostsOf(
  granted: ReadonlyMap<string, ReadonlySet<TaskId>>,
  members: readonly MemberSubscription[],
): HostMap {
  const hosts = new Map<string, { endpoint: Endpoint; tasks: TaskSet }>()
  for (const { memberId, data } of members) {
    if (data.endpoint === undefined) continue
    const key = hostKey(data.endpoint)
    const active = [...(hosts.get(key)?.tasks.active ?? []), ...(granted.get(memberId) ?? [])]
    hosts.set(key, {
      endpoint: data.endpoint,
      tasks: { active: new Set(active), standby: new Set() },
    })
  }
  return hosts
}
