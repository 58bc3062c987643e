import { describe, expect, test } from 'vitest'
import { at, offsetsOf, startFetching } from '../../test/peers/scripted-logs.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'

describe('offsets that are not in the log', () => {
  test('an end of the log is looked for when it is asked for', async () => {
    const { clock, fetcher: make, append, logs, end } = await startFetching({ partitions: 2 })
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

  test('a time is looked for: the first record that is not older, or the end', async () => {
    const { clock, fetcher: make, append, logs, end } = await startFetching({ partitions: 2 })
    for (const partition of [0, 1, 0, 1]) append(partition)
    for (const log of logs) log.startOffset = 3
    const fetcher = make()
    fetcher.assign([at(0, { time: 1000 }), at(1, { time: 1001 })])
    await clock.run(100)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    expect(fetcher.position('t', 1)).toBe(6)
    await end(fetcher)
  })

  test('under a reset by duration reading goes on with the records of that time', async () => {
    const { clock, fetcher: make, append, logs, end } = await startFetching({ partitions: 2 })
    for (const partition of [0, 1, 0, 1]) append(partition)
    for (const log of logs) log.startOffset = 3
    const fetcher = make({ offsetReset: { byDuration: 60_000 } })
    fetcher.assign([{ ...at(0, 1), offsetReset: { byDuration: clock.now() } }, at(1, 1)])
    await clock.run(100)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    expect(fetcher.position('t', 1)).toBe(6)
    await end(fetcher)
  })

  test('under reset none it is an error of this partition alone, until a seek', async () => {
    const { clock, fetcher: make, append, logs, end } = await startFetching({ partitions: 2 })
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
    const { clock, fetcher: make, append, logs, end } = await startFetching({ partitions: 2 })
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
    const { clock, cluster, fetcher: make, append, end } = await startFetching({ nodes: 2 })
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
    const { clock, cluster, fetcher: make, append, end } = await startFetching()
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
    const { clock, cluster, fetcher: make, append, end } = await startFetching()
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
    const { clock, cluster, fetcher: make, append, end } = await startFetching({ partitions: 2 })
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
    const { clock, cluster, fetcher: make, append, end } = await startFetching({ nodes: 2 })
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
    const { clock, fetcher: make, append, faults, end } = await startFetching({ partitions: 2 })
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
    const { clock, fetcher: make, append, faults, end } = await startFetching({ partitions: 2 })
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
    const { clock, fetcher: make, append, logs, end } = await startFetching()
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
    const { clock, cluster, fetcher: make, end } = await startFetching()
    cluster.node(1).on(fetch, () => ({ errorCode: 0, responses: [] }))
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(10_000)
    expect(cluster.node(1).received(fetch).length).toBeLessThan(20)
    await end(fetcher)
  })

  test('a broker that never has what it claims to have is not asked in a busy loop', async () => {
    const { clock, cluster, fetcher: make, end } = await startFetching()
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
    const { clock, cluster, fetcher: make, client } = await startFetching()
    cluster.network.stall('kafka-1:9092')
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    await fetcher.close()
    await client.close()
    expect(clock.timerCount).toBe(0)
  })
})
