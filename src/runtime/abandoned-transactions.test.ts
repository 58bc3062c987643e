import { describe, expect, test } from 'vitest'
import { settled } from '../../test/peers/scripted-appends.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { silentLog } from '../base/log.ts'
import type { LiveMember } from '../group/live-members.ts'
import { encodeSubscription } from '../group/user-data.ts'
import { encodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { describeGroups } from '../protocol/messages/15-describe-groups.ts'
import { initProducerId } from '../protocol/messages/22-init-producer-id.ts'
import { listTransactions } from '../protocol/messages/66-list-transactions.ts'
import { streamsGroupDescribe } from '../protocol/messages/89-streams-group-describe.ts'
import { AbandonedTransactions } from './abandoned-transactions.ts'

const [own, live, dead] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`)

/** What members tell the coordinator when they join by the classic protocol. */
function memberOf({ processId, clientId }: LiveMember) {
  const userData = encodeSubscription({
    processId,
    nonce: 1,
    endpoint: undefined,
    held: { active: new Set(), standby: new Set() },
    progress: new Map(),
    tags: new Map(),
  })
  return {
    memberId: `m-${clientId}`,
    clientId,
    clientHost: '',
    memberMetadata: encodeConsumerSubscription({ topics: [], userData }),
    memberAssignment: Buffer.alloc(0),
  }
}

/** A process whose only worker is called as its client. */
const alone = (processId = ''): LiveMember => ({ processId, clientId: `app-${processId}` })
const ownWorker = (clientId: string): LiveMember => ({ processId: own ?? '', clientId })

async function setUp(
  groupProtocol: 'classic' | 'streams',
  { clientId, workerNumber } = { clientId: `app-${own}`, workerNumber: 1 },
) {
  const cluster = await ScriptedCluster.start({ nodes: 2, topics: { in: 1 } })
  const client = cluster.client()
  await client.topicMetadata(['in'])
  const group = { state: 'Stable', members: [alone(own), alone(live)] }
  /** What each node has open. */
  const open = new Map<number, string[]>()
  for (const [index, broker] of cluster.brokers.entries()) {
    broker.on(listTransactions, () => ({
      errorCode: 0,
      unknownStateFilters: [],
      transactionStates: (open.get(index + 1) ?? []).map((transactionalId) => ({
        transactionalId,
        producerId: 1,
        transactionState: 'Ongoing',
      })),
    }))
    broker.on(describeGroups, () => ({
      groups: [
        {
          errorCode: 0,
          groupId: 'app',
          groupState: group.state,
          protocolType: 'consumer',
          protocolData: 'millpond-2',
          members: group.members.map(memberOf),
        },
      ],
    }))
    broker.on(streamsGroupDescribe, () => ({
      groups: [
        {
          errorCode: 0,
          errorMessage: null,
          groupId: 'app',
          groupState: group.state,
          groupEpoch: 1,
          assignmentEpoch: 1,
          topology: null,
          members: group.members.map((member) => ({
            memberId: `m-${member.clientId}`,
            memberEpoch: 1,
            instanceId: null,
            rackId: null,
            clientId: member.clientId,
            clientHost: '',
            topologyEpoch: 0,
            processId: member.processId,
            userEndpoint: null,
            clientTags: [],
            taskOffsets: [],
            taskEndOffsets: [],
            assignment: { activeTasks: [], standbyTasks: [], warmupTasks: [] },
            targetAssignment: { activeTasks: [], standbyTasks: [], warmupTasks: [] },
            isClassic: false,
          })),
        },
      ],
    }))
    broker.on(initProducerId, () => ({
      errorCode: errorCode.CONCURRENT_TRANSACTIONS,
      producerId: -1,
      producerEpoch: -1,
    }))
  }
  const abandoned = new AbandonedTransactions({
    client,
    clock: cluster.clock,
    log: silentLog,
    applicationId: 'app',
    groupProtocol,
    processId: own ?? '',
    clientId,
    workerNumber,
    transactionTimeoutMs: 10_000,
  })
  return {
    cluster,
    group,
    open,
    abandoned,
    /** Looks once. */
    look: async () => {
      await cluster.clock.run(1000)
      abandoned.look()
      await cluster.clock.run(100)
    },
    fenced: () =>
      cluster.brokers.flatMap((broker) =>
        broker.received(initProducerId).map(({ transactionalId }) => transactionalId),
      ),
    end: async () => {
      await settled(cluster.clock, abandoned.close())
      await client.close()
    },
  }
}

describe.each(['classic', 'streams'] as const)('in a %s group', (groupProtocol) => {
  test('transactions of processes without a member are ended, of all their workers', async () => {
    const { open, look, fenced, end } = await setUp(groupProtocol)
    open.set(1, [`app-${own}-1`, `app-${live}-1`, `app-${dead}-1`])
    open.set(2, [`app-${live}-2`, `app-${dead}-2`])
    await look()
    expect(fenced()).toEqual([`app-${dead}-1`, `app-${dead}-2`])
    await end()
  })

  test('transactions of others are none of our business', async () => {
    const { open, look, fenced, end } = await setUp(groupProtocol)
    // Of an application whose name begins as ours does, of a producer of somebody, of another application.
    open.set(1, [`app-b-${dead}-1`, 'app-import', `app-${dead}`, `other-${dead}-1`])
    await look()
    expect(fenced()).toEqual([])
    await end()
  })

  test('nobody is taken for dead by one that is no member itself', async () => {
    const { group, open, look, fenced, end } = await setUp(groupProtocol)
    open.set(1, [`app-${dead}-1`])
    group.members = []
    await look()
    expect(fenced()).toEqual([])
    group.members = [alone(own)]
    await look()
    expect(fenced()).toEqual([`app-${dead}-1`])
    await end()
  })

  test('transactions of own workers that are no members are ended, ours never', async () => {
    const us = { clientId: 'name-2', workerNumber: 2 }
    const { group, open, look, fenced, end } = await setUp(groupProtocol, us)
    group.members = [ownWorker('name-2'), ownWorker('name-10'), alone(live)]
    const numbers = [1, 2, 3, 10]
    open.set(
      1,
      numbers.map((number) => `app-${own}-${number}`),
    )
    await look()
    expect(fenced()).toEqual([`app-${own}-1`, `app-${own}-3`])
    await end()
  })

  test('what several workers of an earlier life have left, one that is alone ends', async () => {
    const { open, look, fenced, end } = await setUp(groupProtocol)
    open.set(1, [`app-${own}-1`, `app-${own}-2`])
    await look()
    expect(fenced()).toEqual([`app-${own}-2`])
    await end()
  })

  test.each([
    ['one has another name, as a static member keeps it', ['name-2', 'earlier-1']],
    ['one has no number', ['name-2', 'name-x']],
    ['we are none of them', ['name-3']],
  ])('no own worker is taken for dead when %s', async (_, names) => {
    const us = { clientId: 'name-2', workerNumber: 2 }
    const { group, open, look, fenced, end } = await setUp(groupProtocol, us)
    group.members = names.map(ownWorker)
    open.set(1, [`app-${own}-1`, `app-${dead}-1`])
    await look()
    expect(fenced()).toEqual([`app-${dead}-1`])
    await end()
  })
})

test('a classic group that rebalances does not tell who its members are, and is asked again', async () => {
  const { group, open, look, fenced, end } = await setUp('classic')
  open.set(1, [`app-${dead}-1`])
  group.state = 'PreparingRebalance'
  await look()
  expect(fenced()).toEqual([])
  group.state = 'Stable'
  await look()
  expect(fenced()).toEqual([`app-${dead}-1`])
  await end()
})

test('brokers that do not tell are not asked again', async () => {
  const { cluster, look, fenced, end } = await setUp('classic')
  for (const broker of cluster.brokers) {
    broker.on(listTransactions, () => ({
      errorCode: errorCode.CLUSTER_AUTHORIZATION_FAILED,
      unknownStateFilters: [],
      transactionStates: [],
    }))
  }
  await look()
  await look()
  expect(cluster.node(1).received(listTransactions)).toHaveLength(1)
  expect(fenced()).toEqual([])
  await end()
})

test('a broker that is away keeps the others from nothing', async () => {
  const { cluster, open, look, fenced, end } = await setUp('classic')
  open.set(2, [`app-${dead}-1`])
  cluster.node(1).on(listTransactions, ({ connection }) => {
    connection.destroy()
    return 'silence'
  })
  await look()
  expect(fenced()).toEqual([`app-${dead}-1`])
  await end()
})
