import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { listOffsets as listOffsetsApi } from '../protocol/messages/2-list-offsets.ts'
import { offsetCommit } from '../protocol/messages/8-offset-commit.ts'
import { offsetFetch } from '../protocol/messages/9-offset-fetch.ts'
import { commitOffsets, fetchCommittedOffsets, listOffsets } from './offsets.ts'

const identity = { groupId: 'app', memberId: 'm-1', instanceId: null, generation: 3 }
const offsets = [
  { topic: 't', partition: 0, offset: 10, metadata: 'note', leaderEpoch: 2 },
  { topic: 't', partition: 1, offset: 20 },
]

/** A cluster whose coordinator answers a commit of `t-0` and `t-1` with these codes, in turn. */
async function committing(...codes: (readonly [first: number, second: number])[]) {
  const cluster = await ScriptedCluster.start({ topics: { t: 2 } })
  let turn = 0
  cluster.node(1).on(offsetCommit, () => {
    const pair = codes[Math.min(turn, codes.length - 1)] ?? [0, 0]
    turn += 1
    return {
      topics: [
        {
          name: 't',
          partitions: pair.map((code, partitionIndex) => ({ partitionIndex, errorCode: code })),
        },
      ],
    }
  })
  return { cluster, client: cluster.client() }
}

describe('commitOffsets', () => {
  test('sends the offsets in the name of the member', async () => {
    const { cluster, client } = await committing([0, 0])
    await commitOffsets(client, identity, offsets)
    expect(cluster.node(1).received(offsetCommit)).toMatchObject([
      {
        groupId: 'app',
        generationIdOrMemberEpoch: 3,
        memberId: 'm-1',
        groupInstanceId: null,
        topics: [
          {
            name: 't',
            partitions: [
              {
                partitionIndex: 0,
                committedOffset: 10,
                committedLeaderEpoch: 2,
                committedMetadata: 'note',
              },
              {
                partitionIndex: 1,
                committedOffset: 20,
                committedLeaderEpoch: -1,
                committedMetadata: '',
              },
            ],
          },
        ],
      },
    ])
    await client.close()
  })

  test('of nothing asks nobody', async () => {
    const { cluster, client } = await committing([0, 0])
    await commitOffsets(client, identity, [])
    expect(cluster.network.connectCount).toBe(0)
    await client.close()
  })

  for (const name of ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID'] as const) {
    test(`by a member that was replaced (${name}) is TASK_MIGRATED`, async () => {
      const { cluster, client } = await committing([errorCode[name], errorCode[name]])
      expect(await failureOf(commitOffsets(client, identity, offsets))).toMatchObject({
        code: 'TASK_MIGRATED',
        context: { error: name },
      })
      expect(cluster.node(1).received(offsetCommit)).toHaveLength(1)
      await client.close()
    })
  }

  test('during a rebalance says so, and the member is still valid', async () => {
    const code = errorCode.REBALANCE_IN_PROGRESS
    const { client } = await committing([code, code])
    expect(await failureOf(commitOffsets(client, identity, offsets))).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'OffsetCommit', error: 'REBALANCE_IN_PROGRESS' },
    })
    await client.close()
  })

  test('is tried again while the coordinator loads', async () => {
    const code = errorCode.COORDINATOR_LOAD_IN_PROGRESS
    const { cluster, client } = await committing([code, code], [0, 0])
    const committed = commitOffsets(client, identity, offsets)
    await cluster.clock.run(1000)
    await committed
    expect(cluster.node(1).received(offsetCommit)).toHaveLength(2)
    await client.close()
  })

  test('of a topic that was deleted says so at once', async () => {
    const { cluster, client } = await committing([0, errorCode.UNKNOWN_TOPIC_OR_PARTITION])
    expect(await failureOf(commitOffsets(client, identity, offsets))).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { error: 'UNKNOWN_TOPIC_OR_PARTITION', subject: 't-1' },
    })
    expect(cluster.node(1).received(offsetCommit)).toHaveLength(1)
    await client.close()
  })

  test('that fails for one partition tells which', async () => {
    const { client } = await committing([0, errorCode.OFFSET_METADATA_TOO_LARGE])
    expect(await failureOf(commitOffsets(client, identity, offsets))).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { subject: 't-1', error: 'OFFSET_METADATA_TOO_LARGE' },
    })
    await client.close()
  })

  test('ends at its deadline', async () => {
    const code = errorCode.COORDINATOR_LOAD_IN_PROGRESS
    const { cluster, client } = await committing([code, code])
    const failed = failureOf(commitOffsets(client, identity, offsets, { timeoutMs: 3000 }))
    await cluster.clock.run(3000)
    expect(await failed).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { error: 'COORDINATOR_LOAD_IN_PROGRESS' },
    })
    await client.close()
  })
})

describe('fetchCommittedOffsets', () => {
  test('leaves out what was never committed, and waits for open transactions', async () => {
    const cluster = await ScriptedCluster.start()
    let count = 0
    cluster.node(1).on(offsetFetch, () => {
      count += 1
      return {
        errorCode: 0,
        topics: [
          {
            name: 't',
            partitions: [
              {
                partitionIndex: 0,
                committedOffset: 10,
                committedLeaderEpoch: 2,
                metadata: 'note',
                errorCode: count === 1 ? errorCode.UNSTABLE_OFFSET_COMMIT : 0,
              },
              { partitionIndex: 1, committedOffset: -1, metadata: '', errorCode: 0 },
            ],
          },
        ],
      }
    })
    const client = cluster.client()
    const fetched = fetchCommittedOffsets(client, 'app', offsets)
    await cluster.clock.run(1000)
    expect(await fetched).toEqual(new Map([['t-0', offsets[0]]]))
    expect(cluster.node(1).received(offsetFetch)[0]).toMatchObject({
      groupId: 'app',
      topics: [{ name: 't', partitionIndexes: [0, 1] }],
      requireStable: true,
    })
    await client.close()
  })

  test('that is not allowed is an error of the group', async () => {
    const cluster = await ScriptedCluster.start()
    const code = errorCode.GROUP_AUTHORIZATION_FAILED
    cluster.node(1).on(offsetFetch, () => ({ errorCode: code, topics: [] }))
    const client = cluster.client()
    expect(await failureOf(fetchCommittedOffsets(client, 'app', offsets))).toMatchObject({
      context: { subject: 'group app', error: 'GROUP_AUTHORIZATION_FAILED' },
    })
    await client.close()
  })
})

describe('listOffsets', () => {
  test('asks each leader, and again where a partition has moved', async () => {
    const cluster = await ScriptedCluster.start({ nodes: 2, topics: { t: 2 } })
    for (const node of [1, 2]) {
      cluster.node(node).on(listOffsetsApi, ({ body }) => ({
        topics: body.topics.map(({ name, partitions }) => ({
          name,
          partitions: partitions.map(({ partitionIndex }) => {
            const isLeader = cluster.leaders.get('t')?.[partitionIndex]?.node === node
            return {
              partitionIndex,
              errorCode: isLeader ? 0 : errorCode.NOT_LEADER_OR_FOLLOWER,
              offset: isLeader ? 100 + partitionIndex : -1,
            }
          }),
        })),
      }))
    }
    const client = cluster.client()
    await client.topicMetadata(['t'])
    cluster.moveLeader('t', 0, 2)
    const listed = listOffsets(client, offsets, 'latest')
    await cluster.clock.run(1000)
    expect(Object.fromEntries(await listed)).toEqual({ 't-0': 100, 't-1': 101 })
    expect(cluster.node(1).received(listOffsetsApi)).toHaveLength(1)
    await client.close()
  })

  test('of a time that no record has is the end of the log', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 2 } })
    cluster.node(1).on(listOffsetsApi, ({ body }) => ({
      topics: body.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, timestamp }) => ({
          partitionIndex,
          errorCode: 0,
          offset: timestamp === -1 ? 50 : partitionIndex === 0 ? 7 : -1,
        })),
      })),
    }))
    const client = cluster.client()
    const listed = await listOffsets(client, offsets, 1_700_000_000_000)
    expect(Object.fromEntries(listed)).toEqual({ 't-0': 7, 't-1': 50 })
    await client.close()
  })

  test('that is not allowed is told at once', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 2 } })
    cluster.node(1).on(listOffsetsApi, () => ({
      topics: [
        {
          name: 't',
          partitions: [{ partitionIndex: 1, errorCode: errorCode.TOPIC_AUTHORIZATION_FAILED }],
        },
      ],
    }))
    const client = cluster.client()
    expect(await failureOf(listOffsets(client, offsets, 'earliest'))).toMatchObject({
      context: { api: 'ListOffsets', subject: 't-1', error: 'TOPIC_AUTHORIZATION_FAILED' },
    })
    await client.close()
  })
})
