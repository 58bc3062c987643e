import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { Leader, type LedRound } from '../../src/group/assignor/leader.ts'
import { GroupMember, Holders } from './group-member.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

test('partitions that are added to a topic get tasks when the metadata shows them', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('orders', 1)
  await using member = new GroupMember(cluster, 'a', new Holders(), {
    sessionTimeoutMs: 10_000,
  }).start()
  await until(() => member.events.length === 1, signal)
  const topic = cluster.name('orders')
  await new Admin(cluster.client).createPartitions(topic, 3)
  await member.client.refreshMetadata([topic])
  await until(() => member.events.length === 2, signal)

  expect(member.events).toEqual(['assign 0_0', 'assign 0_0 0_1 0_2'])
})

test('partitions that are added while tasks are given out get tasks in the next round', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('orders', 1)
  const topic = cluster.name('orders')
  let isFirst = true
  class SlowLeader extends Leader {
    override async assign(...args: Parameters<Leader['assign']>): Promise<LedRound> {
      const round = await super.assign(...args)
      if (!isFirst) return round
      isFirst = false
      await new Admin(cluster.client).createPartitions(topic, 3)
      await member.client.refreshMetadata([topic])
      return round
    }
  }
  await using member = new GroupMember(cluster, 'a', new Holders(), {
    sessionTimeoutMs: 10_000,
    leaderOf: (options) => new SlowLeader(options),
  })
  member.start()
  await until(() => member.events.length === 2, signal)

  expect(member.events).toEqual(['assign 0_0', 'assign 0_0 0_1 0_2'])
})
