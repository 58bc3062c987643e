import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { StreamsError } from '../../src/errors.ts'
import { Leader, type LeaderOptions } from '../../src/group/assignor/leader.ts'
import { GroupMember, Holders, topologyOf, type GroupMemberOptions } from './group-member.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

async function startedCluster(partitions = 4): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('orders', partitions)
  return cluster
}

const size = (member: GroupMember, count: number) => () => member.held.size === count

test('a member alone gets all tasks, and knows that it has them', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new GroupMember(cluster, 'a', new Holders()).start()
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
  await using a = new GroupMember(cluster, 'a', holders).start()
  await until(size(a, 4), signal)
  await using b = new GroupMember(cluster, 'b', holders).start()
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
  await using a = new GroupMember(cluster, 'a', holders).start()
  await until(size(a, 4), signal)
  let finish = (): void => undefined
  a.revocation = new Promise((resolve) => {
    finish = resolve
  })
  await using b = new GroupMember(cluster, 'b', holders).start()
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
  await using a = new GroupMember(cluster, 'a', holders).start()
  await using b = new GroupMember(cluster, 'b', holders).start()
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
  await using a = new GroupMember(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  await using b = new GroupMember(cluster, 'b', new Holders()).start()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  a.network.cut()
  await until(() => a.isCutOff, signal)
  // It knows first: nobody has its tasks yet, and it cannot commit any more.
  expect(b.held.size).toBe(2)
  expect(a.membership.identity()).toBeUndefined()
  await until(size(b, 4), signal)
  a.network.heal()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  expect(a.events).toContain('lost')
})

test('five members come and go, and no task ever has two holders', async ({ signal }) => {
  await using cluster = await startedCluster(12)
  const holders = new Holders()
  const all = Array.from(
    { length: 5 },
    (_, index) => new GroupMember(cluster, `m${index}`, holders),
  )
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
  await using a = new GroupMember(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  a.membership.taskMigrated(new Error('a commit was refused'))
  expect(a.membership.identity()).toBeUndefined()
  await until(() => a.events.includes('lost') && a.held.size === 4, signal)
  expect(a.events).toEqual(['assign 0_0 0_1 0_2 0_3', 'lost', 'assign 0_0 0_1 0_2 0_3'])
})

test('a source topic that is gone is told to every member', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new GroupMember(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  await new Admin(a.client).deleteTopics([cluster.name('orders')])
  await using b = new GroupMember(cluster, 'b', new Holders()).start()
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
  await using a = new GroupMember(cluster, 'a', new Holders(), { instanceId: 'a' }).start()
  await until(size(a, 4), signal)
  await using b = new GroupMember(cluster, 'b', new Holders(), { instanceId: 'b' }).start()
  // The last of them ends the round in which b got what a had given up.
  await until(() => a.events.length === 4 && b.held.size === 2, signal)
  const before = [...b.held].sort()
  const eventCount = a.events.length
  await b.stop('remain')
  await using again = new GroupMember(cluster, 'b', new Holders(), { instanceId: 'b' }).start()
  await until(size(again, 2), signal)
  expect([...again.held].sort()).toEqual(before)
  expect(a.events.length).toBe(eventCount)
})

test('a static member with another address is in the host map after a round of its own', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await using a = new GroupMember(cluster, 'a', new Holders(), { instanceId: 'a' }).start()
  await until(size(a, 4), signal)
  await using b = new GroupMember(cluster, 'b', new Holders(), { instanceId: 'b' }).start()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  await b.stop('remain')
  await using again = new GroupMember(cluster, 'b', new Holders(), {
    instanceId: 'b',
    endpoint: { host: 'elsewhere', port: 9 },
  }).start()
  await until(() => again.held.size === 2 && a.hosts.has('elsewhere:9'), signal)
  expect(a.hosts.has('b:1')).toBe(false)
})

test('the second member with one instance id fences the first', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new GroupMember(cluster, 'a', new Holders(), { instanceId: 'same' }).start()
  await until(size(a, 4), signal)
  await using b = new GroupMember(cluster, 'b', new Holders(), { instanceId: 'same' }).start()
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
  await using a = new GroupMember(cluster, 'a', new Holders()).start()
  const error = await until(() => a.fatal, signal)
  expect(error.message).toContain('INCONSISTENT_GROUP_PROTOCOL')
  expect(error.message).toContain('each application needs an applicationId of its own')
  await consumer.disconnect()
})

test('stopping while the others are waited for does not wait for them', async ({ signal }) => {
  await using cluster = await startedCluster()
  await using a = new GroupMember(cluster, 'a', new Holders()).start()
  await until(size(a, 4), signal)
  let finish = (): void => undefined
  a.revocation = new Promise((resolve) => {
    finish = resolve
  })
  await using b = new GroupMember(cluster, 'b', new Holders()).start()
  await until(() => b.events.includes('assign '), signal)
  // The third one waits in JoinGroup for the first, which is busy giving up tasks.
  const c = new GroupMember(cluster, 'c', new Holders()).start()
  await c.stop()
  expect(c.events).toEqual([])
  expect(a.held.size).toBe(4)
  finish()
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
})

/** Members whose tasks have changelogs with 100 records in each partition. */
async function countingCluster(partitions = 4): Promise<{
  cluster: TestCluster
  member: (name: string, options?: GroupMemberOptions) => GroupMember
  holders: Holders
}> {
  const cluster = await startedCluster(partitions)
  const holders = new Holders()
  const topology = topologyOf(cluster.name('orders'), 'counts')
  const member = (name: string, options: GroupMemberOptions = {}): GroupMember =>
    new GroupMember(cluster, name, holders, { topology, ...options }).start()
  await cluster.createTopic('app-counts-changelog', partitions)
  const lines = Array.from({ length: partitions * 100 }, (_, index) => String(index))
  await cluster.write('app-counts-changelog', lines)
  return { cluster, member, holders }
}

test('a newcomer follows tasks until it has caught up, and has them after the next look', async ({
  signal,
}) => {
  const { cluster, member, holders } = await countingCluster()
  await using _cluster = cluster
  const led = { probingRebalanceInterval: 200 }
  await using a = member('a', { led })
  await until(size(a, 4), signal)
  await using b = member('b', { led })
  await until(() => b.standby.size === 2, signal)
  expect(b.hosts.get('b:1')?.tasks.standby).toEqual(b.standby)
  // Two more looks change nothing: it has not caught up.
  const rounds = b.events.length
  await until(() => b.events.length >= rounds + 2, signal)
  expect(a.held.size).toBe(4)
  for (const id of b.standby) b.progress.set(id, 95)
  await until(size(b, 2), signal)
  expect(a.held.size).toBe(2)
  expect(b.standby.size).toBe(0)
  expect(b.events.slice(-2)).toEqual(['assign  | 0_2 0_3', 'assign 0_2 0_3'])
  expect(holders.faults).toEqual([])
})

test('when an owner leaves, its standby has the tasks in one round', async ({ signal }) => {
  const { cluster, member, holders } = await countingCluster()
  await using _cluster = cluster
  const led = { standbyReplicas: 1, acceptableRecoveryLag: 100 }
  await using a = member('a', { led })
  await using b = member('b', { led })
  const isShared = (one: GroupMember) => (): boolean =>
    one.held.size === 2 && one.standby.size === 2
  await until(isShared(a), signal)
  await until(isShared(b), signal)
  expect([...b.standby].sort()).toEqual([...a.held].sort())
  expect(b.hosts.get('a:1')?.tasks.standby.size).toBe(2)
  await a.stop()
  await until(size(b, 4), signal)
  expect(b.standby.size).toBe(0)
  expect(b.events).not.toContain('lost')
  expect(holders.faults).toEqual([])
})

test('releases can be mixed: a member that knows less is understood, and understands', async ({
  signal,
}) => {
  const { cluster, member, holders } = await countingCluster()
  await using _cluster = cluster
  const led = { standbyReplicas: 1, acceptableRecoveryLag: 100 }
  await using a = member('a', { led, userDataVersions: [1] })
  await until(size(a, 4), signal)
  await using b = member('b', { led })
  await until(() => a.held.size === 2 && b.held.size === 2, signal)
  // The old one runs no standbys: nobody gets any.
  expect(a.standby.size + b.standby.size).toBe(0)
  await a.stop()
  await until(size(b, 4), signal)
  await using c = member('a', { led })
  await until(() => c.held.size === 2 && c.standby.size === 2, signal)
  await until(() => b.held.size === 2 && b.standby.size === 2, signal)
  expect(holders.faults).toEqual([])
})

test('a rolling restart of static members moves nothing', async ({ signal }) => {
  const { cluster, member, holders } = await countingCluster(6)
  await using _cluster = cluster
  const options = (name: string): GroupMemberOptions => ({
    instanceId: name,
    sessionTimeoutMs: 20_000,
    led: { standbyReplicas: 1, acceptableRecoveryLag: 100 },
  })
  const names = ['a', 'b', 'c']
  const members = new Map(names.map((name) => [name, member(name, options(name))]))
  const isSettled = (one: GroupMember): boolean => one.held.size === 2 && one.standby.size === 2
  await until(() => [...members.values()].every(isSettled), signal)
  const shown = (): string[] =>
    [...members.values()].map(({ name, held, standby }) => {
      return `${name}: ${[...held].sort().join(' ')} | ${[...standby].sort().join(' ')}`
    })
  const before = shown()
  const generation = members.get('a')?.membership.identity()?.generation
  for (const name of names) {
    await members.get(name)?.stop('remain')
    const again = member(name, options(name))
    members.set(name, again)
    await until(() => isSettled(again), signal)
    // Whatever follows from a restart would be heard of with a heartbeat.
    await until(() => again.membership.identity() !== undefined, signal)
  }
  expect(shown()).toEqual(before)
  for (const one of members.values()) {
    expect(one.events.filter((event) => !event.startsWith('assign'))).toEqual([])
    expect(one.events.length).toBe(1)
    expect(one.membership.identity()?.generation).toBe(generation)
  }
  for (const one of members.values()) await one.stop()
  expect(holders.faults).toEqual([])
})

test('a static leader that was away finds partitions that were added meanwhile', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const options = { instanceId: 'a', sessionTimeoutMs: 20_000 }
  await using a = new GroupMember(cluster, 'a', new Holders(), options).start()
  await until(size(a, 4), signal)
  await a.stop('remain')
  await new Admin(cluster.client).createPartitions(cluster.name('orders'), 6)
  await using again = new GroupMember(cluster, 'a', new Holders(), options).start()
  await until(size(again, 4), signal)
  // A worker asks for the topics of its tasks when it opens them.
  await again.client.topicMetadata([cluster.name('orders')], { fresh: true })
  await until(size(again, 6), signal)
  expect(again.events).toEqual(['assign 0_0 0_1 0_2 0_3', 'assign 0_0 0_1 0_2 0_3 0_4 0_5'])
})

/** Leads the first round; in the next one it says nothing, and tells that it is asked. */
class SilentLeader extends Leader {
  onAsked: () => void = () => undefined

  override assign(...given: Parameters<Leader['assign']>): ReturnType<Leader['assign']> {
    const [members, { signal }] = given
    if (members.length === 1) return super.assign(...given)
    this.onAsked()
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new StreamsError('ABORTED', {})))
    })
  }
}

test('when the leader dies before it has told, another one tells', async ({ signal }) => {
  await using cluster = await startedCluster()
  let leader: SilentLeader | undefined
  const leaderOf = (options: LeaderOptions): Leader => (leader = new SilentLeader(options))
  await using a = new GroupMember(cluster, 'a', new Holders(), { leaderOf }).start()
  await until(size(a, 4), signal)
  const asked = new Promise<void>((resolve) => {
    if (leader !== undefined) leader.onAsked = resolve
  })
  await using b = new GroupMember(cluster, 'b', new Holders()).start()
  await asked
  a.network.cut()
  await until(size(b, 4), signal)
  // All that it has it holds until it hears of it; then it gives it up.
  a.network.heal()
  await until(() => a.events.length > 1, signal)
  expect(a.events).toEqual(['assign 0_0 0_1 0_2 0_3', 'lost'])
})
