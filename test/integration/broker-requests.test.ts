import { afterEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/manual-clock.ts'
import { MemoryDisk } from '../../src/base/memory-disk.ts'
import { errorCode } from '../../src/protocol/error-codes.ts'
import { encodeRequestHeader } from '../../src/protocol/header.ts'
import { produce } from '../../src/protocol/messages/0-produce.ts'
import { fetch } from '../../src/protocol/messages/1-fetch.ts'
import { listOffsets } from '../../src/protocol/messages/2-list-offsets.ts'
import { metadata } from '../../src/protocol/messages/3-metadata.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { offsetFetch } from '../../src/protocol/messages/9-offset-fetch.ts'
import { apiVersions } from '../../src/protocol/messages/18-api-versions.ts'
import { createTopics } from '../../src/protocol/messages/19-create-topics.ts'
import { deleteTopics } from '../../src/protocol/messages/20-delete-topics.ts'
import { deleteRecords } from '../../src/protocol/messages/21-delete-records.ts'
import { describeConfigs } from '../../src/protocol/messages/32-describe-configs.ts'
import { createPartitions } from '../../src/protocol/messages/37-create-partitions.ts'
import { incrementalAlterConfigs } from '../../src/protocol/messages/44-incremental-alter-configs.ts'
import { Reader } from '../../src/protocol/reader.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { RecordBatchBuilder } from '../../src/protocol/record-builder.ts'
import { decodeResponse } from '../../src/protocol/schema.ts'
import { Writer } from '../../src/protocol/writer.ts'
import {
  batchOf,
  closeBrokers,
  connect,
  create,
  fetchBody,
  fetchOne,
  nameOf,
  produceBody,
  produceOne,
  start,
  valuesOf,
} from './raw-client.ts'

afterEach(closeBrokers)

describe('ApiVersions', () => {
  test('names produce from version 0 on, for librdkafka, and what each handler speaks', async () => {
    const client = await connect(await start())
    const { errorCode: code, apiKeys } = await client.request(apiVersions, 3, {
      clientSoftwareName: 'test',
      clientSoftwareVersion: '1.0',
    })
    expect(code).toBe(0)
    const rangeOf = (key: number): number[] | undefined => {
      const found = apiKeys.find(({ apiKey }) => apiKey === key)
      return found && [found.minVersion, found.maxVersion]
    }
    expect([rangeOf(0), rangeOf(1), rangeOf(18), rangeOf(27)]).toEqual([
      [0, 12],
      [4, 13],
      [0, 4],
      undefined,
    ])
  })

  test('a version that is too new is answered in version 0, and the connection goes on', async () => {
    const client = await connect(await start())
    const writer = new Writer()
    writer.int32(0)
    encodeRequestHeader(apiVersions, 9, { correlationId: 7, clientId: 'new' }, writer)
    writer.raw(Buffer.from('fields of the future'))
    writer.patchInt32(0, writer.position - 4)
    client.raw(writer.finish())
    const reader = new Reader(await client.frame())
    expect(reader.int32()).toBe(7)
    const response = decodeResponse(apiVersions, 0, reader)
    expect(response.errorCode).toBe(errorCode.UNSUPPORTED_VERSION)
    expect(response.apiKeys.length).toBeGreaterThan(20)
    expect((await client.request(apiVersions, 0, {})).errorCode).toBe(0)
  })
})

describe('produce', () => {
  test('an idempotent batch that is sent again is written once', async () => {
    const client = await connect(await start())
    await create(client, 't')
    const send = (sequence: number, epoch = 0) =>
      produceOne(client, 't', batchOf(['x'], { producer: { id: 5, epoch, sequence } }))
    expect(await send(0)).toMatchObject({ error: 'NONE', baseOffset: 0 })
    expect(await send(1)).toMatchObject({ error: 'NONE', baseOffset: 1 })
    expect(await send(0)).toMatchObject({ error: 'NONE', baseOffset: 0 })
    expect(await send(3)).toMatchObject({ error: 'OUT_OF_ORDER_SEQUENCE_NUMBER', baseOffset: -1 })
    expect((await send(0, 1)).error).toBe('NONE')
    expect((await send(2)).error).toBe('INVALID_PRODUCER_EPOCH')
    expect((await fetchOne(client, 't')).values).toEqual(['0:x', '1:x', '2:x'])
  })

  test('what cannot be appended is refused with its own error', async () => {
    const clock = new ManualClock(10_000_000)
    const client = await connect(await start({ clock }))
    await create(client, 't', { 'max.message.bytes': '200' })
    await create(client, 'compacted', { 'cleanup.policy': 'compact' })
    await create(client, 'replicated', { 'min.insync.replicas': '2' })
    const good = batchOf(['x'])
    const damaged = Buffer.from(good)
    damaged[damaged.length - 1] = 0x55
    const keyless = new RecordBatchBuilder()
    keyless.append(null, Buffer.from('x'), 1_000)
    const plain = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
    const errorOf = async (
      ...args: Parameters<typeof produceOne> extends [unknown, ...infer Rest] ? Rest : never
    ) => (await produceOne(client, ...args)).error
    expect(await errorOf('unknown', good)).toBe('UNKNOWN_TOPIC_OR_PARTITION')
    expect(await errorOf('t', good, { index: 1 })).toBe('UNKNOWN_TOPIC_OR_PARTITION')
    expect(await errorOf('t', null)).toBe('INVALID_RECORD')
    expect(await errorOf('t', Buffer.concat([good, good]))).toBe('INVALID_RECORD')
    expect(await errorOf('t', good.subarray(0, -1))).toBe('INVALID_RECORD')
    expect(await errorOf('t', damaged)).toBe('CORRUPT_MESSAGE')
    expect(await errorOf('t', batchOf(['x'.repeat(200)]))).toBe('MESSAGE_TOO_LARGE')
    expect(await errorOf('t', batchOf(['x'], { timestamp: 13_600_001 }))).toBe('INVALID_TIMESTAMP')
    expect(await errorOf('t', batchOf(['x'], { timestamp: 13_600_000 }))).toBe('NONE')
    expect(await errorOf('t', good, { acks: 2 })).toBe('INVALID_REQUIRED_ACKS')
    expect(await errorOf('compacted', keyless.build(plain))).toBe('INVALID_RECORD')
    const gzipped = keyless.build({ ...plain, compression: 'gzip' })
    expect(await errorOf('compacted', gzipped)).toBe('INVALID_RECORD')
    const transactional = { ...plain, isTransactional: true }
    expect(await errorOf('t', keyless.build(transactional))).toBe('INVALID_RECORD')
    const producer = { producerId: 1, producerEpoch: 0, baseSequence: 0 }
    // The request does not say whose transaction it is.
    expect(await errorOf('t', keyless.build({ ...transactional, ...producer }))).toBe(
      'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
    )
    expect(await errorOf('replicated', good)).toBe('NOT_ENOUGH_REPLICAS')
    expect(await errorOf('replicated', good, { acks: 1 })).toBe('NONE')
  })

  test('with LogAppendTime the broker gives the time, and tells it', async () => {
    const clock = new ManualClock(5_000_000)
    const client = await connect(await start({ clock }))
    await create(client, 't', { 'message.timestamp.type': 'LogAppendTime' })
    const result = await produceOne(client, 't', batchOf(['a', 'b'], { compression: 'gzip' }))
    expect(result).toMatchObject({ error: 'NONE', logAppendTimeMs: 5_000_000 })
    const { records } = await fetchOne(client, 't')
    const reader = new RecordBatchReader()
    reader.reset(records as Buffer)
    reader.nextBatch()
    reader.next()
    expect([reader.timestampType, reader.timestamp]).toEqual(['log-append', 5_000_000])
  })

  test('a topic with a codec of its own stores batches in it', async () => {
    const client = await connect(await start())
    await create(client, 't', { 'compression.type': 'lz4' })
    await create(client, 'plain', { 'compression.type': 'uncompressed' })
    for (const topic of ['t', 'plain'])
      await produceOne(client, topic, batchOf(['a', 'b'], { compression: 'gzip' }))
    for (const [topic, codec] of [
      ['t', 'lz4'],
      ['plain', 'none'],
    ] as const) {
      const { records, values } = await fetchOne(client, topic)
      expect(values).toEqual(['0:a', '1:b'])
      const reader = new RecordBatchReader()
      reader.reset(records as Buffer)
      reader.nextBatch()
      expect(reader.compression).toBe(codec)
    }
  })

  test('acks=0 gets no answer, and a hang-up when it fails', async () => {
    const broker = await start()
    const client = await connect(broker)
    await create(client, 't')
    client.send(produce, 9, produceBody('t', batchOf(['a']), 0))
    // The next response is the one of the next request.
    expect((await fetchOne(client, 't')).values).toEqual(['0:a'])
    client.send(produce, 9, produceBody('unknown', batchOf(['a']), 0))
    await client.closed()
  })

  test('a disk that fails refuses the batch, keeps what is there, and works again', async () => {
    const disk = new MemoryDisk()
    const client = await connect(await start({ dataDir: '/data', disk }))
    await create(client, 't')
    await produceOne(client, 't', batchOf(['a']))
    disk.failWrite()
    expect((await produceOne(client, 't', batchOf(['b']))).error).toBe('KAFKA_STORAGE_ERROR')
    expect((await produceOne(client, 't', batchOf(['c']))).baseOffset).toBe(1)
    expect((await fetchOne(client, 't')).values).toEqual(['0:a', '1:c'])
  })
})

describe('fetch', () => {
  test('waits for records, and is woken by the append that brings enough', async () => {
    const clock = new ManualClock()
    const broker = await start({ clock })
    const [reader, writer] = [await connect(broker), await connect(broker)]
    await create(writer, 't')
    const batch = batchOf(['a'])
    const waiting = reader.send(
      fetch,
      11,
      fetchBody('t', { maxWaitMs: 60_000, minBytes: batch.length + 1 }),
    )
    await produceOne(writer, 't', batchOf(['a']))
    await produceOne(writer, 't', batchOf(['b']))
    const { responses } = await waiting.take()
    expect(valuesOf(responses[0]?.partitions[0]?.records)).toEqual(['0:a', '1:b'])
  })

  test('answers with what there is when the time is over, or the topic is deleted', async () => {
    const clock = new ManualClock()
    const broker = await start({ clock, cleanIntervalMs: 1_000_000 })
    const [reader, writer] = [await connect(broker), await connect(broker)]
    await create(writer, 't')
    const idleCount = clock.timerCount
    const waiting = reader.send(fetch, 11, fetchBody('t', { maxWaitMs: 500 }))
    // Those of the broker itself, and that of the fetch once it has arrived.
    while (clock.timerCount <= idleCount) await clock.settle()
    clock.advance(500)
    expect((await waiting.take()).responses[0]?.partitions[0]?.records?.length).toBe(0)
    const second = reader.send(fetch, 11, fetchBody('t', { maxWaitMs: 500 }))
    while (clock.timerCount <= idleCount) await clock.settle()
    await writer.request(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 0 })
    const code = (await second.take()).responses[0]?.partitions[0]?.errorCode
    expect(nameOf(code)).toBe('UNKNOWN_TOPIC_OR_PARTITION')
  })

  test('a client that goes away while it waits leaves nothing behind', async () => {
    const clock = new ManualClock()
    const broker = await start({ clock, cleanIntervalMs: 1_000_000 })
    const [reader, writer] = [await connect(broker), await connect(broker)]
    await create(writer, 't')
    const idleCount = clock.timerCount
    reader.send(fetch, 11, fetchBody('t', { maxWaitMs: 500 }))
    while (clock.timerCount <= idleCount) await clock.settle()
    reader.close()
    while (clock.timerCount > idleCount) await clock.settle()
    expect(clock.timerCount).toBe(idleCount)
  })

  test('a batch over all limits comes alone, and then nothing more', async () => {
    const client = await connect(await start())
    await create(client, 't')
    await produceOne(client, 't', batchOf(['a'.repeat(1_000)]))
    await produceOne(client, 't', batchOf(['b']))
    const { values } = await fetchOne(client, 't', { maxBytes: 10 })
    expect(values.length).toBe(1)
  })

  test('topics are found by id from version 13 on', async () => {
    const client = await connect(await start())
    await create(client, 't')
    await produceOne(client, 't', batchOf(['a']))
    const { topics } = await client.request(metadata, 12, { topics: [{ name: 't' }] })
    const body = fetchBody('t').topics[0]?.partitions ?? []
    const byId = async (topicId: string) => {
      const response = await client.request(fetch, 13, {
        ...fetchBody('t'),
        topics: [{ topicId, partitions: body }],
      })
      return response.responses[0]?.partitions[0]
    }
    expect(valuesOf((await byId(topics[0]?.topicId ?? ''))?.records)).toEqual(['0:a'])
    const unknown = await byId('AAAAAAAAAAAAAAAAAAAAAQ')
    expect(nameOf(unknown?.errorCode)).toBe('UNKNOWN_TOPIC_ID')
  })

  test('offsets outside of the log, and sessions, are refused', async () => {
    const client = await connect(await start())
    await create(client, 't')
    expect((await fetchOne(client, 't', { offset: 1 })).error).toBe('OFFSET_OUT_OF_RANGE')
    const response = await client.request(fetch, 11, { ...fetchBody('t'), sessionId: 5 })
    expect(nameOf(response.errorCode)).toBe('FETCH_SESSION_ID_NOT_FOUND')
  })
})

describe('topics and offsets over the wire', () => {
  test('metadata creates a topic for whoever may, and only then', async () => {
    const broker = await start({ defaultPartitions: 3 })
    const client = await connect(broker)
    const ask = async (name: string, allowAutoTopicCreation: boolean) => {
      const { topics } = await client.request(metadata, 9, {
        topics: [{ name }],
        allowAutoTopicCreation,
      })
      return [nameOf(topics[0]?.errorCode), topics[0]?.partitions.length]
    }
    expect(await ask('t', false)).toEqual(['UNKNOWN_TOPIC_OR_PARTITION', 0])
    expect(await ask('t', true)).toEqual(['NONE', 3])
    expect(await ask('no good', true)).toEqual(['INVALID_TOPIC_EXCEPTION', 0])
    const strict = await connect(await start({ autoCreateTopics: false }))
    const { topics } = await strict.request(metadata, 1, { topics: [{ name: 't' }] })
    expect(nameOf(topics[0]?.errorCode)).toBe('UNKNOWN_TOPIC_OR_PARTITION')
    const { topics: all } = await client.request(metadata, 9, { topics: null })
    expect(all.map(({ name }) => name)).toEqual(['t'])
  })

  test('topics are created with defaults, checked without being created, and refused one by one', async () => {
    const client = await connect(await start({ defaultPartitions: 2 }))
    const topic = (name: string, overrides: object = {}) => ({
      name,
      numPartitions: -1,
      replicationFactor: -1,
      assignments: [],
      configs: [],
      ...overrides,
    })
    const results = async (topics: ReturnType<typeof topic>[], validateOnly = false) => {
      const response = await client.request(createTopics, 7, { topics, validateOnly })
      return response.topics.map((one) => [one.name, nameOf(one.errorCode), one.numPartitions])
    }
    expect(await results([topic('dry')], true)).toEqual([['dry', 'NONE', 2]])
    expect(
      await results([
        topic('dry'),
        topic('assigned', {
          assignments: [
            { partitionIndex: 0, brokerIds: [1] },
            { partitionIndex: 1, brokerIds: [1] },
            { partitionIndex: 2, brokerIds: [1] },
          ],
        }),
        topic('replicated', { replicationFactor: 3 }),
        topic('elsewhere', { assignments: [{ partitionIndex: 0, brokerIds: [2] }] }),
        topic('odd', { configs: [{ name: 'no.such', value: '1' }] }),
        topic('twice'),
        topic('twice'),
      ]),
    ).toEqual([
      ['dry', 'NONE', 2],
      ['assigned', 'NONE', 3],
      ['replicated', 'INVALID_REPLICATION_FACTOR', -1],
      ['elsewhere', 'INVALID_REPLICA_ASSIGNMENT', -1],
      ['odd', 'INVALID_CONFIG', -1],
      ['twice', 'INVALID_REQUEST', -1],
      ['twice', 'INVALID_REQUEST', -1],
    ])
    const { results: grown } = await client.request(createPartitions, 3, {
      topics: [
        { name: 'dry', count: 5, assignments: null },
        { name: 'assigned', count: 3, assignments: null },
      ],
      timeoutMs: 0,
      validateOnly: false,
    })
    expect(grown.map((one) => nameOf(one.errorCode))).toEqual(['NONE', 'INVALID_PARTITIONS'])
  })

  test('settings are told with their source, and changed one by one', async () => {
    const client = await connect(await start({ topicDefaults: { 'retention.ms': '1000' } }))
    await create(client, 't', { 'cleanup.policy': 'compact' })
    const describe = async (...configurationKeys: string[]) => {
      const { results } = await client.request(describeConfigs, 4, {
        resources: [{ resourceType: 2, resourceName: 't', configurationKeys }],
        includeSynonyms: true,
        includeDocumentation: false,
      })
      return results[0]?.configs.map(({ name, value, configSource }) => [name, value, configSource])
    }
    expect(await describe('cleanup.policy', 'retention.ms', 'segment.ms')).toEqual([
      ['cleanup.policy', 'compact', 1],
      ['retention.ms', '1000', 4],
      ['segment.ms', '604800000', 5],
    ])
    const alter = async (name: string, configOperation: number, value: string | null) => {
      const { responses } = await client.request(incrementalAlterConfigs, 1, {
        resources: [
          { resourceType: 2, resourceName: 't', configs: [{ name, configOperation, value }] },
        ],
        validateOnly: false,
      })
      return nameOf(responses[0]?.errorCode)
    }
    expect(await alter('cleanup.policy', 2, 'delete')).toBe('NONE')
    expect(await describe('cleanup.policy')).toEqual([['cleanup.policy', 'compact,delete', 1]])
    expect(await alter('cleanup.policy', 3, 'compact')).toBe('NONE')
    expect(await alter('retention.ms', 0, '77')).toBe('NONE')
    expect(await describe('cleanup.policy', 'retention.ms')).toEqual([
      ['cleanup.policy', 'delete', 1],
      ['retention.ms', '77', 1],
    ])
    expect(await alter('retention.ms', 1, null)).toBe('NONE')
    expect(await describe('retention.ms')).toEqual([['retention.ms', '1000', 4]])
    expect(await alter('retention.ms', 0, 'x')).toBe('INVALID_CONFIG')
    expect(await alter('retention.ms', 2, '5')).toBe('INVALID_CONFIG')
    expect(await alter('no.such', 1, null)).toBe('INVALID_CONFIG')
  })

  test('offsets are found by time and at the ends, and records are deleted before one', async () => {
    const client = await connect(await start())
    await create(client, 't')
    for (const timestamp of [100, 300, 200])
      await produceOne(client, 't', batchOf(['x'], { timestamp }))
    const find = async (timestamp: number) => {
      const { topics } = await client.request(listOffsets, 7, {
        topics: [{ name: 't', partitions: [{ partitionIndex: 0, timestamp }] }],
      })
      return topics[0]?.partitions[0]
    }
    expect(await find(-1)).toMatchObject({ offset: 3, timestamp: -1, leaderEpoch: 0 })
    expect(await find(-2)).toMatchObject({ offset: 0, timestamp: -1 })
    expect(await find(-3)).toMatchObject({ offset: 1, timestamp: 300 })
    expect(await find(150)).toMatchObject({ offset: 1, timestamp: 300 })
    expect(await find(301)).toMatchObject({ offset: -1, timestamp: -1, leaderEpoch: -1 })
    const deleteTo = async (offset: number) => {
      const { topics } = await client.request(deleteRecords, 2, {
        topics: [{ name: 't', partitions: [{ partitionIndex: 0, offset }] }],
        timeoutMs: 0,
      })
      const partition = topics[0]?.partitions[0]
      return [nameOf(partition?.errorCode), partition?.lowWatermark]
    }
    expect(await deleteTo(4)).toEqual(['OFFSET_OUT_OF_RANGE', -1])
    expect(await deleteTo(2)).toEqual(['NONE', 2])
    expect(await find(-2)).toMatchObject({ offset: 2 })
    expect(await deleteTo(-1)).toEqual(['NONE', 3])
  })

  test('deleting a topic takes its committed offsets along', async () => {
    const client = await connect(await start())
    await create(client, 't')
    const partitions = [{ partitionIndex: 0, committedOffset: 1, committedMetadata: '' }]
    const commit = { groupId: 'g', topics: [{ name: 't', partitions }] }
    await client.request(offsetCommit, 2, commit)
    await client.request(deleteTopics, 6, { topics: [{ name: 't' }], timeoutMs: 0 })
    const { topics } = await client.request(offsetFetch, 5, { groupId: 'g', topics: null })
    expect(topics).toEqual([])
    const { topics: refused } = await client.request(offsetCommit, 2, commit)
    expect(nameOf(refused[0]?.partitions[0]?.errorCode)).toBe('UNKNOWN_TOPIC_OR_PARTITION')
  })
})
