import { expect, test } from 'vitest'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import { StreamsBuilder, serdes, topic, type Topology } from '../../src/index.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

/** Calls that end when the test says so; both instances of a test ask the same one. */
class Service {
  readonly #waiting = new Map<string, ((answer: string) => void)[]>()
  isOpen = false

  ask = (question: string): Promise<string> => {
    if (this.isOpen) return Promise.resolve(question.toUpperCase())
    return new Promise((resolve) => {
      this.#waiting.set(question, [...(this.#waiting.get(question) ?? []), resolve])
    })
  }

  get asked(): string[] {
    return [...this.#waiting.keys()].sort()
  }

  answer(...questions: string[]): void {
    for (const question of questions) {
      for (const resolve of this.#waiting.get(question) ?? []) resolve(question.toUpperCase())
    }
  }

  open(): void {
    this.isOpen = true
    this.answer(...this.#waiting.keys())
  }
}

const lines = ['a', 'b', 'c', 'd', 'e', 'f']

async function startedCluster(partitions: number): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('in', partitions)
  await cluster.createTopic('out', partitions)
  await cluster.write('in', lines)
  return cluster
}

function asking(cluster: TestCluster, service: Service): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(cluster.name('in'), { value: serdes.string }))
    .mapValuesAsync(service.ask)
    .to(topic(cluster.name('out'), { value: serdes.string }))
  return builder.build()
}

async function committed(cluster: TestCluster, group: string, partition = 0): Promise<number> {
  const input = { topic: cluster.name('in'), partition }
  const offsets = await fetchCommittedOffsets(cluster.client, cluster.name(group), [input])
  return [...offsets.values()][0]?.offset ?? 0
}

const valuesOf = async (cluster: TestCluster): Promise<string[]> =>
  (await cluster.read('out')).map(({ value }) => String(value))

test('a commit waits for the calls that run', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  const service = new Service()
  const streams = cluster.streams(asking(cluster, service), 'a', { commitInterval: 50 })
  await streams.start()
  await until(() => service.asked.length === lines.length, signal)
  service.answer('a', 'c')
  await cluster.write('in', ['late'])
  await until(async () => (await valuesOf(cluster)).length === 1, signal)
  expect(await committed(cluster, 'word-count')).toBe(0)
  service.open()
  await until(async () => (await committed(cluster, 'word-count')) === lines.length + 1, signal)
  expect(await valuesOf(cluster)).toEqual([...lines, 'late'].map((line) => line.toUpperCase()))
})

test('an instance that closes lets its calls end, and commits them', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  const service = new Service()
  const streams = cluster.streams(asking(cluster, service), 'a', { commitInterval: 60_000 })
  await streams.start()
  await until(() => service.asked.length === lines.length, signal)
  const closed = streams.close()
  service.open()
  await closed
  expect(await committed(cluster, 'word-count')).toBe(lines.length)
  expect(await valuesOf(cluster)).toHaveLength(lines.length)
})

test('tasks that go to another instance end their calls first: each record once', async ({
  signal,
}) => {
  await using cluster = await startedCluster(2)
  const service = new Service()
  const config = { commitInterval: 60_000 }
  const a = cluster.streams(asking(cluster, service), 'a', config)
  await a.start()
  await until(() => service.asked.length === lines.length, signal)
  const b = cluster.streams(asking(cluster, service), 'b', config)
  const started = b.start()
  await until(() => a.state === 'rebalancing', signal)
  service.open()
  await started
  await until(() => a.state === 'running' && b.state === 'running', signal)
  await Promise.all([a.close(), b.close()])
  expect((await valuesOf(cluster)).sort()).toEqual(lines.map((line) => line.toUpperCase()))
})
