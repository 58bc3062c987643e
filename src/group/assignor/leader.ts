import { assert } from '../../base/assert.ts'
import { yieldTurn } from '../../base/clock.ts'
import { Admin } from '../../client/admin.ts'
import { StreamsError, messageOf } from '../../errors.ts'
import { parseTaskId, taskId, type TaskId } from '../../processor/record-metadata.ts'
import { encodeConsumerAssignment } from '../../protocol/consumer-protocol.ts'
import { murmur2 } from '../../protocol/murmur2.ts'
import { hasPatterns, matchingTopics, withTopics } from '../../topology/matched-topics.ts'
import { changelogTopic, sourceTopics, taskCount, type Topology } from '../../topology/topology.ts'
import type { Endpoint, HostMap, TaskSet } from '../membership.ts'
import { sortedTaskIds } from '../task-ids.ts'
import {
  encodeAssignment,
  encodeHosts,
  hostKey,
  type AssignmentData,
  type SubscriptionData,
  type UserDataVersion,
} from '../user-data.ts'
import type { AssignorOptions } from './assign-tasks.ts'
import { changelogEnds } from './changelog-ends.ts'
import type { AssignableTask } from './process-state.ts'
import { settledPlan } from './settled-plan.ts'
import { grantTasks } from './tasks-in-transit.ts'
import {
  TopicPreparation,
  externalTopics,
  type PreparedTopics,
  type TopicPreparationOptions,
} from './topic-preparation.ts'

/** When the ends of the changelogs could not be read, they are asked for again by then. */
const unknownLagsRetryMs = 60_000

/**
 * Who holds a task that another member waits for joins again by itself. Should it not (it has come back
 * as a static member, which makes no round), the round that it owes is made by then.
 */
const withheldTasksPatienceMs = 30_000

/** What the leader sees of a member. */
export interface MemberSubscription {
  readonly memberId: string
  readonly generation: number
  readonly data: SubscriptionData
}

/** What a {@link Leader} is made of. */
export interface LeaderOptions extends TopicPreparationOptions, Omit<AssignorOptions, 'moves'> {
  readonly topology: Topology
  /** Milliseconds between two looks at lags, while tasks are not where they should be. */
  readonly probingRebalanceInterval: number
}

/** What a leader gives to all. */
export interface LedRound {
  /** By member id, in the bytes of SyncGroup. */
  readonly assignments: Map<string, Uint8Array>
  /** Topics that the patterns of the topology matched. */
  readonly matchedTopics: readonly string[]
  /** Partitions of all topics that are read: for these there are tasks. */
  readonly partitionCounts: ReadonlyMap<string, number>
}

const nothing: AssignmentData = {
  error: undefined,
  tasks: { active: new Set(), standby: new Set() },
  hosts: new Map(),
  matchedTopics: [],
  rejoinInMs: undefined,
  topicsFingerprint: 0,
}

/**
 * What the member that leads a round does for all: sees to the internal topics, lists the tasks,
 * gives them out, and tells who has what. Java's StreamsPartitionAssignor.
 */
export class Leader {
  readonly #options: LeaderOptions
  readonly #preparation: TopicPreparation

  constructor(options: LeaderOptions) {
    this.#options = options
    this.#preparation = new TopicPreparation(options)
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

  /** What the client knows of the topics that others write, as a number; undefined: not all of them. */
  knownFingerprint(matchedTopics: readonly string[]): number | undefined {
    const { client, topology } = this.#options
    const counts = new Map<string, number>()
    for (const topic of externalTopics(withTopics(topology, matchedTopics))) {
      const count = client.partitionCount(topic)
      if (count === undefined) return undefined
      counts.set(topic, count)
    }
    return fingerprintOf(counts)
  }

  /**
   * Gives out the tasks, in the form that all members can read. Throws `SOURCE_TOPIC_MISSING`,
   * `INTERNAL_TOPIC_INVALID`, `TOPOLOGY_INVALID` when two patterns match one topic or topics that are
   * read side by side differ, `APPLICATION_STOPPED` when a member asks for it, and what the client
   * throws.
   *
   * @param leaderId the member that joins again when a look at the lags is due
   */
  async assign(
    members: readonly MemberSubscription[],
    options: { version: UserDataVersion; leaderId: string; signal: AbortSignal },
  ): Promise<LedRound> {
    const { version, leaderId, signal } = options
    refuseWhenStopped(members)
    const matchedTopics = await this.matchedTopics(signal)
    const topology = withTopics(this.#options.topology, matchedTopics)
    const topics = await this.#preparation.prepare(topology, matchedTopics, signal)
    const ends = await this.#ends(topology, topics, members, options)
    const plan = await settledPlan(
      {
        tasks: this.#tasks(topology, topics, ends),
        members: members.map(({ memberId, generation, data }) => ({
          memberId,
          generation,
          ...data,
        })),
        options: this.#assignorOptions(version, ends),
      },
      this.#options.client.clock,
    )
    const { targets, pendingCount } = plan
    const { tasks, releasing, withheldCount } = grantTasks(targets, members)
    const hosts = hostsOf(tasks, members)
    const topicsFingerprint = fingerprintOf(topics.external)
    const leaderRejoinInMs = this.#rejoinInMs(ends, pendingCount, withheldCount)
    const encodedHosts = encodeHosts(hosts)
    const assignments = new Map<string, Uint8Array>()
    for (const { memberId } of members) {
      const own = tasks.get(memberId) ?? nothing.tasks
      const rejoinInMs = releasing.has(memberId)
        ? 0
        : memberId === leaderId
          ? leaderRejoinInMs
          : undefined
      const userData = encodeAssignment(
        { error: undefined, tasks: own, hosts, matchedTopics, rejoinInMs, topicsFingerprint },
        version,
        encodedHosts,
      )
      const assignedPartitions = this.#partitionsOf(topology, own.active, topics.partitionCounts)
      assignments.set(memberId, encodeConsumerAssignment({ assignedPartitions, userData }))
      // For a large group all of this takes a while, and the records of this instance wait.
      await yieldTurn(this.#options.client.clock)
    }
    return { assignments, matchedTopics, partitionCounts: topics.partitionCounts }
  }

  /** What every member is told when nothing could be assigned. */
  refuse(
    members: readonly { readonly memberId: string }[],
    error: StreamsError,
    version: UserDataVersion,
  ): Map<string, Uint8Array> {
    const userData = encodeAssignment({ ...nothing, error }, version)
    const assignment = encodeConsumerAssignment({ assignedPartitions: [], userData })
    return new Map(members.map(({ memberId }) => [memberId, assignment]))
  }

  /**
   * How much there is to read for each task. `unneeded`: one process gets all, or members tell nothing
   * to compare it with. `unknown`: brokers did not tell.
   */
  async #ends(
    topology: Topology,
    topics: PreparedTopics,
    members: readonly MemberSubscription[],
    options: { version: UserDataVersion; signal: AbortSignal },
  ): Promise<ReadonlyMap<TaskId, number> | 'unneeded' | 'unknown'> {
    const { client, applicationId, log } = this.#options
    const processes = new Set(members.map(({ data }) => data.processId))
    if (options.version === 1 || processes.size === 1) return 'unneeded'
    try {
      return await changelogEnds(client, applicationId, topology, topics, options.signal)
    } catch (error) {
      if (!(error instanceof StreamsError) || options.signal.aborted) throw error
      const detail = 'tasks stay where they are until the ends of the changelogs are known'
      log.warn(detail, { error: messageOf(error) })
      return 'unknown'
    }
  }

  #assignorOptions(
    version: UserDataVersion,
    ends: ReadonlyMap<TaskId, number> | 'unneeded' | 'unknown',
  ): AssignorOptions {
    const { acceptableRecoveryLag, maxWarmupReplicas, rackAwareAssignmentTags } = this.#options
    const lags = { acceptableRecoveryLag, maxWarmupReplicas, rackAwareAssignmentTags }
    // Members of a release before version 2 do not run standbys.
    const standbyReplicas = version === 1 ? 0 : this.#options.standbyReplicas
    if (ends === 'unneeded') return { ...lags, standbyReplicas, moves: 'at-once' }
    return { ...lags, standbyReplicas, moves: ends === 'unknown' ? 'never' : 'caught-up' }
  }

  #rejoinInMs(
    ends: ReadonlyMap<TaskId, number> | 'unneeded' | 'unknown',
    pendingCount: number,
    withheldCount: number,
  ): number | undefined {
    const { probingRebalanceInterval } = this.#options
    const reasons = [
      ends === 'unknown' ? unknownLagsRetryMs : Infinity,
      pendingCount > 0 ? probingRebalanceInterval : Infinity,
      withheldCount > 0 ? withheldTasksPatienceMs : Infinity,
    ]
    const soonest = Math.min(...reasons)
    return soonest === Infinity ? undefined : soonest
  }

  #tasks(
    topology: Topology,
    topics: PreparedTopics,
    ends: ReadonlyMap<TaskId, number> | 'unneeded' | 'unknown',
  ): AssignableTask[] {
    const { applicationId } = this.#options
    return topology.subtopologies.flatMap((subtopology) => {
      const stateful = subtopology.stores.length > 0
      const logged = subtopology.stores.some(
        (store) => changelogTopic(applicationId, store) !== undefined,
      )
      const count = taskCount(applicationId, subtopology, topics.partitionCounts)
      return Array.from({ length: count }, (_, partition) => {
        const id = taskId(subtopology.id, partition)
        const endSum = typeof ends === 'string' ? 0 : (ends.get(id) ?? 0)
        return { id, stateful, logged, endSum }
      })
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

/** Never 0, which says that nobody told. */
function fingerprintOf(partitionCounts: ReadonlyMap<string, number>): number {
  const lines = [...partitionCounts].map(([topic, count]) => `${topic} ${count}\n`).sort()
  return murmur2(Buffer.from(lines.join(''))) >>> 0 || 1
}

/** Who has what after this round. Members of one process share an endpoint. */
function hostsOf(
  granted: ReadonlyMap<string, TaskSet>,
  members: readonly MemberSubscription[],
): HostMap {
  const hosts = new Map<string, { endpoint: Endpoint; tasks: TaskSet }>()
  for (const { memberId, data } of members) {
    if (data.endpoint === undefined) continue
    const key = hostKey(data.endpoint)
    const others = hosts.get(key)?.tasks
    const own = granted.get(memberId)
    const active = new Set([...(others?.active ?? []), ...(own?.active ?? [])])
    const standby = new Set([...(others?.standby ?? []), ...(own?.standby ?? [])])
    hosts.set(key, { endpoint: data.endpoint, tasks: { active, standby } })
  }
  return hosts
}
