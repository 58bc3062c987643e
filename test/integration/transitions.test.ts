/** An application is stopped, and goes on with another guarantee or another group protocol. */
import { expect, test } from 'vitest'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import type { StreamsConfig } from '../../src/config.ts'
import { classicOnly, type TestCluster } from './test-cluster.ts'
import { until } from './until.ts'
import { counts, held, isEqual, poem, startedCluster, wordCount } from './word-count.ts'

type Way = Required<Pick<StreamsConfig, 'processingGuarantee' | 'groupProtocol'>>

const atLeastOnce = { processingGuarantee: 'at-least-once', groupProtocol: 'classic' } as const
const exactlyOnce = { processingGuarantee: 'exactly-once', groupProtocol: 'classic' } as const
const streamsOnce = { processingGuarantee: 'exactly-once', groupProtocol: 'streams' } as const
const streamsLeast = { processingGuarantee: 'at-least-once', groupProtocol: 'streams' } as const

/** Three lines, and the fourteen words in them. */
const recordsOfPoem = 17

/** What is committed of the lines, partition by partition. */
async function committed(cluster: TestCluster): Promise<number[]> {
  const lines = [0, 1, 2, 3].map((partition) => ({ topic: cluster.name('lines'), partition }))
  const found = await fetchCommittedOffsets(cluster.client, cluster.name('word-count'), lines)
  return lines.map(({ topic, partition }) => found.get(`${topic}-${partition}`)?.offset ?? 0)
}

/** Each way in its turn, with a poem more to count; the state is that of the turn before. */
test.skipIf(classicOnly.skip).each<{ what: string; ways: readonly Way[] }>([
  {
    what: 'from at least once to exactly once and back',
    ways: [atLeastOnce, exactlyOnce, atLeastOnce, exactlyOnce],
  },
  {
    what: 'from the classic protocol to streams and back',
    ways: [atLeastOnce, streamsLeast, atLeastOnce, streamsLeast],
  },
  { what: 'with both at once', ways: [exactlyOnce, streamsLeast, streamsOnce, atLeastOnce] },
])('state and offsets go on, and nothing is processed twice, $what', async ({ ways }) => {
  await using cluster = await startedCluster()
  for (const [turn, way] of ways.entries()) {
    await cluster.write('lines', poem)
    const before = await committed(cluster)
    let restoredCount = 0
    const streams = cluster.streams(wordCount(cluster), 'a', { ...way, standbyReplicas: 0 })
    streams.on('restore', ({ restored }) => (restoredCount += restored))
    streams.closed.catch(() => undefined)
    await streams.start()
    const expected = Object.fromEntries(
      Object.entries(counts).map(([word, count]) => [word, count * (turn + 1)]),
    )
    await until(async () => isEqual(expected, await held(streams)))
    await streams.close({ leaveGroup: true })
    expect(streams.metrics.recordsProcessed.value).toBe(recordsOfPoem)
    // What is on disk is used as it is.
    expect(restoredCount).toBe(0)
    const after = await committed(cluster)
    const done = after.map((offset, partition) => offset - (before[partition] ?? 0))
    expect(done).toEqual([1, 1, 1, 0])
  }
})
