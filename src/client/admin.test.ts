import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { createTopics } from '../protocol/messages/19-create-topics.ts'
import { deleteTopics } from '../protocol/messages/20-delete-topics.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import { describeGroups } from '../protocol/messages/15-describe-groups.ts'
import { describeConfigs } from '../protocol/messages/32-describe-configs.ts'
import { Admin } from './admin.ts'

/** A cluster of two, whose topics come into being when the controller (node 1) creates them. */
async function setUp(codes: Readonly<Record<string, readonly number[]>> = {}) {
  const cluster = await ScriptedCluster.start({ nodes: 2 })
  const turns = new Map<string, number>()
  cluster.node(1).on(createTopics, ({ body }) => ({
    topics: body.topics.map(({ name, numPartitions }) => {
      const turn = turns.get(name) ?? 0
      turns.set(name, turn + 1)
      const code = codes[name]?.[turn] ?? 0
      if (code === 0) {
        cluster.leaders.set(
          name,
          Array.from({ length: numPartitions }, () => ({ node: 1, epoch: 0 })),
        )
      }
      return { name, errorCode: code, errorMessage: code === 0 ? null : 'as the script says' }
    }),
  }))
  const client = cluster.client()
  return { cluster, client, admin: new Admin(client) }
}

describe('createTopics', () => {
  test('asks the controller for what is wanted, with the defaults of the broker', async () => {
    const { cluster, client, admin } = await setUp()
    await admin.createTopics([
      { topic: 'a', partitions: 3, configs: { 'cleanup.policy': 'compact' } },
    ])
    expect(cluster.node(1).received(createTopics)[0]).toMatchObject({
      topics: [
        {
          name: 'a',
          numPartitions: 3,
          replicationFactor: -1,
          assignments: [],
          configs: [{ name: 'cleanup.policy', value: 'compact' }],
        },
      ],
      validateOnly: false,
    })
    expect(client.partitionCount('a')).toBe(3)
    await client.close()
  })

  test('tries those again whose failure can pass, and only those', async () => {
    const { cluster, client, admin } = await setUp({
      slow: [errorCode.THROTTLING_QUOTA_EXCEEDED, errorCode.THROTTLING_QUOTA_EXCEEDED],
    })
    const created = admin.createTopics([
      { topic: 'quick', partitions: 1 },
      { topic: 'slow', partitions: 1 },
    ])
    await cluster.clock.run(2000)
    expect(Object.fromEntries(await created)).toEqual({ quick: 'created', slow: 'created' })
    const names = cluster
      .node(1)
      .received(createTopics)
      .map(({ topics }) => topics.map(({ name }) => name))
    expect(names).toEqual([['quick', 'slow'], ['slow'], ['slow']])
    await client.close()
  })

  test('waits until the brokers know the topic and its leaders', async () => {
    const { cluster, client, admin } = await setUp()
    cluster.node(1).on(createTopics, () => {
      cluster.clock.setTimer(3000, () => cluster.leaders.set('late', [{ node: 2, epoch: 0 }]))
      return { topics: [{ name: 'late', errorCode: 0, errorMessage: null }] }
    })
    const created = admin.createTopics([{ topic: 'late', partitions: 1 }])
    await cluster.clock.run(5000)
    expect((await created).get('late')).toBe('created')
    expect(client.leaderOf('late', 0)?.node.nodeId).toBe(2)
    await client.close()
  })

  test('of one that exists tells so', async () => {
    const { cluster, client, admin } = await setUp({ old: [errorCode.TOPIC_ALREADY_EXISTS] })
    cluster.leaders.set('old', [{ node: 1, epoch: 0 }])
    const created = await admin.createTopics([{ topic: 'old', partitions: 9 }])
    expect(created.get('old')).toBe('exists')
    expect(client.partitionCount('old')).toBe(1)
    await client.close()
  })

  test('that is refused tells the reason of the broker', async () => {
    const { client, admin } = await setUp({ bad: [errorCode.POLICY_VIOLATION] })
    const failed = failureOf(admin.createTopics([{ topic: 'bad', partitions: 1 }]))
    expect(await failed).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { subject: 'bad', error: 'POLICY_VIOLATION', detail: 'as the script says' },
    })
    await client.close()
  })
})

describe('deleteTopics', () => {
  test('waits until the brokers have forgotten the topic', async () => {
    const { cluster, client, admin } = await setUp()
    cluster.leaders.set('old', [{ node: 2, epoch: 0 }])
    cluster.node(1).on(deleteTopics, () => {
      cluster.clock.setTimer(3000, () => cluster.leaders.delete('old'))
      return { responses: [{ name: 'old', errorCode: 0, errorMessage: null }] }
    })
    const deleted = admin.deleteTopics(['old'])
    await cluster.clock.run(5000)
    await deleted
    expect(client.partitionCount('old')).toBeUndefined()
    await client.close()
  })

  test('is done when another topic of the same name is there', async () => {
    const { cluster, client, admin } = await setUp()
    const ids = {
      before: 'AAAAAAAAAAAAAAAAAAAAAQ',
      after: 'AAAAAAAAAAAAAAAAAAAAAg',
    }
    let topicId = ids.before
    for (const node of [1, 2]) {
      cluster.node(node).on(metadata, () => ({
        controllerId: 1,
        brokers: cluster.brokers.map(({ address }, index) => ({ nodeId: index + 1, ...address })),
        topics: [{ errorCode: 0, name: 'anew', topicId, partitions: [] }],
      }))
    }
    cluster.node(1).on(deleteTopics, () => {
      topicId = ids.after
      return { responses: [{ name: 'anew', errorCode: 0, errorMessage: null }] }
    })
    await admin.deleteTopics(['anew'])
    expect((await client.topicMetadata(['anew'])).get('anew')?.topicId).toBe(ids.after)
    await client.close()
  })
})

describe('answers that lack what was asked for', () => {
  test('are errors, not empty results', async () => {
    const { cluster, client, admin } = await setUp()
    cluster.node(1).on(describeConfigs, () => ({ results: [] }))
    cluster.node(2).on(describeConfigs, () => ({ results: [] }))
    cluster.node(1).on(describeGroups, () => ({ groups: [] }))
    const failed = { code: 'KAFKA_ERROR', context: { error: 'UNKNOWN_SERVER_ERROR' } }
    const configs = admin.describeConfigs([{ type: 'topic', name: 't' }])
    expect(await failureOf(configs)).toMatchObject(failed)
    expect(await failureOf(admin.describeGroups(['g']))).toMatchObject(failed)
    await client.close()
  })
})
