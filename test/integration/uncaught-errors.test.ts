import { describe, expect, test } from 'vitest'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type StreamsConfig,
  type Topology,
} from '../../src/index.ts'
import { TestCluster, classicOnly } from './test-cluster.ts'
import { until } from './until.ts'
import { isEqual } from './word-count.ts'

const strings = { key: serdes.string, value: serdes.string }
const counts = keyValueStore('counts', {
  key: serdes.string,
  value: serdes.long,
  persistent: false,
})

/** What one process does when it meets `bad`. */
class Temper {
  isBad = true
  met = 0

  meet(word: string): void {
    if (word !== 'bad') return
    this.met += 1
    if (this.isBad) throw new RangeError('it is bad')
  }
}

/** Counts words; the keys of `in` are ignored. */
function counting(cluster: TestCluster, temper: Temper): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(cluster.name('in'), { value: serdes.string }))
    .peek((word) => temper.meet(word))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: counts })
  return builder.build()
}

async function startedCluster(): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('in', 4)
  return cluster
}

function instance(
  cluster: TestCluster,
  name: string,
  topology: Topology,
  config: Partial<StreamsConfig>,
): KafkaStreams {
  const streams = cluster.streams(topology, name, config)
  streams.closed.catch(() => undefined)
  return streams
}

/** Records of `in` that the group has done with. */
async function committed(cluster: TestCluster): Promise<number> {
  const inputs = [0, 1, 2, 3].map((partition) => ({ topic: cluster.name('in'), partition }))
  const offsets = await fetchCommittedOffsets(cluster.client, cluster.name('word-count'), inputs)
  return [...offsets.values()].reduce((sum, { offset }) => sum + offset, 0)
}

async function countsOf(streams: KafkaStreams): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for await (const [word, count] of streams.store(counts).range()) rows[word] = count
  return rows
}

describe('a worker that is replaced', () => {
  test('lets its successor go on from the last commit', async ({ signal }) => {
    await using cluster = await startedCluster()
    const temper = new Temper()
    const errors: Error[] = []
    const streams = instance(cluster, 'a', counting(cluster, temper), {
      onUncaughtError: (error) => {
        errors.push(error)
        temper.isBad = false
        return 'replace-worker'
      },
    })
    const states: string[] = []
    const told: Error[] = []
    streams.on('stateChange', (now) => states.push(now)).on('error', (error) => told.push(error))
    await streams.start()
    await cluster.write('in', ['a', 'b', 'a'])
    await until(async () => isEqual({ a: 2, b: 1 }, await countsOf(streams)), signal)
    // What is not committed is counted twice: at least once.
    await until(async () => (await committed(cluster)) === 3, signal)
    await cluster.write('in', ['bad'])
    await until(() => errors.length > 0 && streams.state === 'running', signal)
    await cluster.write('in', ['a'])
    await until(async () => isEqual({ a: 3, b: 1, bad: 1 }, await countsOf(streams)), signal)
    expect(errors).toMatchObject([
      { code: 'PROCESSING_FAILED', cause: new RangeError('it is bad') },
    ])
    expect(states).toEqual(['rebalancing', 'running', 'rebalancing', 'running'])
    await streams.close()
    await streams.closed
    expect(told).toEqual([])
  })

  test('may fail again and again, and the instance can be closed meanwhile', async ({ signal }) => {
    await using cluster = await startedCluster()
    const temper = new Temper()
    const streams = instance(cluster, 'a', counting(cluster, temper), {
      onUncaughtError: 'replace-worker',
    })
    await cluster.write('in', ['bad'])
    void streams.start().catch(() => undefined)
    await until(() => temper.met >= 2, signal)
    expect(['rebalancing', 'running']).toContain(streams.state)
    await streams.close()
    expect(streams.state).toBe('not-running')
    const { met } = temper
    await expect(streams.closed).resolves.toBe(undefined)
    expect(temper.met).toBe(met)
  })
})

describe('the application', () => {
  const all = async (streams: readonly KafkaStreams[]): Promise<void> => {
    await Promise.all(streams.map((one) => one.start()))
  }

  test('goes on without an instance that fails', async ({ signal }) => {
    await using cluster = await startedCluster()
    const a = instance(cluster, 'a', counting(cluster, new Temper()), {})
    const calm = new Temper()
    calm.isBad = false
    await a.start()
    await cluster.write('in', ['bad'])
    await expect(a.closed).rejects.toMatchObject({ code: 'PROCESSING_FAILED' })
    const b = instance(cluster, 'b', counting(cluster, calm), {})
    await b.start()
    await until(async () => isEqual({ bad: 1 }, await countsOf(b)), signal)
  })

  test('stops as a whole when an instance says so, and why', classicOnly, async () => {
    await using cluster = await startedCluster()
    const streams = ['a', 'b', 'c'].map((name) =>
      instance(cluster, name, counting(cluster, new Temper()), {
        // The others are not to begin anew, whatever they would do by themselves.
        onUncaughtError: (error) =>
          (error as { code?: string }).code === 'PROCESSING_FAILED'
            ? 'stop-application'
            : 'replace-worker',
      }),
    )
    await all(streams)
    await cluster.write('in', ['bad'])
    const ends = await Promise.allSettled(streams.map(({ closed }) => closed))
    const errors = ends.map((end) => (end.status === 'rejected' ? end.reason : undefined))
    const codes = errors.map((error: { code: string }) => error.code).sort()
    expect(codes).toEqual(['APPLICATION_STOPPED', 'APPLICATION_STOPPED', 'PROCESSING_FAILED'])
    expect(errors.find(({ code }) => code === 'APPLICATION_STOPPED')).toMatchObject({
      message: expect.stringContaining('it is bad') as string,
    })
    expect(streams.map(({ state }) => state)).toEqual(['error', 'error', 'error'])
  })

  test('stops the others also when its static membership was taken over', classicOnly, async () => {
    await using cluster = await startedCluster()
    const make = (name: string, options: Parameters<typeof instance>[3]): KafkaStreams =>
      instance(cluster, name, counting(cluster, new Temper()), options)
    const groupInstanceId = 'one'
    const a = make('a', { groupInstanceId, onUncaughtError: 'stop-application' })
    const b = make('b', {})
    await all([a, b])
    const successor = make('c', { groupInstanceId })
    void successor.start().catch(() => undefined)
    await expect(a.closed).rejects.toMatchObject({ code: 'GROUP_INSTANCE_FENCED' })
    await expect(successor.closed).rejects.toMatchObject({ code: 'APPLICATION_STOPPED' })
    await expect(b.closed).rejects.toMatchObject({ code: 'APPLICATION_STOPPED' })
  })

  test('may be a single instance', async () => {
    await using cluster = await startedCluster()
    const streams = instance(cluster, 'a', counting(cluster, new Temper()), {
      onUncaughtError: 'stop-application',
    })
    await streams.start()
    await cluster.write('in', ['bad'])
    await expect(streams.closed).rejects.toMatchObject({ code: 'PROCESSING_FAILED' })
  })
})

test('a handler that fails stops the instance', async () => {
  await using cluster = await startedCluster()
  const streams = instance(cluster, 'a', counting(cluster, new Temper()), {
    onUncaughtError: () => 'carry on' as never,
  })
  await streams.start()
  await cluster.write('in', ['bad'])
  await expect(streams.closed).rejects.toMatchObject({
    code: 'HANDLER_FAILED',
    message: expect.stringMatching(/"carry on".*it is bad/) as string,
    context: { handler: 'onUncaughtError' },
  })
})

describe('the worker of global stores', () => {
  /** Keeps `rows`, and counts `in`. */
  function keeping(cluster: TestCluster, temper: Temper): Topology {
    const builder = new StreamsBuilder()
    const rows = keyValueStore('rows', { ...strings, persistent: false })
    builder.addGlobalStore(rows, topic(cluster.name('rows'), strings), (context) => {
      const store = context.store(rows)
      return ({ key, value }) => {
        temper.meet(value)
        store.put(key, value)
      }
    })
    builder.stream(topic(cluster.name('in'), strings)).forEach(() => undefined)
    return builder.build()
  }

  async function cluster(): Promise<TestCluster> {
    const started = await startedCluster()
    await started.createTopic('rows', 1)
    return started
  }

  const fail = async (started: TestCluster): Promise<void> => {
    started.producer.send(started.name('rows'), 0, Buffer.from('k'), Buffer.from('bad'), -1, [])
    await started.producer.flush()
  }

  test('is not replaced', async () => {
    await using started = await cluster()
    const streams = instance(started, 'a', keeping(started, new Temper()), {
      onUncaughtError: 'replace-worker',
    })
    await streams.start()
    await fail(started)
    await expect(streams.closed).rejects.toMatchObject({ code: 'PROCESSING_FAILED' })
    expect(streams.state).toBe('error')
  })

  test('may stop the whole application', async () => {
    await using started = await cluster()
    const calm = new Temper()
    calm.isBad = false
    const a = instance(started, 'a', keeping(started, new Temper()), {
      onUncaughtError: 'stop-application',
    })
    const b = instance(started, 'b', keeping(started, calm), {})
    await Promise.all([a.start(), b.start()])
    await fail(started)
    await expect(a.closed).rejects.toMatchObject({ code: 'PROCESSING_FAILED' })
    await expect(b.closed).rejects.toMatchObject({ code: 'APPLICATION_STOPPED' })
  })
})
