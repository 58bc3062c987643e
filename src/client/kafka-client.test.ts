import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { listOffsets } from '../protocol/messages/2-list-offsets.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import type { KafkaClientOptions } from './kafka-client.ts'

const beat = { groupId: 'g', generationId: 1, memberId: 'm' }

describe('brokers', () => {
  test('a list that is not host:port is refused', async () => {
    const cluster = await ScriptedCluster.start()
    const create = (brokers: string[]) => () => cluster.client({ brokers })
    expect(create([])).toThrowError(/no broker is stated/)
    for (const wrong of ['kafka', 'kafka:', ':9092', 'kafka:0', 'kafka:99999', 'a b:1', '::1:9']) {
      expect(create([wrong])).toThrowError(/is not host:port/)
    }
    for (const right of ['kafka-1:9092', '10.0.0.1:1', '[::1]:9092', ' kafka:65535 ']) {
      expect(create([right])).not.toThrow()
    }
  })

  test('that cannot be reached are passed over', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 3 } })
    await using client = cluster.client({ brokers: ['away-1:1', 'away-2:1', 'kafka-1:9092'] })
    const topics = await client.topicMetadata(['t'])
    expect(topics.get('t')?.partitions).toHaveLength(3)
  })

  test('that hang are passed over after the connect timeout', async () => {
    const cluster = await ScriptedCluster.start({ nodes: 2, topics: { t: 1 } })
    cluster.network.stall('kafka-1:9092')
    await using client = cluster.client({ connectTimeoutMs: 1000 })
    const topics = client.topicMetadata(['t'])
    await cluster.clock.run(1000)
    expect((await topics).has('t')).toBe(true)
    await client.close()
  })

  test('that are all away are tried again with growing waits until the deadline', async () => {
    const cluster = await ScriptedCluster.start()
    await cluster.node(1).close()
    await using client = cluster.client()
    const failed = failureOf(client.topicMetadata(['t']))
    const attempts: number[] = []
    for (let second = 0; second < 60; second += 1) {
      await cluster.clock.run(1000)
      attempts.push(cluster.network.connectCount)
    }
    expect(await failed).toMatchObject({
      code: 'BROKER_UNREACHABLE',
      context: { broker: 'kafka-1:9092', detail: 'connection refused' },
    })
    // At the longest wait of both backoffs, 0.8 to 1.2 s each, there is about one attempt a second.
    expect(attempts[0]).toBeGreaterThan(2)
    expect(attempts[59]).toBeGreaterThan(40)
    expect(attempts[59]).toBeLessThan(80)
  })

  test('of the same seed wait equally long, of another seed differently', async () => {
    const connectTimes = async (options: Partial<KafkaClientOptions>): Promise<number[]> => {
      const cluster = await ScriptedCluster.start()
      await cluster.node(1).close()
      await using client = cluster.client(options)
      const failed = client.topicMetadata(['t'], { timeoutMs: 2000 }).catch(() => undefined)
      const times: number[] = []
      for (let ms = 0; ms < 2000; ms += 10) {
        const before = cluster.network.connectCount
        await cluster.clock.run(10)
        if (cluster.network.connectCount > before) times.push(ms)
      }
      await failed
      return times
    }
    const { seededRandom } = await import('../base/random.ts')
    const first = await connectTimes({ random: seededRandom(7) })
    const again = await connectTimes({ random: seededRandom(7) })
    const other = await connectTimes({ random: seededRandom(8) })
    expect(first.length).toBeGreaterThan(3)
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
  })

  test('that come back are used again', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 1 } })
    await using client = cluster.client()
    await client.topicMetadata(['t'])
    cluster.network.cut()
    await cluster.clock.settle()
    const again = client.topicMetadata(['t'], { fresh: true })
    await cluster.clock.run(5000)
    expect((await again).has('t')).toBe(true)
  })
})

describe('topicMetadata', () => {
  test('answers from the cache, and says what it knows without a wait', async () => {
    const cluster = await ScriptedCluster.start({ nodes: 2, topics: { t: 2 } })
    await using client = cluster.client()
    expect(client.partitionCount('t')).toBeUndefined()
    const topics = await client.topicMetadata(['t'])
    expect(topics.get('t')).toEqual({
      topic: 't',
      topicId: undefined,
      internal: false,
      partitions: [
        { partition: 0, leader: 1, leaderEpoch: 0, replicas: [1], inSyncReplicas: [1] },
        { partition: 1, leader: 2, leaderEpoch: 0, replicas: [1], inSyncReplicas: [1] },
      ],
    })
    await client.topicMetadata(['t'])
    expect(cluster.metadataCount).toBe(1)
    expect(client.partitionCount('t')).toBe(2)
    expect(client.leaderOf('t', 1)?.node.host).toBe('kafka-2')
    expect(client.leaderOf('t', 2)).toBeUndefined()
  })

  test('a topic that does not exist is absent, and not created', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 1 } })
    await using client = cluster.client()
    const topics = await client.topicMetadata(['t', 'missing'])
    expect([...topics.keys()]).toEqual(['t'])
    expect(cluster.node(1).received(metadata)[0]?.allowAutoTopicCreation).toBe(false)
  })

  test('a topic that is deleted disappears', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 1 } })
    await using client = cluster.client()
    await client.topicMetadata(['t'])
    cluster.leaders.delete('t')
    expect((await client.topicMetadata(['t'], { fresh: true })).size).toBe(0)
    expect(client.partitionCount('t')).toBeUndefined()
  })

  test('a topic that may not be seen is an error', async () => {
    const cluster = await ScriptedCluster.start()
    await using client = cluster.client()
    cluster.node(1).on(metadata, () => ({
      brokers: [{ nodeId: 1, host: 'kafka-1', port: 9092 }],
      topics: [{ errorCode: errorCode.TOPIC_AUTHORIZATION_FAILED, name: 'secret', partitions: [] }],
    }))
    await expect(client.topicMetadata(['secret'])).rejects.toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'Metadata', subject: 'secret', error: 'TOPIC_AUTHORIZATION_FAILED' },
    })
  })

  test('many who ask at once share the request', async () => {
    const cluster = await ScriptedCluster.start({ topics: { a: 1, b: 1 } })
    await using client = cluster.client()
    await Promise.all([
      client.topicMetadata(['a']),
      client.topicMetadata(['a']),
      client.topicMetadata(['b']),
      client.topicMetadata(['a', 'b']),
    ])
    expect(cluster.metadataCount).toBeLessThanOrEqual(2)
  })

  test('is refreshed in the background when it is old', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 1 } })
    await using client = cluster.client({ metadataMaxAgeMs: 10_000 })
    await client.topicMetadata(['t'])
    cluster.leaders.get('t')?.push({ node: 1, epoch: 0 })
    await cluster.clock.run(9_999)
    expect(client.partitionCount('t')).toBe(1)
    await cluster.clock.run(1)
    expect(client.partitionCount('t')).toBe(2)
  })

  test('an answer from a broker that lags behind does not bring the old leader back', async () => {
    const cluster = await ScriptedCluster.start({ nodes: 2, topics: { t: 1 } })
    await using client = cluster.client()
    cluster.moveLeader('t', 0, 2)
    await client.topicMetadata(['t'])
    expect(client.leaderOf('t', 0)).toMatchObject({ node: { nodeId: 2 }, leaderEpoch: 1 })
    cluster.leaders.set('t', [{ node: 1, epoch: 0 }])
    await client.topicMetadata(['t'], { fresh: true })
    expect(client.leaderOf('t', 0)).toMatchObject({ node: { nodeId: 2 }, leaderEpoch: 1 })
  })

  test('ends at its deadline even when a broker hangs for longer', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 1 } })
    await using client = cluster.client()
    cluster.node(1).on(metadata, () => 'silence')
    const failed = failureOf(client.topicMetadata(['t'], { timeoutMs: 5000 }))
    await cluster.clock.run(5000)
    expect(await failed).toMatchObject({
      code: 'REQUEST_TIMEOUT',
      context: { api: 'Metadata', broker: 'the cluster', timeoutMs: 5000 },
    })
  })
})

describe('request', () => {
  test('to a leader follows it when it moves', async () => {
    const cluster = await ScriptedCluster.start({ nodes: 2, topics: { t: 1 } })
    const answer = (code: number) => () =>
      ({
        topics: [{ name: 't', partitions: [{ partitionIndex: 0, errorCode: code, offset: 5 }] }],
      }) as never
    cluster.node(1).on(listOffsets, answer(0))
    cluster.node(2).on(listOffsets, answer(0))
    await using client = cluster.client()
    const ask = () =>
      client.request(
        listOffsets,
        { topics: [{ name: 't', partitions: [{ partitionIndex: 0, timestamp: -1 }] }] },
        { leaderOf: { topic: 't', partition: 0 } },
        { errorCodeOf: (response) => response.topics[0]?.partitions[0]?.errorCode ?? 0 },
      )
    await ask()
    cluster.moveLeader('t', 0, 2)
    cluster.node(1).on(listOffsets, answer(errorCode.NOT_LEADER_OR_FOLLOWER))
    const moved = ask()
    await cluster.clock.run(200)
    await moved
    expect(cluster.node(1).received(listOffsets)).toHaveLength(2)
    expect(cluster.node(2).received(listOffsets)).toHaveLength(1)
  })

  test('to a coordinator follows it when it moves, and when it dies', async () => {
    const cluster = await ScriptedCluster.start({ nodes: 3 })
    for (const node of [1, 2, 3]) {
      cluster.node(node).on(heartbeat, () => ({
        errorCode: cluster.coordinator === node ? 0 : errorCode.NOT_COORDINATOR,
      }))
    }
    await using client = cluster.client()
    const ask = () => client.request(heartbeat, beat, { coordinatorOf: 'g' })
    await ask()
    cluster.coordinator = 2
    const moved = ask()
    await cluster.clock.run(200)
    expect((await moved).errorCode).toBe(0)
    expect(cluster.node(2).received(heartbeat)).toHaveLength(1)
    await cluster.node(2).close()
    cluster.coordinator = 3
    const survived = ask()
    await cluster.clock.run(2000)
    expect((await survived).errorCode).toBe(0)
    expect(cluster.node(3).received(heartbeat)).toHaveLength(1)
  })

  test('waits for a coordinator that is not there yet, until the deadline', async () => {
    const cluster = await ScriptedCluster.start()
    cluster.coordinator = -1
    await using client = cluster.client()
    const failed = failureOf(
      client.request(heartbeat, beat, { coordinatorOf: 'g' }, { deadlineMs: 3000 }),
    )
    await cluster.clock.run(3000)
    expect(await failed).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'FindCoordinator', subject: 'g', error: 'COORDINATOR_NOT_AVAILABLE' },
    })
  })

  test('returns an error that cannot pass at once, and one that can after the deadline', async () => {
    const cluster = await ScriptedCluster.start()
    cluster.node(1).on(heartbeat, () => ({ errorCode: errorCode.UNKNOWN_MEMBER_ID }))
    await using client = cluster.client()
    const response = await client.request(heartbeat, beat, 'any')
    expect(response.errorCode).toBe(errorCode.UNKNOWN_MEMBER_ID)
    cluster.node(1).on(heartbeat, () => ({ errorCode: errorCode.COORDINATOR_LOAD_IN_PROGRESS }))
    const failed = failureOf(
      client.request(heartbeat, beat, 'any', { deadlineMs: 1000, subject: 'the member' }),
    )
    await cluster.clock.run(1000)
    expect(await failed).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { subject: 'the member', error: 'COORDINATOR_LOAD_IN_PROGRESS' },
    })
  })

  test('tells why the tries before failed when the deadline cuts the last one short', async () => {
    const cluster = await ScriptedCluster.start()
    let tries = 0
    cluster.node(1).on(heartbeat, () => {
      tries += 1
      return tries === 1 ? { errorCode: errorCode.COORDINATOR_LOAD_IN_PROGRESS } : 'silence'
    })
    await using client = cluster.client()
    const failed = failureOf(
      client.request(heartbeat, beat, 'any', { deadlineMs: 1000, subject: 'the member' }),
    )
    await cluster.clock.run(1000)
    expect(await failed).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { subject: 'the member', error: 'COORDINATOR_LOAD_IN_PROGRESS' },
    })
    expect(tries).toBe(2)
  })

  test('with retry none is tried once', async () => {
    const cluster = await ScriptedCluster.start()
    cluster.node(1).on(heartbeat, () => ({ errorCode: errorCode.COORDINATOR_LOAD_IN_PROGRESS }))
    await using client = cluster.client()
    const response = await client.request(heartbeat, beat, 'any', { retry: 'none' })
    expect(response.errorCode).toBe(errorCode.COORDINATOR_LOAD_IN_PROGRESS)
    expect(cluster.node(1).received(heartbeat)).toHaveLength(1)
  })

  test('of different purposes do not wait for each other', async () => {
    const cluster = await ScriptedCluster.start()
    let held = 0
    cluster.node(1).on(heartbeat, ({ body }) => {
      if (body.memberId !== 'held') return { errorCode: 0 }
      held += 1
      return 'silence'
    })
    await using client = cluster.client()
    const purpose = client.uniquePurpose('group')
    const waiting = client
      .request(heartbeat, { ...beat, memberId: 'held' }, 'any', { purpose })
      .catch(() => undefined)
    await expect(client.request(heartbeat, beat, 'any')).resolves.toMatchObject({ errorCode: 0 })
    expect(held).toBe(1)
    expect(client.uniquePurpose('group')).not.toBe(purpose)
    await client.close()
    await waiting
  })

  test('ends when its signal aborts, also between tries', async () => {
    const cluster = await ScriptedCluster.start()
    await cluster.node(1).close()
    await using client = cluster.client()
    const abort = new AbortController()
    const aborted = failureOf(client.request(heartbeat, beat, 'any', { signal: abort.signal }))
    await cluster.clock.run(500)
    abort.abort()
    expect(await aborted).toMatchObject({ code: 'ABORTED', context: { what: 'Heartbeat' } })
  })
})

describe('close', () => {
  test('ends requests, waits and timers, and refuses what comes after', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 1 } })
    cluster.node(1).on(heartbeat, () => 'silence')
    const client = cluster.client()
    await client.topicMetadata(['t'])
    const closed = { code: 'CLIENT_CLOSED', context: { what: 'Kafka client' } }
    const waiting = failureOf(client.request(heartbeat, beat, 'any'))
    const unknown = failureOf(
      client.request(heartbeat, beat, { leaderOf: { topic: 'missing', partition: 0 } }),
    )
    await cluster.clock.settle()
    await client.close()
    await client.close()
    expect(await waiting).toMatchObject(closed)
    expect(await unknown).toMatchObject(closed)
    await expect(client.topicMetadata(['x'])).rejects.toMatchObject(closed)
    await expect(client.request(heartbeat, beat, 'any')).rejects.toMatchObject(closed)
    await cluster.clock.settle()
    expect(cluster.network.openCount).toBe(0)
    expect(cluster.clock.timerCount).toBe(0)
  })

  test('does not wait for a broker that hangs while it is being connected to', async () => {
    const cluster = await ScriptedCluster.start({ topics: { t: 1 } })
    cluster.network.stall('kafka-1:9092')
    const client = cluster.client()
    const failed = failureOf(client.topicMetadata(['t']))
    await cluster.clock.settle()
    await client.close()
    expect(await failed).toMatchObject({
      code: 'CLIENT_CLOSED',
    })
    expect(cluster.clock.timerCount).toBe(0)
  })
})
