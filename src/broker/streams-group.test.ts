import { describe, expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import type { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf } from '../protocol/schema.ts'
import { Refusal, orRefusal } from './refusal.ts'
import { StreamsGroup, type StreamsGroupSettings } from './streams-group.ts'

type Request = RequestOf<typeof streamsGroupHeartbeat>
type Topology = NonNullable<Request['topology']>

const topic = (name: string, partitions = 0) => ({
  name,
  partitions,
  replicationFactor: -1,
  topicConfigs: [{ key: 'cleanup.policy', value: 'compact' }],
})
const subtopology = (subtopologyId: string) => ({
  subtopologyId,
  sourceTopics: [] as string[],
  sourceTopicRegex: [],
  stateChangelogTopics: [] as ReturnType<typeof topic>[],
  repartitionSinkTopics: [] as string[],
  repartitionSourceTopics: [] as ReturnType<typeof topic>[],
  copartitionGroups: [] as Topology['subtopologies'][number]['copartitionGroups'],
})

/** Reads `in`, whose partitions are the tasks, with a store. */
const stateful: Topology = {
  epoch: 0,
  subtopologies: [
    { ...subtopology('0'), sourceTopics: ['in'], stateChangelogTopics: [topic('app-changelog')] },
  ],
}
/** Reads `in`, repartitions, keeps a store. */
const twoSteps: Topology = {
  epoch: 0,
  subtopologies: [
    { ...subtopology('0'), sourceTopics: ['in'], repartitionSinkTopics: ['app-again'] },
    {
      ...subtopology('1'),
      repartitionSourceTopics: [topic('app-again')],
      stateChangelogTopics: [topic('app-changelog')],
    },
  ],
}

const asBefore = {
  groupId: 'app',
  endpointInformationEpoch: -1,
  instanceId: null,
  rackId: null,
  rebalanceTimeoutMs: -1,
  topology: null,
  activeTasks: null,
  standbyTasks: null,
  warmupTasks: null,
  processId: null,
  userEndpoint: null,
  clientTags: null,
  taskOffsets: null,
  taskEndOffsets: null,
  shutdownApplication: false,
}

function setUp(
  options: {
    topology?: Topology
    counts?: Record<string, number>
    settings?: Partial<StreamsGroupSettings>
    firstEpoch?: number
  } = {},
) {
  const { topology = stateful, counts = { in: 4 }, firstEpoch = 7 } = options
  const clock = new ManualClock(0)
  const topics = new Map(Object.entries(counts))
  const created: string[] = []
  let refuseTopics: string | undefined
  const group = new StreamsGroup('app', {
    clock,
    firstEpoch,
    settings: () => ({
      sessionTimeoutMs: 10_000,
      heartbeatIntervalMs: 1000,
      standbyReplicas: 0,
      initialRebalanceDelayMs: 0,
      taskOffsetIntervalMs: 60_000,
      acceptableRecoveryLag: 10_000,
      ...options.settings,
    }),
    partitionCount: (name) => topics.get(name),
    createTopics: (missing) => {
      if (refuseTopics !== undefined) return refuseTopics
      for (const { name, partitionCount, configs } of missing) {
        topics.set(name, partitionCount)
        created.push(`${name} ${partitionCount} ${configs.get('cleanup.policy') ?? ''}`)
      }
      return undefined
    },
  })
  const caller = { clientId: 'c', clientHost: '/127.0.0.1', apiVersion: 1 }
  const send = (request: Partial<Request> & { memberId: string; memberEpoch: number }) =>
    group.heartbeat({ ...asBefore, ...request }, caller)
  const join = (memberId: string, own: Partial<Request> = {}) =>
    send({
      memberId,
      memberEpoch: 0,
      rebalanceTimeoutMs: 60_000,
      topology,
      activeTasks: [],
      standbyTasks: [],
      warmupTasks: [],
      processId: `process of ${memberId}`,
      ...own,
    })
  return {
    clock,
    topics,
    created,
    group,
    send,
    join,
    refuseTopics: (why: string) => {
      refuseTopics = why
    },
    leave: (memberId: string, memberEpoch = -1, instanceId: string | null = null) =>
      group.leave({ ...asBefore, memberId, memberEpoch, instanceId }),
  }
}

const wire = (...partitions: number[]) => [{ subtopologyId: '0', partitions }]
const owns = (active: number[], standby: number[] = []) => ({
  activeTasks: active.length === 0 ? [] : wire(...active),
  standbyTasks: standby.length === 0 ? [] : wire(...standby),
  warmupTasks: [],
})
const refused = (action: () => unknown): string => {
  const outcome = orRefusal(action)
  return outcome instanceof Refusal ? outcome.error : 'NONE'
}

test('the first member gets all tasks, and the internal topics are made', () => {
  const { join, created, group } = setUp({ topology: twoSteps })
  expect(join('a')).toMatchObject({
    errorCode: 0,
    memberEpoch: group.epoch,
    heartbeatIntervalMs: 1000,
    status: [],
    activeTasks: [
      { subtopologyId: '0', partitions: [0, 1, 2, 3] },
      { subtopologyId: '1', partitions: [0, 1, 2, 3] },
    ],
    standbyTasks: [],
    warmupTasks: [],
  })
  expect(created).toEqual(['app-again 4 compact', 'app-changelog 4 compact'])
  expect(group.state).toBe('Stable')
})

test('a task goes to another member only after its owner has said that it gave it up', () => {
  const { join, send, group } = setUp()
  const first = join('a')
  const epoch = first.memberEpoch
  send({ memberId: 'a', memberEpoch: epoch, ...owns([0, 1, 2, 3]) })
  const second = join('b')
  expect(second).toMatchObject({ activeTasks: [], memberEpoch: group.epoch })
  expect(group.state).toBe('Reconciling')
  const told = send({ memberId: 'a', memberEpoch: epoch })
  expect(told).toMatchObject({ memberEpoch: epoch, activeTasks: wire(0, 1) })
  // It lives, and says nothing about its tasks: nothing follows from that.
  expect(send({ memberId: 'a', memberEpoch: epoch }).activeTasks).toBeUndefined()
  expect(send({ memberId: 'b', memberEpoch: second.memberEpoch }).activeTasks).toBeUndefined()
  const acknowledged = send({ memberId: 'a', memberEpoch: epoch, ...owns([0, 1]) })
  expect(acknowledged.memberEpoch).toBe(group.epoch)
  expect(acknowledged.activeTasks).toBeUndefined()
  expect(send({ memberId: 'b', memberEpoch: second.memberEpoch })).toMatchObject({
    activeTasks: wire(2, 3),
  })
  expect(group.state).toBe('Stable')
})

test('a member that does not give up its tasks in time is thrown out', () => {
  const { join, send, clock } = setUp({ settings: { sessionTimeoutMs: 100_000 } })
  const { memberEpoch } = join('a', { rebalanceTimeoutMs: 5000 })
  send({ memberId: 'a', memberEpoch, ...owns([0, 1, 2, 3]) })
  const second = join('b')
  send({ memberId: 'a', memberEpoch })
  clock.advance(4999)
  send({ memberId: 'a', memberEpoch })
  clock.advance(1)
  expect(refused(() => send({ memberId: 'a', memberEpoch }))).toBe('UNKNOWN_MEMBER_ID')
  expect(send({ memberId: 'b', memberEpoch: second.memberEpoch })).toMatchObject({
    activeTasks: wire(0, 1, 2, 3),
  })
})

test('a member that is silent for its session is thrown out', () => {
  const { join, send, clock, group } = setUp()
  const { memberEpoch } = join('a')
  clock.advance(9999)
  send({ memberId: 'a', memberEpoch })
  clock.advance(10_000)
  expect(refused(() => send({ memberId: 'a', memberEpoch }))).toBe('UNKNOWN_MEMBER_ID')
  expect(group.state).toBe('Empty')
  expect(clock.timerCount).toBe(0)
})

describe('the epoch of a member', () => {
  test('may be the one before, when the member holds nothing that others may have', () => {
    const { join, send, leave } = setUp()
    const { memberEpoch } = join('a')
    send({ memberId: 'a', memberEpoch, ...owns([0, 1, 2, 3]) })
    join('b')
    leave('b')
    const next = send({ memberId: 'a', memberEpoch })
    expect(next.memberEpoch).toBeGreaterThan(memberEpoch)
    const late = send({ memberId: 'a', memberEpoch, ...owns([0, 1, 2, 3]) })
    expect(late.memberEpoch).toBe(next.memberEpoch)
    // What it was told in the answer that was lost is not told again.
    expect(late.activeTasks).toBeUndefined()
    expect(refused(() => send({ memberId: 'a', memberEpoch }))).toBe('FENCED_MEMBER_EPOCH')
  })

  test('that is newer than ours, or much older, is fenced', () => {
    const { join, send } = setUp()
    const { memberEpoch } = join('a')
    const held = owns([])
    const newer = { memberId: 'a', memberEpoch: memberEpoch + 1, ...held }
    expect(refused(() => send(newer))).toBe('FENCED_MEMBER_EPOCH')
  })

  test('is that of the commits that are taken; an older one for tasks that were held since', () => {
    const { join, send, group } = setUp()
    const { memberEpoch } = join('a')
    send({ memberId: 'a', memberEpoch, ...owns([0, 1, 2, 3]) })
    const commit = (memberId: string, generation: number, partition: number) =>
      group.commitProblem({ memberId, generation }, { topic: 'in', partition })
    expect(commit('a', memberEpoch, 0)).toBeUndefined()
    expect(commit('a', memberEpoch + 1, 0)).toBe('STALE_MEMBER_EPOCH')
    expect(commit('z', memberEpoch, 0)).toBe('UNKNOWN_MEMBER_ID')
    const b = join('b')
    send({ memberId: 'a', memberEpoch })
    // What is to be given up may still be committed.
    expect(commit('a', memberEpoch, 3)).toBeUndefined()
    const { memberEpoch: later } = send({ memberId: 'a', memberEpoch, ...owns([0, 1]) })
    expect(later).toBeGreaterThan(memberEpoch)
    expect(commit('a', memberEpoch, 0)).toBeUndefined()
    expect(commit('a', memberEpoch, 3)).toBe('STALE_MEMBER_EPOCH')
    send({ memberId: 'b', memberEpoch: b.memberEpoch })
    expect(commit('b', b.memberEpoch - 1, 3)).toBe('STALE_MEMBER_EPOCH')
  })
})

describe('copies', () => {
  const settings = { standbyReplicas: 1 }

  test('are on another process than the task', () => {
    const { join, send } = setUp({ settings })
    const a = join('a', { processId: 'p' })
    expect(a).toMatchObject({ activeTasks: wire(0, 1, 2, 3), standbyTasks: [] })
    send({ memberId: 'a', memberEpoch: a.memberEpoch, ...owns([0, 1, 2, 3]) })
    const same = join('b', { processId: 'p' })
    expect(same.standbyTasks).toEqual([])
    const c = join('c', { processId: 'q' })
    expect(c.standbyTasks).not.toEqual([])
  })

  test('become active in place, when their owner has gone', () => {
    const { join, send, leave, group } = setUp({ settings })
    const a = join('a')
    send({ memberId: 'a', memberEpoch: a.memberEpoch, ...owns([0, 1, 2, 3]) })
    const b = join('b')
    send({ memberId: 'a', memberEpoch: a.memberEpoch })
    const taken = send({ memberId: 'a', memberEpoch: a.memberEpoch, ...owns([0, 1]) })
    const whole = send({ memberId: 'b', memberEpoch: b.memberEpoch })
    expect(whole).toMatchObject({ activeTasks: wire(2, 3), standbyTasks: wire(0, 1) })
    send({ memberId: 'b', memberEpoch: whole.memberEpoch, ...owns([2, 3], [0, 1]) })
    leave('a')
    const promoted = send({ memberId: 'b', memberEpoch: whole.memberEpoch })
    // Both halves of the change at once: nothing is closed in between.
    expect(promoted).toMatchObject({ activeTasks: wire(0, 1, 2, 3), standbyTasks: [] })
    expect(promoted.memberEpoch).toBe(group.epoch)
    expect(taken.memberEpoch).toBeLessThan(group.epoch)
  })

  test('stay when an active task becomes one of them', () => {
    const { join, send } = setUp({ settings })
    const a = join('a')
    send({ memberId: 'a', memberEpoch: a.memberEpoch, ...owns([0, 1, 2, 3]) })
    join('b')
    const told = send({ memberId: 'a', memberEpoch: a.memberEpoch })
    expect(told).toMatchObject({ activeTasks: wire(0, 1), standbyTasks: wire(2, 3) })
  })
})

describe('a static member', () => {
  test('that says that it will be back keeps its tasks, and gets them under its new id', () => {
    const { join, send, leave, group } = setUp()
    const a = join('a', { instanceId: 'i' })
    send({ memberId: 'a', memberEpoch: a.memberEpoch, instanceId: 'i', ...owns([0, 1, 2, 3]) })
    const { epoch } = group
    expect(leave('a', -2, 'i')).toMatchObject({ memberEpoch: -2 })
    const back = join('a2', { instanceId: 'i', processId: 'process of a' })
    expect(back).toMatchObject({ activeTasks: wire(0, 1, 2, 3), memberEpoch: epoch })
    expect(group.epoch).toBe(epoch)
    const old = { memberId: 'a', memberEpoch: a.memberEpoch, instanceId: 'i' }
    expect(refused(() => send(old))).toBe('FENCED_INSTANCE_ID')
  })

  test('that has not said so keeps its instance id until its session is over', () => {
    const { join, clock } = setUp()
    join('a', { instanceId: 'i' })
    expect(refused(() => join('b', { instanceId: 'i' }))).toBe('UNRELEASED_INSTANCE_ID')
    clock.advance(10_000)
    expect(join('b', { instanceId: 'i' })).toMatchObject({ activeTasks: wire(0, 1, 2, 3) })
  })

  test('that is away is waited for as long as its session lasts, whatever it was to give up', () => {
    const { join, send, leave, clock, group } = setUp({ settings: { sessionTimeoutMs: 90_000 } })
    const a = join('a', { instanceId: 'i' })
    join('b')
    const held = { instanceId: 'i', ...owns([0, 1, 2, 3]) }
    send({ memberId: 'a', memberEpoch: a.memberEpoch, ...held })
    leave('a', -2, 'i')
    clock.advance(60_000)
    expect(group.members.map(({ id }) => id)).toEqual(['a', 'b'])
    clock.advance(30_000)
    expect(group.isEmpty).toBe(true)
  })

  test('may leave for good', () => {
    const { join, leave, group } = setUp()
    join('a', { instanceId: 'i' })
    leave('a', -1, 'i')
    expect(group.isEmpty).toBe(true)
    expect(refused(() => leave('a', -1, 'i'))).toBe('UNKNOWN_MEMBER_ID')
  })
})

describe('a group that is not ready', () => {
  test('for a missing source topic gives out its tasks when the topic is there', () => {
    const { join, send, topics, group } = setUp({ counts: {} })
    const joined = join('a')
    expect(joined).toMatchObject({
      activeTasks: [],
      status: [{ statusCode: 1, statusDetail: 'Source topics in are missing.' }],
    })
    expect(group.state).toBe('NotReady')
    topics.set('in', 2)
    expect(send({ memberId: 'a', memberEpoch: joined.memberEpoch })).toMatchObject({
      activeTasks: wire(0, 1),
      status: [],
    })
  })

  test('because internal topics cannot be made says why', () => {
    const { join, refuseTopics } = setUp()
    refuseTopics('app-changelog (the disk is full)')
    expect(join('a').status).toEqual([
      {
        statusCode: 3,
        statusDetail:
          'Internal topics are missing: app-changelog; Creation failed: app-changelog (the disk is full).',
      },
    ])
  })

  test('because an internal topic has another number of partitions', () => {
    const { join } = setUp({ counts: { in: 4, 'app-changelog': 3 } })
    expect(join('a').status).toEqual([
      {
        statusCode: 2,
        statusDetail:
          'Existing topic app-changelog has different number of partitions: expected 4, found 3',
      },
    ])
  })

  test('because topics that are read together have different numbers of partitions', () => {
    const joined: Topology = {
      epoch: 0,
      subtopologies: [
        {
          ...subtopology('0'),
          sourceTopics: ['a', 'b'],
          copartitionGroups: [
            { sourceTopics: [0, 1], sourceTopicRegex: [], repartitionSourceTopics: [] },
          ],
        },
      ],
    }
    const { join } = setUp({ topology: joined, counts: { a: 2, b: 3 } })
    expect(join('a').status).toMatchObject([{ statusCode: 2 }])
  })

  test('because more members are waited for', () => {
    const settings = { initialRebalanceDelayMs: 3000 }
    const { join, send, clock } = setUp({ settings, firstEpoch: 0 })
    const a = join('a')
    // Not 0, with which a member would join again and again.
    expect(a).toMatchObject({ memberEpoch: 1, activeTasks: [], status: [{ statusCode: 5 }] })
    const b = join('b')
    clock.advance(3000)
    expect(send({ memberId: 'a', memberEpoch: a.memberEpoch })).toMatchObject({
      activeTasks: wire(0, 2),
      status: [],
    })
    expect(send({ memberId: 'b', memberEpoch: b.memberEpoch })).toMatchObject({
      activeTasks: wire(1, 3),
    })
  })

  test('because a member that is alone waits for others', () => {
    const settings = { initialRebalanceDelayMs: 3000 }
    const { join, send, clock } = setUp({ settings, firstEpoch: 0 })
    const a = join('a')
    clock.advance(3000)
    const all = { activeTasks: wire(0, 1, 2, 3), status: [] }
    expect(send({ memberId: 'a', memberEpoch: a.memberEpoch })).toMatchObject(all)
  })
})

test('repartition topics are as wide as what is read beside them', () => {
  const topology: Topology = {
    epoch: 0,
    subtopologies: [
      { ...subtopology('0'), sourceTopics: ['in'], repartitionSinkTopics: ['app-again'] },
      {
        ...subtopology('1'),
        sourceTopics: ['table'],
        repartitionSourceTopics: [topic('app-again')],
        copartitionGroups: [
          { sourceTopics: [0], sourceTopicRegex: [], repartitionSourceTopics: [0] },
        ],
      },
    ],
  }
  const { join, created } = setUp({ topology, counts: { in: 4, table: 6 } })
  expect(join('a').status).toEqual([])
  expect(created).toEqual(['app-again 6 compact'])
})

test('another topology is refused, until the group is forgotten', () => {
  const { join, group } = setUp()
  join('a')
  expect(refused(() => join('b', { topology: twoSteps }))).toBe('INVALID_REQUEST')
  expect(group.members).toHaveLength(1)
})

test('partitions that are added to a source topic become tasks', () => {
  const { join, send, topics } = setUp({
    topology: { epoch: 0, subtopologies: [{ ...subtopology('0'), sourceTopics: ['in'] }] },
  })
  const { memberEpoch } = join('a')
  topics.set('in', 6)
  expect(send({ memberId: 'a', memberEpoch }).activeTasks).toEqual(wire(0, 1, 2, 3, 4, 5))
})

test('who wants the application to stop is told to all, until the last has gone', () => {
  const { join, send, leave } = setUp()
  const a = join('a')
  join('b', { shutdownApplication: true })
  leave('b')
  const heard = send({ memberId: 'a', memberEpoch: a.memberEpoch })
  expect(heard.status).toMatchObject([{ statusCode: 4 }])
  expect(heard.status?.[0]?.statusDetail).toContain('Streams group member b ')
  leave('a')
  expect(join('c').status).toEqual([])
})

test('hosts are told to whoever has not heard of them, one entry for each member', () => {
  const { join, send } = setUp()
  const endpoint = { userEndpoint: { host: 'h', port: 7070 } }
  const a = join('a', endpoint)
  expect(a.partitionsByUserEndpoint).toEqual([
    {
      userEndpoint: { host: 'h', port: 7070 },
      activePartitions: [{ topic: 'in', partitions: [0, 1, 2, 3] }],
      standbyPartitions: [],
    },
  ])
  const known = { memberId: 'a', endpointInformationEpoch: a.endpointInformationEpoch }
  expect(send({ ...known, memberEpoch: a.memberEpoch }).partitionsByUserEndpoint).toBeNull()
  join('b', endpoint)
  const later = send({ ...known, memberEpoch: a.memberEpoch, ...owns([0, 1, 2, 3]) })
  expect(later.partitionsByUserEndpoint).toHaveLength(2)
})

test('a member that tells offsets of a task is given it before one that has nothing', () => {
  const { join, send, clock } = setUp({ settings: { initialRebalanceDelayMs: 1000 } })
  const a = join('a')
  const b = join('b', {
    taskOffsets: [0, 1].map((partition) => ({ subtopologyId: '0', partition, offset: 9 })),
  })
  clock.advance(1000)
  expect(send({ memberId: 'a', memberEpoch: a.memberEpoch }).activeTasks).toEqual(wire(2, 3))
  expect(send({ memberId: 'b', memberEpoch: b.memberEpoch }).activeTasks).toEqual(wire(0, 1))
})

test('copies are shared with a member that joins', () => {
  const { join, send, group } = setUp({ settings: { standbyReplicas: 1 } })
  const counts = (): number[][] =>
    group.members.map(({ target }) => [target.active.size, target.standby.size])
  const a = join('a')
  const b = join('b')
  const beat = (memberId: string): void => {
    const member = group.members.find(({ id }) => id === memberId)
    const told = member?.assigned
    const of = (ids: Iterable<string>): number[] => [...ids].map((id) => Number(id.split('_')[1]))
    const owned = owns(of(told?.active.keys() ?? []), of(told?.standby ?? []))
    send({ memberId, memberEpoch: member?.epoch ?? 0, ...owned })
  }
  for (let round = 0; round < 4; round += 1) for (const id of ['a', 'b']) beat(id)
  expect([a.errorCode, b.errorCode]).toEqual([0, 0])
  expect(counts()).toEqual([
    [2, 2],
    [2, 2],
  ])
  join('c')
  for (let round = 0; round < 4; round += 1) for (const id of ['a', 'b', 'c']) beat(id)
  expect(counts().map(([active = 0, standby = 0]) => active + standby)).toEqual([3, 3, 2])
  // Nobody follows what it runs, and all is there once in each role.
  for (const { target } of group.members)
    expect([...target.standby].filter((id) => target.active.has(id))).toEqual([])
  const standbys = group.members.flatMap(({ target }) => [...target.standby])
  expect(standbys.sort()).toEqual(['0_0', '0_1', '0_2', '0_3'])
})
