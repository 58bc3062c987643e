import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { joinGroup } from '../protocol/messages/11-join-group.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { leaveGroup } from '../protocol/messages/13-leave-group.ts'
import { syncGroup } from '../protocol/messages/14-sync-group.ts'
import { GroupCoordinator } from './group-coordinator.ts'

const member = { memberId: 'm-1', instanceId: null, generation: 3 }
const join = {
  memberId: 'm-1',
  instanceId: 'static-1',
  sessionTimeoutMs: 45_000,
  rebalanceTimeoutMs: 300_000,
  protocolType: 'consumer',
  protocols: [{ name: 'stream', metadata: Buffer.from('up') }],
  reason: 'to see',
}
const joined = {
  errorCode: 0,
  generationId: 4,
  protocolType: 'consumer',
  protocolName: 'stream',
  leader: 'm-1',
  memberId: 'm-1',
  members: [{ memberId: 'm-1', groupInstanceId: 'static-1', metadata: Buffer.from('up') }],
}

async function setUp(nodes = 1) {
  const cluster = await ScriptedCluster.start({ nodes })
  const client = cluster.client()
  const coordinator = new GroupCoordinator(client, 'app')
  const end = async (): Promise<void> => {
    await coordinator.close()
    await client.close()
    await cluster.clock.settle()
    expect(cluster.network.openCount).toBe(0)
    expect(cluster.clock.timerCount).toBe(0)
  }
  return { cluster, client, coordinator, end }
}

describe('joinGroup', () => {
  test('says who joins, and brings what the broker answers', async () => {
    const { cluster, coordinator, end } = await setUp()
    cluster.node(1).on(joinGroup, () => joined)
    expect(await coordinator.joinGroup(join)).toEqual({
      error: 'NONE',
      generation: 4,
      protocolName: 'stream',
      leader: 'm-1',
      memberId: 'm-1',
      skipAssignment: false,
      members: [{ memberId: 'm-1', instanceId: 'static-1', metadata: Buffer.from('up') }],
    })
    expect(cluster.node(1).received(joinGroup)).toEqual([
      {
        groupId: 'app',
        sessionTimeoutMs: 45_000,
        rebalanceTimeoutMs: 300_000,
        memberId: 'm-1',
        groupInstanceId: 'static-1',
        protocolType: 'consumer',
        protocols: [{ name: 'stream', metadata: Buffer.from('up') }],
        reason: 'to see',
      },
    ])
    await end()
  })

  test('waits as long as the rebalance may take, beyond the timeout of other requests', async () => {
    const { cluster, coordinator, end } = await setUp()
    cluster.node(1).on(joinGroup, async () => {
      await new Promise<void>((resolve) => {
        cluster.clock.setTimer(299_000, resolve)
      })
      return joined
    })
    const joining = coordinator.joinGroup(join)
    await cluster.clock.run(299_000)
    expect((await joining).error).toBe('NONE')
    expect(cluster.node(1).received(joinGroup)).toHaveLength(1)
    await end()
  })

  test('follows the coordinator when it moves while the join is held', async () => {
    const { cluster, coordinator, end } = await setUp(2)
    cluster.node(1).on(joinGroup, () => 'silence')
    cluster.node(2).on(joinGroup, () => joined)
    const joining = coordinator.joinGroup(join)
    await cluster.clock.run(1000)
    cluster.coordinator = 2
    await cluster.node(1).close()
    await cluster.clock.run(5000)
    expect((await joining).error).toBe('NONE')
    await end()
  })

  test('gives errors of the member back by their names', async () => {
    const { cluster, coordinator, end } = await setUp()
    cluster.node(1).on(joinGroup, () => ({
      ...joined,
      errorCode: errorCode.MEMBER_ID_REQUIRED,
      generationId: -1,
      protocolName: null,
      members: [],
    }))
    expect(await coordinator.joinGroup({ ...join, memberId: '' })).toMatchObject({
      error: 'MEMBER_ID_REQUIRED',
      memberId: 'm-1',
      protocolName: null,
    })
    await end()
  })
})

describe('heartbeat', () => {
  test('goes to the new coordinator when the old one refuses', async () => {
    const { cluster, coordinator, end } = await setUp(2)
    cluster.node(1).on(heartbeat, () => ({ errorCode: errorCode.NOT_COORDINATOR }))
    cluster.node(2).on(heartbeat, () => ({ errorCode: errorCode.REBALANCE_IN_PROGRESS }))
    const beating = coordinator.heartbeat(member)
    await cluster.clock.settle()
    cluster.coordinator = 2
    await cluster.clock.run(1000)
    expect(await beating).toBe('REBALANCE_IN_PROGRESS')
    expect(cluster.node(2).received(heartbeat)).toEqual([
      { groupId: 'app', generationId: 3, memberId: 'm-1', groupInstanceId: null },
    ])
    await end()
  })

  test('waits while the coordinator is loading', async () => {
    const { cluster, coordinator, end } = await setUp()
    let count = 0
    cluster.node(1).on(heartbeat, () => {
      count += 1
      return { errorCode: count < 3 ? errorCode.COORDINATOR_LOAD_IN_PROGRESS : 0 }
    })
    const beating = coordinator.heartbeat(member)
    await cluster.clock.run(1000)
    expect(await beating).toBe('NONE')
    await end()
  })

  test('ends by its timeout when no coordinator can be found', async () => {
    const { cluster, coordinator, end } = await setUp()
    cluster.coordinator = -1
    const failed = failureOf(coordinator.heartbeat(member, { timeoutMs: 2000 }))
    await cluster.clock.run(2000)
    expect(await failed).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { error: 'COORDINATOR_NOT_AVAILABLE' },
    })
    await end()
  })
})

test('syncGroup takes the assignments along and brings the own one', async () => {
  const { cluster, coordinator, end } = await setUp()
  cluster.node(1).on(syncGroup, () => ({ errorCode: 0, assignment: Buffer.from('mine') }))
  const synced = await coordinator.syncGroup({
    ...member,
    protocolType: 'consumer',
    protocolName: 'stream',
    assignments: [{ memberId: 'm-1', assignment: Buffer.from('mine') }],
  })
  expect(synced).toEqual({ error: 'NONE', assignment: Buffer.from('mine') })
  expect(cluster.node(1).received(syncGroup)).toEqual([
    {
      groupId: 'app',
      generationId: 3,
      memberId: 'm-1',
      groupInstanceId: null,
      protocolType: 'consumer',
      protocolName: 'stream',
      assignments: [{ memberId: 'm-1', assignment: Buffer.from('mine') }],
    },
  ])
  await end()
})

describe('leaveGroup', () => {
  test('tells the error of the member', async () => {
    const { cluster, coordinator, end } = await setUp()
    cluster.node(1).on(leaveGroup, () => ({
      errorCode: 0,
      members: [{ memberId: 'm-1', groupInstanceId: null, errorCode: errorCode.UNKNOWN_MEMBER_ID }],
    }))
    expect(await coordinator.leaveGroup({ memberId: 'm-1', instanceId: null })).toBe(
      'UNKNOWN_MEMBER_ID',
    )
    await end()
  })

  test('does not wait long for a coordinator that hangs', async () => {
    const { cluster, coordinator, end } = await setUp()
    cluster.node(1).on(leaveGroup, () => 'silence')
    const failed = failureOf(coordinator.leaveGroup({ memberId: 'm-1', instanceId: null }))
    await cluster.clock.run(5000)
    expect(await failed).toMatchObject({ code: 'REQUEST_TIMEOUT' })
    await end()
  })
})

describe('close', () => {
  test('ends what waits, on the wire and between tries', async () => {
    const { cluster, coordinator, end } = await setUp()
    cluster.node(1).on(joinGroup, () => 'silence')
    const held = failureOf(coordinator.joinGroup(join))
    await cluster.clock.settle()
    await coordinator.close()
    expect(await held).toMatchObject({ code: 'CLIENT_CLOSED', context: { what: 'group member' } })
    expect(await failureOf(coordinator.heartbeat(member))).toMatchObject({ code: 'CLIENT_CLOSED' })
    await end()
  })

  test('leaves other members of the client alone', async () => {
    const { cluster, client, coordinator, end } = await setUp()
    cluster.node(1).on(heartbeat, () => ({ errorCode: 0 }))
    const other = new GroupCoordinator(client, 'app')
    await other.heartbeat(member)
    await coordinator.close()
    expect(await other.heartbeat(member)).toBe('NONE')
    await other.close()
    await end()
  })
})
