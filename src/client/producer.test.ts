import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { produce } from '../protocol/messages/0-produce.ts'
import { initProducerId } from '../protocol/messages/22-init-producer-id.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { Producer, type ProducerOptions } from './producer.ts'

/** The log of one partition, which checks sequence numbers as a broker does. */
class ScriptedLog {
  readonly values: string[] = []
  readonly batches: { epoch: number; sequence: number; count: number; offset: number }[] = []

  /** The offset of the batch, or an error code as a negative number. */
  append(bytes: Buffer): { code: number; offset: number } {
    const reader = new RecordBatchReader()
    reader.reset(bytes)
    if (!reader.nextBatch()) return { code: errorCode.CORRUPT_MESSAGE, offset: -1 }
    const { producerEpoch: epoch, baseSequence: sequence, recordCount: count } = reader
    const known = this.batches
      .slice(-5)
      .find((batch) => batch.epoch === epoch && batch.sequence === sequence)
    if (known !== undefined) return { code: 0, offset: known.offset }
    const last = this.batches.at(-1)
    const expected =
      last === undefined || last.epoch !== epoch ? 0 : (last.sequence + last.count) % 2 ** 31
    if (sequence !== expected) return { code: errorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, offset: -1 }
    const offset = this.values.length
    while (reader.next()) this.values.push(reader.valueString() ?? '(null)')
    this.batches.push({ epoch, sequence, count, offset })
    return { code: 0, offset }
  }
}

/** What the next Produce requests meet: answered as usual when there is nothing. */
type Fault =
  | 'lose the request'
  | 'lose the answer'
  | 'hang'
  | { readonly code: number; readonly isAppended?: boolean }

async function setUp(
  options: { nodes?: number; partitions?: number; producer?: ProducerOptions } = {},
) {
  const { nodes = 1, partitions = 1 } = options
  const cluster = await ScriptedCluster.start({ nodes, topics: { t: partitions } })
  const logs = Array.from({ length: partitions }, () => new ScriptedLog())
  const faults: Fault[] = []
  let recordsMax = Infinity
  cluster.brokers.forEach((broker, index) => {
    broker.on(produce, ({ body, connection }) => {
      const fault = faults.shift()
      if (fault === 'hang') return 'silence'
      if (fault === 'lose the request') {
        connection.destroy()
        return 'silence'
      }
      const partitionResponses = body.topicData
        .flatMap((topic) => topic.partitionData)
        .map((row) => {
          const isLeader = cluster.leaders.get('t')?.[row.index]?.node === index + 1
          const injected = typeof fault === 'object' ? fault : undefined
          if (!isLeader) return answer(row.index, errorCode.NOT_LEADER_OR_FOLLOWER)
          if (injected !== undefined && injected.isAppended !== true)
            return answer(row.index, injected.code)
          const bytes = row.records ?? Buffer.alloc(0)
          if (bytes.readInt32BE(57) > recordsMax)
            return answer(row.index, errorCode.MESSAGE_TOO_LARGE)
          const { code, offset } = logs[row.index]?.append(bytes) ?? { code: -1, offset: -1 }
          return answer(row.index, injected?.code ?? code, offset)
        })
      if (fault === 'lose the answer') {
        connection.destroy()
        return 'silence'
      }
      return { responses: [{ name: 't', partitionResponses }] }
    })
  })
  const client = cluster.client()
  await client.topicMetadata(['t'])
  const producer = new Producer(client, options.producer)
  return {
    cluster,
    clock: cluster.clock,
    client,
    producer,
    logs,
    faults,
    setRecordsMax: (max: number) => {
      recordsMax = max
    },
    send: (value: string, partition = 0) =>
      producer.send('t', partition, null, Buffer.from(value), 1000, []),
    end: async () => {
      await producer.close()
      await client.close()
      await cluster.clock.settle()
      expect(cluster.network.openCount).toBe(0)
      expect(cluster.clock.timerCount).toBe(0)
    },
  }
}

function answer(index: number, code: number, baseOffset = -1) {
  return { index, errorCode: code, baseOffset }
}

/** Runs the clock until the promise settles; fails when it does not within the time. */
async function settled<T>(clock: ScriptedCluster['clock'], promise: Promise<T>, ms = 200_000) {
  const progress = { isDone: false }
  const watched = promise.finally(() => {
    progress.isDone = true
  })
  watched.catch(() => undefined)
  for (let spent = 0; !progress.isDone && spent < ms; spent += 50) await clock.run(50)
  if (!progress.isDone) throw new Error(`not settled within ${ms} ms`)
  return watched
}

describe('sending', () => {
  test('a record is in the log once it is flushed, with its offset known', async () => {
    const { clock, cluster, producer, logs, send, end } = await setUp()
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
    const { clock, cluster, producer, end } = await setUp()
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
    const { clock, logs, send, end } = await setUp({ producer: { lingerMs: 20 } })
    send('a')
    await clock.run(19)
    send('b')
    expect(logs[0]?.values).toEqual([])
    await clock.run(2)
    expect(logs[0]?.values).toEqual(['a', 'b'])
    await end()
  })

  test('a full batch goes at once, and batches are no larger than asked for', async () => {
    const { clock, cluster, logs, send, end } = await setUp({
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
    const { clock, producer, logs, send, end } = await setUp({ producer: { batchBytes: 200 } })
    const sent = Array.from({ length: 300 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    expect(logs[0]?.batches.length).toBeGreaterThan(10)
    await end()
  })

  test('partitions of several brokers are written side by side', async () => {
    const { clock, cluster, producer, logs, send, end } = await setUp({ nodes: 3, partitions: 6 })
    for (let index = 0; index < 60; index += 1) send(String(index), index % 6)
    await settled(clock, producer.flush())
    expect(logs.map((log) => log.values.length)).toEqual([10, 10, 10, 10, 10, 10])
    for (const node of [1, 2, 3]) {
      expect(cluster.node(node).received(produce)).toHaveLength(1)
    }
    await end()
  })

  test('the producer id is asked for once, and again until a broker gives one', async () => {
    const { clock, cluster, producer, logs, send, end } = await setUp({ partitions: 2 })
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
    const { clock, producer, logs, send, end } = await setUp({ producer: { compression: 'gzip' } })
    for (let index = 0; index < 100; index += 1) send('the same text again and again')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toHaveLength(100)
    await end()
  })
})

describe('partitions', () => {
  test('of a topic that is not known are an error', async () => {
    const { producer, end } = await setUp()
    expect(() => producer.partitionCount('missing')).toThrowError(
      expect.objectContaining({ code: 'SOURCE_TOPIC_MISSING', context: { topic: 'missing' } }),
    )
    await end()
  })

  test('of a key are those of murmur2', async () => {
    const { producer, end } = await setUp({ partitions: 10 })
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
    const { producer, end } = await setUp({
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

describe('a record is written once', () => {
  test('when the answer is lost', async () => {
    const { clock, producer, logs, faults, send, end } = await setUp({
      producer: { batchBytes: 200 },
    })
    faults.push('lose the answer')
    const sent = Array.from({ length: 40 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    await end()
  })

  test('when the request is lost', async () => {
    const { clock, producer, logs, faults, send, end } = await setUp({
      producer: { batchBytes: 200 },
    })
    faults.push({ code: 0, isAppended: true }, 'lose the request')
    const sent = Array.from({ length: 40 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    await end()
  })

  test('when the broker hangs until the request times out', async () => {
    const { clock, producer, logs, faults, send, end } = await setUp()
    faults.push('hang')
    send('a')
    await settled(clock, producer.flush(), 35_000)
    expect(logs[0]?.values).toEqual(['a'])
    await end()
  })

  test('when the leader moves between two batches', async () => {
    const { clock, cluster, producer, logs, send, end } = await setUp({
      nodes: 2,
      producer: { batchBytes: 200 },
    })
    const sent = Array.from({ length: 40 }, (_, index) => `value ${index}`)
    for (const value of sent.slice(0, 20)) send(value)
    cluster.moveLeader('t', 0, 2)
    for (const value of sent.slice(20)) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    expect(cluster.node(2).received(produce).length).toBeGreaterThan(0)
    await end()
  })

  test('when the broker wrote it but had too few replicas', async () => {
    const { clock, producer, logs, faults, send, end } = await setUp()
    faults.push({ code: errorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, isAppended: true })
    send('a')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['a'])
    expect(producer.nextOffset('t', 0)).toBe(1)
    await end()
  })

  test('when the broker only says that it has it already', async () => {
    const { clock, producer, faults, send, end } = await setUp()
    faults.push({ code: errorCode.DUPLICATE_SEQUENCE_NUMBER, isAppended: true })
    send('a')
    await settled(clock, producer.flush())
    // Where it was written is not told; the next acknowledgement does.
    expect(producer.nextOffset('t', 0)).toBeUndefined()
    send('b')
    await settled(clock, producer.flush())
    expect(producer.nextOffset('t', 0)).toBe(2)
    await end()
  })

  test('whatever is lost, in whatever order (a hundred seeds of faults)', async () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const { clock, cluster, producer, logs, faults, end } = await setUp({
        nodes: 2,
        partitions: 3,
        producer: { batchBytes: 150, lingerMs: 1 },
      })
      let state = seed
      const chance = (bound: number): number => {
        state = (state * 1_103_515_245 + 12_345) % 2 ** 31
        return Math.floor((state / 2 ** 31) * bound)
      }
      const kinds: (Fault | undefined)[] = [
        'lose the answer',
        'lose the request',
        { code: errorCode.NOT_ENOUGH_REPLICAS },
        { code: errorCode.REQUEST_TIMED_OUT, isAppended: true },
      ]
      const sent: string[][] = [[], [], []]
      for (let index = 0; index < 60; index += 1) {
        const partition = chance(3)
        sent[partition]?.push(`${index}`)
        producer.send('t', partition, null, Buffer.from(`${index}`), 0, [])
        const fault = chance(4) === 0 ? kinds[chance(kinds.length)] : undefined
        if (fault !== undefined) faults.push(fault)
        if (chance(20) === 0) cluster.moveLeader('t', chance(3), 1 + chance(2))
        if (chance(5) === 0) await clock.run(chance(10))
      }
      await settled(clock, producer.flush())
      expect(
        logs.map((log) => log.values),
        `seed ${seed}`,
      ).toEqual(sent)
      await end()
    }
  })
})

describe('failures', () => {
  test('a record above the limit is refused by send and harms nothing', async () => {
    const { clock, producer, logs, send, end } = await setUp({ producer: { recordBytesMax: 1000 } })
    expect(() => send('x'.repeat(1001))).toThrowError(
      expect.objectContaining({ code: 'RECORD_TOO_LARGE' }),
    )
    send('small')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['small'])
    await end()
  })

  test('a batch that the broker finds too large is sent in parts', async () => {
    const { clock, producer, logs, setRecordsMax, send, end } = await setUp({
      producer: { batchBytes: 800 },
    })
    setRecordsMax(3)
    const sent = Array.from({ length: 50 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    expect(logs[0]?.batches.every((batch) => batch.count <= 3)).toBe(true)
    expect(producer.nextOffset('t', 0)).toBe(50)
    expect(producer.queuedBytes).toBe(0)
    await end()
  })

  test('a record that the broker refuses fails its partition, and every flush from then on', async () => {
    const { clock, producer, logs, faults, send, end } = await setUp({ partitions: 2 })
    faults.push({ code: errorCode.INVALID_RECORD })
    send('bad', 0)
    const failed = {
      code: 'DELIVERY_FAILED',
      context: { topic: 't', partition: 0, detail: expect.stringContaining('INVALID_RECORD') },
    }
    await expect(settled(clock, producer.flush())).rejects.toMatchObject(failed)
    await expect(producer.flush()).rejects.toMatchObject(failed)
    expect(() => send('next', 0)).toThrowError(expect.objectContaining({ code: 'DELIVERY_FAILED' }))
    send('other', 1)
    await clock.run(100)
    expect(logs[1]?.values).toEqual(['other'])
    expect(producer.queuedBytes).toBe(0)
    await end()
  })

  test('a record that is not acknowledged in time has failed, with the last reason', async () => {
    const { clock, cluster, producer, send, end } = await setUp({
      producer: { deliveryTimeoutMs: 10_000 },
    })
    cluster.moveLeader('t', 0, -1)
    send('a')
    await expect(settled(clock, producer.flush(), 15_000)).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      context: { detail: expect.stringContaining('no acknowledgement within 10000 ms') },
    })
    await end()
  })

  test('a gap in front of the first batch means that written records are lost: it is fatal', async () => {
    const { clock, producer, logs, send, end } = await setUp()
    send('a')
    await settled(clock, producer.flush())
    // The broker lost its log, as after an unclean election.
    logs[0]?.batches.splice(0)
    logs[0]?.values.splice(0)
    send('b')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      context: { detail: expect.stringContaining('OUT_OF_ORDER_SEQUENCE_NUMBER') },
    })
    await end()
  })

  test('a broker that forgot the producer by retention gets a new epoch, counted from 0', async () => {
    const { clock, producer, logs, faults, send, end } = await setUp()
    send('a')
    await settled(clock, producer.flush())
    faults.push({ code: errorCode.UNKNOWN_PRODUCER_ID })
    send('b')
    await settled(clock, producer.flush())
    send('c')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['a', 'b', 'c'])
    expect(logs[0]?.batches).toEqual([
      { epoch: 0, sequence: 0, count: 1, offset: 0 },
      { epoch: 1, sequence: 0, count: 1, offset: 1 },
      { epoch: 1, sequence: 1, count: 1, offset: 2 },
    ])
    await end()
  })

  test('an epoch that is fenced is fatal', async () => {
    const { clock, producer, faults, send, end } = await setUp()
    faults.push({ code: errorCode.INVALID_PRODUCER_EPOCH })
    send('a')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      context: { detail: expect.stringContaining('INVALID_PRODUCER_EPOCH') },
    })
    await end()
  })
})

describe('back-pressure', () => {
  test('drained waits until few enough bytes are not acknowledged', async () => {
    const { clock, producer, faults, send, end } = await setUp()
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
    const { clock, producer, faults, send, end } = await setUp()
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
  const { clock, producer, faults, send, end } = await setUp()
  faults.push('hang')
  send('a')
  const flushed = failureOf(producer.flush())
  await clock.run(100)
  await end()
  expect(await flushed).toMatchObject({ code: 'CLIENT_CLOSED' })
  expect(() => send('b')).toThrowError(expect.objectContaining({ code: 'CLIENT_CLOSED' }))
  await expect(producer.flush()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
})
