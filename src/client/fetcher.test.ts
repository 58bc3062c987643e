import { describe, expect, test } from 'vitest'
import { at, offsetsOf, startFetching } from '../../test/peers/scripted-logs.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'

describe('fetching', () => {
  test('starts at the offset, in the middle of a batch if need be', async () => {
    const { clock, fetcher: make, append, end } = await startFetching()
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
    const { clock, fetcher: make, append, end } = await startFetching()
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
    const { clock, fetcher: make, append, logs, end } = await startFetching()
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
    const { clock, fetcher: make, end } = await startFetching()
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

  test('ends with its client, in the middle of a fetch', async () => {
    const { clock, client, fetcher: make, end } = await startFetching()
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    const waiting = fetcher.wait(60_000)
    await client.close()
    // What asks a closed client again in the same turn would never let this one go on.
    await clock.settle()
    expect(await waiting).toBeUndefined()
    expect(fetcher.poll()).toEqual([])
    await end(fetcher)
  })

  test('reads from several brokers at once', async () => {
    const {
      clock,
      cluster,
      fetcher: make,
      append,
      end,
    } = await startFetching({ nodes: 3, partitions: 6 })
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
})

describe('assignment', () => {
  test('grows and shrinks while others are read on', async () => {
    const { clock, fetcher: make, append, end } = await startFetching({ partitions: 2 })
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
    const { clock, fetcher: make, append, end } = await startFetching()
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
    const { clock, cluster, fetcher: make, append, end } = await startFetching({ partitions: 2 })
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
    const { clock, fetcher: make, append, end } = await startFetching({ partitions: 2 })
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
    const { clock, cluster, fetcher: make, append, logs, end } = await startFetching()
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
    const { clock, fetcher: make, append, logs, end } = await startFetching({ partitions: 2 })
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
    const { clock, fetcher: make, append, logs, end } = await startFetching({ partitions: 2 })
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
