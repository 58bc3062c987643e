import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { failureOf } from '../peers/failure-of.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import {
  systemTransport,
  type Connection,
  type ConnectOptions,
  type Transport,
} from '../../src/base/transport.ts'
import { startBroker, type Broker } from '../../src/broker/index.ts'
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
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'

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

async function started(
  topics: Readonly<Record<string, number>> = {},
  broker?: Broker,
): Promise<{ broker: Broker; client: KafkaClient; transport: CuttableTransport; admin: Admin }> {
  const used = broker ?? (await startBroker({ autoCreateTopics: false }))
  if (broker === undefined) cleanUps.push(() => used.close())
  const transport = new CuttableTransport()
  const client = new KafkaClient({
    brokers: [used.address],
    clock: systemClock,
    random: systemRandom,
    transport,
    log: silentLog,
  })
  cleanUps.push(() => client.close())
  const admin = new Admin(client)
  const wanted = Object.entries(topics).map(([topic, partitions]) => ({ topic, partitions }))
  if (wanted.length > 0) await admin.createTopics(wanted)
  return { broker: used, client, transport, admin }
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

describe('produce and fetch', () => {
  test('100,000 records come back equal, although connections are cut in between', async () => {
    const partitions = 5
    const perPartition = 20_000
    const { client, transport } = await started({ numbers: partitions })
    const producer = producerOf(client, { batchBytes: 16 * 1024 })
    const sent: string[][] = Array.from({ length: partitions }, () => [])
    for (let index = 0; index < perPartition; index += 1) {
      for (let partition = 0; partition < partitions; partition += 1) {
        const value = `value ${index} of ${partition}`
        sent[partition]?.push(value)
        producer.send('numbers', partition, Buffer.from(`k${index}`), Buffer.from(value), index, [])
      }
      if (index % 4000 === 3999) {
        await producer.drained(256 * 1024)
        transport.cut()
      }
    }
    await producer.flush()
    for (let partition = 0; partition < partitions; partition += 1) {
      expect(producer.nextOffset('numbers', partition)).toBe(perPartition)
    }
    let cutAt = 10_000
    const counts = Array.from({ length: partitions }, () => perPartition)
    const values = await readAll(client, 'numbers', counts, (count) => {
      if (count < cutAt) return
      cutAt += 20_000
      transport.cut()
    })
    expect(values).toEqual(sent)
  })

  test('a batch whose answer is lost is in the log once', async () => {
    const { client, transport } = await started({ once: 1 })
    const producer = producerOf(client, { batchBytes: 1000, lingerMs: 0 })
    producer.send('once', 0, null, Buffer.from('first'), 0, [])
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
        producer.send('once', 0, null, Buffer.from(value), 0, [])
      }
      await producer.flush()
      expect(isLost).toBe(true)
    }
    transport.isCut = () => false
    expect(producer.nextOffset('once', 0)).toBe(501)
    expect(await readAll(client, 'once', [501])).toEqual([sent])
  })

  test('every codec comes back', async () => {
    for (const compression of ['gzip', 'snappy', 'lz4'] as const) {
      const { client } = await started({ [compression]: 1 })
      const producer = producerOf(client, { compression })
      const sent = Array.from({ length: 1000 }, (_, index) => `the value number ${index}`)
      for (const value of sent) producer.send(compression, 0, null, Buffer.from(value), 0, [])
      await producer.flush()
      expect(await readAll(client, compression, [1000])).toEqual([sent])
    }
  })

  test('both outlive a broker that is started again', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'millpond-client-'))
    cleanUps.push(() => rm(dataDir, { recursive: true, force: true }))
    const first = await startBroker({ dataDir, autoCreateTopics: false })
    const { port } = first
    const { client } = await started({ durable: 2 }, first)
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
    const { client, admin } = await started({ short: 2 })
    const producer = producerOf(client)
    for (const partition of [0, 1]) {
      for (let index = 0; index < 10; index += 1) {
        producer.send('short', partition, null, Buffer.from(`${index}`), 0, [])
      }
      await producer.flush()
    }
    await admin.deleteRecords(
      [0, 1].map((partition) => ({ topic: 'short', partition, offset: 10 })),
    )
    producer.send('short', 0, null, Buffer.from('after'), 0, [])
    await producer.flush()
    const fetcher = new Fetcher(client)
    cleanUps.push(() => fetcher.close())
    fetcher.assign([
      { topic: 'short', partition: 0, offset: 2, offsetReset: 'earliest' },
      { topic: 'short', partition: 1, offset: 2 },
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
    const { client, admin } = await started({ times: 2 })
    const producer = producerOf(client)
    for (let index = 0; index < 10; index += 1) {
      producer.send('times', 0, null, Buffer.from('x'), 1000 + index, [])
      await producer.flush()
    }
    await admin.deleteRecords([{ topic: 'times', partition: 0, offset: 3 }])
    const both = [0, 1].map((partition) => ({ topic: 'times', partition }))
    expect(Object.fromEntries(await listOffsets(client, both, 'earliest'))).toEqual({
      'times-0': 3,
      'times-1': 0,
    })
    expect(Object.fromEntries(await listOffsets(client, both, 'latest'))).toEqual({
      'times-0': 10,
      'times-1': 0,
    })
    expect(Object.fromEntries(await listOffsets(client, both, 1005))).toEqual({
      'times-0': 5,
      'times-1': 0,
    })
    expect(Object.fromEntries(await listOffsets(client, both, 5000))).toEqual({
      'times-0': 10,
      'times-1': 0,
    })
    await expect(
      listOffsets(client, [{ topic: 'missing', partition: 0 }], 'latest', { timeoutMs: 500 }),
    ).rejects.toMatchObject({
      code: 'KAFKA_ERROR',
      context: { subject: 'missing-0', error: 'UNKNOWN_TOPIC_OR_PARTITION' },
    })
  })

  test('are committed by a member, and not by one that was replaced', async () => {
    const { client, admin } = await started({ input: 2 })
    const coordinator = new GroupCoordinator(client, 'app')
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

    const identity = { groupId: 'app', ...member }
    await commitOffsets(client, identity, [
      { topic: 'input', partition: 0, offset: 42, metadata: 'note', leaderEpoch: 0 },
      { topic: 'input', partition: 1, offset: 7 },
    ])
    const partitions = [0, 1, 2].map((partition) => ({ topic: 'input', partition }))
    const committed = await fetchCommittedOffsets(client, 'app', partitions)
    expect(committed.size).toBe(2)
    expect(committed.get(partitionKey('input', 0))).toEqual({
      topic: 'input',
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
        commitOffsets(client, stale, [{ topic: 'input', partition: 0, offset: 1 }]),
      ).rejects.toMatchObject({ code: 'TASK_MIGRATED' })
    }
    expect((await fetchCommittedOffsets(client, 'app', partitions)).get('input-0')?.offset).toBe(42)

    expect(await admin.listGroups()).toEqual([
      { groupId: 'app', protocolType: 'consumer', state: 'Stable' },
    ])
    expect((await admin.describeGroups(['app', 'nobody'])).map(({ state }) => state)).toEqual([
      'Stable',
      'Dead',
    ])
    await expect(admin.deleteGroups(['app'])).rejects.toMatchObject({
      context: { subject: 'app', error: 'NON_EMPTY_GROUP' },
    })
    expect(await coordinator.leaveGroup({ memberId: joined.memberId, instanceId: null })).toBe(
      'NONE',
    )
    expect(await coordinator.heartbeat(member)).toBe('UNKNOWN_MEMBER_ID')
    await admin.deleteGroups(['app', 'nobody'])
    expect(await admin.listGroups()).toEqual([])
  })

  test('two members of one client join without waiting for each other', async () => {
    const { client } = await started()
    const members = [new GroupCoordinator(client, 'pair'), new GroupCoordinator(client, 'pair')]
    for (const member of members) cleanUps.push(() => member.close())
    const request = {
      instanceId: null,
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 60_000,
      protocolType: 'consumer',
      protocols: [{ name: 'p', metadata: Buffer.alloc(0) }],
    }
    const ids = await Promise.all(
      members.map(
        async (member) => (await member.joinGroup({ ...request, memberId: '' })).memberId,
      ),
    )
    const join = (index: number) =>
      members[index]?.joinGroup({ ...request, memberId: ids[index] ?? '' })
    // The broker holds each of these until the other has come.
    const joined = await Promise.all([join(0), join(1)])
    expect(joined.map((result) => result?.error)).toEqual(['NONE', 'NONE'])
    expect(joined[0]?.generation).toBe(joined[1]?.generation)
    expect(new Set(joined.map((result) => result?.members.length))).toEqual(new Set([0, 2]))
  })

  test('a join that is waiting ends when its coordinator is closed', async () => {
    const { client } = await started()
    const members = [new GroupCoordinator(client, 'pair'), new GroupCoordinator(client, 'pair')]
    for (const member of members) cleanUps.push(() => member.close())
    const request = {
      instanceId: null,
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 60_000,
      protocolType: 'consumer',
      protocols: [{ name: 'p', metadata: Buffer.alloc(0) }],
    }
    const first = await members[0]?.joinGroup({ ...request, memberId: '' })
    await members[0]?.joinGroup({ ...request, memberId: first?.memberId ?? '' })
    const second = await members[1]?.joinGroup({ ...request, memberId: '' })
    const waiting = members[1]?.joinGroup({ ...request, memberId: second?.memberId ?? '' })
    const closed = failureOf(waiting)
    await members[1]?.close()
    expect(await closed).toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})

describe('administration', () => {
  test('topics are created once, grown, listed and deleted', async () => {
    const { client, admin } = await started()
    const created = await admin.createTopics([
      { topic: 'a', partitions: 3, configs: { 'cleanup.policy': 'compact' } },
      { topic: 'b', partitions: 1 },
    ])
    expect(Object.fromEntries(created)).toEqual({ a: 'created', b: 'created' })
    expect(client.partitionCount('a')).toBe(3)
    const again = await admin.createTopics([
      { topic: 'a', partitions: 7 },
      { topic: 'c', partitions: 2 },
    ])
    expect(Object.fromEntries(again)).toEqual({ a: 'exists', c: 'created' })
    expect(client.partitionCount('a')).toBe(3)

    await admin.createPartitions('b', 4)
    expect(client.partitionCount('b')).toBe(4)
    await expect(admin.createPartitions('b', 2)).rejects.toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'CreatePartitions', subject: 'b', error: 'INVALID_PARTITIONS' },
    })
    expect([...(await admin.listTopics()).keys()].toSorted()).toEqual(['a', 'b', 'c'])
    const described = await admin.describeTopics(['a', 'missing'])
    expect([...described.keys()]).toEqual(['a'])

    await admin.deleteTopics(['a', 'missing'])
    expect(client.partitionCount('a')).toBeUndefined()
    expect([...(await admin.listTopics()).keys()].toSorted()).toEqual(['b', 'c'])
  })

  test('a topic that cannot be created is told, and the others are created', async () => {
    const { client, admin } = await started()
    await expect(
      admin.createTopics([
        { topic: 'good', partitions: 1 },
        { topic: 'not a name', partitions: 1 },
      ]),
    ).rejects.toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'CreateTopics', subject: 'not a name', error: 'INVALID_TOPIC_EXCEPTION' },
    })
    expect((await client.topicMetadata(['good'])).has('good')).toBe(true)
  })

  test('settings are read and changed', async () => {
    const { admin } = await started({ t: 1 })
    await admin.alterConfigs({ type: 'topic', name: 't' }, { 'retention.ms': '5000' })
    const [entries] = await admin.describeConfigs([{ type: 'topic', name: 't' }])
    expect(entries?.find(({ name }) => name === 'retention.ms')).toMatchObject({
      value: '5000',
      isDefault: false,
    })
    expect(entries?.find(({ name }) => name === 'cleanup.policy')).toMatchObject({
      value: 'delete',
      isDefault: true,
    })
    await admin.alterConfigs({ type: 'topic', name: 't' }, { 'retention.ms': null })
    const [reset] = await admin.describeConfigs([{ type: 'topic', name: 't' }])
    expect(reset?.find(({ name }) => name === 'retention.ms')?.isDefault).toBe(true)
    await expect(
      admin.describeConfigs([{ type: 'topic', name: 'missing' }], { timeoutMs: 500 }),
    ).rejects.toMatchObject({ context: { error: 'UNKNOWN_TOPIC_OR_PARTITION' } })
  })
})
