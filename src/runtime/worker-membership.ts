import { randomUuid } from '../base/random.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig } from '../config.ts'
import { Leader } from '../group/assignor/leader.ts'
import { ClassicMember, type ClassicMemberOptions } from '../group/classic-member.ts'
import type { GroupMembership, TaskProgress } from '../group/membership.ts'
import { requestStop } from '../group/stop-request.ts'
import { StreamsMember } from '../group/streams-member.ts'
import { prepareStreamsGroup, type StreamsSetting } from '../group/streams-settings.ts'
import { requestStreamsStop } from '../group/streams-stop-request.ts'
import { streamsTopology } from '../group/streams-topology.ts'
import type { Topology } from '../topology/topology.ts'
import { WorkerTopics } from './worker-topics.ts'

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
  const { groupProtocol } = options.config
  switch (groupProtocol) {
    case 'classic':
      return classicMembership(options)
    case 'streams':
      return streamsMembership(options)
    default:
      return groupProtocol satisfies never
  }
}

/** Has all members of the group stopped, whoever is one. Never rejects. */
export function stopApplication(
  options: Omit<WorkerMembershipOptions, 'topics' | 'progress'>,
  reason: string,
): Promise<void> {
  const { topology, config } = options
  const { sources } = new WorkerTopics(topology, config.applicationId)
  const member = createMembership({ ...options, topics: sources, progress: () => new Map() })
  return member.requestStop(reason)
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
    clientTags: config.clientTags,
    topicCheckIntervalMs: config.metadataMaxAge,
    leader: new Leader({ client, topology, ...config }),
    progress,
    ...(ports.userDataVersions !== undefined && { userDataVersions: ports.userDataVersions }),
    clock,
    random,
    log: config.log,
  }
  return {
    membership: new ClassicMember(memberOptions),
    requestStop: (reason) => {
      // Under the instance id it would take the place of the one that has it by now, and a static member
      // that takes a place leads to no round in which the others could be told.
      return requestStop({ ...memberOptions, instanceId: undefined }, reason)
    },
  }
}

function streamsMembership(options: WorkerMembershipOptions): WorkerMembership {
  const { config, ports, client, topology, processId, progress } = options
  const { clock, random } = ports
  const { applicationId, log } = config
  const wireTopology = streamsTopology({ topology, ...config })
  const shared = {
    client,
    groupId: applicationId,
    processId,
    endpoint: config.endpoint,
    clientTags: config.clientTags,
    rebalanceTimeoutMs: config.rebalanceTimeout,
    progress,
    clock,
    random,
    log,
  }
  const settings = streamsSettings(config)
  const membership = new StreamsMember({
    ...shared,
    // Who reads it in a list of members, or in a message of the broker, finds the process.
    memberId: `${processId}_${randomUuid(random)}`,
    instanceId: config.groupInstanceId,
    topology,
    wireTopology,
    sessionTimeoutMs: config.sessionTimeout,
    prepare: (signal) =>
      prepareStreamsGroup({ client, groupId: applicationId, settings, log }, signal),
  })
  return {
    membership,
    requestStop: async () => {
      if (membership.isStopAnnounced) return
      await requestStreamsStop({
        ...shared,
        // The others are told the id of who asks: the process says more than a name of its own.
        memberId: processId,
        instanceId: undefined,
        topology: wireTopology,
      })
    },
  }
}

/** Options that are settings of the group in this protocol. */
function streamsSettings(config: ResolvedConfig): StreamsSetting[] {
  const all = [
    ['streams.num.standby.replicas', 'standbyReplicas'],
    ['streams.session.timeout.ms', 'sessionTimeout'],
    ['streams.heartbeat.interval.ms', 'heartbeatInterval'],
    ['streams.acceptable.recovery.lag', 'acceptableRecoveryLag'],
    ['streams.num.warmup.replicas', 'maxWarmupReplicas'],
    ['streams.rack.aware.assignment.tags', 'rackAwareAssignmentTags'],
  ] as const
  const settings = all.map(([name, option]): StreamsSetting => ({
    name,
    option,
    value: String(config[option]),
    isStated: config.stated.has(option),
  }))
  // But for this one, the defaults of the brokers are as good.
  return settings.filter(({ option, isStated }) => isStated || option === 'standbyReplicas')
}
