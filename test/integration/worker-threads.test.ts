/** Workers in threads of their own. The threads run what was built: `npm run build` first, as `npm test` does. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { describe, expect, test } from 'vitest'
import { KafkaStreams, keyValueStore, serdes, type StreamsConfig } from '../../src/index.ts'
import { TestCluster, classicOnly, devBrokerOnly, type ReadRecord } from './test-cluster.ts'
import { until } from './until.ts'
import { isEqual } from './word-count.ts'

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
const options = { timeout: 120_000 }
/** Of a test in which group protocol and broker decide nothing: starting threads takes too long to do it twice. */
const once = { ...options, skip: classicOnly.skip || devBrokerOnly.skip }
const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']

async function startedCluster(): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('words', 6)
  return cluster
}

/** The module of the topology, for this test alone. */
function moduleOf(cluster: TestCluster, when: 'at-once' | 'busily' = 'at-once'): URL {
  const url = new URL('threaded-words.js', import.meta.url)
  url.searchParams.set('input', cluster.name('words'))
  url.searchParams.set('once', join(cluster.directory, 'once'))
  if (when === 'busily') url.searchParams.set('busily', '')
  return url
}

function instance(
  cluster: TestCluster,
  name: string,
  config: Partial<StreamsConfig> = {},
  module = moduleOf(cluster),
): KafkaStreams {
  const streams = cluster.streams(module, name, {
    workers: 2,
    sessionTimeout: 10_000,
    processingGuarantee: 'exactly-once',
    standbyReplicas: 0,
    ...config,
  })
  streams.closed.catch(() => undefined)
  return streams
}

/** Writes each of the words once, under itself as the key. */
async function write(cluster: TestCluster, all: readonly string[] = words): Promise<void> {
  const topic = cluster.name('words')
  const partitions = cluster.producer.partitionCount(topic)
  for (const [index, word] of all.entries()) {
    const bytes = Buffer.from(word)
    cluster.producer.send(topic, index % partitions, bytes, bytes, Date.now(), [])
  }
  await cluster.producer.flush()
}

/** Keeps all threads at writing to their stores until the deed is done that is asked for. */
async function writeUntilDone(cluster: TestCluster, deed: string): Promise<void> {
  let written = 0
  await write(cluster, [deed])
  while (!existsSync(join(cluster.directory, 'once'))) {
    await write(
      cluster,
      Array.from({ length: 5000 }, () => `word-${(written += 1)}`),
    )
  }
}

async function countsOf(...all: KafkaStreams[]): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for (const streams of all) {
    // Where others have all tasks there is no store to ask.
    if (streams.localTasks().length === 0) continue
    for await (const [word, count] of streams.store(counts).range()) rows[word] = count
  }
  return rows
}

const changelog = 'word-count-counts-changelog'
const isOf =
  (word: string) =>
  ({ key }: ReadRecord): boolean =>
    String(key) === word

const each = (count: number): Record<string, number> =>
  Object.fromEntries(words.map((word) => [word, count]))

const isCounted = async (
  expected: Record<string, number>,
  ...all: KafkaStreams[]
): Promise<boolean> => isEqual(expected, await countsOf(...all).catch(() => ({})))

for (const processingGuarantee of ['exactly-once', 'at-least-once'] as const) {
  test(
    `two instances of several threads count each word (${processingGuarantee})`,
    processingGuarantee === 'exactly-once' ? options : once,
    async ({ signal }) => {
      await using cluster = await startedCluster()
      const a = instance(cluster, 'a', { workers: 3, processingGuarantee })
      const b = instance(cluster, 'b', { workers: 2, processingGuarantee })
      await Promise.all([a.start(), b.start()])
      await write(cluster)
      await write(cluster)
      await until(() => isCounted(each(2), a, b), signal)

      await until(() => a.localTasks().length + b.localTasks().length === 6, signal)
      expect(a.localWorkers().map(({ number }) => number)).toEqual([1, 2, 3])
      const processed = (): number =>
        a.metrics.recordsProcessed.value + b.metrics.recordsProcessed.value
      await until(() => processed() === 24, signal)
    },
  )
}

test('threads come and go under load, and lose nothing', options, async ({ signal }) => {
  await using cluster = await startedCluster()
  const streams = instance(cluster, 'a', { workers: 1 })
  await streams.start()
  await write(cluster)
  expect(streams.addWorker()).toBe(2)
  await write(cluster)
  await until(
    () =>
      streams.state === 'running' &&
      streams.localWorkers().every(({ tasks }) => tasks.length === 3),
    signal,
  )
  await write(cluster)
  const removed = streams.removeWorker()
  await write(cluster)
  expect(await removed).toBe(2)
  await until(() => isCounted(each(4), streams), signal)

  expect(streams.localWorkers().map(({ number }) => number)).toEqual([1])
  expect(streams.localTasks()).toHaveLength(6)
})

describe('a thread that dies', () => {
  for (const [deed, expected] of [
    ['exit!', { code: 'WORKER_DIED' }],
    ['throw!', { code: 'PROCESSING_FAILED', cause: { message: 'it is bad' } }],
    ['later!', { code: 'WORKER_DIED', cause: { message: 'it is too late' } }],
    ['reject!', { code: 'WORKER_DIED', cause: { message: 'nobody looks' } }],
  ] as const) {
    const ofDeed = deed === 'exit!' ? options : once
    test(`by ${deed} is replaced, and all is counted`, ofDeed, async () => {
      await using cluster = await startedCluster()
      const errors: Error[] = []
      const streams = instance(cluster, 'a', {
        onUncaughtError: (error) => {
          errors.push(error)
          return 'replace-worker'
        },
      })
      await streams.start()
      await write(cluster)
      await until(() => isCounted(each(1), streams))
      await write(cluster, [deed])
      await until(() => errors.length > 0)
      await write(cluster)
      await until(() => isCounted({ ...each(2), [deed]: 1 }, streams))

      expect(errors).toHaveLength(1)
      expect(errors[0]).toMatchObject(expected)
      await until(() => streams.state === 'running')
      await streams.close()
    })
  }

  test('for want of memory ends the instance, unless it is to be replaced', once, async () => {
    await using cluster = await startedCluster()
    const streams = instance(cluster, 'a', {}, moduleOf(cluster, 'busily'))
    // Of threads that begin from now on: they have as much as the process otherwise.
    setFlagsFromString('--max-old-space-size=96')
    await streams.start()
    setFlagsFromString('--max-old-space-size=4096')
    await writeUntilDone(cluster, 'memory!')

    await expect(streams.closed).rejects.toMatchObject({
      code: 'WORKER_DIED',
      cause: { code: 'ERR_WORKER_OUT_OF_MEMORY' },
    })
    expect(streams.state).toBe('error')
  })

  test('may stop the whole application', options, async () => {
    await using cluster = await startedCluster()
    const onUncaughtError = 'stop-application'
    const a = instance(cluster, 'a', { onUncaughtError })
    const b = instance(cluster, 'b', { onUncaughtError })
    await Promise.all([a.start(), b.start()])
    await write(cluster, ['exit!'])

    const ends = await Promise.allSettled([a.closed, b.closed])
    expect(
      ends
        .map((end) => (end.status === 'rejected' ? (end.reason as { code: string }).code : 'no'))
        .sort(),
    ).toEqual(['APPLICATION_STOPPED', 'WORKER_DIED'])
  })
})

test('a thread that hangs is ended when closing takes too long', once, async () => {
  await using cluster = await startedCluster()
  const streams = instance(cluster, 'a', {}, moduleOf(cluster, 'busily'))
  await streams.start()
  await writeUntilDone(cluster, 'hang!')

  await streams.close({ timeout: 500 })

  expect(streams.state).toBe('not-running')
})

test(
  'what a thread that hangs and is removed has left open in a transaction, another one ends',
  options,
  async ({ signal }) => {
    await using cluster = await startedCluster()
    // Nobody waits for its timeout; and what is counted is written, but not committed.
    const config = {
      sessionTimeout: 3_000,
      transactionTimeout: 600_000,
      commitInterval: 300_000,
      cacheBytes: 0,
    }
    const streams = instance(cluster, 'a', config)
    await streams.start()
    const partitionOfTheLast = (): number | undefined => {
      const last = streams.localWorkers().find(({ number }) => number === 2)
      const id = last?.tasks[0]?.id
      return streams.state === 'running' ? id && Number(id.split('_')[1]) : undefined
    }
    await until(() => partitionOfTheLast() !== undefined, signal)
    const partition = partitionOfTheLast() ?? 0
    const send = async (word: string): Promise<void> => {
      const bytes = Buffer.from(word)
      cluster.producer.send(cluster.name('words'), partition, bytes, bytes, Date.now(), [])
      await cluster.producer.flush()
    }
    await send('before')
    await until(async () => (await cluster.read(changelog)).some(isOf('before')), signal)
    await send('hang!')
    await until(() => existsSync(join(cluster.directory, 'once')), signal)

    expect(await streams.removeWorker({ timeout: 0 })).toBe(2)
    await send('after')
    await until(() => isCounted({ before: 1, 'hang!': 1, after: 1 }, streams), signal)
  },
)

test('a thread that hangs is ended when removing it takes too long', once, async ({ signal }) => {
  await using cluster = await startedCluster()
  const streams = instance(cluster, 'a', { workers: 1 }, moduleOf(cluster, 'busily'))
  await streams.start()
  await writeUntilDone(cluster, 'hang!')

  expect(await streams.removeWorker({ timeout: 500 })).toBe(1)
  expect(streams.addWorker()).toBe(1)
  await until(() => streams.state === 'running', signal)
  await until(async () => 'hang!' in (await countsOf(streams)), signal)
})

test('options that cannot go to a thread are refused, with where they belong', async () => {
  await using cluster = await startedCluster()
  const wrong = { onProcessingError: () => 'continue' as const }

  expect(() => instance(cluster, 'a', wrong)).toThrow(
    'The option onProcessingError is not valid: what has a function cannot go to the threads of the workers; state it in the module of the topology instead: export const config = { onProcessingError: … }.',
  )
})

test('a module that makes another topology in each thread ends the start', once, async () => {
  await using cluster = await startedCluster()
  const module = moduleOf(cluster)
  module.searchParams.set('differs', '')
  const streams = instance(cluster, 'a', {}, module)

  await expect(streams.start()).rejects.toMatchObject({
    code: 'TOPOLOGY_DIFFERS',
    message: expect.stringContaining(
      'which has "Source: KSTREAM-SOURCE-0000000000 (topics: [test-words])" where the thread has "Source: KSTREAM-SOURCE-0000000000 (topics: [test-words-of-thread])".',
    ) as string,
  })
  await expect(streams.closed).rejects.toMatchObject({ code: 'TOPOLOGY_DIFFERS' })
  expect(streams.state).toBe('error')
})

test('a module that is not there, or has no topology, ends the start', async () => {
  await using cluster = await startedCluster()
  for (const [file, detail] of [
    ['no-such-module.js', 'could not be imported'],
    ['until.ts', 'exports no topology'],
  ] as const) {
    const streams = cluster.streams(new URL(file, import.meta.url), file, { workers: 2 })
    streams.closed.catch(() => undefined)
    await expect(streams.start()).rejects.toMatchObject({
      code: 'TOPOLOGY_INVALID',
      message: expect.stringContaining(detail) as string,
    })
    await expect(streams.closed).rejects.toMatchObject({ code: 'TOPOLOGY_INVALID' })
    expect(streams.state).toBe('error')
  }
})
