import { expect, test } from 'vitest'
import { systemPorts } from '../../src/config.ts'
import { isStreamsError, type KafkaStreams } from '../../src/index.ts'
import { CutTransport } from './cut-transport.ts'
import { classicOnly } from './test-cluster.ts'
import { until } from './until.ts'
import {
  counts,
  held,
  heldByAll,
  poem,
  startedCluster,
  wordCount,
  wordCounts,
} from './word-count.ts'

const activeIds = (streams: KafkaStreams): string[] =>
  streams.localTasks().flatMap(({ id, role }) => (role === 'active' ? id : []))

test(
  'an instance that is new follows what it is to have, and takes over what is restored',
  classicOnly,
  async ({ signal }) => {
    await using cluster = await startedCluster()
    const config = { acceptableRecoveryLag: 0, probingRebalanceInterval: 300, standbyReplicas: 0 }
    const a = cluster.streams(wordCount(cluster), 'a', config)
    await a.start()
    await cluster.write('lines', poem)
    const isCounted = async (): Promise<boolean> => (await held(a))['to'] === counts.to
    await until(isCounted, signal)
    // What is counted is in the changelog by the next commit.
    await until(
      async () => (await cluster.read('word-count-word-counts-changelog')).length > 0,
      signal,
    )

    const b = cluster.streams(wordCount(cluster), 'b', config)
    let restored = 0
    const followed = new Set<string>()
    b.on('restore', (progress) => {
      restored += progress.phase === 'batch' ? progress.restored : 0
    })
    b.on('standbyUpdate', ({ taskId }) => followed.add(taskId))
    await b.start()
    const counting = (): string[] => activeIds(b).filter((id) => id.startsWith('1_'))
    await until(() => counting().length === 2 && activeIds(a).length === 4, signal)

    expect(counting().length).toBe(2)
    expect(counting().every((id) => followed.has(id))).toBe(true)
    expect(restored).toBe(0)
    expect(await until(() => heldByAll(a, b).catch(() => undefined), signal)).toEqual(counts)
  },
)

test('an instance that is cut off does not answer as the owner, and does when it is back', async ({
  signal,
}) => {
  await using cluster = await startedCluster()
  const transport = new CutTransport()
  const ports = { ...systemPorts, transport }
  const a = cluster.streams(wordCount(cluster), 'a', { sessionTimeout: 1500 }, ports)
  await a.start()
  await cluster.write('lines', poem)
  await until(async () => (await held(a))['to'] === counts.to, signal)

  transport.cut()
  const store = a.store(wordCounts)
  const refusal = (): Promise<unknown> =>
    store.get('to').then(
      () => undefined,
      (error: unknown) => error,
    )
  const error = await until(refusal, signal)
  expect(isStreamsError(error, 'STORE_MIGRATED')).toBe(true)
  expect(await store.get('to', { consistency: 'any' })).toBe(counts.to)
  // Another one may have counted on since.
  await expect(store.get('to', { maxLag: 1000 })).rejects.toMatchObject({
    code: 'STORE_NOT_AVAILABLE',
    message: expect.stringContaining('cut off from its group') as string,
  })

  transport.heal()
  await until(async () => (await refusal()) === undefined, signal)
  // Other partitions may still restore.
  expect(await until(() => held(a).catch(() => undefined), signal)).toEqual(counts)
})
