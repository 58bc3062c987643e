import { describe, expect, test } from 'vitest'
import { at, startFetching, valuesOf } from '../../test/peers/scripted-logs.ts'
import { TransactionalLog } from '../../test/peers/transactional-log.ts'
import { seededRandom, randomInteger } from '../base/random.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'
import { listOffsets } from '../protocol/messages/2-list-offsets.ts'

const committed = { isolation: 'read_committed' } as const

async function setUp() {
  const log = new TransactionalLog()
  return { log, ...(await startFetching({ logs: [log] })) }
}

describe('committed records', () => {
  test('are read and aborted ones left out, whether or not they share a response', async () => {
    const { log, clock, fetcher: make, end } = await setUp()
    log.write(-1, ['plain'])
    log.write(7, ['x', 'x'])
    log.write(8, ['a'])
    log.finish(8, 'commit')
    log.finish(7, 'abort')
    log.write(7, ['b'])
    log.finish(7, 'commit')
    for (const maxPartitionFetchBytes of [1, 1_000_000]) {
      const fetcher = make({ ...committed, maxPartitionFetchBytes })
      fetcher.assign([at(0, 0)])
      await clock.run(200)
      const fetched = []
      for (let polls = 0; polls < 20; polls += 1) {
        fetched.push(...fetcher.poll())
        await clock.run(20)
      }
      expect(fetched.flatMap(valuesOf)).toEqual(['plain', 'a', 'b'])
      expect(fetcher.position('t', 0)).toBe(log.end)
      await fetcher.close()
    }
    await end(make())
  })

  test('are read up to the first open transaction, and on when it ends', async () => {
    const { log, clock, cluster, fetcher: make, end } = await setUp()
    log.write(-1, ['a'])
    log.write(7, ['b'])
    log.write(-1, ['c'])
    const fetcher = make(committed)
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    expect(fetcher.poll().flatMap(valuesOf)).toEqual(['a'])
    expect(fetcher.position('t', 0)).toBe(1)
    expect(fetcher.highWatermark('t', 0)).toBe(3)
    // Nothing more can be read: nobody should wait for it, and the broker holds the question.
    expect(fetcher.lag('t', 0)).toBe(0)
    const asked = cluster.node(1).received(fetch).length
    await clock.run(1000)
    expect(cluster.node(1).received(fetch).length).toBeLessThanOrEqual(asked + 3)
    log.finish(7, 'commit')
    await clock.run(600)
    expect(fetcher.poll().flatMap(valuesOf)).toEqual(['b', 'c'])
    await end(fetcher)
  })

  test('end where the first open transaction begins, for who starts at the end', async () => {
    const { log, clock, cluster, fetcher: make, end } = await setUp()
    log.write(-1, ['a'])
    log.write(7, ['b'])
    const fetcher = make(committed)
    fetcher.assign([at(0, 'latest')])
    await clock.run(100)
    expect(fetcher.position('t', 0)).toBe(1)
    expect(cluster.node(1).received(listOffsets)[0]?.isolationLevel).toBe(1)
    log.finish(7, 'commit')
    await clock.run(600)
    expect(fetcher.poll().flatMap(valuesOf)).toEqual(['b'])
    await end(fetcher)
  })

  test('may be none for long: the position moves on, without a wait', async () => {
    const { log, clock, fetcher: make, end } = await setUp()
    for (let batch = 0; batch < 200; batch += 1) log.write(7, ['x'])
    log.finish(7, 'abort')
    log.write(-1, ['a'])
    const fetcher = make({ ...committed, maxPartitionFetchBytes: 1 })
    fetcher.assign([at(0, 0)])
    const fetched = []
    for (let polls = 0; polls < 250; polls += 1) {
      await clock.run(1)
      fetched.push(...fetcher.poll())
    }
    expect(fetched.flatMap(valuesOf)).toEqual(['a'])
    expect(fetched[0]).toMatchObject({ startOffset: 1, nextOffset: 1 })
    expect(fetcher.position('t', 0)).toBe(log.end)
    await end(fetcher)
  })

  test('all are read under read_uncommitted', async () => {
    const { log, clock, fetcher: make, end } = await setUp()
    log.write(7, ['x'])
    log.finish(7, 'abort')
    log.write(8, ['open'])
    const fetcher = make()
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    expect(fetcher.poll().flatMap(valuesOf)).toEqual(['x', 'open'])
    await end(fetcher)
  })
})

test('whatever producers did, wherever responses are cut and reading begins (60 seeds)', async () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = seededRandom(seed)
    const { log, clock, fetcher: make, end } = await setUp()
    const write = (): void => {
      const producer = randomInteger(random, 5)
      const chance = random.next()
      if (producer === 4) log.write(-1, [`plain at ${log.end}`])
      else if (chance < 0.6) {
        const count = 1 + randomInteger(random, 3)
        log.write(
          producer,
          Array.from({ length: count }, (_, i) => `${producer} at ${log.end + i}`),
        )
      } else log.finish(producer, chance < 0.8 ? 'commit' : 'abort')
    }
    for (let step = 0; step < 80; step += 1) write()
    const from = randomInteger(random, Math.max(1, log.stableEnd))
    const fetcher = make({ ...committed, maxPartitionFetchBytes: 1 + randomInteger(random, 600) })
    fetcher.assign([at(0, from)])
    const values: string[] = []
    const read = async (): Promise<void> => {
      for (let polls = 0; polls < 100; polls += 1) {
        await clock.run(5)
        values.push(...fetcher.poll().flatMap(valuesOf))
      }
    }
    await read()
    for (let step = 0; step < 40; step += 1) write()
    for (let producer = 0; producer < 4; producer += 1) log.finish(producer, 'abort')
    await clock.run(500)
    await read()
    expect(values, `seed ${seed}`).toEqual(log.committedValues(from))
    expect(fetcher.position('t', 0)).toBe(log.end)
    await end(fetcher)
  }
})
