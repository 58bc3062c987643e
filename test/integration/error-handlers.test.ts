import { describe, expect, test } from 'vitest'
import { systemTransport, type Transport } from '../../src/base/transport.ts'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import { systemPorts } from '../../src/config.ts'
import {
  StreamsBuilder,
  nullable,
  serdes,
  topic,
  type KafkaStreams,
  type ProductionErrorContext,
  type StreamsConfig,
  type Topology,
} from '../../src/index.ts'
import { TestCluster, type ReadRecord } from './test-cluster.ts'
import { until } from './until.ts'

/** Topics `in`, `out` and `dead` of one partition. */
async function startedCluster(
  outConfigs: Readonly<Record<string, string>> = {},
): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('in', 1)
  await cluster.createTopic('out', 1, outConfigs)
  await cluster.createTopic('dead', 1)
  return cluster
}

const text = { key: nullable(serdes.string), value: serdes.string }

/** Numbers in, `number <n>` out; fails on 13, and has no key for 7. */
function numbers(cluster: TestCluster): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(cluster.name('in'), { key: nullable(serdes.string), value: serdes.int }))
    .mapValues((value) => {
      if (value === 13) throw new RangeError('it brings bad luck')
      return `number ${value}`
    })
    .selectKey((value) => (value === 'number 7' ? null : value))
    .to(topic(cluster.name('out'), text))
  return builder.build()
}

function send(cluster: TestCluster, values: readonly (number | string)[]): Promise<void> {
  for (const value of values) {
    const bytes = Buffer.from(typeof value === 'string' ? value : serdes.int.serialize(value))
    cluster.producer.send(cluster.name('in'), 0, Buffer.from('k'), bytes, Date.now(), [
      ['trace', Buffer.from(String(value))],
    ])
  }
  return cluster.producer.flush()
}

async function committed(cluster: TestCluster): Promise<number> {
  const input = { topic: cluster.name('in'), partition: 0 }
  const offsets = await fetchCommittedOffsets(cluster.client, cluster.name('word-count'), [input])
  return [...offsets.values()][0]?.offset ?? 0
}

const out = async (cluster: TestCluster): Promise<string[]> =>
  (await cluster.read('out')).map(({ value }) => String(value))

/** What a dead letter says: the value of its record, and what was wrong. */
function told({ value, headers }: ReadRecord) {
  const texts = new Map(headers.map(([name, bytes]) => [name, bytes && String(bytes)]))
  return {
    value,
    trace: texts.get('trace'),
    exception: texts.get('__streams.errors.exception'),
    offset: texts.get('__streams.errors.offset'),
  }
}

const letters = async (cluster: TestCluster) => (await cluster.read('dead')).map(told)

function instance(
  cluster: TestCluster,
  config: Partial<StreamsConfig>,
  topology = numbers(cluster),
): KafkaStreams {
  const streams = cluster.streams(topology, 'a', config)
  // Tests look at it when they expect a failure.
  streams.closed.catch(() => undefined)
  return streams
}

test('records that cannot be read or processed become dead letters, and the others go on', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  await send(cluster, [1, 'no number', 13, 2])
  const streams = instance(cluster, {
    onDeserializationError: 'continue',
    onProcessingError: 'continue',
    deadLetterQueueTopic: cluster.name('dead'),
  })
  await streams.start()
  await until(async () => (await committed(cluster)) === 4, signal)
  expect(await out(cluster)).toEqual(['number 1', 'number 2'])
  expect(await letters(cluster)).toEqual([
    {
      value: Buffer.from('no number'),
      trace: 'no number',
      exception: expect.any(String) as string,
      offset: '1',
    },
    {
      value: Buffer.from(serdes.int.serialize(13)),
      trace: '13',
      exception: 'RangeError',
      offset: '2',
    },
  ])
  const [letter] = await cluster.read('dead')
  const source = await cluster.read('in')
  expect(letter).toMatchObject({ key: source[1]?.key, timestamp: source[1]?.timestamp })
})

/** A network on which records need their time. */
const slowTransport: Transport = {
  listen: (options) => systemTransport.listen(options),
  connect: async (options) => {
    const connection = await systemTransport.connect(options)
    const write = connection.write.bind(connection)
    let isProducing = false
    connection.write = (bytes) => {
      // After the length comes the number of the request: that of Produce is 0.
      isProducing ||= bytes.length > 6 && Buffer.from(bytes).readInt16BE(4) === 0
      if (!isProducing) return write(bytes)
      const copy = Buffer.from(bytes)
      setTimeout(() => write(copy), 200)
    }
    return connection
  },
}

test('a program that fails has told the dead letter queue why', async () => {
  await using cluster = await startedCluster()
  await send(cluster, [1, 13])
  const streams = cluster.streams(
    numbers(cluster),
    'a',
    { deadLetterQueueTopic: cluster.name('dead') },
    { ...systemPorts, transport: slowTransport },
  )
  streams.closed.catch(() => undefined)
  await streams.start()
  await expect(streams.closed).rejects.toMatchObject({ code: 'PROCESSING_FAILED' })
  expect(await letters(cluster)).toMatchObject([{ trace: '13', exception: 'RangeError' }])
  expect(await committed(cluster)).toBeLessThan(2)
})

test('a dead letter queue that is not there keeps the program from its start', async () => {
  await using cluster = await startedCluster()
  const streams = instance(cluster, { deadLetterQueueTopic: cluster.name('nowhere') })
  await expect(streams.start()).rejects.toMatchObject({
    code: 'SINK_TOPIC_MISSING',
    context: { topic: cluster.name('nowhere') },
  })
})

test('a handler that fails ends the program, whatever it was asked about', async () => {
  await using cluster = await startedCluster()
  await send(cluster, [1, 13, 2])
  const streams = instance(cluster, {
    onProcessingError: () => {
      throw new TypeError('the handler is wrong')
    },
  })
  await streams.start()
  await expect(streams.closed).rejects.toMatchObject({
    code: 'HANDLER_FAILED',
    message: expect.stringMatching(/the handler is wrong.*it brings bad luck/) as string,
    context: { handler: 'onProcessingError', topic: cluster.name('in'), offset: 1 },
  })
})

describe('a record that the broker refuses', () => {
  /** A compacted topic takes no record without a key. */
  const compacted = { 'cleanup.policy': 'compact' }
  const refusing = async (): Promise<TestCluster> => {
    const cluster = await startedCluster(compacted)
    await send(cluster, [1, 7, 2, 7, 3])
    return cluster
  }

  test('ends the program when nobody is asked', async () => {
    await using cluster = await refusing()
    const streams = instance(cluster, {})
    await streams.start()
    await expect(streams.closed).rejects.toMatchObject({ code: 'DELIVERY_FAILED' })
  })

  test('is passed over alone, as a dead letter', async ({ signal }) => {
    await using cluster = await refusing()
    const streams = instance(cluster, {
      onProductionError: 'continue',
      deadLetterQueueTopic: cluster.name('dead'),
    })
    await streams.start()
    await until(async () => (await committed(cluster)) === 5, signal)
    expect(await out(cluster)).toEqual(['number 1', 'number 2', 'number 3'])
    const dead = await cluster.read('dead')
    const value = Buffer.from(serdes.int.serialize(7))
    expect(dead.map((letter) => letter.key)).toEqual([Buffer.from('k'), Buffer.from('k')])
    expect(dead.map(told)).toEqual([
      { value, trace: '7', exception: 'StreamsError.KAFKA_ERROR', offset: '1' },
      { value, trace: '7', exception: 'StreamsError.KAFKA_ERROR', offset: '3' },
    ])
    expect(streams.metrics.droppedRecords()).toEqual(new Map([['production-error', 2]]))
    await send(cluster, [4])
    await until(async () => (await out(cluster)).length === 4, signal)
  })

  test('is what a handler is told of', async ({ signal }) => {
    await using cluster = await refusing()
    const asked: ProductionErrorContext[] = []
    const streams = instance(cluster, {
      onProductionError: (context) => {
        asked.push(context)
        return 'continue'
      },
    })
    await streams.start()
    await until(async () => (await committed(cluster)) === 5, signal)
    const value = Buffer.from('number 7')
    expect(asked).toHaveLength(2)
    expect(asked[0]).toMatchObject({
      taskId: '0_0',
      node: 'KSTREAM-SINK-0000000003',
      topic: cluster.name('in'),
      partition: 0,
      offset: 1,
      sourceRawKey: Buffer.from('k'),
      sourceRawValue: Buffer.from(serdes.int.serialize(7)),
      origin: 'delivery',
      record: { topic: cluster.name('out'), key: null, value },
    })
  })

  test('ends the program when a handler says so', async () => {
    await using cluster = await refusing()
    const streams = instance(cluster, {
      onProductionError: () => 'fail',
      // The step above the sink is not asked.
      onProcessingError: 'continue',
    })
    await streams.start()
    await expect(streams.closed).rejects.toMatchObject({
      code: 'RECORD_UNWRITABLE',
      context: {
        sink: cluster.name('out'),
        origin: 'delivery',
        task: '0_0',
        node: 'KSTREAM-SINK-0000000003',
        topic: cluster.name('in'),
        offset: 1,
      },
    })
  })

  test('ends the program when it is a dead letter itself', async () => {
    await using cluster = await TestCluster.start()
    await cluster.createTopic('in', 1)
    await cluster.createTopic('out', 1, compacted)
    await cluster.createTopic('dead', 1, compacted)
    const value = Buffer.from(serdes.int.serialize(7))
    // Without a key, so that its letter has none.
    cluster.producer.send(cluster.name('in'), 0, null, value, Date.now(), [])
    await cluster.producer.flush()
    const streams = instance(cluster, {
      onProductionError: 'continue',
      deadLetterQueueTopic: cluster.name('dead'),
    })
    await streams.start()
    await expect(streams.closed).rejects.toMatchObject({
      code: 'RECORD_UNWRITABLE',
      context: { sink: cluster.name('dead') },
    })
  })

  test('may be too large for the topic', async ({ signal }) => {
    await using cluster = await startedCluster({ 'max.message.bytes': '300' })
    const builder = new StreamsBuilder()
    builder.stream(topic(cluster.name('in'), text)).to(topic(cluster.name('out'), text))
    await send(cluster, ['a', 'x'.repeat(1000), 'b'])
    const streams = instance(cluster, { onProductionError: 'continue' }, builder.build())
    await streams.start()
    await until(async () => (await committed(cluster)) === 3, signal)
    expect(await out(cluster)).toEqual(['a', 'b'])
  })
})

describe('a sink that learns of its topic only from its records', () => {
  /** Records go to the topic that they name; there is no partition for 13. */
  function named(cluster: TestCluster): Topology {
    const builder = new StreamsBuilder()
    builder
      .stream(topic(cluster.name('in'), { key: nullable(serdes.string), value: serdes.int }))
      .to(() => cluster.name('out'), {
        key: nullable(serdes.string),
        value: serdes.int,
        partitioner: (_topic, _key, value) => {
          if (value === 13) throw new RangeError('no place for it')
          return 0
        },
      })
    return builder.build()
  }

  test('asks about what its partitioner throws, though that is later', async ({ signal }) => {
    await using cluster = await startedCluster()
    await send(cluster, [13, 1, 13, 2])
    const asked: unknown[] = []
    const streams = instance(
      cluster,
      {
        onProcessingError: ({ node, offset, record, sourceRawValue }, error) => {
          const source = sourceRawValue && serdes.int.deserialize(sourceRawValue)
          asked.push({ node, offset, record, source, error: (error as Error).message })
          return 'continue'
        },
        deadLetterQueueTopic: cluster.name('dead'),
      },
      named(cluster),
    )
    await streams.start()
    await until(async () => (await committed(cluster)) === 4, signal)
    expect(await cluster.read('out')).toHaveLength(2)
    const about = (offset: number) => ({
      node: 'KSTREAM-SINK-0000000001',
      offset,
      record: { key: 'k', value: 13 },
      source: 13,
      error: 'no place for it',
    })
    expect(asked).toEqual([about(0), about(2)])
    expect((await letters(cluster)).map(({ offset }) => offset)).toEqual(['0', '2'])
  })

  test('ends the program with it when nobody passes it over', async () => {
    await using cluster = await startedCluster()
    await send(cluster, [13])
    const streams = instance(cluster, {}, named(cluster))
    await streams.start()
    await expect(streams.closed).rejects.toMatchObject({
      code: 'RECORD_UNWRITABLE',
      message: expect.stringContaining('no place for it') as string,
      context: { node: 'KSTREAM-SINK-0000000001', topic: cluster.name('in'), offset: 0 },
    })
  })
})

test('a handler may write letters of its own, to any topic', async ({ signal }) => {
  await using cluster = await startedCluster()
  await cluster.createTopic('mine', 2)
  await send(cluster, [1, 13, 2])
  const streams = instance(cluster, {
    onProcessingError: ({ timestamp }, error) => {
      const value = Buffer.from((error as Error).message)
      const letter = { topic: cluster.name('mine'), key: null, value, timestamp, headers: [] }
      return { result: 'continue', deadLetterRecords: [letter] }
    },
    deadLetterQueueTopic: cluster.name('dead'),
  })
  await streams.start()
  await until(async () => (await committed(cluster)) === 3, signal)
  expect((await cluster.read('mine')).map(({ value }) => String(value))).toEqual([
    'it brings bad luck',
  ])
  expect(await letters(cluster)).toEqual([])
})
