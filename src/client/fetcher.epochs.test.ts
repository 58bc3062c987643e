/** A log that was cut when its leader changed (KIP-320). */
import { describe, expect, test } from 'vitest'
import { at, offsetsOf, startFetching } from '../../test/peers/scripted-logs.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'
import { offsetForLeaderEpoch } from '../protocol/messages/23-offset-for-leader-epoch.ts'

/** A fetcher that has read six records of epoch 0 and then sees another leader, in epoch 1. */
async function readThenMove(
  options: Parameters<Awaited<ReturnType<typeof startFetching>>['fetcher']>[0],
) {
  const setUp = await startFetching({ nodes: 2 })
  setUp.logs[0]?.append(0)
  setUp.logs[0]?.append(0)
  const fetcher = setUp.fetcher(options)
  fetcher.assign([at(0, 0)])
  await setUp.clock.run(100)
  expect(fetcher.poll().flatMap(offsetsOf)).toEqual([0, 1, 2, 3, 4, 5])
  setUp.cluster.moveLeader('t', 0, 2)
  return { ...setUp, fetcher }
}

test('a new leader is asked first whether it has what was read', async () => {
  const { clock, cluster, logs, fetcher, end } = await readThenMove({ offsetReset: 'earliest' })
  logs[0]?.append(1)
  await clock.run(2000)
  const asked = cluster.node(2).received(offsetForLeaderEpoch)
  expect(asked).toMatchObject([
    {
      replicaId: -1,
      topics: [
        { topic: 't', partitions: [{ partition: 0, currentLeaderEpoch: 1, leaderEpoch: 0 }] },
      ],
    },
  ])
  expect(fetcher.poll().flatMap(offsetsOf)).toEqual([6, 7, 8])
  await end(fetcher)
})

test('an answer of an old leader, and one that fails, is asked for again', async () => {
  const { clock, cluster, logs, faults, fetcher, end } = await readThenMove({})
  logs[0]?.append(1)
  faults.set('2/0', 6)
  await clock.run(1000)
  expect(cluster.node(2).received(fetch)).toHaveLength(0)
  faults.clear()
  await clock.run(2000)
  expect(fetcher.poll().flatMap(offsetsOf)).toEqual([6, 7, 8])
  await end(fetcher)
})

describe('a leader that lacks some of it', () => {
  test('is read from where the two agree, when a reset is allowed', async () => {
    const { clock, logs, fetcher, end } = await readThenMove({ offsetReset: 'earliest' })
    logs[0]?.batches.pop()
    logs[0]?.append(1)
    await clock.run(2000)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
    await end(fetcher)
  })

  test('is an error of the partition, when none is', async () => {
    const { clock, logs, fetcher, end } = await readThenMove({ offsetReset: 'none' })
    logs[0]?.batches.pop()
    logs[0]?.append(1)
    await clock.run(2000)
    expect(fetcher.poll()).toMatchObject([
      {
        error: {
          code: 'OFFSET_OUT_OF_RANGE',
          context: {
            topic: 't',
            partition: 0,
            offset: 6,
            detail: 'the new leader has the records that were read only up to 3',
          },
        },
      },
    ])
    await end(fetcher)
  })

  test('drops what was fetched of the old one and not yet polled', async () => {
    const setUp = await startFetching({ nodes: 2 })
    const { clock, cluster, logs, end } = setUp
    for (const _ of [1, 2]) logs[0]?.append(0)
    const fetcher = setUp.fetcher({ offsetReset: 'earliest' })
    fetcher.assign([at(0, 0)])
    await clock.run(100)
    cluster.moveLeader('t', 0, 2)
    logs[0]?.batches.pop()
    logs[0]?.append(1)
    logs[0]?.append(1)
    await clock.run(2000)
    const polled = fetcher.poll()
    expect(polled.flatMap(offsetsOf)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    await end(fetcher)
  })

  test('has none at all: reading begins where the reset says', async () => {
    const { clock, logs, fetcher, end } = await readThenMove({ offsetReset: 'earliest' })
    logs[0]?.batches.splice(0)
    logs[0]?.append(1)
    await clock.run(2000)
    expect(fetcher.poll().flatMap(offsetsOf)).toEqual([0, 1, 2])
    await end(fetcher)
  })
})

test('an offset that was committed with its epoch is checked before anything is read', async () => {
  const { clock, cluster, logs, fetcher: make, end } = await startFetching()
  logs[0]?.append(0)
  cluster.moveLeader('t', 0, 1)
  logs[0]?.append(1)
  const fetcher = make({ offsetReset: 'earliest' })
  // The group has read six records of epoch 0, of which the log has kept three.
  fetcher.assign([{ ...at(0, 6), leaderEpoch: 0 }])
  await clock.run(1000)
  expect(fetcher.poll().flatMap(offsetsOf)).toEqual([3, 4, 5])
  expect(cluster.node(1).received(fetch)[0]?.topics[0]?.partitions[0]?.fetchOffset).toBe(3)
  await end(fetcher)
})

test('an offset without an epoch is believed', async () => {
  const { clock, cluster, logs, fetcher: make, end } = await startFetching()
  logs[0]?.append(0)
  cluster.moveLeader('t', 0, 1)
  const fetcher = make()
  fetcher.assign([at(0, 0)])
  await clock.run(1000)
  expect(fetcher.poll().flatMap(offsetsOf)).toEqual([0, 1, 2])
  expect(cluster.node(1).received(offsetForLeaderEpoch)).toEqual([])
  await end(fetcher)
})
