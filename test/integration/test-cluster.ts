import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../../src/base/log.ts'
import { MemoryDisk } from '../../src/base/memory-disk.ts'
import { systemPorts, type Ports, type StreamsConfig } from '../../src/config.ts'
import { startBroker, type Broker, type BrokerOptions } from '../../src/broker/index.ts'
import { Admin } from '../../src/client/admin.ts'
import { Fetcher } from '../../src/client/fetcher.ts'
import type { Isolation } from '../../src/client/isolation.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { fetchCommittedOffsets, listOffsets } from '../../src/client/offsets.ts'
import { Producer } from '../../src/client/producer.ts'
import { KafkaStreams, type Topology } from '../../src/index.ts'
import { metadata } from '../../src/protocol/messages/3-metadata.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { until } from './until.ts'

/** A record as a test reads it. */
export interface ReadRecord {
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** Milliseconds. */
  readonly timestamp: number
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[]
}

/**
 * The address of a real Kafka on which tests run instead of the dev broker; undefined: the dev broker.
 * `npm run test:kafka` sets it, and so can you: see docs/internals/testing.md.
 */
export const realKafka: string | undefined = process.env['MILLPOND_TEST_KAFKA'] || undefined

/** The protocol of the groups of instances, unless a test says which; `vitest.config.ts` runs tests with both. */
export const groupProtocol: 'classic' | 'streams' =
  process.env['MILLPOND_TEST_GROUP_PROTOCOL'] === 'streams' ? 'streams' : 'classic'

/**
 * The option of a test of what only a broker in this process can do, such as to be started again or to
 * clean its logs at once. Skipped on a real Kafka.
 */
export const devBrokerOnly = { skip: realKafka !== undefined }

/** The option of a test of what is so in the classic group protocol alone. */
export const classicOnly = { skip: groupProtocol !== 'classic' }

/** The option of a test of static members: the streams protocol has them from Kafka 4.4 on. */
export const staticMembers = {
  skip:
    groupProtocol === 'streams' &&
    realKafka !== undefined &&
    /^4\.[0-3]\./.test(process.env['MILLPOND_TEST_KAFKA_VERSION'] ?? ''),
}

/** A broker, and what a test may ask of it. */
interface TestBroker {
  readonly address: string
  /** True when others use it at the same time, and after us. */
  readonly isShared: boolean
  /** Ends the broker and starts it again with the same data on the same port. */
  restart(): Promise<void>
  /** Compacts and expires logs now. */
  clean(): Promise<void>
  close(): Promise<void>
}

async function startDevBroker(options: BrokerOptions = {}): Promise<TestBroker> {
  const disk = new MemoryDisk()
  let broker: Broker = await startBroker({ disk, autoCreateTopics: false, ...options })
  return {
    address: broker.address,
    isShared: false,
    restart: async () => {
      const { port } = broker
      await broker.close()
      broker = await startBroker({ disk, port, autoCreateTopics: false, ...options })
    },
    clean: () => broker.clean(),
    close: () => broker.close(),
  }
}

const refuse = (): never => {
  throw new Error('Only the dev broker can do that: give the test the option devBrokerOnly.')
}

function runningKafka(address: string, restart: () => Promise<void> = refuse): TestBroker {
  return {
    address,
    isShared: true,
    restart,
    clean: refuse,
    close: () => Promise.resolve(),
  }
}

/**
 * A broker with what a test needs around it: a client, a directory, instances that notice each other
 * quickly. Disposed, everything that it started is gone.
 *
 * It is a dev broker in this process, or a part of the real Kafka that `realKafka` names. Many tests
 * share that one, so topics, groups and applications get names of their own from `name`. The methods
 * here do that themselves: `createTopic('lines', 4)` makes a topic that others know as `name('lines')`.
 */
export class TestCluster implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'millpond-test-'))
  readonly #prefix: string
  readonly #streams: KafkaStreams[] = []
  readonly #broker: TestBroker
  readonly client: KafkaClient
  readonly producer: Producer

  private constructor(broker: TestBroker) {
    this.#broker = broker
    this.#prefix = broker.isShared ? `test-${randomBytes(6).toString('hex')}-` : 'test-'
    this.client = this.newClient()
    this.producer = new Producer(this.client)
  }

  static async start(): Promise<TestCluster> {
    return new TestCluster(
      realKafka === undefined ? await startDevBroker() : runningKafka(realKafka),
    )
  }

  /** On a dev broker, also in a run on a real Kafka: for tests that compare the two. */
  static async onDevBroker(options: BrokerOptions = {}): Promise<TestCluster> {
    return new TestCluster(await startDevBroker(options))
  }

  /** On a real Kafka of this test's own, which can be restarted; whoever has started it ends it. */
  static onKafka(address: string, restart: () => Promise<void>): TestCluster {
    return new TestCluster(runningKafka(address, restart))
  }

  get address(): string {
    return this.#broker.address
  }

  /** The name that a topic, group or application of this test has on the broker. */
  name(short: string): string {
    return this.#prefix + short
  }

  /** Of names on the broker those of this test, as the test knows them, in order. */
  own(names: Iterable<string>): string[] {
    return [...names]
      .filter((name) => name.startsWith(this.#prefix))
      .map((name) => name.slice(this.#prefix.length))
      .sort()
  }

  /** One more client; whoever asks for it closes it. */
  newClient(ports: Partial<Ports> = {}): KafkaClient {
    return new KafkaClient({
      brokers: [this.address],
      log: silentLog,
      ...systemPorts,
      ...ports,
    })
  }

  /** Ends the broker and starts it again with the same data on the same port; a broker of this test alone. */
  restartBroker(): Promise<void> {
    return this.#broker.restart()
  }

  /** Compacts and expires logs now; the dev broker only. */
  cleanLogs(): Promise<void> {
    return this.#broker.clean()
  }

  async createTopic(
    short: string,
    partitions: number,
    configs: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const topic = this.name(short)
    await new Admin(this.client).createTopics([
      { topic, partitions, replicationFactor: 1, configs },
    ])
    await this.client.topicMetadata([topic])
    // Whoever is asked next, of several brokers, must know it.
    for (const node of this.client.nodes.keys()) {
      await until(async () => {
        const asked = { topics: [{ name: topic }], allowAutoTopicCreation: false }
        const { topics } = await this.client.request(metadata, asked, { node })
        return topics[0]?.errorCode === 0
      })
    }
  }

  /** Writes lines without keys, one partition after the other, and waits until the broker has them. */
  async write(short: string, lines: readonly string[]): Promise<void> {
    const topic = this.name(short)
    const partitions = this.producer.partitionCount(topic)
    // Older timestamps than the retention of the topic would let the broker delete the lines.
    const now = systemPorts.clock.now()
    for (const [index, line] of lines.entries())
      this.producer.send(topic, index % partitions, null, Buffer.from(line), now, [])
    await this.producer.flush()
  }

  /** True: an application has committed all that is in these topics. */
  async hasCommitted(application: string, ...shorts: readonly string[]): Promise<boolean> {
    const all = await this.#partitionsOf(shorts.map((short) => this.name(short)))
    const ends = await listOffsets(this.client, all, 'latest')
    const committed = await fetchCommittedOffsets(this.client, this.name(application), all)
    return [...ends].every(([partition, end]) => (committed.get(partition)?.offset ?? 0) === end)
  }

  async #partitionsOf(topics: readonly string[]): Promise<{ topic: string; partition: number }[]> {
    const metadata = await this.client.topicMetadata(topics)
    return topics.flatMap((topic) =>
      Array.from(metadata.get(topic)?.partitions ?? [], (_, partition) => ({ topic, partition })),
    )
  }

  /** Everything that is in the topic now; under `read_committed` what was committed of it, when that is decided. */
  async read(short: string, isolation: Isolation = 'read_uncommitted'): Promise<ReadRecord[]> {
    const topic = this.name(short)
    const all = await this.#partitionsOf([topic])
    const ends = await listOffsets(this.client, all, 'latest')
    await using fetcher = new Fetcher(this.client, { isolation })
    fetcher.assign(all.map((one) => ({ ...one, offset: 'earliest' as const })))
    const records: ReadRecord[] = []
    const reader = new RecordBatchReader()
    const isBehind = (): boolean =>
      all.some(
        ({ partition }) =>
          (fetcher.position(topic, partition) ?? -1) < (ends.get(`${topic}-${partition}`) ?? 0),
      )
    while (isBehind()) {
      await fetcher.wait(100)
      for (const { partition, records: bytes } of fetcher.poll()) {
        reader.reset(bytes)
        while (reader.nextBatch()) {
          if (reader.isControl) reader.skipBatch()
          while (reader.next()) {
            const key = reader.key()
            const value = reader.value()
            records.push({
              partition,
              offset: reader.offset,
              key: key && Buffer.from(key),
              value: value && Buffer.from(value),
              timestamp: reader.timestamp,
              headers: reader.headers(),
            })
          }
        }
      }
    }
    return records
  }

  /** An instance with a state directory of its own (by name), and short timeouts. */
  streams(
    topology: Topology | URL,
    name: string,
    config: Partial<StreamsConfig> = {},
    ports: Ports = systemPorts,
  ): KafkaStreams {
    const streams = new KafkaStreams(
      topology,
      {
        applicationId: this.name('word-count'),
        brokers: [this.address],
        stateDir: join(this.directory, name),
        commitInterval: 100,
        sessionTimeout: 1_500,
        heartbeatInterval: 100,
        groupProtocol,
        logger: 'silent',
        ...config,
      },
      ports,
    )
    this.#streams.push(streams)
    return streams
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#streams.map((streams) => streams.close({ timeout: 1000 })))
    await this.producer.close()
    if (this.#broker.isShared) await this.#deleteTopics()
    await this.client.close()
    await this.#broker.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
  async #deleteTopics(): Promise<void> {
    const admin = new Admin(this.client)
    const own = [...(await admin.listTopics()).keys()].filter((name) =>
      name.startsWith(this.#prefix),
    )
    await admin.deleteTopics(own)
  }
}
