import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { Admin } from '../../src/client/admin.ts'
import { systemPorts } from '../../src/config.ts'
import { Leader } from '../../src/group/assignor/leader.ts'
import { ClassicMember } from '../../src/group/classic-member.ts'
import type { MembershipHandlers } from '../../src/group/membership.ts'
import { StreamsBuilder } from '../../src/index.ts'
import { sourceTopics } from '../../src/topology/topology.ts'
import { until } from './until.ts'
import { linesOf, startedCluster } from './word-count.ts'

test('partitions that are added to a topic get tasks when the metadata shows them', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  const builder = new StreamsBuilder()
  builder.stream(linesOf(cluster)).forEach(() => undefined)
  const topology = builder.build()
  await using client = cluster.newClient()
  const applicationId = cluster.name('app')
  const member = new ClassicMember({
    client,
    groupId: applicationId,
    instanceId: undefined,
    processId: '00000000-0000-4000-8000-000000000000',
    endpoint: undefined,
    topics: topology.subtopologies.flatMap((one) => sourceTopics(applicationId, one)),
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    heartbeatIntervalMs: 20,
    leader: new Leader({
      client,
      topology,
      applicationId,
      replicationFactor: 1,
      topicConfigs: {},
      log: silentLog,
    }),
    progress: () => new Map(),
    log: silentLog,
    ...systemPorts,
  })
  const assigned: string[][] = []
  const handlers: MembershipHandlers = {
    onRevoke: () => Promise.resolve(),
    onAssign: (target) => {
      assigned.push([...target.active].sort())
      return Promise.resolve()
    },
    onLost: () => Promise.resolve(),
    onHosts: () => undefined,
    onFatal: () => undefined,
  }
  member.start(handlers)
  await until(() => assigned.length === 1, signal)
  const topic = cluster.name('lines')
  await new Admin(cluster.client).createPartitions(topic, 3)
  await client.refreshMetadata([topic])
  await until(() => assigned.length === 2, signal)
  await member.stop('leave')

  expect(assigned).toEqual([['0_0'], ['0_0', '0_1', '0_2']])
})
