import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { systemTransport, type Transport } from '../../src/base/transport.ts'
import { Admin } from '../../src/client/admin.ts'
import { resolveConfig, systemPorts } from '../../src/config.ts'
import {
  StreamsBuilder,
  StreamsError,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type RestoreProgress,
} from '../../src/index.ts'
import type { KafkaClient } from '../../src/client/kafka-client.ts'
import { MemoryEngine } from '../../src/kv/memory-engine.ts'
import { StreamsMetrics } from '../../src/metrics/streams-metrics.ts'
import { listOffsets } from '../../src/protocol/messages/2-list-offsets.ts'
import { GlobalWorker } from '../../src/runtime/global-worker.ts'
import { serve, type Service } from '../../src/server/index.ts'
import type { GlobalSubtopology } from '../../src/topology/topology.ts'
import { CutTransport } from './cut-transport.ts'
import { countries, globalRows, joined, ordersWithCountries, writeRows } from './global-tables.ts'
import { TestCluster, devBrokerOnly } from './test-cluster.ts'
import { until } from './until.ts'

async function startedCluster(partitions = 3): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('countries', partitions, { 'cleanup.policy': 'compact' })
  await cluster.createTopic('orders', 2)
  await cluster.createTopic('joined', 1)
  return cluster
}

const rows = { at: 'Austria', be: 'Belgium', ch: 'Switzerland', dk: 'Denmark', ee: 'Estonia' }

/** What an instance reports of its restoration. */
function listen(streams: KafkaStreams): RestoreProgress[] {
  const heard: RestoreProgress[] = []
  streams.on('restore', (progress) => heard.push(progress))
  return heard
}

const records = (heard: readonly RestoreProgress[]): number =>
  heard.filter(({ phase }) => phase === 'end').reduce((sum, { restored }) => sum + restored, 0)

test('every instance holds all rows, and joins with them', async ({ signal }) => {
  await using cluster = await startedCluster()
  await writeRows(cluster, 'countries', rows)
  const a = cluster.streams(ordersWithCountries(cluster), 'a')
  const b = cluster.streams(ordersWithCountries(cluster), 'b')
  await Promise.all([a.start(), b.start()])
  expect(await globalRows(a)).toEqual(rows)
  expect(await globalRows(b)).toEqual(rows)
  await until(() => a.localTasks().length === 2 && b.localTasks().length === 2, signal)
  expect(a.localTasks()[0]).toMatchObject({ id: '-1_-1', role: 'global', state: 'running' })

  await writeRows(cluster, 'orders', { 1: 'at', 2: 'be', 3: 'zz', 4: 'ch' })
  const all = ['at: Austria', 'be: Belgium', 'ch: Switzerland', 'zz: unknown']
  await until(async () => (await joined(cluster)).length === 4, signal)
  expect(await joined(cluster)).toEqual(all)

  await writeRows(cluster, 'countries', { zz: 'Zedland', at: null })
  const changed = { be: 'Belgium', ch: 'Switzerland', dk: 'Denmark', ee: 'Estonia', zz: 'Zedland' }
  for (const streams of [a, b]) {
    await until(async () => isDeepStrictEqual(await globalRows(streams), changed), signal)
  }
})

test('nothing is processed before all rows are there', async ({ signal }) => {
  await using cluster = await startedCluster()
  const many: Record<string, string> = {}
  for (let code = 0; code < 5000; code += 1) many[`c${code}`] = `country ${code}`
  await writeRows(cluster, 'countries', many)
  await writeRows(cluster, 'orders', { 1: 'c0', 2: 'c2500', 3: 'c4999' })
  const streams = cluster.streams(ordersWithCountries(cluster), 'a')
  const heard = listen(streams)
  await streams.start()
  await until(async () => (await joined(cluster)).length === 3, signal)
  expect(await joined(cluster)).toEqual([
    'c0: country 0',
    'c2500: country 2500',
    'c4999: country 4999',
  ])
  expect(records(heard)).toBe(5000)
  expect(heard.filter(({ phase }) => phase === 'start')).toHaveLength(3)
  expect(heard.every(({ taskId, store }) => taskId === '-1_-1' && store === 'countries')).toBe(true)
  expect(streams.metrics.recordsRestored.value).toBe(5000)
})

test('a restart with a state directory reads only what is new', async ({ signal }) => {
  await using cluster = await startedCluster()
  await writeRows(cluster, 'countries', rows)
  const first = cluster.streams(ordersWithCountries(cluster), 'a')
  await first.start()
  await writeRows(cluster, 'countries', { fi: 'Finland' })
  await until(async () => 'fi' in (await globalRows(first)), signal)
  await first.close()
  await writeRows(cluster, 'countries', { gr: 'Greece', at: null })

  const second = cluster.streams(ordersWithCountries(cluster), 'a')
  const heard = listen(second)
  await second.start()
  expect(records(heard)).toBe(2)
  const { at: _at, ...others } = rows
  expect(await globalRows(second)).toEqual({ ...others, fi: 'Finland', gr: 'Greece' })
})

test('a store in memory is restored from the beginning', async () => {
  await using cluster = await startedCluster()
  await writeRows(cluster, 'countries', rows)
  const inMemory = keyValueStore('countries', {
    key: serdes.string,
    value: serdes.string,
    persistent: false,
  })
  const first = cluster.streams(ordersWithCountries(cluster, inMemory), 'a')
  await first.start()
  await first.close()
  const second = cluster.streams(ordersWithCountries(cluster, inMemory), 'a')
  const heard = listen(second)
  await second.start()
  expect(records(heard)).toBe(5)
  expect(await globalRows(second)).toEqual(rows)
})

test('a crash loses nothing: what was not written is read again', async ({ signal }) => {
  await using cluster = await startedCluster()
  await writeRows(cluster, 'countries', rows)
  const network = new CutTransport()
  const ports = { ...systemPorts, transport: network }
  const first = cluster.streams(ordersWithCountries(cluster), 'a', {}, ports)
  await first.start()
  await writeRows(cluster, 'countries', { at: 'Österreich', fi: 'Finland' })
  await until(async () => 'fi' in (await globalRows(first)), signal)
  network.cut()
  await first.close({ timeout: 0 })
  const second = cluster.streams(ordersWithCountries(cluster), 'a')
  await second.start()
  await until(async () => (await globalRows(second))['at'] === 'Österreich', signal)
  expect(await globalRows(second)).toEqual({ ...rows, at: 'Österreich', fi: 'Finland' })
})

test('a global topic that is missing keeps the instance from starting', async () => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('orders', 1)
  await cluster.createTopic('joined', 1)
  const streams = cluster.streams(ordersWithCountries(cluster), 'a')
  await expect(streams.start()).rejects.toMatchObject({
    code: 'SOURCE_TOPIC_MISSING',
    context: { topic: cluster.name('countries'), store: 'countries' },
  })
  await expect(streams.closed).rejects.toMatchObject({ code: 'SOURCE_TOPIC_MISSING' })
  expect(streams.state).toBe('error')
})

test('a store that is ahead of a topic that was made anew is restored again', async () => {
  await using cluster = await startedCluster(1)
  await writeRows(cluster, 'countries', rows)
  const first = cluster.streams(ordersWithCountries(cluster), 'a')
  await first.start()
  await first.close()
  await new Admin(cluster.client).deleteTopics([cluster.name('countries')])
  await cluster.createTopic('countries', 1)
  await writeRows(cluster, 'countries', { fi: 'Finland' })

  const second = cluster.streams(ordersWithCountries(cluster), 'a')
  await second.start()
  expect(await globalRows(second)).toEqual({ fi: 'Finland' })
})

test('a store that has missed records that are gone is restored again', async () => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('countries', 1)
  await cluster.createTopic('orders', 1)
  await cluster.createTopic('joined', 1)
  await writeRows(cluster, 'countries', rows)
  const first = cluster.streams(ordersWithCountries(cluster), 'a')
  await first.start()
  await first.close()
  await writeRows(cluster, 'countries', { fi: 'Finland', gr: 'Greece' })
  const topicName = cluster.name('countries')
  await new Admin(cluster.client).deleteRecords([{ topic: topicName, partition: 0, offset: 6 }])

  const second = cluster.streams(ordersWithCountries(cluster), 'a')
  await second.start()
  expect(await globalRows(second)).toEqual({ gr: 'Greece' })
})

test('records that are gone before they were read end the instance; the next one recovers', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('countries', 1)
  await cluster.createTopic('orders', 1)
  await cluster.createTopic('joined', 1)
  await writeRows(cluster, 'countries', rows)
  const network = new CutTransport()
  const ports = { ...systemPorts, transport: network }
  const first = cluster.streams(
    ordersWithCountries(cluster),
    'a',
    { sessionTimeout: 30_000 },
    ports,
  )
  await first.start()
  network.cut()
  await writeRows(cluster, 'countries', { fi: 'Finland', gr: 'Greece' })
  const topicName = cluster.name('countries')
  await new Admin(cluster.client).deleteRecords([{ topic: topicName, partition: 0, offset: 6 }])
  network.heal()
  await expect(first.closed).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' })

  const second = cluster.streams(ordersWithCountries(cluster), 'a')
  await second.start()
  await until(async () => 'gr' in (await globalRows(second)), signal)
  expect(await globalRows(second)).toEqual({ gr: 'Greece' })
}, 20_000)

test(
  'a topic of which most was compacted away is restored to its end',
  devBrokerOnly,
  async ({ signal }) => {
    await using cluster = await TestCluster.start()
    const configs = {
      'cleanup.policy': 'compact',
      'segment.bytes': '1024',
      'min.cleanable.dirty.ratio': '0',
    }
    await cluster.createTopic('countries', 1, configs)
    await cluster.createTopic('orders', 1)
    await cluster.createTopic('joined', 1)
    for (let round = 0; round < 100; round += 1) {
      await writeRows(cluster, 'countries', { at: `Austria ${round}`, be: `Belgium ${round}` })
    }
    await cluster.cleanLogs()
    expect((await cluster.read('countries')).length).toBeLessThan(150)
    const streams = cluster.streams(ordersWithCountries(cluster), 'a')
    const heard = listen(streams)
    await streams.start()
    expect(await globalRows(streams)).toEqual({ at: 'Austria 99', be: 'Belgium 99' })
    expect(heard.at(-1)).toMatchObject({ phase: 'end', offset: 200, endOffset: 200 })
    await writeRows(cluster, 'countries', { at: 'Austria' })
    await until(async () => (await globalRows(streams))['at'] === 'Austria', signal)
  },
)

test('a global table is all that a program needs', async ({ signal }) => {
  await using cluster = await startedCluster()
  await writeRows(cluster, 'countries', rows)
  const builder = new StreamsBuilder()
  const store = keyValueStore('kept', { key: serdes.string, value: serdes.string })
  const source = topic(cluster.name('countries'), { key: serdes.string, value: serdes.string })
  builder.globalTable(source, { store })
  await using streams = cluster.streams(builder.build(), 'a')
  await streams.start()
  expect(streams.state).toBe('running')
  expect(await globalRows(streams, store)).toEqual(rows)
  await writeRows(cluster, 'countries', { fi: 'Finland' })
  await until(async () => 'fi' in (await globalRows(streams, store)), signal)
  await streams.close()
  expect(streams.state).toBe('not-running')
})

/** A worker without an instance; `heard` gets what it tells. */
function globalWorker(
  cluster: TestCluster,
  parts: {
    globalStores: readonly GlobalSubtopology[]
    client: KafkaClient
    engine: MemoryEngine
    heard: unknown[]
    onRestore?: (progress: RestoreProgress) => void
  },
): GlobalWorker {
  const { globalStores, client, engine, heard, onRestore = () => undefined } = parts
  return new GlobalWorker({
    globalStores,
    config: resolveConfig({ applicationId: 'a', brokers: [cluster.address], logger: 'silent' }),
    cacheBytesMax: 0,
    ports: systemPorts,
    client,
    metrics: new StreamsMetrics(),
    state: {
      engines: () => ({ engine: () => engine, close: () => void heard.push('engines closed') }),
      wipe: () => undefined,
    },
    listener: {
      onRestore,
      onRestored: () => heard.push('restored'),
      onFailure: async (error) => void heard.push(error),
    },
  })
}

test('partitions that are added to a global topic are read from their beginning', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  await writeRows(cluster, 'countries', rows)
  await using client = cluster.newClient()
  using engine = new MemoryEngine()
  const heard: unknown[] = []
  const { globalStores } = ordersWithCountries(cluster)
  const worker = globalWorker(cluster, { globalStores, client, engine, heard })
  worker.start()
  await until(() => worker.isRestored, signal)
  const name = cluster.name('countries')
  await new Admin(cluster.client).createPartitions(name, 3)
  await cluster.client.topicMetadata([name], { fresh: true })
  await writeRows(cluster, 'countries', { fi: 'Finland', gr: 'Greece', hr: 'Croatia' })
  await client.refreshMetadata()
  await until(() => worker.task?.inputs.length === 3, signal)
  const positions = (): unknown => worker.task?.inputs.map(({ position }) => position)
  await until(() => String(positions()) === '6,1,1', signal)
  await worker.stop()
  expect(heard).toEqual(['restored', 'engines closed'])
})

/** A network that keeps questions for offsets back, from `hold` to `release`. */
class HoldingTransport implements Transport {
  #held: (() => void)[] | undefined

  readonly listen: Transport['listen'] = (options) => systemTransport.listen(options)

  readonly connect: Transport['connect'] = async (options) => {
    const connection = await systemTransport.connect(options)
    const write = connection.write.bind(connection)
    connection.write = (bytes) => {
      // After the length comes the number of the request.
      const isQuestion = bytes.length > 6 && Buffer.from(bytes).readInt16BE(4) === listOffsets.key
      if (!isQuestion || this.#held === undefined) return write(bytes)
      const copy = Buffer.from(bytes)
      this.#held.push(() => write(copy))
    }
    return connection
  }

  get heldCount(): number {
    return this.#held?.length ?? 0
  }

  hold(): void {
    this.#held = []
  }

  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const write of held) write()
  }
}

test('the other partitions go on while the offsets of added ones cannot be read', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  const transport = new HoldingTransport()
  await using client = cluster.newClient({ transport })
  using engine = new MemoryEngine()
  const heard: unknown[] = []
  const { globalStores } = ordersWithCountries(cluster)
  const worker = globalWorker(cluster, { globalStores, client, engine, heard })
  worker.start()
  await until(() => worker.isRestored, signal)
  const name = cluster.name('countries')
  await new Admin(cluster.client).createPartitions(name, 2)
  await cluster.client.topicMetadata([name], { fresh: true })
  transport.hold()
  await client.refreshMetadata()
  await until(() => transport.heldCount > 0, signal)
  await writeRows(cluster, 'countries', { fi: 'Finland', gr: 'Greece' })
  const positions = (): string => String(worker.task?.inputs.map(({ position }) => position))
  await until(() => positions() === '1,', signal)

  transport.release()
  await until(() => positions() === '1,1', signal)
  await worker.stop()
  expect(heard).toEqual(['restored', 'engines closed'])
})

test('a global worker can be stopped while the offsets of added partitions cannot be read', async ({
  signal,
}) => {
  await using cluster = await startedCluster(1)
  const transport = new HoldingTransport()
  await using client = cluster.newClient({ transport })
  using engine = new MemoryEngine()
  const heard: unknown[] = []
  const { globalStores } = ordersWithCountries(cluster)
  const worker = globalWorker(cluster, { globalStores, client, engine, heard })
  worker.start()
  await until(() => worker.isRestored, signal)
  const name = cluster.name('countries')
  await new Admin(cluster.client).createPartitions(name, 2)
  transport.hold()
  await client.refreshMetadata()
  await until(() => transport.heldCount > 0, signal)
  await worker.stop()
  expect(heard).toEqual(['restored', 'engines closed'])
})

test('code that fails while it is stopped in the restoration is told, and all is closed', async () => {
  await using cluster = await startedCluster(1)
  await writeRows(cluster, 'countries', rows)
  await using client = cluster.newClient()
  using engine = new MemoryEngine()
  const builder = new StreamsBuilder()
  builder.addGlobalStore(
    countries,
    topic(cluster.name('countries'), { key: serdes.string, value: serdes.string }),
    () => ({
      process: () => undefined,
      close: () => {
        throw new Error('will not close')
      },
    }),
  )
  const heard: unknown[] = []
  const { globalStores } = builder.build()
  const stopped: Promise<void>[] = []
  const worker = globalWorker(cluster, {
    globalStores,
    client,
    engine,
    heard,
    onRestore: () => void stopped.push(worker.stop()),
  })
  worker.start()
  await worker.done
  await Promise.all(stopped)
  expect(heard).toEqual(['engines closed', expect.objectContaining({ code: 'PROCESSING_FAILED' })])
  expect(worker.task).toBeUndefined()
})

/** Nothing can be written to it any more. */
class FullEngine extends MemoryEngine {
  override readonly persistent = true

  override begin(): never {
    throw new StreamsError('DISK_FAILED', { path: 'data.mdb', detail: 'no space left' })
  }
}

test('a disk that fails while it is stopped in the restoration is told', async () => {
  await using cluster = await startedCluster(1)
  // Each is a fetch of its own.
  for (const code of ['at', 'be']) {
    await writeRows(cluster, 'countries', { [code]: 'x'.repeat(200_000) })
  }
  await using client = cluster.newClient()
  using engine = new FullEngine()
  const heard: unknown[] = []
  const { globalStores } = ordersWithCountries(cluster)
  const stopped: Promise<void>[] = []
  const worker = globalWorker(cluster, {
    globalStores,
    client,
    engine,
    heard,
    onRestore: ({ phase }) => {
      if (phase === 'batch') stopped.push(worker.stop())
    },
  })
  worker.start()
  await worker.done
  await Promise.all(stopped)
  expect(heard).toEqual([expect.objectContaining({ code: 'DISK_FAILED' }), 'engines closed'])
  expect(worker.task).toBeUndefined()
})

/** The bytes of a Java long. */
const seven = '\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0007'

test('a row that cannot be read ends the instance, or is passed over', async ({ signal }) => {
  await using cluster = await startedCluster(1)
  const builder = new StreamsBuilder()
  const store = keyValueStore('numbers', { key: serdes.string, value: serdes.long })
  const source = topic(cluster.name('countries'), { key: serdes.string, value: serdes.long })
  builder.globalTable(source, { store })
  const topology = builder.build()
  const strict = cluster.streams(topology, 'a')
  await strict.start()
  await writeRows(cluster, 'countries', { at: seven, be: 'no number' })
  await expect(strict.closed).rejects.toMatchObject({
    code: 'RECORD_UNREADABLE',
    context: { topic: cluster.name('countries'), partition: 0, offset: 1 },
  })

  await cluster.createTopic('numbers', 1)
  const lenient = new StreamsBuilder()
  const numbers = topic(cluster.name('numbers'), { key: serdes.string, value: serdes.long })
  lenient.globalTable(numbers, { store })
  const streams = cluster.streams(lenient.build(), 'b', { onDeserializationError: 'continue' })
  await streams.start()
  await writeRows(cluster, 'numbers', { be: 'no number', at: seven })
  await until(async () => (await streams.store(store).get('at')) === 7, signal)
  expect(await streams.store(store).get('be')).toBeUndefined()
  expect(streams.metrics.droppedRecords()).toEqual(new Map([['deserialization-error', 1]]))
})

test('every service answers for a global store itself', async ({ signal }) => {
  await using cluster = await startedCluster()
  await writeRows(cluster, 'countries', rows)
  const start = (name: string): Promise<Service> =>
    serve(ordersWithCountries(cluster), {
      applicationId: cluster.name('global'),
      brokers: [cluster.address],
      stateDir: join(cluster.directory, name),
      sessionTimeout: 1500,
      heartbeatInterval: 100,
      http: { port: 0 },
      expose: { countries: { operations: ['get', 'range'] } },
      logger: 'silent',
    })
  await using a = await start('a')
  await using b = await start('b')
  for (const service of [a, b]) {
    const get = async (path: string): Promise<{ status: number; body: unknown }> => {
      const response = await fetch(service.url + path)
      return { status: response.status, body: await response.json() }
    }
    const servedBy = new URL(service.url).host
    const meta = { store: 'countries', servedBy, role: 'global', lag: 0, partial: false }
    const { body } = await get('/v1/stores/countries/keys/at')
    expect(body).toMatchObject({ key: 'at', value: 'Austria', meta })
    expect(body).not.toHaveProperty('meta.partition')
    const page = await get('/v1/stores/countries/keys?limit=2')
    expect(page.body).toMatchObject({
      rows: [
        { key: 'at', value: 'Austria' },
        { key: 'be', value: 'Belgium' },
      ],
      meta: { role: 'global', servedBy: [servedBy] },
    })
    expect(page.body).not.toHaveProperty('meta.partitions')
    expect(await get('/v1/stores/countries/keys/xx')).toMatchObject({
      status: 404,
      body: { code: 'KEY_NOT_FOUND', meta: { role: 'global' } },
    })
    expect((await get('/v1/stores/countries/count')).body).toMatchObject({ approximate: 5 })
    expect((await get('/v1/stores/countries/count?partitions=0')).status).toBe(400)
    expect((await get('/v1/stores')).body).toMatchObject({
      stores: [{ name: 'countries', type: 'key-value', global: true }],
    })
    const holders = await get('/v1/metadata/stores/countries')
    expect(holders.body).toMatchObject({ store: 'countries', global: true })
    const ofKey = await get('/v1/metadata/stores/countries/keys/at')
    expect(ofKey.body).toMatchObject({ key: 'at', global: true })
    // The tasks are shared out anew when the second one comes.
    await until(async () => (await get('/readyz')).status === 200, signal)
    expect(await service.store(countries).get('ch')).toBe('Switzerland')
  }
  const key = b.streams.queryMetadataForKey(countries, 'at')
  const { port, hostname: host } = new URL(b.url)
  expect(key).toEqual({
    store: 'countries',
    partition: -1,
    active: { host, port: Number(port) },
    standby: [],
  })
  expect(b.streams.streamsMetadataForStore('countries')).toHaveLength(2)
})
