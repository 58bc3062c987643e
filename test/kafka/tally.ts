import { join } from 'node:path'
import {
  fetchCommittedOffsets,
  listOffsets,
  partitionKey,
  type CommittedOffset,
} from '../../src/client/offsets.ts'
import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type AnyStore,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import type { TestCluster } from '../integration/test-cluster.ts'
import { until } from '../integration/until.ts'
import { runTurn } from './java-programs.ts'

const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })
const sums = keyValueStore('sums', { key: serdes.string, value: serdes.long })
const histories = keyValueStore('histories', { key: serdes.string, value: serdes.string })

/** Partitions of the topics of lines and of amounts. */
const partitionCounts = { lines: 3, amounts: 2 }

/** What Tally.java computes, in the same steps under the same names. */
function tallyTopology(cluster: TestCluster): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(topic(cluster.name('lines'), { value: serdes.string }))
    .flatMapValues((line) => line.split(' '))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: wordCounts })
  const amounts = topic(cluster.name('amounts'), { key: serdes.string, value: serdes.long })
  const byKey = builder.stream(amounts).groupByKey()
  byKey.reduce((sum, amount) => (amount === 0 ? null : sum + amount), { store: sums })
  byKey.aggregate(
    () => '',
    (history, amount) => (amount === 0 ? null : `${history}${amount};`),
    { store: histories },
  )
  return builder.build()
}

/** A text to be counted, with a timestamp. */
export type Line = readonly [text: string, timestamp: number]

type Guarantee = 'at-least-once' | 'exactly-once'

/** An amount for an account, with a timestamp; 0 ends the account. */
export type Amount = readonly [account: string, amount: number, timestamp: number]

/**
 * An application that Java and Millpond take turns to be: word counts, sums and histories of amounts.
 * A row of its stores is a text: store, key, value and timestamp, with tabs between.
 */
export class Tally {
  readonly cluster: TestCluster
  readonly applicationId: string
  readonly #cacheBytes: number
  readonly #guarantee: Guarantee
  readonly #groupProtocol: 'classic' | 'streams'
  #textCount = 0

  /** @param short names the application within the cluster. */
  constructor(
    cluster: TestCluster,
    short: string,
    cacheBytes: number,
    groupProtocol: 'classic' | 'streams' = 'classic',
    guarantee: Guarantee = 'at-least-once',
  ) {
    this.cluster = cluster
    this.applicationId = cluster.name(short)
    this.#cacheBytes = cacheBytes
    this.#groupProtocol = groupProtocol
    this.#guarantee = guarantee
  }

  /** Makes the input topics. Their records are of any time, and stay. */
  static async createInput(cluster: TestCluster): Promise<void> {
    for (const [short, partitions] of Object.entries(partitionCounts))
      await cluster.createTopic(short, partitions, { 'retention.ms': '-1' })
  }

  /** Writes to the input topics, and waits until the broker has it. */
  async write(lines: readonly Line[], amounts: readonly Amount[]): Promise<void> {
    const { cluster } = this
    const { producer } = cluster
    for (const [text, timestamp] of lines) {
      const partition = this.#textCount % partitionCounts.lines
      this.#textCount += 1
      producer.send(cluster.name('lines'), partition, null, Buffer.from(text), timestamp, [])
    }
    for (const [account, amount, timestamp] of amounts) {
      const key = Buffer.from(account)
      const value = Buffer.alloc(8)
      value.writeBigInt64BE(BigInt(amount))
      const partition = partitionForKey(key, partitionCounts.amounts)
      producer.send(cluster.name('amounts'), partition, key, value, timestamp, [])
    }
    await producer.flush()
  }

  /**
   * Kafka Streams processes all input, commits, and leaves.
   *
   * @param directory names its state directory: what it left there is there the next time.
   * @returns the rows of its stores, in order.
   */
  async runJava(directory: string, signal: AbortSignal): Promise<string[]> {
    const { cluster, applicationId } = this
    const input = [cluster.name('lines'), cluster.name('amounts')]
    const stateDirectory = join(cluster.directory, directory)
    const guarantee = this.#guarantee === 'exactly-once' ? 'exactly_once_v2' : 'at_least_once'
    const settings = [stateDirectory, String(this.#cacheBytes), guarantee]
    const rows = await runTurn(
      'Tally',
      [cluster.address, applicationId, ...input, ...settings],
      signal,
      this.#groupProtocol,
    )
    return rows.sort()
  }

  /** An instance of Millpond that has not been started. */
  millpond(directory: string): KafkaStreams {
    return this.cluster.streams(tallyTopology(this.cluster), directory, {
      applicationId: this.applicationId,
      cacheBytes: this.#cacheBytes,
      groupProtocol: this.#groupProtocol,
      processingGuarantee: this.#guarantee,
    })
  }

  /** Resolves when the application has processed and committed all of its input. */
  async processed(signal: AbortSignal): Promise<void> {
    // First the input: its commit comes after what it made was written.
    for (const shorts of [['lines', 'amounts'], [this.#internal('word-counts-repartition')]]) {
      await until(async () => {
        const partitions = shorts.flatMap((short) => this.#partitionsOf(short))
        const ends = await listOffsets(this.cluster.client, partitions, 'latest')
        const committed = await this.committed(shorts)
        return partitions.every(({ topic: name, partition }) => {
          const key = partitionKey(name, partition)
          return (committed.get(key)?.offset ?? 0) === ends.get(key)
        })
      }, signal)
    }
  }

  /** What is committed for these topics, by partition. */
  committed(shorts: readonly string[]): Promise<Map<string, Required<CommittedOffset>>> {
    const partitions = shorts.flatMap((short) => this.#partitionsOf(short))
    return fetchCommittedOffsets(this.cluster.client, this.applicationId, partitions)
  }

  /** Keys, values and timestamps in a changelog, partition by partition, as text. */
  async changelog(store: string): Promise<string[]> {
    const records = await this.cluster.read(this.#internal(`${store}-changelog`))
    return records
      .sort((one, other) => one.partition - other.partition || one.offset - other.offset)
      .map(({ partition, key, value, timestamp }) =>
        [partition, key?.toString(), value?.toString('hex') ?? 'null', timestamp].join('\t'),
      )
  }

  /** Short name of an internal topic of the application. */
  #internal(suffix: string): string {
    return `${this.cluster.own([this.applicationId])[0] ?? ''}-${suffix}`
  }

  #partitionsOf(short: string): { topic: string; partition: number }[] {
    const count = short === 'amounts' ? partitionCounts.amounts : partitionCounts.lines
    const name = this.cluster.name(short)
    return Array.from({ length: count }, (_, partition) => ({ topic: name, partition }))
  }
}

/** The rows that an instance of Millpond holds, in order. Throws while one of its stores restores. */
export function rowsOf(streams: KafkaStreams): string[] {
  const target = streams.queryTarget
  const rows: string[] = []
  for (const { name } of [wordCounts, sums, histories] satisfies AnyStore[]) {
    const partitionCount = target.partitionCount(name)
    if (partitionCount === undefined) throw new Error(`the partitions of ${name} are not known yet`)
    for (let partition = 0; partition < partitionCount; partition += 1) {
      const view = target.local(name, partition)?.view
      if (view?.kind !== 'key-value')
        throw new Error(`partition ${partition} of ${name} is not here yet`)
      using all = view.byteRows({})
      for (const { key, value, timestamp } of all)
        rows.push([name, key, value, timestamp].join('\t'))
    }
  }
  return rows.sort()
}
