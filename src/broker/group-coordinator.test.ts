import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom } from '../base/random.ts'
import { encodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import { GroupConfigs } from './group-configs.ts'
import { GroupCoordinator } from './group-coordinator.ts'
import type { JoinRequest } from './group-member.ts'
import { OffsetStore } from './offset-store.ts'
import { Refusal } from './refusal.ts'
import { StreamsGroups } from './streams-groups.ts'
import { Topics } from './topics.ts'

class Stage {
  readonly clock = new ManualClock()
  readonly #store = {
    disk: new MemoryDisk(),
    clock: this.clock,
    log: silentLog,
    dataDir: '/data',
    leaderEpoch: 0,
  }
  readonly offsets = new OffsetStore(this.#store)
  readonly coordinator = new GroupCoordinator({
    clock: this.clock,
    random: seededRandom(7),
    offsets: this.offsets,
    streams: new StreamsGroups({
      clock: this.clock,
      leaderEpoch: 1,
      topics: new Topics({ ...this.#store, random: seededRandom(8), defaults: new Map() }),
      configs: new GroupConfigs({ ...this.#store, defaults: new Map() }),
    }),
    sessionTimeoutMinMs: 100,
    initialRebalanceDelayMs: 0,
  })

  request(overrides: Partial<JoinRequest> = {}): JoinRequest {
    return {
      memberId: '',
      instanceId: null,
      clientId: 'client',
      clientHost: '/127.0.0.1',
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 10_000,
      protocolType: 'consumer',
      protocols: [{ name: 'range', metadata: encodeConsumerSubscription({ topics: ['t'] }) }],
      requiresKnownId: false,
      supportsSkip: false,
      ...overrides,
    }
  }

  /** A stable group of one; returns its member id. */
  async stable(groupId: string): Promise<string> {
    const { memberId, generation } = await this.coordinator.join(groupId, this.request())
    await this.coordinator.sync(groupId, {
      memberId,
      instanceId: null,
      generation,
      protocolType: null,
      protocolName: null,
      assignments: [],
    })
    return memberId
  }

  commit(groupId: string, memberId: string, generation: number): string {
    const entry = { topic: 't', partition: 0, offset: 5, leaderEpoch: -1, metadata: '' }
    return this.coordinator.commit(groupId, { memberId, instanceId: null, generation }, [entry])
  }
}

const streamsJoin = {
  groupId: 'g',
  memberId: 'm',
  memberEpoch: 0,
  endpointInformationEpoch: -1,
  instanceId: null,
  rackId: null,
  rebalanceTimeoutMs: 60_000,
  topology: { epoch: 0, subtopologies: [] },
  activeTasks: [],
  standbyTasks: [],
  warmupTasks: [],
  processId: 'p',
  userEndpoint: null,
  clientTags: [],
  taskOffsets: null,
  taskEndOffsets: null,
  shutdownApplication: false,
}
const caller = { clientId: 'c', clientHost: '/127.0.0.1', apiVersion: 1 }

describe('a group of the streams protocol', () => {
  test('does not take the place of a classic one by a request that is refused', async () => {
    const stage = new Stage()
    const { coordinator } = stage
    const memberId = await stage.stable('g')
    coordinator.leave('g', memberId, null)
    const summary = coordinator.list()
    expect(summary).toMatchObject([{ groupType: 'classic', state: 'Empty' }])
    const refusals = [
      { ...streamsJoin, rebalanceTimeoutMs: -1 },
      { ...streamsJoin, memberEpoch: 3, topology: null },
    ]
    for (const request of refusals) {
      expect(() => coordinator.streamsHeartbeat(request, caller)).toThrow(Refusal)
      expect(coordinator.list()).toEqual(summary)
    }
    coordinator.streamsHeartbeat(streamsJoin, caller)
    expect(coordinator.list()).toMatchObject([{ groupType: 'streams' }])
  })

  test('tells its offsets to members in their epoch, and to who gives no name', () => {
    const { coordinator } = new Stage()
    const { memberEpoch } = coordinator.streamsHeartbeat(streamsJoin, caller)
    const problem = (memberId: string | null, epoch: number) =>
      coordinator.fetchProblem('g', { memberId, memberEpoch: epoch })
    expect(problem(null, -1)).toBeUndefined()
    expect(problem('m', memberEpoch)).toBeUndefined()
    expect(problem('m', memberEpoch - 1)).toBe('STALE_MEMBER_EPOCH')
    expect(problem('m', memberEpoch + 1)).toBe('STALE_MEMBER_EPOCH')
    expect(problem('other', memberEpoch)).toBe('UNKNOWN_MEMBER_ID')
    coordinator.streamsHeartbeat({ ...streamsJoin, memberEpoch: -1, topology: null }, caller)
    expect(problem('m', memberEpoch)).toBe('UNKNOWN_MEMBER_ID')
  })

  test('takes commits of outsiders when it is empty, and none of a member that has left', () => {
    const stage = new Stage()
    const { coordinator } = stage
    const { memberEpoch } = coordinator.streamsHeartbeat(streamsJoin, caller)
    expect(stage.commit('g', 'm', memberEpoch)).toBe('NONE')
    expect(stage.commit('g', '', -1)).toBe('UNKNOWN_MEMBER_ID')
    coordinator.streamsHeartbeat({ ...streamsJoin, memberEpoch: -1, topology: null }, caller)
    expect(stage.commit('g', 'm', memberEpoch)).toBe('UNKNOWN_MEMBER_ID')
    expect(stage.commit('g', '', -1)).toBe('NONE')
  })
})

describe('GroupCoordinator', () => {
  test('a member id is the client id and a uuid', async () => {
    const stage = new Stage()
    expect(await stage.stable('g')).toMatch(/^client-[0-9a-f-]{36}$/)
  })

  test('requests that make no sense are told so', async () => {
    const stage = new Stage()
    const { coordinator } = stage
    const errorOf = async (groupId: string, overrides: Partial<JoinRequest>): Promise<string> =>
      (await coordinator.join(groupId, stage.request(overrides))).error
    expect(await errorOf('', {})).toBe('INVALID_GROUP_ID')
    expect(await errorOf('g', { sessionTimeoutMs: 99 })).toBe('INVALID_SESSION_TIMEOUT')
    expect(await errorOf('g', { sessionTimeoutMs: 1_800_001 })).toBe('INVALID_SESSION_TIMEOUT')
    expect(await errorOf('g', { memberId: 'x' })).toBe('UNKNOWN_MEMBER_ID')
    expect(await errorOf('g', { protocols: [] })).toBe('INCONSISTENT_GROUP_PROTOCOL')
    expect(coordinator.list()).toEqual([])
  })

  test('a group that nobody came back to join is forgotten', async () => {
    const stage = new Stage()
    await stage.coordinator.join('g', stage.request({ requiresKnownId: true }))
    expect(stage.coordinator.list().length).toBe(1)
    await stage.clock.run(10_000)
    expect(stage.coordinator.list()).toEqual([])
  })

  test('only members of the generation commit while a group has members', async () => {
    const stage = new Stage()
    const memberId = await stage.stable('g')
    expect(stage.commit('g', memberId, 1)).toBe('NONE')
    expect(stage.commit('g', memberId, 0)).toBe('ILLEGAL_GENERATION')
    expect(stage.commit('g', 'x', 1)).toBe('UNKNOWN_MEMBER_ID')
    expect(stage.commit('g', '', -1)).toBe('UNKNOWN_MEMBER_ID')
  })

  test('a group without members takes the commits of outsiders, but not of old members', async () => {
    const stage = new Stage()
    expect(stage.commit('g', '', -1)).toBe('NONE')
    expect(stage.commit('g', 'x', 3)).toBe('UNKNOWN_MEMBER_ID')
    expect(stage.commit('other', 'x', 3)).toBe('ILLEGAL_GENERATION')
    const memberId = await stage.stable('g')
    stage.coordinator.leave('g', memberId, null)
    expect(stage.commit('g', '', -1)).toBe('NONE')
    expect(stage.commit('g', memberId, 1)).toBe('UNKNOWN_MEMBER_ID')
  })

  test('a commit is a sign of life', async () => {
    const stage = new Stage()
    const memberId = await stage.stable('g')
    for (let turn = 0; turn < 3; turn++) {
      await stage.clock.run(9_999)
      expect(stage.commit('g', memberId, 1)).toBe('NONE')
    }
  })

  test('between join and sync nobody commits', async () => {
    const stage = new Stage()
    const { memberId } = await stage.coordinator.join('g', stage.request())
    expect(stage.commit('g', memberId, 1)).toBe('REBALANCE_IN_PROGRESS')
  })

  test('a group is deleted with its offsets when it has no members', async () => {
    const stage = new Stage()
    const memberId = await stage.stable('g')
    stage.commit('g', memberId, 1)
    expect(stage.coordinator.delete('g')).toBe('NON_EMPTY_GROUP')
    stage.coordinator.leave('g', memberId, null)
    expect(stage.coordinator.delete('g')).toBe('NONE')
    expect(stage.coordinator.delete('g')).toBe('GROUP_ID_NOT_FOUND')
    expect(stage.offsets.has('g')).toBe(false)
  })

  test('offsets of topics that a member reads are not deleted', async () => {
    const stage = new Stage()
    await stage.stable('g')
    const keys = [
      { topic: 't', partition: 0 },
      { topic: 'u', partition: 0 },
    ]
    expect(stage.coordinator.offsetDeletionProblem('g')).toBeUndefined()
    expect(stage.coordinator.deleteOffsets('g', keys)).toEqual([
      'GROUP_SUBSCRIBED_TO_TOPIC',
      'NONE',
    ])
    expect(stage.coordinator.offsetDeletionProblem('unknown')).toBe('GROUP_ID_NOT_FOUND')
  })

  test('groups that have only committed are listed as empty', async () => {
    const stage = new Stage()
    stage.commit('committed', '', -1)
    await stage.stable('joined')
    expect(stage.coordinator.list()).toEqual([
      { groupId: 'joined', groupType: 'classic', protocolType: 'consumer', state: 'Stable' },
      { groupId: 'committed', groupType: 'classic', protocolType: '', state: 'Empty' },
    ])
  })

  test('after closing nobody joins, and who waited was answered', async () => {
    const stage = new Stage()
    await stage.stable('g')
    const waiting = stage.coordinator.join('g', stage.request())
    stage.coordinator.close()
    expect((await waiting).error).toBe('NOT_COORDINATOR')
    expect((await stage.coordinator.join('g', stage.request())).error).toBe('NOT_COORDINATOR')
    expect(stage.clock.timerCount).toBe(0)
  })
})
