import { describe, expect, test } from 'vitest'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'
import { listOffsets } from '../protocol/messages/2-list-offsets.ts'
import { patchBaseOffset } from '../protocol/record-batch-patch.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { Fetcher, type FetcherOptions, type FetchedRecords } from './fetcher.ts'

/** A log of batches of three records each, from offset 0 on. */
class ScriptedLog {
  readonly batches: Buffer[] = []
  startOffset = 0

  get end(): number {
    return this.batches.length * 3
  }

  append(): void {
    const builder = new RecordBatchBuilder()
    const base = this.end
    for (let index = 0; index < 3; index += 1) {
      builder.append(Buffer.from(`k${base + index}`), Buffer.from(`v${base + index}`), 1000)
    }
    const batch = builder.build({ producerId: -1, producerEpoch: -1, baseSequence: -1 })
    patchBaseOffset(batch, base)
    this.batches.push(batch)
  }

  /** From the batch that holds the offset on, cut by bytes as a broker does. */
  read(offset: number, bytesMax: number): Buffer {
    const first = Math.floor(offset / 3)
    const bytes = Buffer.concat(this.batches.slice(first))
    return bytes.subarray(0, Math.max(bytesMax, this.batches[first]?.length ?? 0))
  }
}

/** A cluster whose brokers serve these logs; `errorOf` may refuse a partition at a node. */
async function setUp(options: { nodes?: number; partitions?: number } = {}) {
  const { nodes = 1, partitions = 1 } = options
  const cluster = await ScriptedCluster.start({ nodes, topics: { t: partitions } })
  const logs = Array.from({ length: partitions }, () => new ScriptedLog())
  const faults = new Map<string, number>()
  const held = new Set<() => void>()
  cluster.brokers.forEach((broker, index) => {
    const node = index + 1
    const errorOf = (partition: number, epoch: number): number => {
      const fault = faults.get(`${node}/${partition}`)
      if (fault !== undefined) return fault
      const leader = cluster.leaders.get('t')?.[partition]
      if (leader?.node !== node) return errorCode.NOT_LEADER_OR_FOLLOWER
      return epoch >= 0 && epoch < leader.epoch ? errorCode.FENCED_LEADER_EPOCH : 0
    }
    broker.on(fetch, async ({ body }) => {
      const rows = body.topics.flatMap((topic) => topic.partitions)
      const hasNews = rows.some(
        (row) =>
          errorOf(row.partition, row.currentLeaderEpoch) !== 0 ||
          row.fetchOffset < (logs[row.partition]?.startOffset ?? 0) ||
          row.fetchOffset !== logs[row.partition]?.end,
      )
      if (!hasNews && body.maxWaitMs > 0) {
        await new Promise<void>((resolve) => {
          const release = (): void => {
            timer.cancel()
            held.delete(release)
            resolve()
          }
          const timer = cluster.clock.setTimer(body.maxWaitMs, release)
          held.add(release)
        })
      }
      let room = body.maxBytes
      return {
        errorCode: 0,
        responses: [
          {
            topic: 't',
            partitions: rows.map((row) => {
              const log = logs[row.partition] ?? new ScriptedLog()
              const isOut = row.fetchOffset < log.startOffset || row.fetchOffset > log.end
              const code =
                errorOf(row.partition, row.currentLeaderEpoch) ||
                (isOut ? errorCode.OFFSET_OUT_OF_RANGE : 0)
              const records =
                code !== 0 || row.fetchOffset === log.end || room <= 0
                  ? Buffer.alloc(0)
                  : log.read(row.fetchOffset, Math.min(room, row.partitionMaxBytes))
              room -= records.length
              return {
                partitionIndex: row.partition,
                errorCode: code,
                highWatermark: log.end,
                lastStableOffset: log.end,
                logStartOffset: log.startOffset,
                abortedTransactions: null,
                records,
              }
            }),
          },
        ],
      }
    })
    broker.on(listOffsets, ({ body }) => ({
      topics: [
        {
          name: 't',
          partitions: body.topics
            .flatMap((topic) => topic.partitions)
            .map(({ partitionIndex, timestamp }) => ({
              partitionIndex,
              errorCode: errorOf(partitionIndex, -1),
              offset:
                timestamp === -1
                  ? (logs[partitionIndex]?.end ?? 0)
                  : (logs[partitionIndex]?.startOffset ?? 0),
            })),
        },
      ],
    }))
  })
  const client = cluster.client()
  return {
    cluster,
    clock: cluster.clock,
    client,
    logs,
    faults,
    /** A batch arrives; long polls return. */
    append: (partition = 0) => {
      logs[partition]?.append()
      for (const release of held) release()
    },
    fetcher: (fetcherOptions: FetcherOptions = {}) => new Fetcher(client, fetcherOptions),
    end: async (fetcher: Fetcher) => {
      await fetcher.close()
      await client.close()
      for (const release of held) release()
      await cluster.clock.settle()
      expect(cluster.network.openCount).toBe(0)
      expect(cluster.clock.timerCount).toBe(0)
    },
  }
}

/** Offsets of the records from `startOffset` on, as a reader of them sees it. */
function offsetsOf(fetched: FetchedRecords): number[] {
  const reader = new RecordBatchReader()
  reader.reset(fetched.records)
  const offsets: number[] = []
  while (reader.nextBatch()) {
    while (reader.next()) if (reader.offset >= fetched.startOffset) offsets.push(reader.offset)
  }
  return offsets
}

const at = (partition: number, offset: number | 'earliest' | 'latest') => ({
  topic: 't',
  partition,
  offset,
})

describe('fetching', () => {
  test('starts at the offset, in the middle of a batch if need be', async () => {
    const { clock, fetcher: make, append, end } = await setUp()
    append()
    append()
    const fetcher = make()
    fetcher.assign([at(0, 1)])
    await clock.run(100)
    const fetched = fetcher.poll()
    expect(fetched).toHaveLength(1)
    expect(fetched[0]).toMatchObject({
      topic: 't',
      partition: 0,
      startOffset: 1,
      nextOffset: 6,
      highWatermark: 6,
      lastStableOffset: 6,
      logStartOffset: 0,
      aborted: [],
      error: undefined,
    })
    expect(fetched.flatMap(offsetsOf)).toEqual([1, 2, 3, 4, 5])
    expect(fetcher.position('t', 0)).toBe(6)
    expect(fetcher.highWatermark('t', 0)).toBe(6)
    expect(fetcher.lag('t', 0)).toBe(0)
    expect(fetcher.poll()).toEqual([])
    await end(fetcher)
  })

  test('goes on with what arrives, woken by the broker', async () => {
    const { clock, fetcher: make, append, end } = await setUp()
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(1000)
    const waiting = fetcher.wait(10_000)
    append()
    await clock.settle()
    await waiting
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([0, 1, 2])
    await end(fetcher)
  })

  test('drops a batch that was cut off, and gets it with the next response', async () => {
    const { clock, fetcher: make, append, logs, end } = await setUp()
    append()
    append()
    const oneAndAHalf = (logs[0]?.batches[0]?.length ?? 0) * 1.5
    const fetcher = make({ maxPartitionFetchBytes: Math.floor(oneAndAHalf) })
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    expect(fetcher.poll().map(offsetsOf)).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ])
    await end(fetcher)
  })

  test('wait returns at its time, on abort, and on close', async () => {
    const { clock, fetcher: make, end } = await setUp()
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    const timed = fetcher.wait(300)
    const abort = new AbortController()
    const aborted = fetcher.wait(60_000, abort.signal)
    const closed = fetcher.wait(60_000)
    await clock.run(300)
    expect(await timed).toBeUndefined()
    abort.abort()
    expect(await aborted).toBeUndefined()
    await end(fetcher)
    expect(await closed).toBeUndefined()
  })

  test('reads from several brokers at once', async () => {
    const { clock, cluster, fetcher: make, append, end } = await setUp({ nodes: 3, partitions: 6 })
    for (const partition of [0, 1, 2, 3, 4, 5]) append(partition)
    const fetcher = make()
    fetcher.assign([0, 1, 2, 3, 4, 5].map((partition) => at(partition, 0)))
    await clock.run(100)
    const fetched = fetcher.poll()
    expect(fetched.map(({ partition }) => partition).sort((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5,
    ])
    for (const node of [1, 2, 3]) {
      expect(cluster.node(node).received(fetch)[0]?.topics[0]?.partitions).toHaveLength(2)
    }
    await end(fetcher)
  })

  test('read-committed is refused until it is supported', async () => {
    const { client } = await setUp()
    expect(() => new Fetcher(client, { isolationLevel: 'read-committed' })).toThrowError(
      /read-committed is not supported yet/,
    )
    await client.close()
  })
})

describe('assignment', () => {
  test('grows and shrinks while others are read on', async () => {
    const { clock, fetcher: make, append, end } = await setUp({ partitions: 2 })
    append(0)
    append(1)
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    expect(fetcher.poll().map(({ partition }) => partition)).toEqual([0])
    fetcher.assign([at(1, 0)])
    await clock.run(100)
    expect(fetcher.poll().map(({ partition }) => partition)).toEqual([1])
    append(0)
    append(1)
    await clock.run(600)
    fetcher.unassign([{ topic: 't', partition: 1 }])
    expect(fetcher.assignment).toEqual([{ topic: 't', partition: 0 }])
    expect(fetcher.poll().map(({ partition }) => partition)).toEqual([0])
    expect(fetcher.position('t', 1)).toBeUndefined()
    expect(fetcher.bufferedBytes).toBe(0)
    await end(fetcher)
  })

  test('a seek drops what was fetched, also what is under way', async () => {
    const { clock, fetcher: make, append, end } = await setUp()
    append()
    append()
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    expect(fetcher.bufferedBytes).toBeGreaterThan(0)
    fetcher.seek('t', 0, 3)
    expect(fetcher.bufferedBytes).toBe(0)
    expect(fetcher.position('t', 0)).toBe(3)
    await clock.run(100)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    // This one overtakes the long poll that is under way from offset 6.
    fetcher.seek('t', 0, 2)
    await clock.run(25)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([2, 3, 4, 5])
    await end(fetcher)
  })

  test('a paused partition is neither fetched nor polled, and keeps what it has', async () => {
    const { clock, cluster, fetcher: make, append, end } = await setUp({ partitions: 2 })
    append(0)
    append(1)
    const fetcher = make()
    fetcher.assign([at(0, 0), at(1, 0)])
    await clock.run(100)
    fetcher.pause('t', 0)
    expect(fetcher.isPaused('t', 0)).toBe(true)
    expect(fetcher.poll().map(({ partition }) => partition)).toEqual([1])
    append(0)
    const before = cluster.node(1).received(fetch).length
    await clock.run(2000)
    const asked = cluster
      .node(1)
      .received(fetch)
      .slice(before + 1)
    expect(asked.length).toBeGreaterThan(0)
    for (const { topics } of asked) {
      expect(topics.flatMap((topic) => topic.partitions.map((row) => row.partition))).toEqual([1])
    }
    const waiting = fetcher.wait(60_000)
    fetcher.resume('t', 0)
    await waiting
    expect(fetcher.poll().flatMap(offsetsOf).slice(0, 3)).toEqual([0, 1, 2])
    await clock.run(50)
    expect(fetcher.position('t', 0)).toBeGreaterThanOrEqual(3)
    await end(fetcher)
  })

  test('a resumed partition that lags does not wait for the long poll of the others', async () => {
    const { clock, fetcher: make, append, end } = await setUp({ partitions: 2 })
    const fetcher = make({ fetchMaxWaitMs: 60_000 })
    fetcher.assign([at(0, 0), at(1, 0)])
    await clock.run(100)
    fetcher.pause('t', 0)
    append(0)
    await clock.run(100)
    append(0)
    await clock.run(100)
    fetcher.poll()
    fetcher.resume('t', 0)
    await clock.run(25)
    const offsets = fetcher.poll().flatMap(offsetsOf)
    expect(offsets.at(-1)).toBe(5)
    await end(fetcher)
  })
})

describe('the budget', () => {
  test('stops fetching while the buffer is full, and goes on after a poll', async () => {
    const { clock, cluster, fetcher: make, append, logs, end } = await setUp()
    for (let batch = 0; batch < 100; batch += 1) append()
    const batchBytes = logs[0]?.batches[50]?.length ?? 0
    const fetcher = make({
      maxPartitionFetchBytes: batchBytes * 10,
      bufferBytesMax: batchBytes * 4,
    })
    fetcher.assign([at(0, 0)])
    await clock.run(1000)
    const requests = cluster.node(1).received(fetch).length
    // The last response has at least one batch, whatever was asked for.
    expect(fetcher.bufferedBytes).toBeLessThanOrEqual(batchBytes * 5)
    await clock.run(5000)
    expect(cluster.node(1).received(fetch)).toHaveLength(requests)
    const offsets: number[] = []
    for (let round = 0; offsets.length < 300 && round < 1000; round += 1) {
      await clock.run(10)
      expect(fetcher.bufferedBytes).toBeLessThanOrEqual(batchBytes * 5)
      offsets.push(...fetcher.poll().flatMap(offsetsOf))
    }
    expect(offsets).toEqual(Array.from({ length: 300 }, (_, index) => index))
    await end(fetcher)
  })

  test('does not count paused partitions, which would starve the others', async () => {
    const { clock, fetcher: make, append, logs, end } = await setUp({ partitions: 2 })
    append(0)
    append(0)
    const batchBytes = logs[0]?.batches[0]?.length ?? 0
    const fetcher = make({ bufferBytesMax: batchBytes })
    fetcher.assign([at(0, 0), at(1, 0)])
    await clock.run(100)
    fetcher.pause('t', 0)
    append(1)
    await clock.run(1000)
    expect(fetcher.poll().map(({ partition }) => partition)).toEqual([1])
    await end(fetcher)
  })

  test('one partition with much does not keep another from being read', async () => {
    const { clock, fetcher: make, append, logs, end } = await setUp({ partitions: 2 })
    for (let batch = 0; batch < 50; batch += 1) append(0)
    append(1)
    const batchBytes = logs[0]?.batches[40]?.length ?? 0
    const fetcher = make({ fetchMaxBytes: batchBytes })
    fetcher.assign([at(0, 0), at(1, 0)])
    const seen: number[] = []
    for (let round = 0; round < 5; round += 1) {
      await clock.run(50)
      seen.push(...fetcher.poll().map(({ partition }) => partition))
    }
    expect(seen).toContain(1)
    await end(fetcher)
  })
})

describe('offsets that are not in the log', () => {
  test('an end of the log is looked for when it is asked for', async () => {
    const { clock, fetcher: make, append, logs, end } = await setUp({ partitions: 2 })
    for (const partition of [0, 1, 0, 1]) append(partition)
    for (const log of logs) log.startOffset = 3
    const fetcher = make()
    fetcher.assign([at(0, 'earliest'), at(1, 'latest')])
    expect(fetcher.position('t', 0)).toBeUndefined()
    await clock.run(100)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    expect(fetcher.position('t', 0)).toBe(6)
    expect(fetcher.position('t', 1)).toBe(6)
    await end(fetcher)
  })

  test('under reset none it is an error of this partition alone, until a seek', async () => {
    const { clock, fetcher: make, append, logs, end } = await setUp({ partitions: 2 })
    for (const partition of [0, 1, 0, 1]) append(partition)
    const [first] = logs
    if (first) first.startOffset = 3
    const fetcher = make()
    fetcher.assign([at(0, 1), at(1, 0)])
    await clock.run(100)
    const fetched = fetcher.poll()
    const failed = fetched.find(({ partition }) => partition === 0)
    expect(failed?.error).toMatchObject({
      code: 'OFFSET_OUT_OF_RANGE',
      context: { topic: 't', partition: 0, offset: 1 },
    })
    expect(failed?.records).toHaveLength(0)
    expect(fetched.filter(({ partition }) => partition === 1).flatMap(offsetsOf)).toHaveLength(6)
    await clock.run(5000)
    expect(fetcher.poll()).toEqual([])
    fetcher.seek('t', 0, 3)
    await clock.run(100)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    await end(fetcher)
  })

  test('under reset earliest or latest reading goes on there', async () => {
    const { clock, fetcher: make, append, logs, end } = await setUp({ partitions: 2 })
    for (const partition of [0, 1, 0, 1]) append(partition)
    for (const log of logs) log.startOffset = 3
    const fetcher = make({ offsetReset: 'latest' })
    fetcher.assign([{ ...at(0, 1), offsetReset: 'earliest' }, at(1, 99)])
    await clock.run(100)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    expect(fetcher.position('t', 1)).toBe(6)
    append(1)
    await clock.run(600)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([6, 7, 8])
    await end(fetcher)
  })
})

describe('faults', () => {
  test('a leader that moves is followed without loss or repetition', async () => {
    const { clock, cluster, fetcher: make, append, end } = await setUp({ nodes: 2 })
    append()
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    const offsets = fetcher.poll().flatMap(offsetsOf)
    cluster.moveLeader('t', 0, 2)
    append()
    await clock.run(2000)
    offsets.push(...fetcher.poll().flatMap(offsetsOf))
    expect(offsets).toEqual([0, 1, 2, 3, 4, 5])
    expect(cluster.node(2).received(fetch)[0]?.topics[0]?.partitions[0]?.currentLeaderEpoch).toBe(1)
    await end(fetcher)
  })

  test('a leader of an old epoch asks for metadata, not for an end', async () => {
    const { clock, cluster, fetcher: make, append, end } = await setUp()
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    cluster.moveLeader('t', 0, 1)
    append()
    await clock.run(2000)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([0, 1, 2])
    await end(fetcher)
  })

  test('a partition without a leader is read once it has one', async () => {
    const { clock, cluster, fetcher: make, append, end } = await setUp()
    append()
    const leader = cluster.leaders.get('t')?.[0]
    if (leader) leader.node = -1
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(5000)
    expect(fetcher.poll()).toEqual([])
    cluster.moveLeader('t', 0, 1)
    await clock.run(2000)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([0, 1, 2])
    await end(fetcher)
  })

  test('connections that break, and a broker that is away, only delay', async () => {
    const { clock, cluster, fetcher: make, append, end } = await setUp({ partitions: 2 })
    append(0)
    const fetcher = make()
    fetcher.assign([at(0, 0), at(1, 0)])
    await clock.run(100)
    cluster.network.cut()
    append(1)
    await clock.run(3000)
    const partitions = fetcher.poll().map(({ partition }) => partition)
    expect(new Set(partitions)).toEqual(new Set([0, 1]))
    await end(fetcher)
  })

  test('a broker that hangs is left after the request timeout', async () => {
    const { clock, cluster, fetcher: make, append, end } = await setUp({ nodes: 2 })
    append()
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    fetcher.poll()
    cluster.network.stall('kafka-1:9092')
    cluster.moveLeader('t', 0, 2)
    append()
    // The long poll of half a second, then the timeout of the request, then metadata from node 2.
    await clock.run(75_000)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    cluster.network.resume('kafka-1:9092')
    await end(fetcher)
  })

  test('a passing error of one partition does not disturb another', async () => {
    const { clock, fetcher: make, append, faults, end } = await setUp({ partitions: 2 })
    append(0)
    append(1)
    faults.set('1/0', errorCode.OFFSET_NOT_AVAILABLE)
    const fetcher = make()
    fetcher.assign([at(0, 0), at(1, 0)])
    await clock.run(1000)
    expect(fetcher.poll().map(({ partition }) => partition)).toEqual([1])
    faults.clear()
    await clock.run(2000)
    expect(fetcher.poll().map(({ partition }) => partition)).toEqual([0])
    await end(fetcher)
  })

  test('an error that cannot pass is told once, for its partition', async () => {
    const { clock, fetcher: make, append, faults, end } = await setUp({ partitions: 2 })
    append(0)
    append(1)
    faults.set('1/0', errorCode.TOPIC_AUTHORIZATION_FAILED)
    const fetcher = make()
    fetcher.assign([at(0, 0), at(1, 0)])
    await clock.run(1000)
    const fetched = fetcher.poll()
    expect(fetched.find(({ partition }) => partition === 0)?.error).toMatchObject({
      code: 'KAFKA_ERROR',
      context: { api: 'Fetch', subject: 't-0', error: 'TOPIC_AUTHORIZATION_FAILED' },
    })
    expect(fetched.filter(({ partition }) => partition === 1).flatMap(offsetsOf)).toEqual([0, 1, 2])
    await clock.run(5000)
    expect(fetcher.poll()).toEqual([])
    await end(fetcher)
  })

  test('records that are no batches stop the partition with the reason', async () => {
    const { clock, fetcher: make, append, logs, end } = await setUp()
    append()
    const batch = logs[0]?.batches[0]
    batch?.writeInt8(1, 16)
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    expect(fetcher.poll()[0]?.error).toMatchObject({
      code: 'RECORD_BATCH_UNSUPPORTED',
      context: { offset: 0, magic: 1 },
    })
    await end(fetcher)
  })

  test('a response that lacks a partition does not end in a busy loop', async () => {
    const { clock, cluster, fetcher: make, end } = await setUp()
    cluster.node(1).on(fetch, () => ({ errorCode: 0, responses: [] }))
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(10_000)
    expect(cluster.node(1).received(fetch).length).toBeLessThan(20)
    await end(fetcher)
  })

  test('a broker that never has what it claims to have is not asked in a busy loop', async () => {
    const { clock, cluster, fetcher: make, end } = await setUp()
    cluster.node(1).on(fetch, () => ({
      errorCode: 0,
      responses: [
        {
          topic: 't',
          partitions: [
            {
              partitionIndex: 0,
              errorCode: 0,
              highWatermark: 10,
              abortedTransactions: null,
              records: null,
            },
          ],
        },
      ],
    }))
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(10_000)
    expect(cluster.node(1).received(fetch).length).toBeLessThan(20)
    await end(fetcher)
  })

  test('closing does not wait for a broker that hangs', async () => {
    const { clock, cluster, fetcher: make, client } = await setUp()
    cluster.network.stall('kafka-1:9092')
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    await fetcher.close()
    await client.close()
    expect(clock.timerCount).toBe(0)
  })
})
