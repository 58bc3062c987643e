/**
 * Transactions request by request: what the dev broker answers, error by error. The same runs on Apache
 * Kafka, which decides what is expected here.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { systemTransport } from '../../src/base/transport.ts'
import { listOffsets } from '../../src/protocol/messages/2-list-offsets.ts'
import { apiVersions } from '../../src/protocol/messages/18-api-versions.ts'
import { describeProducers } from '../../src/protocol/messages/61-describe-producers.ts'
import { describeTransactions } from '../../src/protocol/messages/65-describe-transactions.ts'
import { listTransactions } from '../../src/protocol/messages/66-list-transactions.ts'
import { RawClient, nameOf } from './raw-client.ts'
import {
  RawProducer,
  committedOffset,
  readTransactions,
  type IdentityAnswer,
} from './raw-transactions.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

const clients: RawClient[] = []

afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})

async function connect(cluster: TestCluster): Promise<RawClient> {
  const [host = '', port] = cluster.address.split(':')
  const connection = await systemTransport.connect({ host, port: Number(port), timeoutMs: 5_000 })
  const client = new RawClient(connection)
  clients.push(client)
  return client
}

interface Place {
  readonly cluster: TestCluster
  readonly client: RawClient
  readonly topic: string
  /** It has its id, and the epoch 0. */
  readonly producer: RawProducer
}

/** Waits until the broker leads all partitions: Kafka tells of a topic a moment before. */
function led(client: RawClient, topic: string, count: number): Promise<boolean> {
  const partitions = Array.from({ length: count }, (_, partitionIndex) => ({
    partitionIndex,
    timestamp: -1,
  }))
  return until(async () => {
    const { topics } = await client.request(listOffsets, 7, {
      topics: [{ name: topic, partitions }],
    })
    const answers = topics.flatMap((one) => one.partitions)
    return answers.every(({ errorCode }) => nameOf(errorCode) === 'NONE')
  })
}

/** The topic `t` and a producer on the cluster. */
async function setUp(cluster: TestCluster, partitions = 1): Promise<Place> {
  await cluster.createTopic('t', partitions)
  const client = await connect(cluster)
  await led(client, cluster.name('t'), partitions)
  const producer = new RawProducer(client, cluster.name('tx'))
  await producer.init()
  return { cluster, client, topic: cluster.name('t'), producer }
}

/** `error epoch`, and whether the producer id is another one than that of the producer. */
function shown({ error, producerId, producerEpoch }: IdentityAnswer, of: RawProducer): string {
  if (producerId < 0) return error
  return `${error} ${producerEpoch}${producerId === of.producerId ? '' : ' of another id'}`
}

/** Repeats a request until the transaction before it is completed: Kafka does that in the background. */
function settled<T>(request: () => Promise<T>): Promise<NonNullable<T>> {
  return until(async () => {
    const answer = await request()
    const error = typeof answer === 'string' ? answer : (answer as IdentityAnswer).error
    return error.includes('CONCURRENT_TRANSACTIONS') ? undefined : answer
  })
}

/** What is in partition 0, once all its transactions are decided. */
async function decided({ client, topic }: Place): Promise<string[]> {
  return until(async () => {
    const { log, lastStableOffset, highWatermark } = await readTransactions(client, topic)
    return lastStableOffset === highWatermark ? log : undefined
  })
}

test('the level of transactions is told with the versions', async () => {
  await using cluster = await TestCluster.start()
  const client = await connect(cluster)
  const software = { clientSoftwareName: 'test', clientSoftwareVersion: '1' }
  const answer = await client.request(apiVersions, 4, software)
  const name = 'transaction.version'
  expect(answer.supportedFeatures.filter((one) => one.name === name)).toEqual([
    { name, minVersion: 0, maxVersion: 2 },
  ])
  expect(answer.finalizedFeatures.filter((one) => one.name === name)).toEqual([
    { name, minVersionLevel: 2, maxVersionLevel: 2 },
  ])
  expect(answer.finalizedFeaturesEpoch).toBeGreaterThanOrEqual(0)
})

describe('version 1', () => {
  test('takes records for partitions that were added, and shows them when they are committed', async () => {
    await using cluster = await TestCluster.start()
    const place = await setUp(cluster, 2)
    const { client, producer, topic } = place
    expect(await producer.produce(topic, ['x'], { version: 10 })).toBe('INVALID_TXN_STATE')
    expect(await producer.produce(topic, ['x'], { version: 11 })).toBe('TRANSACTION_ABORTABLE')
    expect(await producer.add([`${topic}-0`, `${topic}-7`])).toBe(
      'OPERATION_NOT_ATTEMPTED, UNKNOWN_TOPIC_OR_PARTITION',
    )
    expect(await producer.add([`${topic}-0`])).toBe('NONE')
    expect(await producer.add([`${topic}-0`])).toBe('NONE')
    const other = { version: 10, partition: 1 }
    expect(await producer.produce(topic, ['x'], other)).toBe('INVALID_TXN_STATE')
    expect(await producer.produce(topic, ['a', 'b'], { version: 11 })).toBe('NONE')
    expect(await producer.produce(topic, ['a', 'b'], { version: 11, sequence: 0 })).toBe('NONE')
    expect(await producer.produce(topic, ['x'], { version: 11, sequence: 7 })).toBe(
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
    )
    expect(await producer.produce(topic, ['x'], { isTransactional: false })).toBe(
      'INVALID_TXN_STATE',
    )
    expect(await readTransactions(client, topic)).toEqual({
      error: 'NONE',
      log: [],
      aborted: [],
      lastStableOffset: 0,
      highWatermark: 2,
    })
    const all = await readTransactions(client, topic, { isolation: 'uncommitted' })
    expect([all.log, all.aborted, all.lastStableOffset]).toEqual([['0:a', '1:b'], null, 0])
    expect(shown(await producer.end('commit', { version: 4 }), producer)).toBe('NONE')
    expect(await decided(place)).toEqual(['0:a', '1:b', '2:commit'])
    // The epoch stays, and sequences go on.
    expect(await settled(() => producer.add([`${topic}-0`]))).toBe('NONE')
    expect(await producer.produce(topic, ['c'], { version: 11 })).toBe('NONE')
    expect(shown(await producer.end('abort', { version: 4 }), producer)).toBe('NONE')
    expect(await decided(place)).toEqual(['0:a', '1:b', '2:commit', '3:c', '4:abort'])
    expect((await readTransactions(client, topic)).aborted).toEqual([
      `${producer.producerId} from 3`,
    ])
  })

  test('an end may be repeated, and not be changed', async () => {
    await using cluster = await TestCluster.start()
    const { producer, topic } = await setUp(cluster)
    const end = async (type: 'commit' | 'abort'): Promise<string> =>
      shown(await settled(() => producer.end(type, { version: 4 })), producer)
    expect([await end('commit'), await end('abort')]).toEqual([
      'INVALID_TXN_STATE',
      'INVALID_TXN_STATE',
    ])
    await producer.add([`${topic}-0`])
    expect([await end('commit'), await end('commit'), await end('abort')]).toEqual([
      'NONE',
      'NONE',
      'INVALID_TXN_STATE',
    ])
    await settled(() => producer.add([`${topic}-0`]))
    expect([await end('abort'), await end('abort'), await end('commit')]).toEqual([
      'NONE',
      'NONE',
      'INVALID_TXN_STATE',
    ])
  })
})

describe('version 2', () => {
  test('adds what is written, and raises the epoch with every end', async () => {
    await using cluster = await TestCluster.start()
    const place = await setUp(cluster, 2)
    const { client, producer, topic } = place
    expect(await producer.produce(topic, ['a', 'b'])).toBe('NONE')
    expect(shown(await producer.end('abort'), producer)).toBe('NONE 1')
    // The partition knows of the new epoch when the end is written there.
    expect(await decided(place)).toEqual(['0:a', '1:b', '2:abort'])
    const before = { epoch: 0 }
    expect(await producer.produce(topic, ['x'], before)).toBe('INVALID_PRODUCER_EPOCH')
    expect(shown(await settled(() => producer.end('abort', before)), producer)).toBe('NONE 1')
    expect(shown(await producer.end('commit', before), producer)).toBe('INVALID_TXN_STATE')
    expect(await settled(() => producer.produce(topic, ['x'], { sequence: 3 }))).toBe(
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
    )
    expect(await producer.produce(topic, ['c'])).toBe('NONE')
    expect(await producer.produce(topic, ['x'], { partition: 1, sequence: 5 })).toBe(
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
    )
    expect(await producer.produce(topic, ['d'], { partition: 1 })).toBe('NONE')
    expect(shown(await producer.end('commit'), producer)).toBe('NONE 2')
    expect(await decided(place)).toEqual(['0:a', '1:b', '2:abort', '3:c', '4:commit'])
    expect((await readTransactions(client, topic)).aborted).toEqual([
      `${producer.producerId} from 0`,
    ])
  })

  test('nothing can be aborted, for a new epoch, and not be committed', async () => {
    await using cluster = await TestCluster.start()
    const { producer } = await setUp(cluster)
    expect(shown(await producer.end('commit'), producer)).toBe('INVALID_TXN_STATE')
    expect(shown(await producer.end('abort'), producer)).toBe('NONE 1')
    expect(shown(await settled(() => producer.end('abort', { epoch: 0 })), producer)).toBe('NONE 1')
    expect(shown(await settled(() => producer.end('abort')), producer)).toBe('NONE 2')
    expect(shown(await settled(() => producer.end('commit')), producer)).toBe('INVALID_TXN_STATE')
  })
})

describe('who is fenced', () => {
  test('a producer that another one has followed hears of it by every request', async () => {
    await using cluster = await TestCluster.start()
    const place = await setUp(cluster)
    const { client, producer, topic } = place
    await producer.produce(topic, ['a'])
    const next = new RawProducer(client, producer.transactionalId)
    expect(shown(await next.initOnce(), producer)).toBe('CONCURRENT_TRANSACTIONS')
    // One epoch for the fence, which nobody gets, and one for the next.
    expect(shown(await next.init(), producer)).toBe('NONE 2')
    expect(await decided(place)).toEqual(['0:a', '1:abort'])
    const group = cluster.name('g')
    const errors = {
      'add 1': await producer.add([`${topic}-0`], 1),
      'add 2': await producer.add([`${topic}-0`], 2),
      'add offsets 1': await producer.addOffsets(group, 1),
      'add offsets 2': await producer.addOffsets(group, 2),
      'end 1': (await producer.end('commit', { version: 1 })).error,
      'end 2': (await producer.end('commit', { version: 2 })).error,
      'end 5': (await producer.end('commit', { version: 5 })).error,
      'produce 10': await producer.produce(topic, ['x'], { version: 10 }),
      'produce 12': await producer.produce(topic, ['x'], { version: 12 }),
      'offsets 3': await producer.commitOffset(group, topic, 1, { version: 3 }),
      'offsets 5': await producer.commitOffset(group, topic, 1, { version: 5 }),
      'init 3': (await producer.initOnce({ version: 3, expected: [producer.producerId, 0] })).error,
      'init 4': (await producer.initOnce({ version: 4, expected: [producer.producerId, 0] })).error,
    }
    expect(errors).toEqual({
      'add 1': 'INVALID_PRODUCER_EPOCH',
      'add 2': 'PRODUCER_FENCED',
      'add offsets 1': 'INVALID_PRODUCER_EPOCH',
      'add offsets 2': 'PRODUCER_FENCED',
      'end 1': 'INVALID_PRODUCER_EPOCH',
      'end 2': 'PRODUCER_FENCED',
      'end 5': 'PRODUCER_FENCED',
      'produce 10': 'INVALID_PRODUCER_EPOCH',
      'produce 12': 'INVALID_PRODUCER_EPOCH',
      'offsets 3': 'INVALID_PRODUCER_EPOCH',
      'offsets 5': 'INVALID_PRODUCER_EPOCH',
      'init 3': 'INVALID_PRODUCER_EPOCH',
      'init 4': 'PRODUCER_FENCED',
    })
  })

  test('a producer that names itself goes on with a new epoch', async () => {
    await using cluster = await TestCluster.start()
    const { producer, topic } = await setUp(cluster)
    const own = (): [number, number] => [producer.producerId, producer.epoch]
    const expected = own()
    expect(shown(await producer.initOnce({ expected }), producer)).toBe('NONE 1')
    expect(shown(await producer.initOnce({ expected }), producer)).toBe('NONE 1')
    await producer.produce(topic, ['a'])
    const abandoned = own()
    expect((await producer.initOnce({ expected: abandoned })).error).toBe('CONCURRENT_TRANSACTIONS')
    expect((await producer.init({ expected: abandoned })).error).toBe('NONE')
    const half: [number, number] = [producer.producerId, -1]
    expect((await producer.initOnce({ expected: half })).error).toBe('INVALID_REQUEST')
    const stranger: [number, number] = [producer.producerId + 1_000_000, 0]
    expect((await producer.initOnce({ expected: stranger })).error).toBe('PRODUCER_FENCED')
  })

  test('a transaction that takes too long is aborted, and its producer fenced', async () => {
    await using cluster = await TestCluster.start()
    const place = await setUp(cluster)
    const { client, topic } = place
    const slow = new RawProducer(client, cluster.name('slow'))
    await slow.init({ timeoutMs: 100 })
    expect(await slow.produce(topic, ['a'])).toBe('NONE')
    // Kafka looks for such transactions every ten seconds.
    expect(await decided(place)).toEqual(['0:a', '1:abort'])
    expect(await slow.produce(topic, ['b'])).toBe('INVALID_PRODUCER_EPOCH')
    expect(shown(await settled(() => slow.end('commit')), slow)).toBe('INVALID_TXN_STATE')
    expect(shown(await settled(() => slow.end('commit', { version: 4 })), slow)).toBe(
      'PRODUCER_FENCED',
    )
    expect(shown(await slow.initOnce({ expected: [slow.producerId, 0] }), slow)).toBe('NONE 1')
  })
})

test('offsets within a transaction are pending until its end', async () => {
  await using cluster = await TestCluster.start()
  const { client, producer, topic } = await setUp(cluster)
  const group = cluster.name('g')
  const requireStable = true
  const stable = (): Promise<number | string> =>
    committedOffset(client, group, topic, { requireStable })
  expect(await producer.commitOffset(group, topic, 1, { version: 3 })).toBe('INVALID_TXN_STATE')
  expect(await producer.commitOffset(group, topic, 1, { version: 4 })).toBe('TRANSACTION_ABORTABLE')
  expect(await producer.addOffsets(group)).toBe('NONE')
  expect(await producer.commitOffset(group, topic, 1, { version: 3 })).toBe('NONE')
  expect(await committedOffset(client, group, topic)).toBe(-1)
  expect(await stable()).toBe('UNSTABLE_OFFSET_COMMIT')
  expect((await producer.end('abort', { version: 4 })).error).toBe('NONE')
  expect(await until(async () => (await stable()) === -1)).toBe(true)
  expect(await settled(() => producer.commitOffset(group, topic, 7))).toBe('NONE')
  expect(await producer.commitOffset(cluster.name('h'), topic, 8)).toBe('NONE')
  expect(await committedOffset(client, group, topic)).toBe(-1)
  expect(shown(await producer.end('commit'), producer)).toBe('NONE 1')
  expect(await until(async () => (await stable()) === 7)).toBe(true)
  expect(await until(async () => committedOffset(client, cluster.name('h'), topic))).toBe(8)
})

test('offsets within a transaction are those of a member, when it says so', async () => {
  await using cluster = await TestCluster.start()
  const { producer, topic } = await setUp(cluster)
  const group = cluster.name('g')
  const commit = (options: Parameters<RawProducer['commitOffset']>[3]): Promise<string> =>
    producer.commitOffset(group, topic, 1, options)
  expect(await commit({ generation: 3, memberId: 'm' })).toBe('ILLEGAL_GENERATION')
  expect(await commit({})).toBe('NONE')
  expect(await commit({ memberId: 'm' })).toBe('NONE')
  expect(await commit({ generation: 3, memberId: 'm' })).toBe('UNKNOWN_MEMBER_ID')
  expect(await producer.commitOffset('', topic, 1)).toBe('INVALID_GROUP_ID')
  expect(await producer.commitOffset(group, cluster.name('none'), 1)).toBe(
    'UNKNOWN_TOPIC_OR_PARTITION',
  )
})

test('what is no transaction is refused', async () => {
  await using cluster = await TestCluster.start()
  const { client, producer, topic } = await setUp(cluster)
  const group = cluster.name('g')
  expect(await producer.produce(topic, ['x'], { transactionalId: null })).toBe(
    'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  )
  for (const timeoutMs of [900_001, 0, -1])
    expect((await producer.initOnce({ timeoutMs })).error).toBe('INVALID_TRANSACTION_TIMEOUT')
  const errorsOf = async (transactionalId: string): Promise<string[]> => {
    const other = new RawProducer(client, transactionalId)
    other.producerId = producer.producerId
    other.epoch = 0
    return [
      await other.add([`${topic}-0`]),
      await other.addOffsets(group),
      (await other.end('commit')).error,
      await other.commitOffset(group, topic, 1),
      await other.produce(topic, ['x']),
    ]
  }
  expect(new Set(await errorsOf(cluster.name('nobody')))).toEqual(
    new Set(['INVALID_PRODUCER_ID_MAPPING']),
  )
  expect(new Set(await errorsOf(''))).toEqual(new Set(['INVALID_REQUEST']))
  expect((await new RawProducer(client, '').initOnce()).error).toBe('INVALID_REQUEST')
})

test('the ends of a log are other ones for who reads what is committed', async () => {
  await using cluster = await TestCluster.start()
  const { client, producer, topic } = await setUp(cluster)
  await producer.produce(topic, ['a'])
  await producer.end('commit')
  const timestamp = Date.now() + 10_000
  await settled(() => producer.produce(topic, ['b'], { timestamp }))
  const offsetOf = async (isolationLevel: number, timestamp: number): Promise<number> => {
    const partitions = [{ partitionIndex: 0, timestamp }]
    const topics = [{ name: topic, partitions }]
    const answer = await client.request(listOffsets, 7, { isolationLevel, topics })
    return answer.topics[0]?.partitions[0]?.offset ?? -99
  }
  const [latest, earliest, largest, later] = [-1, -2, -3, Date.now() + 1_000_000]
  const offsetsOf = async (isolationLevel: number): Promise<number[]> => {
    const offsets: number[] = []
    for (const timestamp of [latest, earliest, largest, 0, later])
      offsets.push(await offsetOf(isolationLevel, timestamp))
    return offsets
  }
  expect(await offsetsOf(0)).toEqual([3, 0, 2, 0, -1])
  expect(await offsetsOf(1)).toEqual([2, 0, -1, 0, -1])
})

test('transactions that overlap are told apart', async () => {
  await using cluster = await TestCluster.start()
  const place = await setUp(cluster)
  const { client, producer: one, topic } = place
  const two = new RawProducer(client, cluster.name('two'))
  await two.init()
  await one.produce(topic, ['a'])
  await two.produce(topic, ['b'])
  await one.produce(topic, ['c'])
  await two.end('abort')
  await until(async () => (await readTransactions(client, topic)).highWatermark === 4)
  expect((await readTransactions(client, topic)).lastStableOffset).toBe(0)
  await one.end('commit')
  expect(await decided(place)).toEqual(['0:a', '1:b', '2:c', '3:abort', '4:commit'])
  const abortedFrom = async (offset: number): Promise<string[] | null> =>
    (await readTransactions(client, topic, { offset })).aborted
  expect(await abortedFrom(0)).toEqual([`${two.producerId} from 1`])
  expect(await abortedFrom(3)).toEqual([`${two.producerId} from 1`])
  expect(await abortedFrom(4)).toEqual([])
})

test('an administrator sees transactions and producers', async () => {
  await using cluster = await TestCluster.start()
  const { client, producer, topic } = await setUp(cluster)
  const { transactionalId, producerId } = producer
  const group = cluster.name('g')
  await producer.produce(topic, ['a', 'b'])
  await producer.commitOffset(group, topic, 1)
  const transactionalIds = [transactionalId, cluster.name('nobody')]
  const described = await client.request(describeTransactions, 0, { transactionalIds })
  const [open, unknown] = described.transactionStates
  expect(open).toMatchObject({
    errorCode: 0,
    transactionState: 'Ongoing',
    transactionTimeoutMs: 60_000,
    producerId,
    producerEpoch: 0,
  })
  expect(open?.transactionStartTimeMs).toBeGreaterThan(Date.now() - 60_000)
  expect(open?.topics.map(({ topic: name }) => name).toSorted()).toEqual([
    '__consumer_offsets',
    topic,
  ])
  expect(nameOf(unknown?.errorCode)).toBe('TRANSACTIONAL_ID_NOT_FOUND')

  const listed = await client.request(listTransactions, 2, {
    stateFilters: ['Ongoing', 'Nonsense'],
    producerIdFilters: [producerId],
    transactionalIdPattern: `${cluster.name('')}.x`,
  })
  expect([listed.errorCode, listed.unknownStateFilters, listed.transactionStates]).toEqual([
    0,
    ['Nonsense'],
    [{ transactionalId, producerId, transactionState: 'Ongoing' }],
  ])
  const list = async (filter: object): Promise<string[]> => {
    const all = { stateFilters: [], producerIdFilters: [producerId] }
    const answer = await client.request(listTransactions, 2, { ...all, ...filter })
    return [nameOf(answer.errorCode), ...answer.transactionStates.map((one) => one.transactionalId)]
  }
  expect(await list({})).toEqual(['NONE', transactionalId])
  expect(await list({ stateFilters: ['Empty'] })).toEqual(['NONE'])
  expect(await list({ durationFilter: 600_000 })).toEqual(['NONE'])
  expect(await list({ transactionalIdPattern: 'tx' })).toEqual(['NONE'])
  expect(await list({ transactionalIdPattern: '(' })).toEqual(['INVALID_REGULAR_EXPRESSION'])

  const topics = [{ name: topic, partitionIndexes: [0, 9] }]
  const producers = await client.request(describeProducers, 0, { topics })
  const [known, missing] = producers.topics[0]?.partitions ?? []
  expect(known?.activeProducers.filter((one) => one.producerId === producerId)).toMatchObject([
    { producerEpoch: 0, lastSequence: 1, coordinatorEpoch: -1, currentTxnStartOffset: 0 },
  ])
  expect(nameOf(missing?.errorCode)).toBe('UNKNOWN_TOPIC_OR_PARTITION')
})
