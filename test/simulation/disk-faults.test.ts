/** Disks that are full, or fail a write, under an instance that runs; others take over, and nothing is lost. */
import { expect, test } from 'vitest'
import { StreamsBuilder, isStreamsError, keyValueStore, serdes, topic } from '../../src/index.ts'
import { simulatedCluster, type SimulatedCluster } from '../../src/testing/simulated-cluster.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'

const words = topic('words', { key: serdes.string, value: serdes.string })
const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
const partitions = 4
const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`)

function counting() {
  const builder = new StreamsBuilder()
  builder.stream(words).groupByKey().count({ store: counts })
  return builder.build()
}

async function start(cluster: SimulatedCluster, name: string): Promise<SimulatedInstance> {
  const instance = cluster.instance(name, counting(), {
    applicationId: 'app',
    processingGuarantee: 'exactly-once',
    commitInterval: 200,
    standbyReplicas: 0,
  })
  instance.start()
  await cluster.until(() => instance.state === 'running')
  return instance
}

/** The counts of all keys that an instance has. */
async function rowsOf(
  cluster: SimulatedCluster,
  { streams }: SimulatedInstance,
): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  const read = async (): Promise<void> => {
    for await (const [key, count] of streams.store(counts).range()) rows[key] = count
  }
  await cluster.run(read())
  return rows
}

const activeCount = ({ streams }: SimulatedInstance): number =>
  streams.localTasks().filter(({ role, state }) => role === 'active' && state === 'running').length

const isOfDisk = (failure: unknown): boolean =>
  isStreamsError(failure, 'DISK_FAILED') ||
  (failure instanceof Error && failure.cause !== undefined && isOfDisk(failure.cause))

const faults: [string, (instance: SimulatedInstance) => void][] = [
  [
    'is full',
    ({ machine: { disk } }) => {
      disk.capacityBytes = disk.usedBytes + 10
    },
  ],
  ['fails a write half way', ({ machine: { disk } }) => disk.failWrite({ after: 1 })],
]

test.each(faults)(
  'an instance whose disk %s stops with that error, another one takes over, and the state is whole',
  { timeout: 120_000 },
  async (_what, fault) => {
    await using cluster = await simulatedCluster({ seed: 5 })
    await cluster.createTopic(words, { partitions })
    const a = await start(cluster, 'a')
    const b = await start(cluster, 'b')
    await cluster.until(() => activeCount(a) === 2 && activeCount(b) === 2)
    const write = (): Promise<void> =>
      cluster.produce(
        words,
        keys.map((key) => ({ key, value: 'word' })),
      )

    await write()
    await cluster.advance(1000)
    fault(a)
    await write()
    await cluster.until(() => a.state === 'error')
    expect(isOfDisk(a.failure)).toBe(true)
    expect(a.failure?.message).toContain('the disk is full or failing')

    await cluster.until(() => activeCount(b) === partitions)
    await write()
    await cluster.advance(1000)
    expect(await rowsOf(cluster, b)).toEqual(Object.fromEntries(keys.map((key) => [key, 3])))

    // There is room again: what is on the disk is used, and is not wrong.
    a.machine.disk.capacityBytes = Infinity
    a.kill()
    a.start()
    await cluster.until(() => a.state === 'running' && activeCount(a) === 2)
    await write()
    await cluster.advance(1000)
    const all = { ...(await rowsOf(cluster, a)), ...(await rowsOf(cluster, b)) }
    expect(all).toEqual(Object.fromEntries(keys.map((key) => [key, 4])))
  },
)
