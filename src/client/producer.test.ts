import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { settled, startProducing } from '../../test/peers/scripted-appends.ts'
import { StreamsError } from '../errors.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { produce } from '../protocol/messages/0-produce.ts'
import { initProducerId } from '../protocol/messages/22-init-producer-id.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { Producer } from './producer.ts'

describe('sending', () => {
  test('a record is in the log once it is flushed, with its offset known', async () => {
    const { clock, cluster, producer, logs, send, end } = await startProducing()
    expect(producer.nextOffset('t', 0)).toBeUndefined()
    send('a')
    send('b')
    expect(producer.queuedBytes).toBeGreaterThan(0)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['a', 'b'])
    expect(producer.nextOffset('t', 0)).toBe(2)
    expect(producer.queuedBytes).toBe(0)
    const [request] = cluster.node(1).received(produce)
    expect(request).toMatchObject({ acks: -1, transactionalId: null })
    await end()
  })

  test('key, value, headers and timestamp arrive as they were given', async () => {
    const { clock, cluster, producer, end } = await startProducing()
    producer.send('t', 0, Buffer.from('k'), null, 1234, [
      ['h', Buffer.from('1')],
      ['h', null],
    ])
    await settled(clock, producer.flush())
    const records = cluster.node(1).received(produce)[0]?.topicData[0]?.partitionData[0]?.records
    const reader = new RecordBatchReader()
    reader.reset(records ?? Buffer.alloc(0))
    expect(reader.nextBatch() && reader.next()).toBe(true)
    expect(reader.keyString()).toBe('k')
    expect(reader.value()).toBeNull()
    expect(reader.timestamp).toBe(1234)
    expect(reader.headers()).toEqual([
      ['h', Buffer.from('1')],
      ['h', null],
    ])
    expect(reader.producerId).toBe(1000)
    await end()
  })

  test('a batch waits for its linger time, then goes without a flush', async () => {
    const { clock, logs, send, end } = await startProducing({ producer: { lingerMs: 20 } })
    send('a')
    await clock.run(19)
    send('b')
    expect(logs[0]?.values).toEqual([])
    await clock.run(2)
    expect(logs[0]?.values).toEqual(['a', 'b'])
    await end()
  })

  test('a full batch goes at once, and batches are no larger than asked for', async () => {
    const { clock, cluster, logs, send, end } = await startProducing({
      producer: { lingerMs: 10_000, batchBytes: 500 },
    })
    for (let index = 0; index < 20; index += 1) send('x'.repeat(100))
    await clock.run(100)
    expect(logs[0]?.values.length).toBeGreaterThanOrEqual(16)
    for (const request of cluster.node(1).received(produce)) {
      for (const { partitionData } of request.topicData) {
        for (const { records } of partitionData) {
          expect(records?.length).toBeLessThanOrEqual(500)
        }
      }
    }
    await end()
  })

  test('several batches are under way at once, in order', async () => {
    const { clock, producer, logs, send, end } = await startProducing({
      producer: { batchBytes: 200 },
    })
    const sent = Array.from({ length: 300 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    expect(logs[0]?.batches.length).toBeGreaterThan(10)
    await end()
  })

  test('partitions of several brokers are written side by side', async () => {
    const { clock, cluster, producer, logs, send, end } = await startProducing({
      nodes: 3,
      partitions: 6,
    })
    for (let index = 0; index < 60; index += 1) send(String(index), index % 6)
    await settled(clock, producer.flush())
    expect(logs.map((log) => log.values.length)).toEqual([10, 10, 10, 10, 10, 10])
    for (const node of [1, 2, 3]) {
      expect(cluster.node(node).received(produce)).toHaveLength(1)
    }
    await end()
  })

  test('the producer id is asked for once, and again until a broker gives one', async () => {
    const { clock, cluster, producer, logs, send, end } = await startProducing({ partitions: 2 })
    let count = 0
    cluster.node(1).on(initProducerId, () => {
      count += 1
      return count < 3
        ? { errorCode: errorCode.COORDINATOR_LOAD_IN_PROGRESS, producerId: -1, producerEpoch: -1 }
        : { errorCode: 0, producerId: 7, producerEpoch: 0 }
    })
    send('a', 0)
    send('b', 1)
    await settled(clock, producer.flush())
    expect(count).toBe(3)
    expect(logs.map((log) => log.values)).toEqual([['a'], ['b']])
    await end()
  })

  test('compressed batches arrive readable', async () => {
    const { clock, producer, logs, send, end } = await startProducing({
      producer: { compression: 'gzip' },
    })
    for (let index = 0; index < 100; index += 1) send('the same text again and again')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toHaveLength(100)
    await end()
  })
})

describe('partitions', () => {
  test('of a topic that is not known are an error', async () => {
    const { producer, end } = await startProducing()
    expect(() => producer.partitionCount('missing')).toThrowError(
      expect.objectContaining({ code: 'SOURCE_TOPIC_MISSING', context: { topic: 'missing' } }),
    )
    await end()
  })

  test('of a key are those of murmur2', async () => {
    const { producer, end } = await startProducing({ partitions: 10 })
    expect(producer.partitionCount('t')).toBe(10)
    // murmur2("foobar") is -790332482, "21" -973932308 (UtilsTest of the Java client).
    expect(producer.partitionFor(Buffer.from('foobar'), 't')).toBe(
      ((-790332482 & 0x7fffffff) >>> 0) % 10,
    )
    expect(producer.partitionFor(Buffer.from('21'), 't')).toBe(
      ((-973932308 & 0x7fffffff) >>> 0) % 10,
    )
    await end()
  })

  test('without a key change when a batch is full, and only then', async () => {
    const { producer, end } = await startProducing({
      partitions: 10,
      producer: { batchBytes: 300, lingerMs: 10_000 },
    })
    const chosen: number[] = []
    for (let index = 0; index < 100; index += 1) {
      const partition = producer.partitionFor(null, 't')
      chosen.push(partition)
      producer.send('t', partition, null, Buffer.alloc(90), 0, [])
    }
    const changes = chosen.filter(
      (partition, index) => index > 0 && partition !== chosen[index - 1],
    )
    expect(changes.length).toBeGreaterThan(20)
    expect(changes.length).toBeLessThan(60)
    expect(new Set(chosen).size).toBeGreaterThan(5)
    await end()
  })
})

describe('back-pressure', () => {
  test('drained waits until few enough bytes are not acknowledged', async () => {
    const { clock, producer, faults, send, end } = await startProducing()
    await producer.drained(0)
    faults.push('hang')
    send('x'.repeat(1000))
    let isDrained = false
    const drained = producer.drained(500).then(() => {
      isDrained = true
    })
    await clock.run(10_000)
    expect(isDrained).toBe(false)
    await clock.run(25_000)
    expect(isDrained).toBe(true)
    await drained
    await end()
  })

  test('drained ends on abort and on close', async () => {
    const { clock, producer, faults, send, end } = await startProducing()
    faults.push('hang')
    send('x'.repeat(1000))
    const abort = new AbortController()
    const aborted = producer.drained(0, abort.signal)
    const closed = producer.drained(0)
    await clock.run(100)
    abort.abort()
    expect(await aborted).toBeUndefined()
    await end()
    expect(await closed).toBeUndefined()
  })
})

test('close drops what waits, and refuses what comes', async () => {
  const { clock, producer, faults, send, end } = await startProducing()
  faults.push('hang')
  send('a')
  const flushed = failureOf(producer.flush())
  await clock.run(100)
  await end()
  expect(await flushed).toMatchObject({ code: 'CLIENT_CLOSED' })
  expect(() => send('b')).toThrowError(expect.objectContaining({ code: 'CLIENT_CLOSED' }))
  await expect(producer.flush()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
})

describe('a topic that only records name', () => {
  /** Keeps a record for the topic, of which that function chooses the partition. */
  const defer = (
    producer: Producer,
    topicName: string,
    value: string,
    partition: (count: number) => number = () => 0,
  ): void =>
    producer.unknownTopics.defer(topicName, {
      bytes: value.length,
      write: (count) =>
        producer.send(topicName, partition(count), null, Buffer.from(value), 1000, []),
    })

  test('is asked about while its records wait, and they arrive in order', async () => {
    const { clock, cluster, logs, end } = await startProducing({ partitions: 2 })
    const client = cluster.client()
    const producer = new Producer(client)
    const { unknownTopics } = producer
    expect(unknownTopics.has('t')).toBe(true)
    const counts: number[] = []
    for (const value of ['a', 'b', 'c']) {
      defer(producer, 't', value, (count) => {
        counts.push(count)
        return value === 'b' ? 1 : 0
      })
    }
    expect(producer.queuedBytes).toBe(3)
    const flushed = producer.flush()
    expect(unknownTopics.has('t')).toBe(true)
    await settled(clock, flushed)

    expect(counts).toEqual([2, 2, 2])
    expect(logs.map(({ values }) => values)).toEqual([['a', 'c'], ['b']])
    expect(unknownTopics.has('t')).toBe(false)
    expect(producer.queuedBytes).toBe(0)
    await producer.close()
    await client.close()
    await end()
  })

  test('that does not come to exist fails the flush, with its name', async () => {
    const { clock, producer, end } = await startProducing()
    defer(producer, 'absent', 'a')

    expect(await settled(clock, failureOf(producer.flush()))).toMatchObject({
      code: 'SINK_TOPIC_MISSING',
      context: { topic: 'absent' },
    })
    expect(producer.queuedBytes).toBe(0)
    await end()
  })

  test('that is made a moment later takes them', async () => {
    const { clock, cluster, producer, end } = await startProducing()
    defer(producer, 'late', 'a')
    const flushed = failureOf(producer.flush())
    await clock.run(1000)
    cluster.leaders.set('late', [{ node: 1, epoch: 0 }])
    await clock.run(3000)

    expect(producer.unknownTopics.has('late')).toBe(false)
    await producer.close()
    await flushed
    await end()
  })

  test('whose record cannot be written fails the flush, with an error of ours as it is', async () => {
    const { clock, cluster, end } = await startProducing()
    const client = cluster.client()
    const producer = new Producer(client)
    const error = new StreamsError('HANDLER_FAILED', { handler: 'onProcessingError', detail: 'x' })
    defer(producer, 't', 'a', () => {
      throw error
    })
    defer(producer, 't', 'b')

    expect(await settled(clock, failureOf(producer.flush()))).toBe(error)
    expect(producer.queuedBytes).toBe(0)
    await producer.close()
    await client.close()
    await end()
  })

  test('whose partition cannot be chosen fails the flush', async () => {
    const { clock, cluster, end } = await startProducing()
    const client = cluster.client()
    const producer = new Producer(client)
    defer(producer, 't', 'a', () => {
      throw new Error('no idea')
    })

    expect(await settled(clock, failureOf(producer.flush()))).toMatchObject({
      code: 'DELIVERY_FAILED',
      context: { topic: 't', detail: 'no idea' },
    })
    await producer.close()
    await client.close()
    await end()
  })
})
