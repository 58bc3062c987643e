import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import { Admin } from '../../src/client/admin.ts'
import { GroupCoordinator } from '../../src/client/group-coordinator.ts'
import { systemPorts } from '../../src/config.ts'
import { StreamsBuilder } from '../../src/index.ts'
import { CutTransport } from './cut-transport.ts'
import { classicOnly } from './test-cluster.ts'
import { until } from './until.ts'
import { linesOf, startedCluster } from './word-count.ts'

test(
  'closing tells when the work could not be committed, for it will be done again',
  classicOnly,
  async ({ signal }) => {
    await using cluster = await startedCluster(1)
    const seen: string[] = []
    const builder = new StreamsBuilder()
    builder.stream(linesOf(cluster)).forEach((line) => seen.push(line))
    // Neither a commit nor a heartbeat comes before the end.
    const streams = cluster.streams(builder.build(), 'a', {
      commitInterval: 60_000,
      sessionTimeout: 50_000,
      heartbeatInterval: 40_000,
    })
    await streams.start()
    await cluster.write('lines', ['to be', 'or not'])
    await until(() => seen.length === 2, signal)
    // The group takes the member for gone, as after a session that timed out.
    const groupId = cluster.name('word-count')
    const [group] = await new Admin(cluster.client).describeGroups([groupId])
    await using coordinator = new GroupCoordinator(cluster.client, groupId)
    const memberId = group?.members[0]?.memberId ?? ''
    expect(await coordinator.leaveGroup({ memberId, instanceId: null })).toBe('NONE')

    await expect(streams.close()).rejects.toMatchObject({ code: 'TASK_MIGRATED' })
    await expect(streams.closed).rejects.toMatchObject({ code: 'TASK_MIGRATED' })
    expect(streams.state).toBe('not-running')
  },
)

test('closing ends by itself when no broker is there any more', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  const transport = new CutTransport()
  // The minute that closing may take passes at once; all other times are as they are.
  const clock: Clock = {
    ...systemClock,
    setTimer: (ms, callback) => systemClock.setTimer(ms === 60_000 ? 200 : ms, callback),
  }
  const seen: string[] = []
  const builder = new StreamsBuilder()
  builder.stream(linesOf(cluster)).forEach((line) => seen.push(line))
  const streams = cluster.streams(
    builder.build(),
    'a',
    { commitInterval: 30_000 },
    { ...systemPorts, clock, transport },
  )
  await streams.start()
  await cluster.write('lines', ['to be'])
  await until(() => seen.length === 1, signal)
  transport.cut()
  await streams.close()
  expect(streams.state).toBe('not-running')
})

test('closing after the work was committed tells nothing', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  const seen: string[] = []
  const builder = new StreamsBuilder()
  builder.stream(linesOf(cluster)).forEach((line) => seen.push(line))
  const streams = cluster.streams(builder.build(), 'a', { commitInterval: 60_000 })
  await streams.start()
  await cluster.write('lines', ['to be', 'or not'])
  await until(() => seen.length === 2, signal)
  await streams.close()
  await streams.closed
  expect(streams.state).toBe('not-running')
})
