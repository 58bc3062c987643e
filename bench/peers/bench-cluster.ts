import { emptyBytes } from '../../src/base/bytes.ts'
import { silentLog } from '../../src/base/log.ts'
import { Admin } from '../../src/client/admin.ts'
import { Fetcher } from '../../src/client/fetcher.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { fetchCommittedOffsets, listOffsets, partitionKey } from '../../src/client/offsets.ts'
import { Producer } from '../../src/client/producer.ts'
import { systemPorts } from '../../src/config.ts'
import { crc32c } from '../../src/protocol/crc32c.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { KafkaCluster } from '../../test/peers/kafka-cluster.ts'
import { usageOf } from './peer-process.ts'

/** Of every topic. */
export const partitions = 4

const queuedBytesMax = 8 * 1024 * 1024
const recordsPerWait = 10_000
const longBytes = 8
const readTimeoutMs = 120_000

/** A record to be written. Without a key it goes to the next partition in turn. */
export interface InputRecord {
  readonly key: string | null
  readonly value: string | Buffer
  readonly timestamp: number
}

/** What is in a topic, so that two topics can be compared. */
export interface Digest {
  readonly records: number
  /** The sum over all records of a checksum of key and value: their order does not count. */
  readonly checksum: number
  /** The sum of all values, when it is a table of longs. */
  readonly sum: number
}

/** A real Kafka broker, and a client of it that fills topics and looks at them. */
export class BenchCluster implements AsyncDisposable {
  readonly #kafka: KafkaCluster
  readonly #client: KafkaClient
  readonly #admin: Admin

  private constructor(kafka: KafkaCluster) {
    this.#kafka = kafka
    this.#client = new KafkaClient({
      brokers: kafka.bootstrap,
      clientId: 'bench',
      log: silentLog,
      ...systemPorts,
    })
    this.#admin = new Admin(this.#client)
  }

  static async start(): Promise<BenchCluster> {
    return new BenchCluster(await KafkaCluster.start())
  }

  get version(): string {
    return this.#kafka.version
  }

  get bootstrap(): string {
    return this.#kafka.bootstrap.join(',')
  }

  /** Processor time of the broker so far. */
  get cpuSeconds(): number {
    return this.#kafka.pids.reduce((sum, pid) => sum + usageOf(pid).cpuSeconds, 0)
  }

  async createTopic(topic: string, configs: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#admin.createTopics([{ topic, partitions, configs }])
  }

  /** Writes the records to a topic; a key is always in the same partition, as Kafka has it. */
  async fill(topic: string, records: Iterable<InputRecord>, signal: AbortSignal): Promise<void> {
    await this.#client.topicMetadata([topic])
    await using producer = new Producer(this.#client)
    let sent = 0
    for (const { key, value, timestamp } of records) {
      const keyBytes = key === null ? null : Buffer.from(key)
      const partition =
        keyBytes === null ? sent % partitions : partitionForKey(keyBytes, partitions)
      const valueBytes = typeof value === 'string' ? Buffer.from(value) : value
      producer.send(topic, partition, keyBytes, valueBytes, timestamp, [])
      sent += 1
      if (sent % recordsPerWait !== 0) continue
      signal.throwIfAborted()
      await producer.drained(queuedBytesMax, signal)
    }
    await producer.flush()
  }

  /** Records of the topic that the group has committed. */
  async committed(group: string, topic: string): Promise<number> {
    const wanted = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
    const found = await fetchCommittedOffsets(this.#client, group, wanted)
    return [...found.values()].reduce((sum, { offset }) => sum + offset, 0)
  }

  /** What all records of a topic are together. */
  async digest(topic: string, signal: AbortSignal): Promise<Digest> {
    const total = { records: 0, checksum: 0, sum: 0 }
    await this.#read(topic, signal, (key, value) => {
      total.records += 1
      total.checksum = (total.checksum + checksumOf(key, value)) >>> 0
    })
    return total
  }

  /** What the last records of all keys are together: the table that the topic is the changelog of. */
  async digestTable(topic: string, signal: AbortSignal): Promise<Digest> {
    const rows = new Map<string, { checksum: number; long: number }>()
    await this.#read(topic, signal, (key, value) => {
      const long = value.length === longBytes ? Number(value.readBigInt64BE()) : 0
      rows.set(key.toString('latin1'), { checksum: checksumOf(key, value), long })
    })
    const total = { records: rows.size, checksum: 0, sum: 0 }
    for (const { checksum, long } of rows.values()) {
      total.checksum = (total.checksum + checksum) >>> 0
      total.sum += long
    }
    return total
  }

  async #read(topic: string, signal: AbortSignal, take: Take): Promise<void> {
    await this.#client.topicMetadata([topic])
    const wanted = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
    const ends = await listOffsets(this.#client, wanted, 'latest')
    const missing = new Set(wanted.filter((one) => (ends.get(keyOf(one)) ?? 0) > 0).map(keyOf))
    await using fetcher = new Fetcher(this.#client, { isolation: 'read_committed' })
    fetcher.assign(wanted.map((one) => ({ ...one, offset: 0 })))
    const reader = new RecordBatchReader()
    const deadline = Date.now() + readTimeoutMs
    while (missing.size > 0) {
      signal.throwIfAborted()
      if (Date.now() > deadline) throw new Error(`${topic} could not be read to its end`)
      await fetcher.wait(1000, signal)
      for (const fetched of fetcher.poll()) {
        if (fetched.error !== undefined) throw fetched.error
        takeRows(reader, fetched.records, take)
        const key = keyOf(fetched)
        if (fetched.nextOffset >= (ends.get(key) ?? 0)) missing.delete(key)
      }
    }
  }

  async close(): Promise<void> {
    await this.#client.close()
    await this.#kafka.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Key and value of a record, null as no bytes. */
type Take = (key: Buffer, value: Buffer) => void

const checksumOf = (key: Buffer, value: Buffer): number =>
  (Math.imul(crc32c(key), 31) + crc32c(value)) >>> 0

const keyOf = ({ topic, partition }: { topic: string; partition: number }) =>
  partitionKey(topic, partition)

function takeRows(reader: RecordBatchReader, records: Buffer, take: Take): void {
  reader.reset(records)
  while (reader.nextBatch()) {
    if (reader.isControl) continue
    while (reader.next()) take(reader.key() ?? emptyBytes, reader.value() ?? emptyBytes)
  }
}
