import { describe, expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import type { JoinRequest, JoinResult, SyncResult } from './group-member.ts'
import { Group } from './group.ts'

const sessionTimeoutMs = 10_000
const rebalanceTimeoutMs = 60_000

/** An answer that may not have come yet. */
class Answer<T> {
  value: T | undefined

  constructor(promise: Promise<T>) {
    void promise.then((value) => {
      this.value = value
    })
  }
}

class Stage {
  readonly clock = new ManualClock()
  readonly group: Group
  desertedCount = 0
  #lastId = 0

  constructor(initialRebalanceDelayMs = 0) {
    this.group = new Group('g', {
      clock: this.clock,
      newMemberId: (prefix) => `${prefix}-${++this.#lastId}`,
      initialRebalanceDelayMs,
      onDeserted: () => {
        this.desertedCount += 1
      },
    })
  }

  async join(
    request: Partial<JoinRequest> & { metadata?: string } = {},
  ): Promise<Answer<JoinResult>> {
    const { metadata = 'm' } = request
    const answer = new Answer(
      this.group.join({
        memberId: '',
        instanceId: null,
        clientId: 'c',
        clientHost: '/127.0.0.1',
        sessionTimeoutMs,
        rebalanceTimeoutMs,
        protocolType: 'consumer',
        protocols: [{ name: 'range', metadata: Buffer.from(metadata) }],
        requiresKnownId: false,
        supportsSkip: true,
        ...request,
      }),
    )
    await this.clock.settle()
    return answer
  }

  async sync(
    memberId: string,
    assignments: Record<string, string> = {},
    options: { generation?: number; instanceId?: string } = {},
  ): Promise<Answer<SyncResult>> {
    const answer = new Answer(
      this.group.sync({
        memberId,
        instanceId: options.instanceId ?? null,
        generation: options.generation ?? this.group.generation,
        protocolType: 'consumer',
        protocolName: 'range',
        assignments: Object.entries(assignments).map(([id, text]) => ({
          memberId: id,
          assignment: Buffer.from(text),
        })),
      }),
    )
    await this.clock.settle()
    return answer
  }

  heartbeat(memberId: string, generation = this.group.generation): string {
    return this.group.heartbeat(memberId, null, generation)
  }

  /** A stable group of this many members: `c-1` leads. */
  async stable(count: number): Promise<void> {
    await this.join()
    for (let id = 2; id <= count; id++) {
      await this.join()
      for (let other = 1; other < id; other++) await this.join({ memberId: `c-${other}` })
    }
    await this.sync('c-1', { 'c-1': 'one', 'c-2': 'two', 'c-3': 'three' })
    for (let id = 2; id <= count; id++) await this.sync(`c-${id}`)
    if (this.group.state !== 'Stable') throw new Error(`the group is ${this.group.state}`)
  }
}

const assignmentOf = (answer: Answer<SyncResult>): string | undefined =>
  answer.value === undefined
    ? undefined
    : `${answer.value.error} ${answer.value.assignment.toString()}`

describe('a group', () => {
  test('one member joins, leads, brings its assignment and is stable', async () => {
    const stage = new Stage()
    expect(stage.group.state).toBe('Empty')
    const joined = await stage.join({ metadata: 'hello' })
    expect(joined.value).toEqual({
      error: 'NONE',
      memberId: 'c-1',
      generation: 1,
      protocolType: 'consumer',
      protocolName: 'range',
      leader: 'c-1',
      skipAssignment: false,
      members: [{ memberId: 'c-1', instanceId: null, metadata: Buffer.from('hello') }],
    })
    expect(stage.group.state).toBe('CompletingRebalance')
    expect(assignmentOf(await stage.sync('c-1', { 'c-1': 'all' }))).toBe('NONE all')
    expect(stage.group.state).toBe('Stable')
    expect(stage.heartbeat('c-1')).toBe('NONE')
  })

  test('a second member makes the first rejoin; both get what the leader decided', async () => {
    const stage = new Stage()
    await stage.stable(1)
    const second = await stage.join()
    expect(second.value).toBeUndefined()
    expect(stage.heartbeat('c-1')).toBe('REBALANCE_IN_PROGRESS')
    const first = await stage.join({ memberId: 'c-1' })
    expect(first.value).toMatchObject({ generation: 2, leader: 'c-1' })
    expect(first.value?.members.map(({ memberId }) => memberId)).toEqual(['c-1', 'c-2'])
    expect(second.value).toMatchObject({ generation: 2, leader: 'c-1', members: [] })
    const follower = await stage.sync('c-2')
    expect(follower.value).toBeUndefined()
    const leader = await stage.sync('c-1', { 'c-1': 'a', 'c-2': 'b' })
    expect([assignmentOf(leader), assignmentOf(follower)]).toEqual(['NONE a', 'NONE b'])
  })

  test('a member that the leader forgot gets an empty assignment', async () => {
    const stage = new Stage()
    await stage.join()
    await stage.join()
    await stage.join({ memberId: 'c-1' })
    const follower = await stage.sync('c-2')
    await stage.sync('c-1', { 'c-1': 'a' })
    expect(assignmentOf(follower)).toBe('NONE ')
  })

  test('a follower whose sync comes late gets its assignment from the stable group', async () => {
    const stage = new Stage()
    await stage.stable(2)
    expect(assignmentOf(await stage.sync('c-2'))).toBe('NONE two')
  })

  test('a group that waits for more members answers all who came within the delay', async () => {
    const stage = new Stage(3_000)
    const first = await stage.join()
    await stage.clock.run(2_999)
    const second = await stage.join()
    expect(first.value).toBeUndefined()
    await stage.clock.run(1)
    expect([first.value?.generation, second.value?.generation]).toEqual([1, 1])
  })

  test('of the protocols that all support, the one that most prefer is chosen', async () => {
    const stage = new Stage()
    const protocols = (...names: string[]) => ({
      protocols: names.map((name) => ({ name, metadata: Buffer.from(`${name}!`) })),
    })
    await stage.join(protocols('x', 'sticky', 'range'))
    await stage.join(protocols('range', 'sticky'))
    await stage.join(protocols('range', 'sticky'))
    const first = await stage.join({ memberId: 'c-1', ...protocols('x', 'sticky', 'range') })
    await stage.join({ memberId: 'c-2', ...protocols('range', 'sticky') })
    expect(first.value).toMatchObject({ protocolName: 'range' })
    expect(String(first.value?.members[0]?.metadata)).toBe('range!')
  })

  test('a member without a protocol in common, or of another type, is refused', async () => {
    const stage = new Stage()
    await stage.stable(1)
    const strange = [{ name: 'odd', metadata: Buffer.alloc(0) }]
    const refused = [
      await stage.join({ protocols: strange }),
      await stage.join({ protocols: [] }),
      await stage.join({ protocolType: 'connect' }),
      await stage.join({ protocolType: '' }),
    ]
    expect(refused.map(({ value }) => value?.error)).toEqual(
      Array<string>(4).fill('INCONSISTENT_GROUP_PROTOCOL'),
    )
    expect(stage.group.state).toBe('Stable')
  })

  test('the last member that leaves makes the group empty, and its generation goes on', async () => {
    const stage = new Stage()
    await stage.stable(1)
    expect(stage.group.leave('c-1', null)).toBe('NONE')
    expect([stage.group.state, stage.group.generation]).toEqual(['Empty', 2])
    expect(stage.desertedCount).toBe(1)
    expect(stage.heartbeat('c-1')).toBe('UNKNOWN_MEMBER_ID')
    expect((await stage.join()).value?.generation).toBe(3)
  })
})

describe('member ids', () => {
  test('a member that must be known is told its id, and joins with it', async () => {
    const stage = new Stage()
    const first = await stage.join({ requiresKnownId: true })
    expect(first.value).toMatchObject({ error: 'MEMBER_ID_REQUIRED', memberId: 'c-1' })
    expect(stage.group.state).toBe('Empty')
    const second = await stage.join({ requiresKnownId: true, memberId: 'c-1' })
    expect(second.value).toMatchObject({ error: 'NONE', memberId: 'c-1', generation: 1 })
  })

  test('a rebalance waits for a member that was told its id, as long as its session', async () => {
    const stage = new Stage()
    await stage.stable(1)
    await stage.join({ requiresKnownId: true })
    const first = await stage.join({ memberId: 'c-1', metadata: 'other' })
    expect(first.value).toBeUndefined()
    await stage.clock.run(sessionTimeoutMs)
    expect(first.value?.members.length).toBe(1)
  })

  test('an id that was told expires, and a group of nothing else is deserted', async () => {
    const stage = new Stage()
    await stage.join({ requiresKnownId: true })
    expect(stage.group.isDeserted).toBe(false)
    await stage.clock.run(sessionTimeoutMs)
    expect(stage.desertedCount).toBe(1)
    expect((await stage.join({ memberId: 'c-1' })).value?.error).toBe('UNKNOWN_MEMBER_ID')
  })

  test('a member may leave before it came back with its id', async () => {
    const stage = new Stage()
    await stage.join({ requiresKnownId: true })
    expect(stage.group.leave('c-1', null)).toBe('NONE')
    expect(stage.group.isDeserted).toBe(true)
  })

  test('unknown members and old generations are told so', async () => {
    const stage = new Stage()
    await stage.stable(1)
    expect((await stage.join({ memberId: 'x' })).value?.error).toBe('UNKNOWN_MEMBER_ID')
    expect((await stage.sync('x')).value?.error).toBe('UNKNOWN_MEMBER_ID')
    expect((await stage.sync('c-1', {}, { generation: 0 })).value?.error).toBe('ILLEGAL_GENERATION')
    expect(stage.heartbeat('x')).toBe('UNKNOWN_MEMBER_ID')
    expect(stage.heartbeat('c-1', 7)).toBe('ILLEGAL_GENERATION')
    expect(stage.group.leave('x', null)).toBe('UNKNOWN_MEMBER_ID')
  })

  test('a group of a thousand members takes no more', async () => {
    const stage = new Stage()
    for (let count = 0; count < 1_000; count++) await stage.join({ requiresKnownId: true })
    const refused = await stage.join({ requiresKnownId: true })
    expect(refused.value?.error).toBe('GROUP_MAX_SIZE_REACHED')
  })
})

describe('time', () => {
  test('a member that sends no heartbeat for its session is out, and the others rebalance', async () => {
    const stage = new Stage()
    await stage.stable(2)
    await stage.clock.run(sessionTimeoutMs - 1)
    expect(stage.heartbeat('c-1')).toBe('NONE')
    await stage.clock.run(1)
    expect(stage.heartbeat('c-1')).toBe('REBALANCE_IN_PROGRESS')
    expect(stage.heartbeat('c-2')).toBe('UNKNOWN_MEMBER_ID')
    expect((await stage.join({ memberId: 'c-1' })).value?.members.length).toBe(1)
  })

  test('a member that does not rejoin within the rebalance timeout is out', async () => {
    const stage = new Stage()
    await stage.stable(2)
    const first = await stage.join({ memberId: 'c-1', metadata: 'other' })
    // The second is alive, but does not join.
    for (let elapsed = 0; elapsed < rebalanceTimeoutMs; elapsed += 5_000) {
      expect(stage.heartbeat('c-2')).toBe('REBALANCE_IN_PROGRESS')
      await stage.clock.run(5_000)
    }
    expect(first.value).toMatchObject({ error: 'NONE', generation: 3 })
    expect(stage.group.members.map(({ id }) => id)).toEqual(['c-1'])
  })

  test('who waits for the answer to a join is not expected to send heartbeats', async () => {
    const stage = new Stage()
    await stage.stable(2)
    const first = await stage.join({ memberId: 'c-1', metadata: 'other' })
    for (let elapsed = 0; elapsed < 50_000; elapsed += 5_000) {
      stage.heartbeat('c-2')
      await stage.clock.run(5_000)
    }
    await stage.join({ memberId: 'c-2' })
    expect(first.value?.members.length).toBe(2)
  })

  test('a leader that brings no assignment is out after the rebalance timeout', async () => {
    const stage = new Stage()
    await stage.stable(2)
    await stage.join({ memberId: 'c-2', metadata: 'other' })
    await stage.join({ memberId: 'c-1' })
    const follower = await stage.sync('c-2')
    for (let elapsed = 0; elapsed < rebalanceTimeoutMs; elapsed += 5_000) {
      stage.heartbeat('c-1')
      await stage.clock.run(5_000)
    }
    expect(follower.value?.error).toBe('REBALANCE_IN_PROGRESS')
    expect(stage.group.members.map(({ id }) => id)).toEqual(['c-2'])
    expect((await stage.join({ memberId: 'c-2' })).value?.leader).toBe('c-2')
  })

  test('a new member whose join was never answered is forgotten after five minutes', async () => {
    const stage = new Stage()
    await stage.join({ rebalanceTimeoutMs: 3_600_000 })
    await stage.sync('c-1', {})
    const ghost = await stage.join()
    for (let elapsed = 0; elapsed < 300_000; elapsed += 5_000) {
      stage.heartbeat('c-1')
      await stage.clock.run(5_000)
    }
    expect(ghost.value?.error).toBe('UNKNOWN_MEMBER_ID')
  })

  test('no timer is left when the last member is gone', async () => {
    const stage = new Stage()
    await stage.stable(3)
    for (const id of ['c-1', 'c-2', 'c-3']) stage.group.leave(id, null)
    expect(stage.clock.timerCount).toBe(0)
  })

  test('closing answers all who wait, and leaves no timer', async () => {
    const stage = new Stage()
    await stage.stable(2)
    const waiting = await stage.join({ memberId: 'c-1', metadata: 'other' })
    stage.group.close()
    await stage.clock.settle()
    expect(waiting.value?.error).toBe('NOT_COORDINATOR')
    expect(stage.clock.timerCount).toBe(0)
  })
})

describe('rejoining', () => {
  test('a follower that rejoins unchanged gets the present generation, without a rebalance', async () => {
    const stage = new Stage()
    await stage.stable(2)
    const again = await stage.join({ memberId: 'c-2' })
    expect(again.value).toMatchObject({ error: 'NONE', generation: 2, leader: 'c-1', members: [] })
    expect(stage.group.state).toBe('Stable')
  })

  test('a follower with something new to say, and a leader in any case, start a rebalance', async () => {
    const stage = new Stage()
    await stage.stable(2)
    await stage.join({ memberId: 'c-2', metadata: 'new' })
    expect(stage.group.state).toBe('PreparingRebalance')
    await stage.join({ memberId: 'c-1' })
    await stage.sync('c-1', {})
    await stage.join({ memberId: 'c-1' })
    expect(stage.group.state).toBe('PreparingRebalance')
  })

  test('a member whose answer was lost joins again and is told the same', async () => {
    const stage = new Stage()
    const first = await stage.join()
    const again = await stage.join({ memberId: 'c-1' })
    expect(again.value).toEqual(first.value)
    expect(stage.group.state).toBe('CompletingRebalance')
  })

  test('who waits for an assignment while another joins is told to join again', async () => {
    const stage = new Stage()
    await stage.stable(2)
    await stage.join({ memberId: 'c-2', metadata: 'new' })
    await stage.join({ memberId: 'c-1' })
    const waiting = await stage.sync('c-2')
    await stage.join()
    expect(waiting.value?.error).toBe('REBALANCE_IN_PROGRESS')
    expect((await stage.sync('c-1', {})).value?.error).toBe('REBALANCE_IN_PROGRESS')
  })
})

describe('static members', () => {
  const stableWithStatics = async (): Promise<Stage> => {
    const stage = new Stage()
    await stage.join({ instanceId: 'a' })
    await stage.join({ instanceId: 'b' })
    await stage.join({ instanceId: 'a', memberId: 'a-1' })
    await stage.sync('a-1', { 'a-1': 'one', 'b-2': 'two' }, { instanceId: 'a' })
    await stage.sync('b-2', {}, { instanceId: 'b' })
    expect(stage.group.state).toBe('Stable')
    return stage
  }

  test('a follower that comes back takes its place without a rebalance, its old self is fenced', async () => {
    const stage = await stableWithStatics()
    const back = await stage.join({ instanceId: 'b' })
    expect(back.value).toMatchObject({ error: 'NONE', memberId: 'b-3', generation: 2, members: [] })
    expect(assignmentOf(await stage.sync('b-3', {}, { instanceId: 'b' }))).toBe('NONE two')
    expect(stage.group.heartbeat('b-2', 'b', 2)).toBe('FENCED_INSTANCE_ID')
    expect((await stage.sync('b-2', {}, { instanceId: 'b' })).value?.error).toBe(
      'FENCED_INSTANCE_ID',
    )
  })

  test('a leader that comes back keeps its role and is told to keep the assignment', async () => {
    const stage = await stableWithStatics()
    const back = await stage.join({ instanceId: 'a' })
    expect(back.value).toMatchObject({ leader: 'a-3', memberId: 'a-3', skipAssignment: true })
    expect(back.value?.members.length).toBe(2)
    expect(assignmentOf(await stage.sync('a-3', {}, { instanceId: 'a' }))).toBe('NONE one')
  })

  test('a leader that cannot skip is not told that it leads', async () => {
    const stage = await stableWithStatics()
    const back = await stage.join({ instanceId: 'a', supportsSkip: false })
    expect(back.value).toMatchObject({ leader: 'a-1', memberId: 'a-3', members: [] })
    expect(stage.group.state).toBe('Stable')
  })

  test('a static member that waits is fenced when its instance joins elsewhere', async () => {
    const stage = await stableWithStatics()
    const waiting = await stage.join({ instanceId: 'a', memberId: 'a-1' })
    expect(waiting.value).toBeUndefined()
    const successor = await stage.join({ instanceId: 'a' })
    expect(waiting.value?.error).toBe('FENCED_INSTANCE_ID')
    await stage.join({ instanceId: 'b', memberId: 'b-2' })
    expect(successor.value).toMatchObject({ error: 'NONE', memberId: 'a-3', generation: 3 })
  })

  test('a static member that misses a rebalance keeps its place until its session ends', async () => {
    const stage = await stableWithStatics()
    const first = await stage.join({ instanceId: 'a', memberId: 'a-1' })
    for (let elapsed = 0; elapsed < rebalanceTimeoutMs; elapsed += 5_000) {
      stage.group.heartbeat('b-2', 'b', stage.group.generation)
      await stage.clock.run(5_000)
    }
    expect(first.value?.members.map(({ instanceId }) => instanceId)).toEqual(['a', 'b'])
    await stage.sync('a-1', { 'a-1': 'one' }, { instanceId: 'a' })
    await stage.clock.run(5_000)
    stage.group.heartbeat('a-1', 'a', stage.group.generation)
    await stage.clock.run(5_000)
    expect(stage.group.members.map(({ id }) => id)).toEqual(['a-1'])
  })

  test('an administrator removes a static member by its instance id alone', async () => {
    const stage = await stableWithStatics()
    expect(stage.group.leave('', 'nobody')).toBe('UNKNOWN_MEMBER_ID')
    expect(stage.group.leave('wrong', 'b')).toBe('FENCED_INSTANCE_ID')
    expect(stage.group.leave('', 'b')).toBe('NONE')
    expect(stage.group.state).toBe('PreparingRebalance')
  })

  test('an instance id that is not known does not join with a member id', async () => {
    const stage = await stableWithStatics()
    const stranger = await stage.join({ instanceId: 'z', memberId: 'a-1' })
    expect(stranger.value?.error).toBe('UNKNOWN_MEMBER_ID')
  })
})
