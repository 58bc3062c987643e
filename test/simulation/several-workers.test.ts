/** Several workers in one process, on virtual time: all in this thread, each a member of the group. */
import { expect, test } from 'vitest'
import { Admin } from '../../src/client/admin.ts'
import { GroupCoordinator } from '../../src/client/group-coordinator.ts'
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import {
  simulatedCluster,
  type SimulatedCluster,
  type SimulatedInstanceConfig,
} from '../../src/testing/simulated-cluster.ts'

const applicationId = 'words'
const partitions = 6
const words = topic('words', { key: serdes.string, value: serdes.string })
const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

function counting(onWord: (word: string) => void = () => undefined): Topology {
  const builder = new StreamsBuilder()
  builder.stream(words).peek(onWord).groupByKey().count({ store: counts })
  return builder.build()
}

const config: SimulatedInstanceConfig = {
  applicationId,
  workers: 3,
  processingGuarantee: 'exactly-once',
  standbyReplicas: 0,
}

async function cluster(): Promise<SimulatedCluster> {
  const made = await simulatedCluster()
  await made.createTopic(words, { partitions })
  return made
}

/** Writes each of 30 keys once. */
async function write({ produce }: Pick<SimulatedCluster, 'produce'>): Promise<void> {
  await produce(
    words,
    Array.from({ length: 30 }, (_, index) => ({ key: `key-${index}`, value: 'word' })),
  )
}

async function total(made: SimulatedCluster, ...all: KafkaStreams[]): Promise<number> {
  let sum = 0
  const ask = async (): Promise<void> => {
    for (const streams of all) {
      for await (const [, count] of streams.store(counts).range()) sum += count
    }
  }
  await made.run(ask())
  return sum
}

/** Numbers of the workers, with how many tasks each runs. */
const shares = (streams: KafkaStreams): [number, number][] =>
  streams.localWorkers().map(({ number, tasks }) => [number, tasks.length])

/** What an instance has read: cheap enough to be asked after each event. */
class Seen {
  count = 0
  readonly topology = counting(() => {
    this.count += 1
  })
}

const timeout = 60_000

for (const groupProtocol of ['classic', 'streams'] as const) {
  test(
    `the tasks of an instance are shared by its workers (${groupProtocol})`,
    { timeout },
    async () => {
      await using made = await cluster()
      const seen = new Seen()
      const a = made.instance('a', seen.topology, { ...config, groupProtocol })
      a.start()
      await made.until(() => a.state === 'running')
      await write({ produce: (...args) => made.produce(...args) })
      // Where a broker assigns, the first one to join may have all tasks until the others are heard of.
      await made.until(
        () => a.state === 'running' && shares(a.streams).every(([, tasks]) => tasks === 2),
      )
      await made.until(() => seen.count === 30)
      await made.advance(1000)

      expect(shares(a.streams)).toEqual([
        [1, 2],
        [2, 2],
        [3, 2],
      ])
      expect(await total(made, a.streams)).toBe(30)
      expect(
        a.streams
          .localTasks()
          .map(({ id }) => id)
          .sort(),
      ).toEqual(Array.from({ length: partitions }, (_, partition) => `0_${partition}`))
      expect(new Set(a.streams.allLocalStorePartitionLags().get('counts')?.keys())).toEqual(
        new Set([0, 1, 2, 3, 4, 5]),
      )
    },
  )

  test(`workers come and go, and lose nothing (${groupProtocol})`, { timeout }, async () => {
    await using made = await cluster()
    const seen = new Seen()
    const a = made.instance('a', seen.topology, { ...config, groupProtocol })
    a.start()
    await made.until(() => a.state === 'running')
    const { streams } = a
    await write({ produce: (...args) => made.produce(...args) })

    expect(streams.addWorker()).toBe(4)
    expect(streams.state).toBe('rebalancing')
    // Six tasks for four: a broker that assigns leaves two with each of the three, as Kafka's does.
    const least = groupProtocol === 'classic' ? 1 : 0
    await made.until(
      () => a.state === 'running' && shares(streams).every(([, tasks]) => tasks >= least),
    )
    expect(await made.run(streams.removeWorker())).toBe(4)
    expect(await made.run(streams.removeWorker())).toBe(3)
    await write({ produce: (...args) => made.produce(...args) })
    await made.until(() => shares(streams).every(([, tasks]) => tasks === 3))
    expect(streams.addWorker()).toBe(3)
    await made.until(
      () => shares(streams).every(([, tasks]) => tasks === 2) && a.state === 'running',
    )
    await made.until(() => seen.count === 60)
    await made.advance(1000)

    expect(await total(made, streams)).toBe(60)
    // All three that were begun first, the fourth, and the third once more.
    expect(shares(streams).map(([number]) => number)).toEqual([1, 2, 3])
  })
}

test('all workers can be removed, and others added', { timeout }, async () => {
  await using made = await cluster()
  const seen = new Seen()
  const a = made.instance('a', seen.topology, config)
  a.start()
  await made.until(() => a.state === 'running')
  for (const number of [3, 2, 1, undefined]) {
    expect(await made.run(a.streams.removeWorker())).toBe(number)
  }
  expect(a.streams.localTasks()).toEqual([])

  expect(a.streams.addWorker()).toBe(1)
  await made.until(() => a.state === 'running' && a.streams.localTasks().length === partitions)
  await write({ produce: (...args) => made.produce(...args) })
  await made.until(() => seen.count === 30)
  await a.stop()
  expect(a.failure).toBeUndefined()
})

test(
  'a member that was thrown out closes its tasks before a sibling opens them',
  { timeout },
  async () => {
    await using made = await cluster()
    const a = made.instance('a', counting(), { ...config, workers: 2 })
    a.start()
    await made.until(() => a.state === 'running')
    const members = async () =>
      (await new Admin(made.client).describeGroups([applicationId]))[0]?.members ?? []
    for (let round = 1; round <= 6; round += 1) {
      const [member] = await made.run(members())
      if (member === undefined) throw new Error('the group has no members')
      const coordinator = new GroupCoordinator(made.client, applicationId)
      const { memberId } = member
      await made.run(coordinator.leaveGroup({ memberId, instanceId: null }))
      await write({ produce: (...args) => made.produce(...args) })
      await made.advance(round * 700)
      await made.until(() => a.state === 'running' && shares(a.streams).every(([, n]) => n === 3))
    }
    await made.advance(20_000)

    expect(a.failure).toBeUndefined()
    expect(await total(made, a.streams)).toBe(180)
  },
)

test('only the worker that fails is replaced', { timeout }, async () => {
  await using made = await cluster()
  let isBad = true
  const errors: Error[] = []
  const onWord = (word: string): void => {
    if (word === 'bad' && isBad) throw new RangeError('it is bad')
  }
  const a = made.instance('a', counting(onWord), {
    ...config,
    onUncaughtError: (error) => {
      errors.push(error)
      isBad = false
      return 'replace-worker'
    },
  })
  a.start()
  await made.until(() => a.state === 'running')
  await write({ produce: (...args) => made.produce(...args) })
  await made.produce(words, [{ key: 'key-1', value: 'bad' }])
  await made.until(() => errors.length > 0)
  expect(a.streams.localWorkers().filter(({ state }) => state === 'starting')).toHaveLength(1)
  await made.until(() => a.state === 'running' && shares(a.streams).every(([, n]) => n === 2))
  await made.advance(5000)

  expect(await total(made, a.streams)).toBe(31)
  expect(a.failure).toBeUndefined()
})

test(
  'a worker that fails ends its instance, and what the others did is committed',
  { timeout },
  async () => {
    await using made = await cluster()
    let count = 0
    const onWord = (word: string): void => {
      if (word === 'bad') throw new RangeError('it is bad')
      count += 1
    }
    // Commits are so rare that only the end of a worker makes one.
    const rare = { ...config, commitInterval: 300_000, transactionTimeout: 600_000 }
    const a = made.instance('a', counting(onWord), rare)
    a.start()
    await made.until(() => a.state === 'running')
    await write({ produce: (...args) => made.produce(...args) })
    await made.until(() => count === 30)
    const { streams } = a
    await made.produce(words, [{ key: 'key-1', value: 'bad' }])
    await made.until(() => a.state === 'error')

    expect(a.failure).toMatchObject({ code: 'PROCESSING_FAILED' })
    // Its two tasks did not commit what they had counted; the other four did.
    const changes = await made.read(
      topic(`${applicationId}-counts-changelog`, { key: serdes.string, value: serdes.long }),
    )
    const failed = changes.map(({ partition }) => partition)
    expect(new Set(failed).size).toBe(4)
    await expect(streams.closed).rejects.toMatchObject({ code: 'PROCESSING_FAILED' })
  },
)
