import type { Transport } from '../../src/base/transport.ts'
import { silentLog } from '../../src/base/log.ts'
import type { KafkaClient } from '../../src/client/kafka-client.ts'
import { systemPorts } from '../../src/config.ts'
import { StreamsBuilder } from '../../src/dsl/streams-builder.ts'
import { topic } from '../../src/dsl/topic.ts'
import { Leader, type LeaderOptions } from '../../src/group/assignor/leader.ts'
import { ClassicMember, type ClassicMemberOptions } from '../../src/group/classic-member.ts'
import {
  progressRunning,
  type HostMap,
  type MembershipHandlers,
  type TaskSet,
} from '../../src/group/membership.ts'
import type { TaskId } from '../../src/processor/record-metadata.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { keyValueStore } from '../../src/store/descriptor.ts'
import { sourceTopics, type Topology } from '../../src/topology/topology.ts'
import { CutTransport } from './cut-transport.ts'
import type { TestCluster } from './test-cluster.ts'

/** Reads a topic; `counts`: with a store, whose changelog standbys can follow. */
export function topologyOf(orders: string, kind: 'reads' | 'counts' = 'reads'): Topology {
  const builder = new StreamsBuilder()
  const stream = builder.stream(topic(orders, { key: serdes.string, value: serdes.string }))
  if (kind === 'reads') stream.forEach(() => undefined)
  else
    stream
      .groupByKey()
      .count({ store: keyValueStore('counts', { key: serdes.string, value: serdes.long }) })
  return builder.build()
}

/**
 * Who holds which task, over all members of a group. Noted as faults: a second holder while the first
 * could still commit, a task in both roles, and two members of one process that have the same task.
 */
export class Holders {
  readonly faults: string[] = []
  readonly #members = new Set<GroupMember>()

  add(member: GroupMember): void {
    this.#members.add(member)
  }

  remove(member: GroupMember): void {
    this.#members.delete(member)
  }

  /** Looks at what the member has by now. */
  check(member: GroupMember): void {
    for (const id of member.held)
      if (member.standby.has(id)) this.faults.push(`${member.name} has ${id} in both roles`)
    for (const other of this.#members) {
      // One that the group has given up learns it from nobody but itself: then it does nothing any more.
      if (other === member || !member.mayCommit || !other.mayCommit) continue
      for (const id of member.held)
        if (other.held.has(id))
          this.faults.push(`${member.name} has ${id} while ${other.name} has it`)
      if (other.processId !== member.processId) continue
      for (const id of [...member.held, ...member.standby])
        if (other.held.has(id) || other.standby.has(id))
          this.faults.push(`${member.name} has the directory of ${id} while ${other.name} has it`)
    }
  }
}

/** What a {@link GroupMember} is made of, beside what it takes from the cluster. */
export interface GroupMemberOptions extends Partial<ClassicMemberOptions> {
  readonly topology?: Topology
  readonly led?: Partial<LeaderOptions>
  readonly leaderOf?: (options: LeaderOptions) => Leader
  /** Default: that of this machine. */
  readonly transport?: Transport
}

/** A member that keeps a diary. */
export class GroupMember implements MembershipHandlers, AsyncDisposable {
  readonly name: string
  readonly events: string[] = []
  readonly processId: string
  readonly network: CutTransport
  readonly client: KafkaClient
  readonly membership: ClassicMember
  readonly #holders: Holders
  held = new Set<TaskId>()
  standby = new Set<TaskId>()
  /** How far the state is of tasks that do not run here. */
  readonly progress = new Map<TaskId, number>()
  hosts: HostMap = new Map()
  fatal: Error | undefined
  isCutOff = false
  /** What a revocation waits for. */
  revocation: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(
    cluster: Pick<TestCluster, 'name' | 'newClient'>,
    name: string,
    holders: Holders,
    {
      topology = topologyOf(cluster.name('orders')),
      led,
      leaderOf = (own) => new Leader(own),
      transport,
      ...options
    }: GroupMemberOptions = {},
  ) {
    this.name = name
    this.processId = options.processId ?? processIdOf(name)
    this.network = new CutTransport(transport)
    this.client = cluster.newClient({ transport: this.network })
    this.#holders = holders
    const { client } = this
    const applicationId = cluster.name('app')
    this.membership = new ClassicMember({
      client,
      groupId: applicationId,
      instanceId: undefined,
      processId: this.processId,
      endpoint: { host: name, port: 1 },
      clientTags: {},
      topics: topology.subtopologies.flatMap((one) => sourceTopics(applicationId, one)),
      sessionTimeoutMs: 1000,
      rebalanceTimeoutMs: 10_000,
      heartbeatIntervalMs: 20,
      leader: leaderOf({
        client,
        topology,
        applicationId,
        replicationFactor: 1,
        topicConfigs: {},
        standbyReplicas: 0,
        acceptableRecoveryLag: 10,
        maxWarmupReplicas: 2,
        probingRebalanceInterval: 600_000,
        rackAwareAssignmentTags: [],
        log: silentLog,
        ...led,
      }),
      progress: () => this.#told(),
      log: silentLog,
      ...systemPorts,
      ...options,
    })
  }

  /** True: it may do what counts. */
  get mayCommit(): boolean {
    return this.membership.identity() !== undefined
  }

  start(): this {
    this.#holders.add(this)
    this.membership.start(this)
    return this
  }

  async onRevoke(active: ReadonlySet<TaskId>): Promise<void> {
    this.events.push(`revoke ${[...active].sort().join(' ')}`)
    if (this.membership.identity() === undefined)
      this.#holders.faults.push(`${this.name} cannot commit while it gives up tasks`)
    await this.revocation
    for (const id of active) this.held.delete(id)
  }

  onAssign(target: TaskSet): Promise<void> {
    const followed = target.standby.size === 0 ? '' : ` | ${[...target.standby].sort().join(' ')}`
    this.events.push(`assign ${[...target.active].sort().join(' ')}${followed}`)
    this.held = new Set(target.active)
    this.standby = new Set(target.standby)
    this.#holders.check(this)
    return Promise.resolve()
  }

  onLost(): Promise<void> {
    this.events.push('lost')
    this.held.clear()
    return Promise.resolve()
  }

  onCutOff(isCutOff: boolean): void {
    this.isCutOff = isCutOff
    this.#holders.check(this)
  }

  onHosts(hosts: HostMap): void {
    this.hosts = hosts
  }

  onFatal(error: Error): void {
    this.fatal = error
  }

  async stop(mode: 'leave' | 'remain' = 'leave'): Promise<void> {
    this.#isStopped = true
    await this.membership.stop(mode)
    await this.client.close()
    this.#holders.remove(this)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isStopped) await this.stop()
  }

  #told(): Map<TaskId, number> {
    const progress = new Map(this.progress)
    for (const id of this.held) progress.set(id, progressRunning)
    return progress
  }
}

/** The process of a member that has one of its own: up to six characters of its name. */
function processIdOf(name: string): string {
  return `00000000-0000-4000-8000-${Buffer.from(name.padEnd(6)).toString('hex')}`
}
