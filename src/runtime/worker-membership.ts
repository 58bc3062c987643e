import type { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import { Leader } from '../group/assignor/leader.ts'
import { ClassicMember, type ClassicMemberOptions } from '../group/classic-member.ts'
import type { GroupMembership, TaskProgress } from '../group/membership.ts'
import { requestStop } from '../group/stop-request.ts'
import type { Topology } from '../topology/topology.ts'

/** What a worker tells of itself to be a member. */
export interface WorkerMembershipOptions {
  readonly config: ResolvedConfig
  readonly ports: Ports
  readonly client: KafkaClient
  readonly topology: Topology
  /** The topics that its tasks read, by their full names, but for those of patterns. */
  readonly topics: readonly string[]
  readonly processId: string
  /** How far the state of tasks is that this process has. */
  readonly progress: () => TaskProgress
}

/** A worker as a member of the group of its application. */
export interface WorkerMembership {
  readonly membership: GroupMembership
  /** Has all members of the group stopped, after this one has ended. Never rejects. */
  requestStop(reason: string): Promise<void>
}

/** The member of the group that a worker is. It has not joined yet. */
export function createMembership(options: WorkerMembershipOptions): WorkerMembership {
  return classicMembership(options)
}

function classicMembership(options: WorkerMembershipOptions): WorkerMembership {
  const { config, ports, client, topology, topics, processId, progress } = options
  const { clock, random } = ports
  const memberOptions: ClassicMemberOptions = {
    client,
    groupId: config.applicationId,
    instanceId: config.groupInstanceId,
    sessionTimeoutMs: config.sessionTimeout,
    rebalanceTimeoutMs: config.rebalanceTimeout,
    heartbeatIntervalMs: config.heartbeatInterval,
    processId,
    endpoint: config.endpoint,
    topics,
    topicCheckIntervalMs: config.metadataMaxAge,
    leader: new Leader({ client, topology, ...config }),
    progress,
    clock,
    random,
    log: config.log,
  }
  return {
    membership: new ClassicMember(memberOptions),
    requestStop: (reason) => requestStop(memberOptions, reason),
  }
}
