import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import { Admin } from '../../src/client/admin.ts'
import { GroupCoordinator } from '../../src/client/group-coordinator.ts'
import { systemPorts } from '../../src/config.ts'
import { StreamsBuilder, serdes, topic } from '../../src/index.ts'
import { fetch } from '../../src/protocol/messages/1-fetch.ts'
import { findCoordinator } from '../../src/protocol/messages/10-find-coordinator.ts'
import { joinGroup } from '../../src/protocol/messages/11-join-group.ts'
import { syncGroup } from '../../src/protocol/messages/14-sync-group.ts'
import { listOffsets } from '../../src/protocol/messages/2-list-offsets.ts'
import { initProducerId } from '../../src/protocol/messages/22-init-producer-id.ts'
import { metadata } from '../../src/protocol/messages/3-metadata.ts'
import { streamsGroupHeartbeat } from '../../src/protocol/messages/88-streams-group-heartbeat.ts'
import { offsetFetch } from '../../src/protocol/messages/9-offset-fetch.ts'
import { simulatedCluster } from '../../src/testing/simulated-cluster.ts'
import { CutTransport } from './cut-transport.ts'
import { classicOnly } from './test-cluster.ts'
import { until } from './until.ts'
import { WatchedTransport } from './watched-transport.ts'
import { counts, held, isEqual, linesOf, poem, startedCluster, wordCount } from './word-count.ts'

const isStreamsProtocol = process.env['MILLPOND_TEST_GROUP_PROTOCOL'] === 'streams'

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

test.for(['at-least-once', 'exactly-once'] as const)(
  'closing ends in its time while the broker holds connections and answers nothing, %s',
  async (processingGuarantee) => {
    await using cluster = await simulatedCluster()
    const lines = topic('lines', { value: serdes.string })
    await cluster.createTopic(lines, { partitions: 1 })
    const seen: string[] = []
    const builder = new StreamsBuilder()
    builder.stream(lines).forEach((line) => seen.push(line))
    const instance = cluster.instance('a', builder.build(), {
      applicationId: 'app',
      processingGuarantee,
      commitInterval: 5_000,
      groupProtocol: isStreamsProtocol ? 'streams' : 'classic',
    })
    instance.start()
    await cluster.until(() => instance.state === 'running')
    await cluster.produce(lines, [{ key: null, value: 'to be' }])
    await cluster.until(() => seen.length === 1)
    cluster.isolate('a')
    const { streams } = instance
    const before = cluster.now
    await instance.stop({ timeout: 3_000 }).catch(() => undefined)
    expect(cluster.now - before).toBe(3_000)
    expect(streams.state).toBe('not-running')
  },
)

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

/** Requests on the way to the first tasks: join, sync, assign, restore. */
const steps = [
  metadata,
  findCoordinator,
  ...(isStreamsProtocol ? [streamsGroupHeartbeat] : [joinGroup, syncGroup]),
  offsetFetch,
  listOffsets,
  fetch,
]

test.for(['at-least-once', 'exactly-once'] as const)(
  'closing at any step of the way to the tasks leaves nothing behind, %s',
  { timeout: 120_000 },
  async (processingGuarantee, { signal }) => {
    await using cluster = await startedCluster(1)
    const first = cluster.streams(wordCount(cluster), 'first', { processingGuarantee })
    await first.start()
    await cluster.write('lines', poem)
    await until(async () => isEqual(counts, await held(first)), signal)
    await first.close()
    const isExactlyOnce = processingGuarantee === 'exactly-once'
    const all = isExactlyOnce ? [...steps, initProducerId] : steps
    const closed: string[] = []
    for (const { key, name } of all) {
      let closing: Promise<void> | undefined
      const transport = new WatchedTransport((apiKey) => {
        if (apiKey === key) closing ??= streams.close()
      })
      // With a directory of its own, so that there is something to restore.
      const streams = cluster.streams(
        wordCount(cluster),
        `closed at ${name}`,
        { processingGuarantee },
        { ...systemPorts, transport },
      )
      await expect(streams.start()).rejects.toMatchObject({
        code: 'STREAMS_STOPPED',
        message: 'Streams is pending-shutdown: it was closed before it had its tasks.',
      })
      await closing
      expect(streams.state).toBe('not-running')
      closed.push(name)
    }
    expect(closed).toEqual(all.map(({ name }) => name))
    // Nobody waits for any of them, and all is as it was.
    const last = cluster.streams(wordCount(cluster), 'last', { processingGuarantee })
    await last.start()
    await until(async () => isEqual(counts, await held(last)), signal)
  },
)
