import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { Admin } from '../../src/client/admin.ts'
import type { KafkaClient } from '../../src/client/kafka-client.ts'
import { systemPorts } from '../../src/config.ts'
import { StreamsBuilder } from '../../src/dsl/streams-builder.ts'
import { topic } from '../../src/dsl/topic.ts'
import { Leader } from '../../src/group/assignor/leader.ts'
import { ClassicMember, type ClassicMemberOptions } from '../../src/group/classic-member.ts'
import type { HostMap, MembershipHandlers, TaskSet } from '../../src/group/membership.ts'
import type { TaskId } from '../../src/processor/record-metadata.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { sourceTopics, type Topology } from '../../src/topology/topology.ts'
import { CutTransport } from './cut-transport.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

function topologyOf(cluster: TestCluster): Topology {
  const builder = new StreamsBuilder()
  const orders = topic(cluster.name('orders'), { value: serdes.string })
  builder.stream(orders).forEach(() => undefined)
  return builder.build()
}

/** Who holds which task, over all members of a group; a second holder is noted as a fault. */
class Holders {
  readonly faults: string[] = []
  readonly #holders = new Map<TaskId, string>()

  take(member: string, id: TaskId): void {
    const other = this.#holders.get(id)
    if (other !== undefined) this.faults.push(`${member} got ${id} while ${other} held it`)
    this.#holders.set(id, member)
  }

  release(id: TaskId): void {
    this.#holders.delete(id)
  }
}

/** A member that keeps a diary. */
class Member implements MembershipHandlers, AsyncDisposable {
  readonly name: string
  readonly events: string[] = []
  readonly network = new CutTransport()
  readonly client: KafkaClient
  readonly membership: ClassicMember
  readonly #holders: Holders
  held = new Set<TaskId>()
  hosts: HostMap = new Map()
  fatal: Error | undefined
  /** What a revocation waits for. */
  revocation: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(
    cluster: TestCluster,
    name: string,
    holders: Holders,
    options: Partial<ClassicMemberOptions> = {},
  ) {
    this.name = name
    this.#holders = holders
    this.client = cluster.newClient({ transport: this.network })
    const { client } = this
    const applicationId = cluster.name('app')
    const topology = topologyOf(cluster)
    this.membership = new ClassicMember({
      client,
      groupId: applicationId,
      instanceId: undefined,
      processId: `00000000-0000-4000-8000-${Buffer.from(name.padEnd(6)).toString('hex')}`,
      endpoint: { host: name, port: 1 },
      topics: topology.subtopologies.flatMap((one) => sourceTopics(applicationId, one)),
      sessionTimeoutMs: 1000,
      rebalanceTimeoutMs: 10_000,
      heartbeatIntervalMs: 20,
      leader: new Leader({
        client,
        topology,
        applicationId,
        replicationFactor: 1,
        topicConfigs: {},
        log: silentLog,
      }),
      progress: () => new Map(),
      log: silentLog,
      ...systemPorts,
      ...options,
    })
  }

  start(): this {
    this.membership.start(this)
    return this
  }

  async onRevoke(active: ReadonlySet<TaskId>): Promise<void> {
    this.events.push(`revoke ${[...active].sort().join(' ')}`)
    if (this.membership.identity() === undefined)
      this.#holders.faults.push(`${this.name} cannot commit while it gives up tasks`)
    await this.revocation
    for (const id of active) {
      this.held.delete(id)
      this.#holders.release(id)
    }
  }

  onAssign(target: TaskSet): Promise<void> {
    this.events.push(`assign ${[...target.active].sort().join(' ')}`)
    for (const id of target.active) if (!this.held.has(id)) this.#holders.take(this.name, id)
    this.held = new Set(target.active)
    return Promise.resolve()
  }

  onLost(): Promise<void> {
    this.events.push('lost')
    for (const id of this.held) this.#holders.release(id)
    this.held.clear()
    return Promise.resolve()
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
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isStopped) await this.stop()
  }
}

async function startedCluster(partitions = 4): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('orders', partitions)
  return cluster
}

const size = (member: Member, count: number) => () => member.held.size === count

test('a member alone gets all tasks, and knows that it has them', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  expect(a.events).toEqual(['assign 0_0 0_1 0_2 0_3'])
  expect([...(a.hosts.get('a:1')?.tasks.active ?? [])].sort()).toEqual(['0_0', '0_1', '0_2', '0_3'])
  expect(a.membership.identity()).toMatchObject({
    groupId: cluster.name('app'),
    instanceId: null,
  })
})

test('a newcomer gets its share in two rounds, and what stays is never touched', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const holders = new Holders()
  await using a = new Member(cluster, 'a', holders).start()
  await until(size(a, 4), signal)
  await using b = new Member(cluster, 'b', holders).start()
  await until(() => a.events.length === 4 && b.held.size === 2, signal)
  expect(holders.faults).toEqual([])
  expect(a.events).toEqual([
    'assign 0_0 0_1 0_2 0_3',
    'revoke 0_2 0_3',
    'assign 0_0 0_1',
    'assign 0_0 0_1',
  ])
  expect(b.events).toEqual(['assign ', 'assign 0_2 0_3'])
  expect([...a.hosts.keys()].sort()).toEqual(['a:1', 'b:1'])
  expect(a.hosts).toEqual(b.hosts)
})

test('a task is in nobody’s hands until its old owner has given it up', async ({ signal }) => {
  await using cluster = await startedCluster()
  const holders = new Holders()
  await using a = new Member(cluster, 'a', holders).start()
  await until(size(a, 4), signal)
  let finish = (): void => undefined
  a.revocation = new Promise((resolve) => {
    finish = resolve
  })
  await using b = new Member(cluster, 'b', holders).start()
  await until(() => b.events.includes('assign '), signal)
  expect(b.held.size).toBe(0)
  expect(b.hosts.get('a:1')?.tasks.active.size).toBe(2)
  expect(b.hosts.get('b:1')?.tasks.active.size).toBe(0)
  finish()
  await until(size(b, 2), signal)
  expect(holders.faults).toEqual([])
})

test('a member that leaves hands its tasks over at once', async ({ signal }) => {
  await using cluster = await startedCluster()
  const holders = new Holders()
  await using a = new Member(cluster, 'a', holders).start()
  await using b = new Member(cluster, 'b', holders).start()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  await a.stop()
  expect(a.events.at(-1)).toMatch(/^revoke 0_. 0_.$/)
  await until(size(b, 4), signal)
  expect(holders.faults).toEqual([])
})

test('a member that is cut off is replaced after its session, and told so when it returns', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  await using b = new Member(cluster, 'b', new Holders()).start()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  a.network.cut()
  await until(size(b, 4), signal)
  a.network.heal()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  expect(a.events).toContain('lost')
})

test('five members come and go, and no task ever has two holders', async ({ signal }) => {
  await using cluster = await startedCluster(12)
  const holders = new Holders()
  const all = Array.from({ length: 5 }, (_, index) => new Member(cluster, `m${index}`, holders))
  for (const member of all) member.start()
  const total = (): number => all.reduce((sum, { held }) => sum + held.size, 0)
  await until(() => total() === 12 && all.every(({ held }) => held.size >= 2), signal)
  await all[0]?.stop()
  await all[3]?.stop()
  await until(
    () => total() === 12 && [1, 2, 4].every((index) => all[index]?.held.size === 4),
    signal,
  )
  for (const index of [1, 2, 4]) await all[index]?.stop()
  expect(holders.faults).toEqual([])
})

test('a fenced member gives everything up and joins again', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  a.membership.taskMigrated(new Error('a commit was refused'))
  expect(a.membership.identity()).toBeUndefined()
  await until(() => a.events.includes('lost') && a.held.size === 4, signal)
  expect(a.events).toEqual(['assign 0_0 0_1 0_2 0_3', 'lost', 'assign 0_0 0_1 0_2 0_3'])
})

test('a source topic that is gone is told to every member', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  await new Admin(a.client).deleteTopics([cluster.name('orders')])
  await using b = new Member(cluster, 'b', new Holders()).start()
  for (const member of [a, b]) {
    const { message } = await until(() => member.fatal, signal)
    expect(message).toBe(
      `The source topic ${cluster.name('orders')} does not exist. Create it, then start again.`,
    )
  }
})

test('a static member that comes back gets the same tasks, and the other one notices nothing', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders(), { instanceId: 'a' }).start()
  await until(size(a, 4), signal)
  await using b = new Member(cluster, 'b', new Holders(), { instanceId: 'b' }).start()
  // The last of them ends the round in which b got what a had given up.
  await until(() => a.events.length === 4 && b.held.size === 2, signal)
  const before = [...b.held].sort()
  const eventCount = a.events.length
  await b.stop('remain')
  await using again = new Member(cluster, 'b', new Holders(), { instanceId: 'b' }).start()
  await until(size(again, 2), signal)
  expect([...again.held].sort()).toEqual(before)
  expect(a.events.length).toBe(eventCount)
})

test('a static member with another address is in the host map after a round of its own', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders(), { instanceId: 'a' }).start()
  await until(size(a, 4), signal)
  await using b = new Member(cluster, 'b', new Holders(), { instanceId: 'b' }).start()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  await b.stop('remain')
  await using again = new Member(cluster, 'b', new Holders(), {
    instanceId: 'b',
    endpoint: { host: 'elsewhere', port: 9 },
  }).start()
  await until(() => again.held.size === 2 && a.hosts.has('elsewhere:9'), signal)
  expect(a.hosts.has('b:1')).toBe(false)
})

test('the second member with one instance id fences the first', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders(), { instanceId: 'same' }).start()
  await until(size(a, 4), signal)
  await using b = new Member(cluster, 'b', new Holders(), { instanceId: 'same' }).start()
  const error = await until(() => a.fatal, signal)
  expect(error).toMatchObject({ code: 'GROUP_INSTANCE_FENCED' })
  expect(a.events.at(-1)).toBe('lost')
  await until(size(b, 4), signal)
})

test('a member of a group that is not Millpond’s is refused with a plain error', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const { Kafka, logLevel } = await import('kafkajs')
  const kafka = new Kafka({ brokers: [cluster.address], logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: cluster.name('app'), maxWaitTimeInMs: 50 })
  await consumer.connect()
  await consumer.subscribe({ topic: cluster.name('orders') })
  const joined = new Promise((resolve) => {
    consumer.on(consumer.events.GROUP_JOIN, resolve)
  })
  await consumer.run({ eachMessage: () => Promise.resolve() })
  await joined
  await using a = new Member(cluster, 'a', new Holders()).start()
  const error = await until(() => a.fatal, signal)
  expect(error.message).toContain('INCONSISTENT_GROUP_PROTOCOL')
  expect(error.message).toContain('each application needs an applicationId of its own')
  await consumer.disconnect()
})

test('stopping while the others are waited for does not wait for them', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new Member(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  let finish = (): void => undefined
  a.revocation = new Promise((resolve) => {
    finish = resolve
  })
  await using b = new Member(cluster, 'b', new Holders()).start()
  await until(() => b.events.includes('assign '), signal)
  // The third one waits in JoinGroup for the first, which is busy giving up tasks.
  const c = new Member(cluster, 'c', new Holders()).start()
  await c.stop()
  expect(c.events).toEqual([])
  expect(a.held.size).toBe(4)
  finish()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
})
