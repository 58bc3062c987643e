import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { failureOf } from '../peers/failure-of.ts'
import { silentLog } from '../../src/base/log.ts'
import {
  systemTransport,
  type Connection,
  type ConnectOptions,
  type Transport,
} from '../../src/base/transport.ts'
import { startBroker } from '../../src/broker/index.ts'
import { Admin } from '../../src/client/admin.ts'
import { Fetcher } from '../../src/client/fetcher.ts'
import { GroupCoordinator } from '../../src/client/group-coordinator.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import {
  commitOffsets,
  fetchCommittedOffsets,
  listOffsets,
  partitionKey,
} from '../../src/client/offsets.ts'
import { Producer, type ProducerOptions } from '../../src/client/producer.ts'
import { systemPorts } from '../../src/config.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { TestCluster, devBrokerOnly } from './test-cluster.ts'
import { until } from './until.ts'

/** The network of this machine, with a knife: all connections of a client can be cut, at any byte. */
class CuttableTransport implements Transport {
  readonly #open = new Set<Connection>()
  /** Called with what arrives, before the client sees it; true: cut, and the client never sees it. */
  isCut: (bytes: Buffer) => boolean = () => false

  listen = systemTransport.listen.bind(systemTransport)

  async connect(options: ConnectOptions): Promise<Connection> {
    const connection = await systemTransport.connect(options)
    this.#open.add(connection)
    const deliver = (bytes: Buffer): void => handler(bytes)
    let handler: (bytes: Buffer) => void = () => undefined
    connection.onData = (bytes) => {
      if (this.isCut(bytes)) connection.destroy(new Error('cut by the test'))
      else deliver(bytes)
    }
    // The client sets its own handlers; ours for data stays in front of it.
    return new Proxy(connection, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value
      },
      set: (target, name, value) => {
        if (name === 'onData') handler = value as typeof handler
        else Reflect.set(target, name, value, target)
        return true
      },
    })
  }

  cut(): void {
    for (const connection of this.#open) connection.destroy(new Error('cut by the test'))
    this.#open.clear()
  }
}

const cleanUps: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

async function started(topics: Readonly<Record<string, number>> = {}): Promise<{
  cluster: TestCluster
  client: KafkaClient
  transport: CuttableTransport
  admin: Admin
}> {
  const cluster = await TestCluster.start()
  cleanUps.push(() => cluster[Symbol.asyncDispose]())
  const transport = new CuttableTransport()
  const client = cluster.newClient({ transport })
  cleanUps.push(() => client.close())
  const admin = new Admin(client)
  const wanted = Object.entries(topics).map(([short, partitions]) => ({
    topic: cluster.name(short),
    partitions,
    // Some tests write records of 1970.
    configs: { 'retention.ms': '-1' },
  }))
  if (wanted.length > 0) await admin.createTopics(wanted)
  return { cluster, client, transport, admin }
}

function producerOf(client: KafkaClient, options?: ProducerOptions): Producer {
  const producer = new Producer(client, options)
  cleanUps.push(() => producer.close())
  return producer
}

/** Reads until each partition has this many records; their values in order of offsets. */
async function readAll(
  client: KafkaClient,
  topic: string,
  counts: readonly number[],
  onProgress: (count: number) => void = () => undefined,
): Promise<string[][]> {
  const fetcher = new Fetcher(client)
  cleanUps.push(() => fetcher.close())
  fetcher.assign(counts.map((_, partition) => ({ topic, partition, offset: 0 })))
  const values: string[][] = counts.map(() => [])
  const reader = new RecordBatchReader()
  let total = 0
  while (values.some((list, partition) => list.length < (counts[partition] ?? 0))) {
    await fetcher.wait(1000)
    for (const fetched of fetcher.poll()) {
      if (fetched.error !== undefined) throw fetched.error
      const list = values[fetched.partition]
      reader.reset(fetched.records)
      while (reader.nextBatch()) {
        while (reader.next()) {
          if (reader.offset < fetched.startOffset) continue
          if (reader.offset !== list?.length) throw new Error(`a gap before ${reader.offset}`)
          list.push(reader.valueString() ?? '(null)')
          total += 1
        }
      }
      onProgress(total)
    }
  }
  await fetcher.close()
  return values
}

/** A member of the group `pair` that has got its id and nothing else. */
async function namedMember(cluster: TestCluster, client: KafkaClient) {
  const request = {
    instanceId: null,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 60_000,
    protocolType: 'consumer',
    protocols: [{ name: 'p', metadata: Buffer.alloc(0) }],
  }
  const coordinator = new GroupCoordinator(client, cluster.name('pair'))
  cleanUps.push(() => coordinator.close())
  const { memberId } = await coordinator.joinGroup({ ...request, memberId: '' })
  return {
    coordinator,
    identity: { memberId, instanceId: null },
    join: () => coordinator.joinGroup({ ...request, memberId }),
  }
}

describe('produce and fetch', () => {
  test('100,000 records come back equal, although connections are cut in between', async () => {
    const partitions = 5
    const perPartition = 20_000
    const { cluster, client, transport } = await started({ numbers: partitions })
    const topic = cluster.name('numbers')
    const producer = producerOf(client, { batchBytes: 16 * 1024 })
    const sent: string[][] = Array.from({ length: partitions }, () => [])
    for (let index = 0; index < perPartition; index += 1) {
      for (let partition = 0; partition < partitions; partition += 1) {
        const value = `value ${index} of ${partition}`
        sent[partition]?.push(value)
        producer.send(topic, partition, Buffer.from(`k${index}`), Buffer.from(value), index, [])
      }
      if (index % 4000 === 3999) {
        await producer.drained(256 * 1024)
        transport.cut()
      }
    }
    await producer.flush()
    for (let partition = 0; partition < partitions; partition += 1) {
      expect(producer.nextOffset(topic, partition)).toBe(perPartition)
    }
    let cutAt = 10_000
    const counts = Array.from({ length: partitions }, () => perPartition)
    const values = await readAll(client, topic, counts, (count) => {
      if (count < cutAt) return
      cutAt += 20_000
      transport.cut()
    })
    expect(values).toEqual(sent)
  })

  test('a batch whose answer is lost is in the log once', async () => {
    const { cluster, client, transport } = await started({ once: 1 })
    const topic = cluster.name('once')
    const producer = producerOf(client, { batchBytes: 1000, lingerMs: 0 })
    producer.send(topic, 0, null, Buffer.from('first'), 0, [])
    await producer.flush()
    const sent = ['first']
    for (let round = 0; round < 10; round += 1) {
      // The next bytes from the broker are the answer to Produce: it has the batch, we do not know.
      let isLost = false
      transport.isCut = () => {
        if (isLost) return false
        isLost = true
        return true
      }
      for (let index = 0; index < 50; index += 1) {
        const value = `round ${round}, ${index}`
        sent.push(value)
        producer.send(topic, 0, null, Buffer.from(value), 0, [])
      }
      await producer.flush()
      expect(isLost).toBe(true)
    }
    transport.isCut = () => false
    expect(producer.nextOffset(topic, 0)).toBe(501)
    expect(await readAll(client, topic, [501])).toEqual([sent])
  })

  test('every codec comes back', async () => {
    for (const compression of ['gzip', 'snappy', 'lz4'] as const) {
      const { cluster, client } = await started({ [compression]: 1 })
      const topic = cluster.name(compression)
      const producer = producerOf(client, { compression })
      const sent = Array.from({ length: 1000 }, (_, index) => `the value number ${index}`)
      for (const value of sent) producer.send(topic, 0, null, Buffer.from(value), 0, [])
      await producer.flush()
      expect(await readAll(client, topic, [1000])).toEqual([sent])
    }
  })

  test('both outlive a broker that is started again', devBrokerOnly, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'millpond-client-'))
    cleanUps.push(() => rm(dataDir, { recursive: true, force: true }))
    const first = await startBroker({ dataDir, autoCreateTopics: false })
    const { port } = first
    const client = new KafkaClient({ brokers: [first.address], log: silentLog, ...systemPorts })
    cleanUps.push(() => client.close())
    await new Admin(client).createTopics([{ topic: 'durable', partitions: 2 }])
    const producer = producerOf(client)
    const fetcher = new Fetcher(client)
    cleanUps.push(() => fetcher.close())
    fetcher.assign([0, 1].map((partition) => ({ topic: 'durable', partition, offset: 0 })))
    producer.send('durable', 0, null, Buffer.from('before'), 0, [])
    await producer.flush()
    await first.close()
    producer.send('durable', 1, null, Buffer.from('while it was away'), 0, [])
    const second = await startBroker({ dataDir, port, autoCreateTopics: false })
    cleanUps.push(() => second.close())
    await producer.flush()
    const seen = new Set<number>()
    while (seen.size < 2) {
      await fetcher.wait(1000)
      for (const fetched of fetcher.poll()) {
        expect(fetched.error).toBeUndefined()
        seen.add(fetched.partition)
      }
    }
    expect(producer.nextOffset('durable', 1)).toBe(1)
  })

  test('an offset below the log is reset, or an error, as it was said', async () => {
    const { cluster, client, admin } = await started({ short: 2 })
    const topic = cluster.name('short')
    const producer = producerOf(client)
    for (const partition of [0, 1]) {
      for (let index = 0; index < 10; index += 1) {
        producer.send(topic, partition, null, Buffer.from(`${index}`), 0, [])
      }
      await producer.flush()
    }
    await admin.deleteRecords([0, 1].map((partition) => ({ topic, partition, offset: 10 })))
    producer.send(topic, 0, null, Buffer.from('after'), 0, [])
    await producer.flush()
    const fetcher = new Fetcher(client)
    cleanUps.push(() => fetcher.close())
    fetcher.assign([
      { topic, partition: 0, offset: 2, offsetReset: 'earliest' },
      { topic, partition: 1, offset: 2 },
    ])
    const seen = new Map<number, unknown>()
    while (seen.size < 2) {
      await fetcher.wait(1000)
      for (const { partition, startOffset, error } of fetcher.poll()) {
        seen.set(partition, error?.code ?? startOffset)
      }
    }
    expect(seen.get(0)).toBe(10)
    expect(seen.get(1)).toBe('OFFSET_OUT_OF_RANGE')
  })
})

describe('offsets', () => {
  test('of the ends and of a time are found', async () => {
    const { cluster, client, admin } = await started({ times: 2 })
    const topic = cluster.name('times')
    const producer = producerOf(client)
    for (let index = 0; index < 10; index += 1) {
      producer.send(topic, 0, null, Buffer.from('x'), 1000 + index, [])
      await producer.flush()
    }
    await admin.deleteRecords([{ topic, partition: 0, offset: 3 }])
    const both = [0, 1].map((partition) => ({ topic, partition }))
    expect(Object.fromEntries(await listOffsets(client, both, 'earliest'))).toEqual({
      [`${topic}-0`]: 3,
      [`${topic}-1`]: 0,
    })
    expect(Object.fromEntries(await listOffsets(client, both, 'latest'))).toEqual({
      [`${topic}-0`]: 10,
      [`${topic}-1`]: 0,
    })
    expect(Object.fromEntries(await listOffsets(client, both, 1005))).toEqual({
      [`${topic}-0`]: 5,
      [`${topic}-1`]: 0,
    })
    expect(Object.fromEntries(await listOffsets(client, both, 5000))).toEqual({
      [`${topic}-0`]: 10,
      [`${topic}-1`]: 0,
    })
    const missing = cluster.name('missing')
    await expect(
      listOffsets(client, [{ topic: missing, partition: 0 }], 'latest', { timeoutMs: 500 }),
    ).rejects.toMatchObject({
      code: 'KAFKA_ERROR',
      context: { subject: `${missing}-0`, error: 'UNKNOWN_TOPIC_OR_PARTITION' },
    })
  })

  test('are committed by a member, and not by one that was replaced', async () => {
    const { cluster, client, admin } = await started({ input: 2 })
    const [topic, groupId] = [cluster.name('input'), cluster.name('app')]
    const coordinator = new GroupCoordinator(client, groupId)
    cleanUps.push(() => coordinator.close())
    const request = {
      memberId: '',
      instanceId: null,
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 10_000,
      protocolType: 'consumer',
      protocols: [{ name: 'p', metadata: Buffer.from('meta') }],
    }
    const unnamed = await coordinator.joinGroup(request)
    expect(unnamed.error).toBe('MEMBER_ID_REQUIRED')
    const joined = await coordinator.joinGroup({ ...request, memberId: unnamed.memberId })
    expect(joined).toMatchObject({
      error: 'NONE',
      generation: 1,
      protocolName: 'p',
      leader: unnamed.memberId,
      memberId: unnamed.memberId,
      skipAssignment: false,
      members: [{ memberId: unnamed.memberId, instanceId: null, metadata: Buffer.from('meta') }],
    })
    const member = { memberId: joined.memberId, instanceId: null, generation: joined.generation }
    const synced = await coordinator.syncGroup({
      ...member,
      protocolType: 'consumer',
      protocolName: 'p',
      assignments: [{ memberId: joined.memberId, assignment: Buffer.from('yours') }],
    })
    expect(synced).toEqual({ error: 'NONE', assignment: Buffer.from('yours') })
    expect(await coordinator.heartbeat(member)).toBe('NONE')

    const identity = { groupId, ...member }
    await commitOffsets(client, identity, [
      { topic, partition: 0, offset: 42, metadata: 'note', leaderEpoch: 0 },
      { topic, partition: 1, offset: 7 },
    ])
    const partitions = [0, 1, 2].map((partition) => ({ topic, partition }))
    const committed = await fetchCommittedOffsets(client, groupId, partitions)
    expect(committed.size).toBe(2)
    expect(committed.get(partitionKey(topic, 0))).toEqual({
      topic,
      partition: 0,
      offset: 42,
      metadata: 'note',
      leaderEpoch: 0,
    })
    for (const stale of [
      { ...identity, generation: 0 },
      { ...identity, memberId: 'somebody else' },
    ]) {
      await expect(
        commitOffsets(client, stale, [{ topic, partition: 0, offset: 1 }]),
      ).rejects.toMatchObject({ code: 'TASK_MIGRATED' })
    }
    expect(
      (await fetchCommittedOffsets(client, groupId, partitions)).get(`${topic}-0`)?.offset,
    ).toBe(42)

    const listed = async () =>
      (await admin.listGroups()).filter((one) => cluster.own([one.groupId]).length > 0)
    expect(await listed()).toEqual([{ groupId, protocolType: 'consumer', state: 'Stable' }])
    const nobody = cluster.name('nobody')
    expect((await admin.describeGroups([groupId, nobody])).map(({ state }) => state)).toEqual([
      'Stable',
      'Dead',
    ])
    await expect(admin.deleteGroups([groupId])).rejects.toMatchObject({
      context: { subject: groupId, error: 'NON_EMPTY_GROUP' },
    })
    expect(await coordinator.leaveGroup({ memberId: joined.memberId, instanceId: null })).toBe(
      'NONE',
    )
    expect(await coordinator.heartbeat(member)).toBe('UNKNOWN_MEMBER_ID')
    await admin.deleteGroups([groupId, nobody])
    expect(await listed()).toEqual([])
  })

  test('two members of one client join without waiting for each other', async ({ signal }) => {
    const { cluster, client } = await started()
    const first = await namedMember(cluster, client)
    const { generation } = await first.join()
    await first.coordinator.syncGroup({
      ...first.identity,
      generation,
      protocolType: 'consumer',
      protocolName: 'p',
      assignments: [],
    })
    const second = await namedMember(cluster, client)
    // The broker holds this one until the other has come, too.
    const waiting = second.join()
    const beat = { ...first.identity, generation }
    await until(
      async () => (await first.coordinator.heartbeat(beat)) === 'REBALANCE_IN_PROGRESS',
      signal,
    )
    const joined = await Promise.all([first.join(), waiting])
    expect(joined.map(({ error }) => error)).toEqual(['NONE', 'NONE'])
    expect(joined[0].generation).toBe(joined[1].generation)
    expect(new Set(joined.map(({ members }) => members.length))).toEqual(new Set([0, 2]))
  })

  test('a join that is waiting ends when its coordinator is closed', async () => {
    const { cluster, client } = await started()
    const first = await namedMember(cluster, client)
    await first.join()
    const second = await namedMember(cluster, client)
    const closed = failureOf(second.join())
    await second.coordinator.close()
    expect(await closed).toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})

describe('administration', () => {
  test('topics are created once, grown, listed and deleted', async ({ signal }) => {
    const { cluster, client, admin } = await started()
    // Each broker learns of a change when it does.
    const isListed = async (...shorts: string[]) =>
      cluster.own((await admin.listTopics()).keys()).join() === shorts.join()
    const [a, b, c, missing] = ['a', 'b', 'c', 'missing'].map((short) => cluster.name(short)) as [
      string,
      string,
      string,
      string,
    ]
    const created = await admin.createTopics([
      { topic: a, partitions: 3, configs: { 'cleanup.policy': 'compact' } },
      { topic: b, partitions: 1 },
    ])
    expect(Object.fromEntries(created)).toEqual({ [a]: 'created', [b]: 'created' })
    expect(client.partitionCount(a)).toBe(3)
    const again = await admin.createTopics([
      { topic: a, partitions: 7 },
      { topic: c, partitions: 2 },
    ])
    expect(Object.fromEntries(again)).toEqual({ [a]: 'exists', [c]: 'created' })
    expect(client.partitionCount(a)).toBe(3)

    await admin.createPartitions(b, 4)
    expect(client.partitionCount(b)).toBe(4)
    await expect(admin.createPartitions(b, 2)).rejects.toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'CreatePartitions', subject: b, error: 'INVALID_PARTITIONS' },
    })
    await until(() => isListed('a', 'b', 'c'), signal)
    const described = await admin.describeTopics([a, missing])
    expect([...described.keys()]).toEqual([a])

    await admin.deleteTopics([a, missing])
    expect(client.partitionCount(a)).toBeUndefined()
    await until(() => isListed('b', 'c'), signal)
  })

  test('a topic that cannot be created is told, and the others are created', async ({ signal }) => {
    const { cluster, client, admin } = await started()
    const good = cluster.name('good')
    await expect(
      admin.createTopics([
        { topic: good, partitions: 1 },
        { topic: 'not a name', partitions: 1 },
      ]),
    ).rejects.toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'CreateTopics', subject: 'not a name', error: 'INVALID_TOPIC_EXCEPTION' },
    })
    await until(async () => (await client.topicMetadata([good])).has(good), signal)
  })

  test('settings are read and changed', async ({ signal }) => {
    const { cluster, admin } = await started({ t: 1 })
    const resource = { type: 'topic', name: cluster.name('t') } as const
    const setting = async (name: string) => {
      const [entries] = await admin.describeConfigs([resource])
      return entries?.find((entry) => entry.name === name)
    }
    // The controller has a change before the broker that answers knows of it.
    await admin.alterConfigs(resource, { 'retention.ms': '5000' })
    await until(async () => (await setting('retention.ms'))?.value === '5000', signal)
    expect(await setting('retention.ms')).toMatchObject({ isDefault: false })
    expect(await setting('cleanup.policy')).toMatchObject({ value: 'delete', isDefault: true })
    await admin.alterConfigs(resource, { 'retention.ms': null })
    await until(async () => (await setting('retention.ms'))?.isDefault, signal)
    const missing = { type: 'topic', name: cluster.name('missing') } as const
    await expect(admin.describeConfigs([missing], { timeoutMs: 500 })).rejects.toMatchObject({
      context: { error: 'UNKNOWN_TOPIC_OR_PARTITION' },
    })
  })
})
