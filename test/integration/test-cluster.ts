import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../../src/base/log.ts'
import { MemoryDisk } from '../../src/base/memory-disk.ts'
import { systemPorts, type Ports, type StreamsConfig } from '../../src/config.ts'
import { startBroker, type Broker } from '../../src/broker/index.ts'
import { Admin } from '../../src/client/admin.ts'
import { Fetcher } from '../../src/client/fetcher.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { listOffsets } from '../../src/client/offsets.ts'
import { Producer } from '../../src/client/producer.ts'
import { KafkaStreams, type Topology } from '../../src/index.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'

/** A record as a test reads it. */
export interface ReadRecord {
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  readonly value: Buffer | null
}

/**
 * A dev broker in this process with what a test needs around it: a client, a directory, instances that
 * notice each other quickly. Disposed, everything that it started is gone.
 */
export class TestCluster implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'millpond-test-'))
  readonly #streams: KafkaStreams[] = []
  readonly #disk: MemoryDisk
  #broker: Broker
  readonly client: KafkaClient
  readonly producer: Producer

  private constructor(broker: Broker, disk: MemoryDisk) {
    this.#broker = broker
    this.#disk = disk
    this.client = new KafkaClient({
      brokers: [this.address],
      log: silentLog,
      ...systemPorts,
    })
    this.producer = new Producer(this.client)
  }

  static async start(): Promise<TestCluster> {
    const disk = new MemoryDisk()
    return new TestCluster(await startBroker({ disk, autoCreateTopics: false }), disk)
  }

  get address(): string {
    return this.#broker.address
  }

  /** Ends the broker and starts it again with the same data on the same port. */
  async restartBroker(): Promise<void> {
    const { port } = this.#broker
    await this.#broker.close()
    this.#broker = await startBroker({ disk: this.#disk, port, autoCreateTopics: false })
  }

  /** Compacts and expires logs now. */
  cleanLogs(): Promise<void> {
    return this.#broker.clean()
  }

  async createTopic(topic: string, partitions: number): Promise<void> {
    await new Admin(this.client).createTopics([{ topic, partitions, replicationFactor: 1 }])
    await this.client.topicMetadata([topic])
  }

  /** Writes lines without keys, one partition after the other, and waits until the broker has them. */
  async write(topic: string, lines: readonly string[]): Promise<void> {
    const partitions = this.producer.partitionCount(topic)
    // Older timestamps than the retention of the topic would let the broker delete the lines.
    const now = systemPorts.clock.now()
    for (const [index, line] of lines.entries())
      this.producer.send(topic, index % partitions, null, Buffer.from(line), now, [])
    await this.producer.flush()
  }

  /** Everything that is in the topic now. */
  async read(topic: string): Promise<ReadRecord[]> {
    const partitions = (await this.client.topicMetadata([topic])).get(topic)?.partitions.length ?? 0
    const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
    const ends = await listOffsets(this.client, all, 'latest')
    await using fetcher = new Fetcher(this.client)
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
          while (reader.next()) {
            const key = reader.key()
            const value = reader.value()
            records.push({
              partition,
              offset: reader.offset,
              key: key && Buffer.from(key),
              value: value && Buffer.from(value),
            })
          }
        }
      }
    }
    return records
  }

  /** An instance with a state directory of its own (by name), and short timeouts. */
  streams(
    topology: Topology,
    name: string,
    config: Partial<StreamsConfig> = {},
    ports: Ports = systemPorts,
  ): KafkaStreams {
    const streams = new KafkaStreams(
      topology,
      {
        applicationId: 'word-count',
        brokers: [this.address],
        stateDir: join(this.directory, name),
        commitInterval: 100,
        sessionTimeout: 1_500,
        heartbeatInterval: 100,
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
    await this.client.close()
    await this.#broker.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
}
