import { expect, test } from 'vitest'
import { settled } from '../../test/peers/scripted-appends.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { silentLog } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { encodeConsumerAssignment } from '../protocol/consumer-protocol.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { joinGroup } from '../protocol/messages/11-join-group.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { leaveGroup } from '../protocol/messages/13-leave-group.ts'
import { syncGroup } from '../protocol/messages/14-sync-group.ts'
import { serdes } from '../serde/serdes.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import { Leader } from './assignor/leader.ts'
import { ClassicMember } from './classic-member.ts'
import type { MembershipHandlers, TaskSet } from './membership.ts'
import { encodeAssignment } from './user-data.ts'

const strings = { key: serdes.string, value: serdes.string }
const topology = new InternalTopologyBuilder()
  .addSource('source', { topics: ['in'], ...strings } as never)
  .build()

/** Keeps a diary. */
class Diary implements MembershipHandlers {
  readonly lines: string[] = []
  fatal: Error | undefined

  onRevoke(active: ReadonlySet<TaskId>): Promise<void> {
    this.lines.push(`revoke ${[...active].join(' ')}`)
    return Promise.resolve()
  }

  onAssign({ active }: TaskSet): Promise<void> {
    this.lines.push(`assign ${[...active].join(' ')}`)
    return Promise.resolve()
  }

  onLost(): Promise<void> {
    this.lines.push('lost')
    return Promise.resolve()
  }

  onHosts(): void {}

  onFatal(error: Error): void {
    this.fatal = error
  }
}

/** A member that follows, of a group whose coordinator says what a test wants. */
async function setUp() {
  const cluster = await ScriptedCluster.start({ topics: { in: 1 } })
  const { clock } = cluster
  const broker = cluster.node(1)
  const client = cluster.client()
  const lines: string[] = []
  const log = {
    ...silentLog,
    warn: (message: string) => void lines.push(message),
    error: (message: string) => void lines.push(message),
  }
  let generation = 0
  const tasks: { active: readonly TaskId[]; rejoinInMs: number | undefined } = {
    active: ['0_0'],
    rejoinInMs: undefined,
  }
  const joined = () => {
    generation += 1
    return {
      errorCode: 0,
      generationId: generation,
      protocolType: 'consumer',
      protocolName: 'millpond-2',
      leader: 'other',
      memberId: 'm-1',
      members: [],
    }
  }
  const synced = () => {
    const userData = encodeAssignment({
      error: undefined,
      tasks: { active: new Set(tasks.active), standby: new Set() },
      hosts: new Map(),
      matchedTopics: [],
      rejoinInMs: tasks.rejoinInMs,
      topicsFingerprint: 0,
    })
    const assignment = encodeConsumerAssignment({ assignedPartitions: [], userData })
    return { errorCode: 0, protocolType: 'consumer', protocolName: 'millpond-2', assignment }
  }
  broker.on(joinGroup, joined)
  broker.on(syncGroup, synced)
  broker.on(heartbeat, () => ({ errorCode: 0 }))
  broker.on(leaveGroup, () => ({ errorCode: 0, members: [] }))
  const shared = { client, topology, clock, log, random: seededRandom(1) }
  const member = new ClassicMember({
    ...shared,
    groupId: 'app',
    instanceId: undefined,
    processId: '00000000-0000-4000-8000-000000000001',
    endpoint: undefined,
    clientTags: {},
    topics: ['in'],
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 60_000,
    heartbeatIntervalMs: 1000,
    leader: new Leader({
      ...shared,
      applicationId: 'app',
      replicationFactor: 1,
      topicConfigs: {},
      standbyReplicas: 0,
      acceptableRecoveryLag: 10,
      maxWarmupReplicas: 2,
      probingRebalanceInterval: 600_000,
      rackAwareAssignmentTags: [],
    }),
    progress: () => new Map(),
  })
  const diary = new Diary()
  return {
    cluster,
    client,
    clock,
    broker,
    member,
    diary,
    lines,
    tasks,
    joined,
    synced,
    joins: () => broker.received(joinGroup).length,
    end: async (mode: 'leave' | 'remain' = 'leave'): Promise<void> => {
      await settled(clock, member.stop(mode))
      await client.close()
      await clock.settle()
      expect(cluster.network.openCount).toBe(0)
      expect(clock.timerCount).toBe(0)
    },
  }
}

/** A promise, and what resolves it. */
function gate(): { readonly promise: Promise<void>; open: () => void } {
  let open = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

test('a rebalance that is heard of while the member joins already needs no other round', async () => {
  const { broker, clock, member, diary, tasks, joins, end } = await setUp()
  const slow = gate()
  tasks.rejoinInMs = 1005
  let beats = 0
  broker.on(heartbeat, async () => {
    beats += 1
    // Its answer is on its way when the member joins, because the leader has asked for that.
    if (beats === 1) await slow.promise
    return { errorCode: errorCode.REBALANCE_IN_PROGRESS }
  })
  member.start(diary)
  await clock.run(1000)
  expect(beats).toBe(1)
  tasks.rejoinInMs = undefined
  await clock.run(20)
  broker.on(heartbeat, () => ({ errorCode: 0 }))
  slow.open()
  await clock.run(5000)
  expect(joins()).toBe(2)
  expect(diary.lines).toEqual(['assign 0_0', 'assign 0_0'])
  await end()
})

test('a rebalance that is heard of in its own time is joined', async () => {
  const { broker, clock, member, diary, joins, end } = await setUp()
  broker.on(heartbeat, () => ({ errorCode: errorCode.REBALANCE_IN_PROGRESS }))
  member.start(diary)
  await clock.run(1010)
  broker.on(heartbeat, () => ({ errorCode: 0 }))
  await clock.run(5000)
  expect(joins()).toBe(2)
  await end()
})

test('who is cut off on purpose while it leaves complains of nothing', async () => {
  const { broker, clock, client, member, diary, lines, end } = await setUp()
  member.start(diary)
  await clock.run(100)
  broker.on(leaveGroup, () => 'silence')
  const stopping = member.stop('leave')
  await clock.run(100)
  const closing = client.close()
  await settled(clock, Promise.all([stopping, closing]))
  expect(lines).toEqual([])
  await end()
})
