/** Clients that others wrote, against the dev broker: independent readings of the protocol. */
import { afterEach, describe, expect, test } from 'vitest'
import {
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  logLevel,
  type Admin,
  type Consumer,
  type ConsumerGroupJoinEvent,
} from 'kafkajs'
import { startBroker, type Broker } from '../../src/broker/index.ts'
import { hasKcat, kcat } from './kcat.ts'
import { until } from './until.ts'

/** Their pauses are theirs: kafkajs alone waits five seconds when an offset is set. */
const foreign = { timeout: 60_000 }

const resources: { close: () => Promise<void> }[] = []

afterEach(async () => {
  for (const resource of resources.splice(0).toReversed()) await resource.close()
})

async function start(): Promise<Broker> {
  const broker = await startBroker()
  resources.push(broker)
  return broker
}

const kafkaOn = (broker: Broker): Kafka =>
  new Kafka({
    clientId: 'kafkajs',
    brokers: [broker.address],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 20, retries: 10 },
  })

async function adminOf(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin()
  await admin.connect()
  resources.push({ close: () => admin.disconnect() })
  return admin
}

async function produceWith(kafka: Kafka, topic: string, messages: object[]): Promise<void> {
  const producer = kafka.producer()
  await producer.connect()
  try {
    await producer.send({ topic, messages: messages as never })
  } finally {
    await producer.disconnect()
  }
}

/** A running group member, with what it has been given. */
interface Member {
  readonly consumer: Consumer
  readonly seen: string[]
  assignment: Record<string, number[]>
}

async function joinGroup(kafka: Kafka, groupId: string, topic: string): Promise<Member> {
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: 6_000,
    heartbeatInterval: 50,
    maxWaitTimeInMs: 50,
  })
  const member: Member = { consumer, seen: [], assignment: {} }
  consumer.on('consumer.group_join', ({ payload }: ConsumerGroupJoinEvent) => {
    member.assignment = payload.memberAssignment
  })
  await consumer.connect()
  resources.push({ close: () => consumer.disconnect() })
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      member.seen.push(`${partition}:${message.offset}:${message.value?.toString()}`)
      return Promise.resolve()
    },
  })
  return member
}

describe('kafkajs', foreign, () => {
  test('writes records with headers, nulls and compression, and a consumer reads them', async () => {
    const kafka = kafkaOn(await start())
    const admin = await adminOf(kafka)
    await admin.createTopics({ topics: [{ topic: 't', numPartitions: 1 }] })
    const producer = kafka.producer({ idempotent: true })
    await producer.connect()
    resources.push({ close: () => producer.disconnect() })
    await producer.send({
      topic: 't',
      messages: [
        { key: 'k', value: 'plain', headers: { h: 'x' }, timestamp: '1000' },
        { key: null, value: 'no key' },
        { key: 'gone', value: null },
      ],
    })
    const [result] = await producer.send({
      topic: 't',
      compression: CompressionTypes.GZIP,
      messages: [{ value: 'gzip 1' }, { value: 'gzip 2' }],
    })
    expect(result).toMatchObject({ errorCode: 0, baseOffset: '3' })
    const consumer = kafka.consumer({ groupId: 'g', maxWaitTimeInMs: 50 })
    await consumer.connect()
    resources.push({ close: () => consumer.disconnect() })
    await consumer.subscribe({ topic: 't', fromBeginning: true })
    const seen: (string | undefined)[][] = []
    await consumer.run({
      eachMessage: async ({ message }) => {
        const header = message.headers?.['h']?.toString()
        seen.push([message.offset, message.key?.toString(), message.value?.toString(), header])
        return Promise.resolve()
      },
    })
    await until(() => seen.length === 5)
    expect(seen).toEqual([
      ['0', 'k', 'plain', 'x'],
      ['1', undefined, 'no key', undefined],
      ['2', 'gone', undefined, undefined],
      ['3', undefined, 'gzip 1', undefined],
      ['4', undefined, 'gzip 2', undefined],
    ])
  })

  test('two members of a group share the partitions, and one takes over when the other leaves', async () => {
    const kafka = kafkaOn(await start())
    const admin = await adminOf(kafka)
    await admin.createTopics({ topics: [{ topic: 't', numPartitions: 4 }] })
    const first = await joinGroup(kafka, 'g', 't')
    const second = await joinGroup(kafka, 'g', 't')
    await until(() => first.assignment['t']?.length === 2 && second.assignment['t']?.length === 2)
    const all = [...(first.assignment['t'] ?? []), ...(second.assignment['t'] ?? [])]
    expect(all.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3])
    const messages = [0, 1, 2, 3].map((partition) => ({ partition, value: `v${partition}` }))
    await produceWith(kafka, 't', messages)
    await until(() => first.seen.length + second.seen.length === 4)
    expect([...first.seen, ...second.seen].toSorted()).toEqual([
      '0:0:v0',
      '1:0:v1',
      '2:0:v2',
      '3:0:v3',
    ])
    const { groups } = await admin.describeGroups(['g'])
    expect(groups[0]).toMatchObject({ state: 'Stable', protocolType: 'consumer' })
    expect(groups[0]?.members.map(({ clientId }) => clientId)).toEqual(['kafkajs', 'kafkajs'])
    await second.consumer.disconnect()
    await until(() => first.assignment['t']?.length === 4)
    await produceWith(kafka, 't', messages)
    // Nothing is read twice: the one that left had committed.
    await until(() => first.seen.length + second.seen.length === 8)
    expect(second.seen.length).toBe(2)
  })

  test('a transactional producer commits with offsets, and aborts; readers see what is committed', async () => {
    const kafka = kafkaOn(await start())
    const admin = await adminOf(kafka)
    await admin.createTopics({ topics: [{ topic: 't', numPartitions: 2 }] })
    const producer = kafka.producer({ transactionalId: 'tx', maxInFlightRequests: 1 })
    await producer.connect()
    resources.push({ close: () => producer.disconnect() })
    for (const [round, ends] of (['commit', 'abort', 'commit', 'abort'] as const).entries()) {
      const transaction = await producer.transaction()
      const messages = [0, 1].map((partition) => ({ partition, value: `${ends} ${round}` }))
      await transaction.send({ topic: 't', messages })
      await transaction.sendOffsets({
        consumerGroupId: 'g',
        topics: [{ topic: 't', partitions: [{ partition: 0, offset: String(round + 1) }] }],
      })
      if (ends === 'commit') await transaction.commit()
      else await transaction.abort()
    }
    const [committed] = await admin.fetchOffsets({ groupId: 'g', topics: ['t'] })
    expect(committed?.partitions.find(({ partition }) => partition === 0)?.offset).toBe('3')
    const member = await joinGroup(kafka, 'readers', 't')
    await until(() => member.seen.length === 4)
    expect(member.seen.toSorted()).toEqual([
      '0:0:commit 0',
      '0:4:commit 2',
      '1:0:commit 0',
      '1:4:commit 2',
    ])
  })

  test('an administrator creates, describes, changes and deletes topics', async () => {
    const admin = await adminOf(kafkaOn(await start()))
    const created = await admin.createTopics({
      topics: [
        {
          topic: 'a',
          numPartitions: 2,
          configEntries: [{ name: 'cleanup.policy', value: 'compact' }],
        },
        { topic: 'b' },
      ],
    })
    expect(created).toBe(true)
    expect((await admin.listTopics()).toSorted()).toEqual(['a', 'b'])
    await admin.createPartitions({ topicPartitions: [{ topic: 'a', count: 3 }] })
    const { topics } = await admin.fetchTopicMetadata({ topics: ['a'] })
    expect(topics[0]?.partitions.map(({ partitionId, leader }) => [partitionId, leader])).toEqual(
      expect.arrayContaining([
        [0, 1],
        [1, 1],
        [2, 1],
      ]),
    )
    const { resources: described } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: 'a',
          configNames: ['cleanup.policy', 'retention.ms'],
        },
      ],
    })
    const values = described[0]?.configEntries.map(({ configName, configValue }) => [
      configName,
      configValue,
    ])
    expect(values).toEqual([
      ['cleanup.policy', 'compact'],
      ['retention.ms', '604800000'],
    ])
    const { controller, brokers } = await admin.describeCluster()
    expect([controller, brokers.length]).toEqual([1, 1])
    await admin.deleteTopics({ topics: ['a', 'b'] })
    expect(await admin.listTopics()).toEqual([])
  })

  test('an administrator sees and sets offsets, deletes records and groups', async () => {
    const kafka = kafkaOn(await start())
    const admin = await adminOf(kafka)
    await admin.createTopics({ topics: [{ topic: 't' }] })
    await produceWith(kafka, 't', [
      { value: 'a', timestamp: '1000' },
      { value: 'b', timestamp: '3000' },
      { value: 'c', timestamp: '2000' },
    ])
    const ends = await admin.fetchTopicOffsets('t')
    expect(ends).toEqual([{ partition: 0, offset: '3', high: '3', low: '0' }])
    const found = await admin.fetchTopicOffsetsByTimestamp('t', 1500)
    expect(found).toEqual([{ partition: 0, offset: '1' }])
    await admin.setOffsets({
      groupId: 'g',
      topic: 't',
      partitions: [{ partition: 0, offset: '2' }],
    })
    const [committed] = await admin.fetchOffsets({ groupId: 'g', topics: ['t'] })
    expect(committed?.partitions).toMatchObject([{ partition: 0, offset: '2' }])
    await admin.deleteTopicRecords({ topic: 't', partitions: [{ partition: 0, offset: '1' }] })
    expect((await admin.fetchTopicOffsets('t'))[0]?.low).toBe('1')
    const { groups } = await admin.listGroups()
    expect(groups.map(({ groupId }) => groupId)).toEqual(['g'])
    await admin.deleteGroups(['g'])
    expect((await admin.listGroups()).groups).toEqual([])
  })
})

if (!hasKcat) console.log('kcat is not installed (apt-get install kcat): its tests are skipped.')

test.runIf(process.env['MILLPOND_REQUIRE_KCAT'] === '1')('kcat is installed', () => {
  expect(hasKcat).toBe(true)
})

describe.skipIf(!hasKcat)('kcat', foreign, () => {
  test('lists the broker, topics and partitions', async () => {
    const broker = await start()
    await kcat(broker.address, ['-P', '-t', 'words'], 'hello\n')
    const { code, stdout } = await kcat(broker.address, ['-L'])
    expect(code).toBe(0)
    expect(stdout).toContain(`broker 1 at ${broker.address} (controller)`)
    expect(stdout).toContain('topic "words" with 1 partitions:')
    expect(stdout).toContain('partition 0, leader 1, replicas: 1, isrs: 1')
  })

  test('writes with every codec, and reads it all back in order', async () => {
    const { address } = await start()
    for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
      const args = ['-P', '-t', 't', '-K', ':', '-z', codec, '-X', 'acks=all']
      const { code, stderr } = await kcat(address, args, `${codec}:1\n${codec}:2\n`)
      expect([code, stderr]).toEqual([0, ''])
    }
    const read = ['-C', '-t', 't', '-e', '-q', '-X', 'check.crcs=true', '-f', '%o %k=%s\n']
    const { code, stdout } = await kcat(address, read)
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toEqual([
      '0 none=1',
      '1 none=2',
      '2 gzip=1',
      '3 gzip=2',
      '4 snappy=1',
      '5 snappy=2',
      '6 lz4=1',
      '7 lz4=2',
      '8 zstd=1',
      '9 zstd=2',
    ])
  })

  test('writes idempotently, with any acks, keys that are null and headers', async () => {
    const { address } = await start()
    const idempotent = ['-P', '-t', 't', '-X', 'enable.idempotence=true', '-H', 'from=kcat']
    expect((await kcat(address, idempotent, 'a\nb\n')).code).toBe(0)
    for (const acks of ['0', '1', 'all'])
      expect((await kcat(address, ['-P', '-t', 't', '-X', `acks=${acks}`], `${acks}\n`)).code).toBe(
        0,
      )
    const read = ['-C', '-t', 't', '-e', '-q', '-f', '%o %K %s %h\n']
    const { stdout } = await kcat(address, read)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual(['0 -1 a from=kcat', '1 -1 b from=kcat', '2 -1 0', '3 -1 1', '4 -1 all'])
  })

  test('writes in a transaction, of which readers see nothing before its end', async () => {
    const { address } = await start()
    const transactional = ['-P', '-t', 't', '-X', 'transactional.id=tx']
    const { code, stderr } = await kcat(address, transactional, 'a\nb\n')
    expect([code, stderr.includes('ERROR')]).toEqual([0, false])
    const again = await kcat(address, transactional, 'c\n')
    expect(again.code).toBe(0)
    const read = ['-C', '-t', 't', '-e', '-q', '-f', '%o %s\n']
    const { stdout } = await kcat(address, read)
    // The markers have offsets of their own.
    expect(stdout).toBe('0 a\n1 b\n3 c\n')
  })

  test('many thousand lines come back complete', async () => {
    const { address } = await start()
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}`).join('\n')
    expect((await kcat(address, ['-P', '-t', 't'], lines)).code).toBe(0)
    const { stdout } = await kcat(address, ['-C', '-t', 't', '-e', '-q'])
    expect(stdout.trimEnd() === lines).toBe(true)
  })

  test('reads from an offset, from the end, and by time', async () => {
    const { address } = await start()
    await kcat(address, ['-P', '-t', 't'], 'a\nb\nc\n')
    const read = async (offset: string): Promise<string> =>
      (await kcat(address, ['-C', '-t', 't', '-e', '-q', '-o', offset])).stdout
    expect(await read('1')).toBe('b\nc\n')
    expect(await read('-1')).toBe('c\n')
    expect(await read('s@1')).toBe('a\nb\nc\n')
    const { stdout } = await kcat(address, ['-Q', '-t', 't:0:1'])
    expect(stdout).toContain('t [0] offset 0')
  })

  test('a group member reads, commits, and goes on where it was', async () => {
    const { address } = await start()
    const member = ['-G', 'g', '-e', '-q', '-X', 'auto.offset.reset=earliest', 't']
    await kcat(address, ['-P', '-t', 't'], 'a\nb\n')
    expect((await kcat(address, member)).stdout).toBe('a\nb\n')
    await kcat(address, ['-P', '-t', 't'], 'c\n')
    expect((await kcat(address, member)).stdout).toBe('c\n')
    expect((await kcat(address, member)).stdout).toBe('')
  })
})
