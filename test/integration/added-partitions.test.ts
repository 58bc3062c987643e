import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
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
