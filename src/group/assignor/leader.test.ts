import { expect, test } from 'vitest'
import { silentLog } from '../../base/log.ts'
import { StreamsBuilder } from '../../dsl/streams-builder.ts'
import { topic } from '../../dsl/topic.ts'
import { errorCode } from '../../protocol/error-codes.ts'
import { decodeConsumerAssignment } from '../../protocol/consumer-protocol.ts'
import { createTopics } from '../../protocol/messages/19-create-topics.ts'
import { listOffsets } from '../../protocol/messages/2-list-offsets.ts'
import { serdes } from '../../serde/serdes.ts'
import { keyValueStore } from '../../store/descriptor.ts'
import type { Topology } from '../../topology/topology.ts'
import type { TaskId } from '../../processor/record-metadata.ts'
import { settled } from '../../../test/peers/scripted-appends.ts'
import { ScriptedCluster } from '../../../test/peers/scripted-cluster.ts'
import { failureOf } from '../../../test/peers/failure-of.ts'
import { progressRunning } from '../membership.ts'
import { decodeAssignment, type AssignmentData, type SubscriptionData } from '../user-data.ts'
import { Leader, type LeaderOptions, type MemberSubscription } from './leader.ts'

const changelog = 'app-counts-changelog'

function counting(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic('orders', { key: serdes.string, value: serdes.string }))
    .groupByKey()
    .count({ store: keyValueStore('counts', { key: serdes.string, value: serdes.long }) })
  return builder.build()
}

/** A member of a process of its own that runs and follows what it holds. */
function member(
  name: string,
  active: TaskId[],
  standby: TaskId[] = [],
  more: Partial<SubscriptionData> = {},
): MemberSubscription {
  return {
    memberId: name,
    generation: 1,
    data: {
      processId: name,
      nonce: 0,
      endpoint: { host: name, port: 1 },
      held: { active: new Set(active), standby: new Set(standby) },
      progress: new Map(active.map((id) => [id, progressRunning])),
      tags: new Map(),
      ...more,
    },
  }
}

/** A cluster whose changelogs end at 500. */
async function start(
  topics: Readonly<Record<string, number>>,
  options: Partial<LeaderOptions> = {},
) {
  const cluster = await ScriptedCluster.start({ topics })
  const broker = cluster.node(1)
  broker.on(listOffsets, ({ body }) => ({
    topics: body.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => {
        return { partitionIndex, errorCode: 0, offset: 500 }
      }),
    })),
  }))
  const client = cluster.client()
  const leader = new Leader({
    client,
    topology: counting(),
    applicationId: 'app',
    replicationFactor: 1,
    topicConfigs: {},
    standbyReplicas: 0,
    acceptableRecoveryLag: 10,
    maxWarmupReplicas: 2,
    probingRebalanceInterval: 90_000,
    rackAwareAssignmentTags: [],
    log: silentLog,
    ...options,
  })
  const run = async (members: MemberSubscription[]): Promise<Record<string, AssignmentData>> => {
    const { signal } = new AbortController()
    const round = leader.assign(members, { version: 2, leaderId: 'a', signal })
    const { assignments } = await settled(cluster.clock, round)
    return Object.fromEntries(
      [...assignments].map(([name, bytes]) => {
        const { userData } = decodeConsumerAssignment(Buffer.from(bytes))
        return [name, decodeAssignment(userData ?? Buffer.alloc(0))]
      }),
    )
  }
  return { cluster, broker, client, run }
}

const all: TaskId[] = ['0_0', '0_1', '0_2', '0_3']
const shown = ({ tasks }: AssignmentData): string =>
  `${[...tasks.active].join(' ')} | ${[...tasks.standby].join(' ')}`

test('while somebody warms up, the leader alone is told to look again', async () => {
  const { client, run } = await start({ orders: 4, [changelog]: 4 })
  const told = await run([member('a', all), member('b', [])])
  expect(told['a'] && shown(told['a'])).toBe('0_0 0_1 0_2 0_3 | ')
  expect(told['b'] && shown(told['b'])).toBe(' | 0_2 0_3')
  expect(told['a']?.rejoinInMs).toBe(90_000)
  expect(told['b']?.rejoinInMs).toBeUndefined()
  expect(told['b']?.hosts.get('b:1')?.tasks.standby).toEqual(new Set(['0_2', '0_3']))
  await client.close()
})

test('when all is where it should be, nobody is to join again', async () => {
  const { client, run } = await start({ orders: 4, [changelog]: 4 })
  const told = await run([member('a', ['0_0', '0_1']), member('b', ['0_2', '0_3'])])
  expect([told['a']?.rejoinInMs, told['b']?.rejoinInMs]).toEqual([undefined, undefined])
  await client.close()
})

test('who waits for a task of another member gets it in a round that the leader makes at last', async () => {
  const { client, run } = await start({ orders: 4, [changelog]: 4 })
  const progress = new Map<TaskId, number>([
    ['0_2', 500],
    ['0_3', 495],
  ])
  const told = await run([member('a', all), member('b', [], ['0_2'], { progress })])
  expect(told['a'] && shown(told['a'])).toBe('0_0 0_1 | ')
  expect(told['b'] && shown(told['b'])).toBe(' | 0_2')
  expect(told['a']?.rejoinInMs).toBe(30_000)
  await client.close()
})

test('when brokers do not tell where changelogs end, nothing moves, and a minute later it is asked again', async () => {
  const { cluster, broker, client, run } = await start({ orders: 4, [changelog]: 4 })
  broker.on(listOffsets, () => 'silence')
  const before = cluster.clock.monotonic()
  const told = await run([member('a', all.slice(0, 3)), member('b', [])])
  expect(cluster.clock.monotonic() - before).toBeLessThan(11_000)
  expect(told['a'] && shown(told['a'])).toBe('0_0 0_1 0_2 | ')
  expect(told['b'] && shown(told['b'])).toBe('0_3 | ')
  expect(told['a']?.rejoinInMs).toBe(60_000)
  await client.close()
})

test('where changelogs end is not asked when one process gets everything', async () => {
  const { broker, client, run } = await start({ orders: 4, [changelog]: 4 })
  const told = await run([member('a', [])])
  expect(told['a'] && shown(told['a'])).toBe('0_0 0_1 0_2 0_3 | ')
  expect(broker.received(listOffsets)).toEqual([])
  await client.close()
})

test('a member that closes a standby for another one of its process joins again at once', async () => {
  const { client, run } = await start({ orders: 2, [changelog]: 2 })
  const processId = 'p'
  const progress = new Map<TaskId, number>([['0_1', 500]])
  const told = await run([
    member('a', ['0_0'], ['0_1'], { processId, progress }),
    member('b', [], [], { processId }),
  ])
  expect(told['a'] && shown(told['a'])).toBe('0_0 | ')
  expect(told['b'] && shown(told['b'])).toBe(' | ')
  expect(told['a']?.rejoinInMs).toBe(0)
  await client.close()
})

test('the fingerprint of the topics is another one when partitions were added', async () => {
  const first = await start({ orders: 2, [changelog]: 2 })
  const [before] = Object.values(await first.run([member('a', [])]))
  await first.client.close()
  const second = await start({ orders: 3, [changelog]: 3 })
  const [after] = Object.values(await second.run([member('a', [])]))
  await second.client.close()
  expect(before?.topicsFingerprint).not.toBe(after?.topicsFingerprint)
  expect(before?.topicsFingerprint).toBeGreaterThan(0)
})

test('a source topic that is missing, and an internal one of another size, are plain errors', async () => {
  const missing = await start({})
  expect(await failureOf(missing.run([member('a', [])]))).toMatchObject({
    code: 'SOURCE_TOPIC_MISSING',
    context: { topic: 'orders' },
  })
  await missing.client.close()
  const uneven = await start({ orders: 4, [changelog]: 3 })
  expect(await failureOf(uneven.run([member('a', [])]))).toMatchObject({
    code: 'INTERNAL_TOPIC_INVALID',
    context: { topic: changelog, actual: 3, expected: 4 },
  })
  await uneven.client.close()
})

test('topics that are read side by side need the same number of partitions', async () => {
  const builder = new StreamsBuilder()
  const left = builder.stream(topic('left', { key: serdes.string, value: serdes.string }))
  const right = builder.table(topic('right', { key: serdes.string, value: serdes.string }))
  left.join(right, (one, other) => one + other).forEach(() => undefined)
  const { client, run } = await start({ left: 4, right: 3 }, { topology: builder.build() })
  const error = await failureOf(run([member('a', [])]))
  expect(error).toMatchObject({ code: 'TOPOLOGY_INVALID' })
  expect(error).toHaveProperty('message', expect.stringContaining('right'))
  await client.close()
})

test('a leader that may not create topics says which right it lacks', async () => {
  const { broker, client, run } = await start({ orders: 4 })
  broker.on(createTopics, ({ body }) => ({
    topics: body.topics.map(({ name }) => ({
      name,
      errorCode: errorCode.TOPIC_AUTHORIZATION_FAILED,
      errorMessage: 'Authorization failed.',
    })),
  }))
  const error = await failureOf(run([member('a', [])]))
  expect(error).toMatchObject({ code: 'KAFKA_ERROR' })
  expect(error).toHaveProperty('message', expect.stringContaining('TOPIC_AUTHORIZATION_FAILED'))
  expect(error).toHaveProperty('message', expect.stringContaining(changelog))
  await client.close()
})
