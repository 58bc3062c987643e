import { describe, expect, test } from 'vitest'
import type { ScriptedBroker } from '../../test/peers/scripted-broker.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { ScriptedStreamsGroup, type Heartbeat } from '../../test/peers/scripted-streams-group.ts'
import { silentLog } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import { streamsGroupDescribe } from '../protocol/messages/89-streams-group-describe.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import {
  progressRunning,
  type HostMap,
  type MembershipHandlers,
  type TaskSet,
} from './membership.ts'
import { StreamsMember, type StreamsMemberOptions } from './streams-member.ts'
import { requestStreamsStop } from './streams-stop-request.ts'
import { streamsTopology } from './streams-topology.ts'

const strings = { key: serdes.string, value: serdes.string }
const store = keyValueStore('table', strings)
const topology = new InternalTopologyBuilder()
  .addInternalTopic({ name: 'again-repartition' })
  .addSource('source', { topics: ['in'], ...strings } as never)
  .addSink('sink', { topic: 'again-repartition', ...strings } as never, ['source'])
  .addSource('again', { topics: ['again-repartition'], ...strings } as never)
  .addProcessor('keep', () => ({ process(): void {} }), ['again'])
  .addStore({ descriptor: store, timestamped: true }, ['keep'])
  .build()

const wireTopology = streamsTopology({
  topology,
  applicationId: 'app',
  replicationFactor: -1,
  topicConfigs: {},
})

/** Keeps a diary; what it is asked for takes as long as a test wants. */
class Diary implements MembershipHandlers {
  readonly lines: string[] = []
  hosts: HostMap = new Map()
  fatal: Error | undefined
  revocation: Promise<void> = Promise.resolve()
  assignment: Promise<void> = Promise.resolve()

  async onRevoke(active: ReadonlySet<TaskId>): Promise<void> {
    this.lines.push(`revoke ${[...active].join(' ')}`)
    await this.revocation
  }

  async onAssign({ active, standby }: TaskSet): Promise<void> {
    this.lines.push(`assign ${[...active].join(' ')}${standby.size === 0 ? '' : ' |'}`)
    if (standby.size > 0) this.lines.push(`follow ${[...standby].join(' ')}`)
    await this.assignment
  }

  onLost(): Promise<void> {
    this.lines.push('lost')
    return Promise.resolve()
  }

  onCutOff(isCutOff: boolean): void {
    this.lines.push(isCutOff ? 'cut off' : 'reached')
  }

  onHosts(hosts: HostMap): void {
    this.hosts = hosts
  }

  onFatal(error: Error): void {
    this.fatal = error
  }
}

async function setUp(
  options: {
    nodes?: number
    /** Of the heartbeat, as the brokers have them. */
    versions?: readonly [number, number]
    member?: Partial<StreamsMemberOptions>
  } = {},
) {
  const { nodes = 1, versions = [0, 1], member: own = {} } = options
  const cluster = await ScriptedCluster.start({
    nodes,
    versions: [[streamsGroupHeartbeat, ...versions]],
  })
  const client = cluster.client()
  const group = new ScriptedStreamsGroup(cluster)
  const diary = new Diary()
  const memberOptions = {
    client,
    groupId: 'app',
    memberId: 'm-1',
    instanceId: undefined,
    processId: 'p-1',
    endpoint: undefined,
    rebalanceTimeoutMs: 300_000,
    sessionTimeoutMs: 45_000,
    progress: () => new Map(),
    topology,
    wireTopology,
    clock: cluster.clock,
    random: seededRandom(1),
    log: silentLog,
    ...own,
  }
  const member = new StreamsMember(memberOptions)
  return {
    cluster,
    group,
    diary,
    member,
    memberOptions,
    run: (ms: number) => cluster.clock.run(ms),
    end: async (mode: 'leave' | 'remain' = 'leave'): Promise<void> => {
      const stopping = member.stop(mode)
      await cluster.clock.run(20_000)
      await stopping
      await client.close()
      await cluster.clock.settle()
      expect(cluster.network.openCount).toBe(0)
      expect(cluster.clock.timerCount).toBe(0)
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

const tasks = ({ activeTasks }: Heartbeat): string[] | null =>
  activeTasks?.flatMap(({ subtopologyId, partitions }) =>
    partitions.map((partition) => `${subtopologyId}_${partition}`),
  ) ?? null

describe('a member', () => {
  test('joins with the topology, applies what it is told, says so once, and lives on', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ epoch: 3, active: ['0_0', '0_1', '1_0'], standby: ['1_1'] })
    expect(member.identity()).toBeUndefined()
    member.start(diary)
    await run(10)
    const [join, acknowledgement] = group.heard
    expect(join).toMatchObject({
      groupId: 'app',
      memberId: 'm-1',
      memberEpoch: 0,
      endpointInformationEpoch: -1,
      instanceId: null,
      rebalanceTimeoutMs: 300_000,
      activeTasks: [],
      standbyTasks: [],
      warmupTasks: [],
      processId: 'p-1',
      userEndpoint: null,
      clientTags: [],
      taskOffsets: [],
      shutdownApplication: false,
    })
    expect(join?.topology).toEqual(wireTopology)
    expect(diary.lines).toEqual(['assign 0_0 0_1 1_0 |', 'follow 1_1'])
    expect(acknowledgement).toMatchObject({
      memberEpoch: 3,
      topology: null,
      rebalanceTimeoutMs: -1,
      processId: null,
      activeTasks: [
        { subtopologyId: '0', partitions: [0, 1] },
        { subtopologyId: '1', partitions: [0] },
      ],
      standbyTasks: [{ subtopologyId: '1', partitions: [1] }],
      warmupTasks: [],
      taskOffsets: null,
    })
    expect(member.identity()).toEqual({
      groupId: 'app',
      memberId: 'm-1',
      instanceId: null,
      generation: 3,
    })
    await run(2500)
    expect(group.heard.slice(2).map(({ activeTasks }) => activeTasks)).toEqual([null, null])
    await end()
  })

  test('joins again where more members are waited for and it was given no epoch', async () => {
    const { group, diary, member, run, end } = await setUp()
    const status = [
      [5, 'Assignment delayed due to the configured initial rebalance delay.'],
    ] as const
    group.tell({ epoch: 0, active: [], status }, { epoch: 2, active: ['0_0'] })
    member.start(diary)
    await run(10)
    expect(member.identity()).toBeUndefined()
    await run(1500)
    expect(group.heard.map(({ memberEpoch }) => memberEpoch)).toEqual([0, 0, 2])
    expect(diary.lines).toEqual(['assign 0_0'])
    expect(member.identity()).toMatchObject({ generation: 2 })
    await end()
  })

  test('says that it gave something up when that is done, and not before', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['0_0', '0_1'] })
    member.start(diary)
    await run(10)
    const committing = gate()
    diary.revocation = committing.promise
    group.tell({ active: ['0_0'] })
    await run(1000)
    expect(diary.lines.at(-1)).toBe('revoke 0_1')
    await run(5000)
    expect(group.heard.slice(3).every(({ activeTasks }) => activeTasks === null)).toBe(true)
    expect(group.heard.length).toBeGreaterThan(6)
    const opening = gate()
    diary.assignment = opening.promise
    committing.open()
    await run(2000)
    expect(diary.lines.at(-1)).toBe('assign 0_0')
    expect(group.heard.at(-1)?.activeTasks).toBeNull()
    opening.open()
    await run(10)
    expect(tasks(group.heard.at(-1) as Heartbeat)).toEqual(['0_0'])
    await end()
  })

  test('keeps the newest target that comes while it applies another one', async () => {
    const { group, diary, member, run, end } = await setUp()
    const opening = gate()
    diary.assignment = opening.promise
    group.tell(
      { epoch: 1, active: ['0_0'] },
      { epoch: 2, active: ['0_0', '0_1'] },
      { epoch: 3, active: ['0_0', '0_1', '1_0'] },
    )
    member.start(diary)
    await run(3500)
    expect(diary.lines).toEqual(['assign 0_0'])
    opening.open()
    await run(10)
    expect(diary.lines).toEqual(['assign 0_0', 'assign 0_0 0_1 1_0'])
    expect(tasks(group.heard.at(-1) as Heartbeat)).toEqual(['0_0', '0_1', '1_0'])
    await end()
  })

  test('waits until the group is ready before it says that it has nothing to do', async () => {
    const { group, diary, member, run, end } = await setUp()
    const delayed = { status: [[5, 'a moment']] as const }
    group.tell({ active: [], ...delayed }, delayed, delayed)
    member.start(diary)
    await run(2500)
    expect(diary.lines).toEqual([])
    await run(1000)
    expect(diary.lines).toEqual(['assign '])
    await end()
  })

  test('runs a warm-up as a copy, and a task that it is told twice as active', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['1_0'], standby: ['1_0', '1_1'], warmup: ['1_2'] })
    member.start(diary)
    await run(10)
    expect(diary.lines).toEqual(['assign 1_0 |', 'follow 1_1 1_2'])
    expect(group.heard.at(-1)).toMatchObject({
      activeTasks: [{ subtopologyId: '1', partitions: [0] }],
      standbyTasks: [{ subtopologyId: '1', partitions: [0, 1] }],
      warmupTasks: [{ subtopologyId: '1', partitions: [2] }],
    })
    await end()
  })

  test('tells who holds what, of members that share an endpoint all together', async () => {
    const { group, diary, member, run, end } = await setUp()
    const entry = (port: number, active: string, partitions: number[]) => ({
      userEndpoint: { host: 'h', port },
      activePartitions: [{ topic: active, partitions }],
      standbyPartitions: [{ topic: 'app-again-repartition', partitions: [3] }],
    })
    group.tell({
      active: ['0_0'],
      rest: {
        endpointInformationEpoch: 7,
        partitionsByUserEndpoint: [
          entry(1, 'in', [0]),
          entry(2, 'in', [1]),
          entry(1, 'app-again-repartition', [0]),
          entry(3, 'unheard-of', [0]),
        ],
      },
    })
    member.start(diary)
    await run(10)
    const told = [...diary.hosts].map(([host, { tasks: held }]) => [
      host,
      [...held.active].join(' '),
      [...held.standby].join(' '),
    ])
    expect(told).toEqual([
      ['h:1', '0_0 1_0', '1_3'],
      ['h:2', '0_1', '1_3'],
      ['h:3', '', '1_3'],
    ])
    expect(group.heard.at(-1)?.endpointInformationEpoch).toBe(7)
    await end()
  })
})

describe('a member that is fenced', () => {
  test('while nothing happens gives up all and joins again under the same id', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ epoch: 5, active: ['0_0'] })
    member.start(diary)
    await run(10)
    group.tell({ error: 'FENCED_MEMBER_EPOCH' }, { epoch: 8, active: ['0_1'] })
    await run(1010)
    expect(diary.lines).toEqual(['assign 0_0', 'lost', 'assign 0_1'])
    const rejoin = group.heard.findLast(({ topology: sent }) => sent !== null)
    expect(rejoin).toMatchObject({ memberId: 'm-1', memberEpoch: 0, activeTasks: [] })
    expect(member.identity()?.generation).toBe(8)
    await end()
  })

  test('while it gives up tasks acknowledges nothing', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['0_0', '0_1'] })
    member.start(diary)
    await run(10)
    const committing = gate()
    diary.revocation = committing.promise
    group.tell({ active: ['0_0'] }, { error: 'UNKNOWN_MEMBER_ID' }, { epoch: 9, active: ['0_2'] })
    await run(2500)
    expect(member.identity()).toBeUndefined()
    committing.open()
    await run(10)
    expect(diary.lines).toEqual(['assign 0_0 0_1', 'revoke 0_1', 'lost', 'assign 0_2'])
    expect(group.heard.filter((one) => tasks(one)?.join() === '0_0')).toEqual([])
    await end()
  })

  test('while it takes tasks gives them up again', async () => {
    const { group, diary, member, run, end } = await setUp()
    const opening = gate()
    diary.assignment = opening.promise
    group.tell({ active: ['0_0'] }, { error: 'FENCED_MEMBER_EPOCH' })
    member.start(diary)
    await run(1500)
    opening.open()
    diary.assignment = Promise.resolve()
    await run(10)
    expect(diary.lines).toEqual(['assign 0_0', 'lost', 'assign '])
    await end()
  })

  test('hears it from a commit as well', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['0_0'] }, {}, { epoch: 2, active: ['0_0'] })
    member.start(diary)
    await run(10)
    member.taskMigrated(new Error('a commit was refused'))
    expect(member.identity()).toBeUndefined()
    await run(10)
    expect(diary.lines).toEqual(['assign 0_0', 'lost', 'assign 0_0'])
    await end()
  })
})

/** Lets a broker describe the group, in which `m-1` holds partitions of sub-topology 0. */
function describes(
  broker: ScriptedBroker,
  { epoch, active }: { epoch: number; active: number[] },
): void {
  broker.on(streamsGroupDescribe, () => ({
    groups: [
      {
        errorCode: 0,
        groupId: 'app',
        groupState: 'Reconciling',
        groupEpoch: 2,
        assignmentEpoch: 2,
        members: [
          {
            memberId: 'm-1',
            memberEpoch: epoch,
            clientId: '',
            clientHost: '',
            topologyEpoch: 0,
            processId: 'p-1',
            clientTags: [],
            taskOffsets: [],
            taskEndOffsets: [],
            assignment: {
              activeTasks: [{ subtopologyId: '0', partitions: active }],
              standbyTasks: [],
              warmupTasks: [],
            },
            targetAssignment: { activeTasks: [], standbyTasks: [], warmupTasks: [] },
            isClassic: false,
          },
        ],
      },
    ],
  }))
}

describe('when an answer is lost', () => {
  test('a member asks for its tasks, because the coordinator does not tell them again', async () => {
    const { cluster, group, diary, member, run, end } = await setUp()
    group.tell({ epoch: 1, active: ['0_0', '0_1'] })
    member.start(diary)
    await run(10)
    describes(cluster.node(1), { epoch: 1, active: [1] })
    // The coordinator has told to give up a task, and the connection broke.
    group.tell(() => {
      for (const connection of cluster.node(1).connections) connection.destroy()
      return 'silence'
    })
    await run(3000)
    expect(diary.lines).toEqual(['assign 0_0 0_1', 'revoke 0_0', 'assign 0_1'])
    const said = group.heard.map(tasks).filter((ids) => ids !== null)
    // Joined, acknowledged, said all again after the break, acknowledged what it has found out.
    expect(said).toEqual([[], ['0_0', '0_1'], ['0_0', '0_1'], ['0_1']])
    await end()
  })

  test('and an error comes in its place, the member asks for its tasks as well', async () => {
    const { cluster, group, diary, member, run, end } = await setUp()
    group.tell({ epoch: 1, active: ['0_0', '0_1'] })
    member.start(diary)
    await run(10)
    describes(cluster.node(1), { epoch: 2, active: [1] })
    // The coordinator has written down epoch 2 and its tasks, and its replicas were slow.
    group.tell({ error: 'COORDINATOR_NOT_AVAILABLE' }, { epoch: 2 })
    await run(3000)
    expect(diary.lines).toEqual(['assign 0_0 0_1', 'revoke 0_0', 'assign 0_1'])
    await end()
  })

  test('and no other comes for a session, nothing counts as its own until one does', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { sessionTimeoutMs: 20_000 } })
    group.tell({ epoch: 2, active: ['0_0'] })
    member.start(diary)
    await run(500)
    group.tell(
      () => 'silence',
      () => 'silence',
      { error: 'COORDINATOR_LOAD_IN_PROGRESS' },
      { active: ['0_0'] },
    )
    await run(19_000)
    expect(diary.lines).toEqual(['assign 0_0'])
    await run(1000)
    expect(diary.lines).toEqual(['assign 0_0', 'cut off'])
    expect(member.identity()).toBeUndefined()
    await run(30_000)
    expect(diary.lines).toEqual(['assign 0_0', 'cut off', 'reached', 'assign 0_0'])
    expect(member.identity()?.generation).toBe(2)
    await end()
  })

  test('of a join, it joins again', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell(() => 'silence', { epoch: 4, active: ['0_0'] })
    member.start(diary)
    await run(50_000)
    expect(diary.lines).toEqual(['assign 0_0'])
    expect(group.heard[1]).toMatchObject({ memberEpoch: 0 })
    await end()
  })
})

describe('the coordinator', () => {
  test('is followed to where it has moved, and waited for while it loads', async () => {
    const { cluster, group, diary, member, run, end } = await setUp({ nodes: 2 })
    group.tell({ active: ['0_0'] })
    member.start(diary)
    await run(10)
    cluster.coordinator = 2
    describes(cluster.node(2), { epoch: 1, active: [0] })
    group.tell({ error: 'NOT_COORDINATOR' }, { error: 'COORDINATOR_LOAD_IN_PROGRESS' })
    await run(3000)
    // What it may have missed was not else than what it has.
    expect(diary.lines).toEqual(['assign 0_0', 'assign 0_0'])
    const there = cluster.node(2).received(streamsGroupHeartbeat)
    expect(there.length).toBeGreaterThan(1)
    // What was said before counts for nothing there.
    expect(tasks(there[0] as Heartbeat)).toEqual(['0_0'])
    await end()
  })

  test('may tell statuses that nobody has heard of', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['0_0'], status: [[99, 'a thing of the future']] })
    member.start(diary)
    await run(10)
    expect(diary.lines).toEqual(['assign 0_0'])
    expect(diary.fatal).toBeUndefined()
    await end()
  })

  test('may answer with an error that nobody has heard of: the membership ends', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell(() => ({ ...group.answer({}), errorCode: 999 }))
    member.start(diary)
    await run(10)
    expect(diary.fatal).toMatchObject({ code: 'KAFKA_ERROR' })
    await end()
  })

  test('may give out a task that the program does not have: the membership ends', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['7_0'] })
    member.start(diary)
    await run(10)
    expect(diary.fatal).toMatchObject({ code: 'ASSIGNMENT_FAILED' })
    expect(diary.lines).toEqual([])
    await end()
  })
})

describe('a problem that the group tells', () => {
  test.each([
    {
      what: 'uneven co-partitions',
      status: [2, 'Topics are not copartitioned'] as const,
      after: 0,
      code: 'TOPOLOGY_INVALID',
      context: { detail: 'Topics are not copartitioned' },
    },
    {
      what: 'an internal topic of another size',
      status: [
        2,
        'Existing topic a-b has different number of partitions: expected 4, found 3',
      ] as const,
      after: 0,
      code: 'INTERNAL_TOPIC_INVALID',
      context: { topic: 'a-b', expected: 4, actual: 3 },
    },
    {
      what: 'a missing source topic, when it is still missing two heartbeats later',
      status: [1, 'Source topics in are missing.'] as const,
      after: 2000,
      code: 'SOURCE_TOPIC_MISSING',
      context: { topic: 'in' },
    },
    {
      what: 'internal topics that it must not make',
      status: [3, 'Internal topics are missing: a; Unauthorized to CREATE on topics a.'] as const,
      after: 2000,
      code: 'ASSIGNMENT_FAILED',
      context: {},
    },
    {
      what: 'internal topics that do not come',
      status: [3, 'Internal topics are missing: a'] as const,
      after: 60_000,
      code: 'ASSIGNMENT_FAILED',
      context: { detail: 'Internal topics are missing: a' },
    },
    {
      what: 'that all are to stop',
      status: [4, 'Streams group member m-7_8 encountered a fatal error'] as const,
      after: 0,
      code: 'APPLICATION_STOPPED',
      context: { processId: 'm-7' },
    },
  ])('ends the membership: $what', async ({ status, after, code, context }) => {
    const { group, diary, member, run, end } = await setUp()
    const beats = Array.from({ length: 70 }, () => ({ active: [], status: [status] }))
    group.tell(...beats)
    member.start(diary)
    let before: Error | undefined
    if (after > 0) {
      await run(after - 100)
      before = diary.fatal
    }
    await run(110)
    expect(before).toBeUndefined()
    expect(diary.fatal).toMatchObject({ code, context })
    expect(diary.lines).toEqual([])
    await end()
  })

  test('is forgotten when it is told no more', async () => {
    const { group, diary, member, run, end } = await setUp()
    const missing = { status: [[1, 'Source topics in are missing.']] as const }
    group.tell({ active: [], ...missing }, missing, { active: ['0_0'] })
    member.start(diary)
    await run(10_000)
    expect(diary.fatal).toBeUndefined()
    expect(diary.lines).toEqual(['assign 0_0'])
    await end()
  })
})

describe('a group that this member cannot join', () => {
  test('because its brokers do not know the protocol', async () => {
    const { diary, member, run, end } = await setUp({ versions: [2, 2] })
    member.start(diary)
    await run(10)
    expect(diary.fatal).toMatchObject({ code: 'GROUP_PROTOCOL_UNSUPPORTED' })
    expect(diary.fatal?.message).toContain("groupProtocol: 'classic'")
    await end()
  })

  test.each([
    ['UNSUPPORTED_VERSION', '', 'GROUP_PROTOCOL_UNSUPPORTED'],
    ['INVALID_REQUEST', 'Topology updates are not supported yet.', 'TOPOLOGY_CHANGED'],
    ['INVALID_REQUEST', 'Something else.', 'KAFKA_ERROR'],
    ['STREAMS_TOPOLOGY_FENCED', '', 'TOPOLOGY_CHANGED'],
    ['STREAMS_INVALID_TOPOLOGY', 'Use of __x is prohibited', 'TOPOLOGY_INVALID'],
    ['GROUP_ID_NOT_FOUND', 'Group app is not a streams group.', 'KAFKA_ERROR'],
    ['GROUP_AUTHORIZATION_FAILED', '', 'KAFKA_ERROR'],
    ['TOPIC_AUTHORIZATION_FAILED', '', 'KAFKA_ERROR'],
    ['GROUP_MAX_SIZE_REACHED', '', 'KAFKA_ERROR'],
  ] as const)('because it answers %s %s', async (error, message, code) => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ error, message })
    member.start(diary)
    await run(10)
    expect(diary.fatal).toMatchObject({ code })
    expect(group.heard).toHaveLength(1)
    await end()
  })
})

describe('a static member', () => {
  test('says its instance id each time, and when it stops that it will be back', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    group.tell({ active: ['0_0'] })
    member.start(diary)
    await run(1500)
    expect(member.identity()?.instanceId).toBe('i-1')
    await end('remain')
    expect(diary.lines).toEqual(['assign 0_0', 'revoke 0_0'])
    expect(group.heard.every(({ instanceId }) => instanceId === 'i-1')).toBe(true)
    expect(group.heard.at(-1)).toMatchObject({ memberEpoch: -2, topology: null })
  })

  test('needs brokers that know static members', async () => {
    const { group, diary, member, run, end } = await setUp({
      versions: [0, 0],
      member: { instanceId: 'i-1' },
    })
    member.start(diary)
    await run(10)
    expect(diary.fatal).toMatchObject({ code: 'GROUP_PROTOCOL_UNSUPPORTED' })
    expect(group.heard).toEqual([])
    await end()
  })

  test('that has lost its tasks says that it will be back before it joins again', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    let isHeld = false
    const answer = ({ memberEpoch }: Heartbeat) => {
      const isRefused = memberEpoch === 0 && isHeld
      isHeld = memberEpoch !== -2
      if (isRefused) return group.answer({ error: 'UNRELEASED_INSTANCE_ID' })
      return group.answer(memberEpoch === 0 ? { active: ['0_0'] } : {})
    }
    group.tell(...Array.from({ length: 20 }, () => answer))
    member.start(diary)
    await run(1500)
    member.taskMigrated(new Error('the producer was fenced'))
    await run(1500)
    expect(diary.lines).toEqual(['assign 0_0', 'lost', 'assign 0_0'])
    await end()
  })

  test('whose join was heard, but not its answer, says that it will be back and is in at once', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    let isHeld = false
    let isLost = false
    const answer = ({ memberEpoch }: Heartbeat) => {
      const isRefused = memberEpoch === 0 && isHeld
      isHeld = memberEpoch !== -2
      if (isRefused) return group.answer({ error: 'UNRELEASED_INSTANCE_ID' })
      if (!isLost) {
        isLost = true
        return group.answer({ error: 'REQUEST_TIMED_OUT' })
      }
      return group.answer(memberEpoch === 0 ? { active: ['0_0'] } : {})
    }
    group.tell(...Array.from({ length: 20 }, () => answer))
    member.start(diary)
    await run(1000)
    expect(diary.lines).toEqual(['assign 0_0'])
    expect(group.heard.slice(0, 3).map(({ memberEpoch }) => memberEpoch)).toEqual([0, -2, 0])
    await end()
  })

  test('whose word that it will be back is lost says it again before it joins', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    group.tell({ active: ['0_0'] }, { error: 'UNKNOWN_MEMBER_ID' })
    group.tell({ error: 'COORDINATOR_NOT_AVAILABLE' }, {}, { active: ['0_1'] })
    member.start(diary)
    await run(3000)
    expect(diary.lines).toEqual(['assign 0_0', 'lost', 'assign 0_1'])
    expect(group.heard.slice(0, 5).map(({ memberEpoch }) => memberEpoch)).toEqual([0, 1, -2, -2, 0])
    await end()
  })

  test('that never got in waits for one that was killed, also when an answer was lost', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    group.tell({ error: 'REQUEST_TIMED_OUT' }, { error: 'FENCED_INSTANCE_ID' })
    group.tell({ error: 'UNRELEASED_INSTANCE_ID' }, { active: ['0_0'] })
    member.start(diary)
    await run(5000)
    expect(diary.fatal).toBeUndefined()
    expect(diary.lines).toEqual(['assign 0_0'])
    await end()
  })

  test('waits for the session of one that was killed', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    let isOver = false
    const answer = () =>
      group.answer(isOver ? { active: ['0_0'] } : { error: 'UNRELEASED_INSTANCE_ID' })
    group.tell(
      ...Array.from(
        { length: 100 },
        () =>
          ({ memberEpoch }: Heartbeat) =>
            memberEpoch === 0 ? answer() : group.answer(),
      ),
    )
    member.start(diary)
    await run(45_000)
    expect(diary.fatal).toBeUndefined()
    isOver = true
    await run(5000)
    expect(diary.lines).toEqual(['assign 0_0'])
    await end()
  })

  test('gives up when another one goes on holding its instance id', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    const refused = { error: 'UNRELEASED_INSTANCE_ID' } as const
    group.tell(...Array.from({ length: 100 }, () => refused))
    member.start(diary)
    await run(70_000)
    expect(diary.fatal).toMatchObject({ code: 'GROUP_INSTANCE_UNRELEASED' })
    const count = group.heard.length
    await end()
    // It says nothing more under that id: it would be the other one who leaves.
    expect(group.heard).toHaveLength(count)
  })

  test('that was replaced ends, and does not leave in the name of its successor', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { instanceId: 'i-1' } })
    group.tell({ active: ['0_0'] }, {}, { error: 'FENCED_INSTANCE_ID' })
    member.start(diary)
    await run(1500)
    expect(diary.fatal).toMatchObject({ code: 'GROUP_INSTANCE_FENCED' })
    const count = group.heard.length
    await end()
    expect(group.heard).toHaveLength(count)
  })
})

describe('stop', () => {
  test('gives up all tasks and leaves', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['0_0', '0_1'] })
    member.start(diary)
    await run(10)
    await end('leave')
    expect(diary.lines).toEqual(['assign 0_0 0_1', 'revoke 0_0 0_1'])
    expect(group.heard.at(-1)).toMatchObject({ memberEpoch: -1, memberId: 'm-1' })
  })

  test('of a member that is to stay says nothing', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['0_0'] })
    member.start(diary)
    await run(10)
    await end('remain')
    expect(diary.lines).toEqual(['assign 0_0', 'revoke 0_0'])
    expect(group.heard.every(({ memberEpoch }) => memberEpoch >= 0)).toBe(true)
  })

  test('ends a join that gets no answer', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell(() => 'silence')
    member.start(diary)
    await run(10)
    await end()
    expect(diary.lines).toEqual([])
  })

  test('of a member that is cut off on purpose while it leaves complains of nothing', async () => {
    const lines: string[] = []
    const log = { ...silentLog, warn: (line: string) => void lines.push(line) }
    const { group, diary, member, memberOptions, run, end } = await setUp({ member: { log } })
    member.start(diary)
    await run(100)
    group.tell(() => 'silence')
    const stopping = member.stop('leave')
    await run(100)
    const closing = memberOptions.client.close()
    await run(100)
    await Promise.all([stopping, closing])
    expect(lines).toEqual([])
    await end()
  })

  test('before the start does nothing', async () => {
    const { group, end } = await setUp()
    await end()
    expect(group.heard).toEqual([])
  })

  test('of the whole application is said before the tasks are free for others', async () => {
    const { group, diary, member, run, end } = await setUp()
    group.tell({ active: ['0_0'] })
    member.start(diary)
    await run(10)
    member.announceStop()
    expect(member.isStopAnnounced).toBe(false)
    await end()
    expect(member.isStopAnnounced).toBe(true)
    const last = group.heard.slice(-2)
    expect(
      last.map(({ memberEpoch, shutdownApplication }) => [memberEpoch, shutdownApplication]),
    ).toEqual([
      [1, true],
      [-1, false],
    ])
  })

  test('of the whole application is asked for by a member that comes for that', async () => {
    const { cluster, group, memberOptions, end } = await setUp()
    group.tell({ error: 'COORDINATOR_LOAD_IN_PROGRESS' })
    const asked = requestStreamsStop({ ...memberOptions, memberId: 'p-1', topology: wireTopology })
    await cluster.clock.run(3000)
    await asked
    expect(
      group.heard.map(({ memberEpoch, shutdownApplication }) => [memberEpoch, shutdownApplication]),
    ).toEqual([
      [0, true],
      [0, true],
      [-1, false],
    ])
    await end()
  })
})

test('copies go on when a member is lost, and until the group is ready again', async () => {
  const { group, diary, member, run, end } = await setUp()
  group.tell({ active: ['1_0'], standby: ['1_1'] })
  member.start(diary)
  await run(10)
  group.tell(
    { error: 'FENCED_MEMBER_EPOCH' },
    { active: [], status: [[5, 'a moment']] },
    { active: ['1_1'] },
  )
  await run(2500)
  expect(diary.lines).toEqual(['assign 1_0 |', 'follow 1_1', 'lost', 'assign 1_1'])
  await end()
})

describe('offsets of state', () => {
  const progress = () =>
    new Map<TaskId, number>([
      ['1_0', progressRunning],
      ['1_1', 42],
    ])

  test('are told when joining, but those of running tasks, and then as often as they are wanted', async () => {
    const { group, diary, member, run, end } = await setUp({ member: { progress } })
    const wanted = { taskOffsetIntervalMs: 3000 }
    group.tell(
      { active: ['1_0'], rest: wanted },
      ...Array.from({ length: 10 }, () => ({ rest: wanted })),
    )
    member.start(diary)
    await run(6500)
    const told = group.heard.map(({ taskOffsets }) => taskOffsets)
    const row = [{ subtopologyId: '1', partition: 1, offset: 42 }]
    expect(told).toEqual([row, null, null, null, row, null, null, row])
    await end()
  })

  test('are not told to brokers that do not know them', async () => {
    const { group, diary, member, run, end } = await setUp({
      versions: [0, 0],
      member: { progress },
    })
    member.start(diary)
    await run(1500)
    expect(group.heard.every(({ taskOffsets }) => taskOffsets === null)).toBe(true)
    await end()
  })
})
