import { join } from 'node:path'
import { fetchCommittedOffsets, listOffsets, partitionKey } from '../../src/client/offsets.ts'
import {
  StreamsBuilder,
  keyValueStore,
  nullable,
  serdes,
  topic,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import { partitionForKey } from '../../src/protocol/murmur2.ts'
import type { TestCluster } from '../integration/test-cluster.ts'
import { until } from '../integration/until.ts'
import { runTurn } from './java-programs.ts'

const named = keyValueStore('named', { key: serdes.string, value: serdes.string })
const ordersOf = keyValueStore('orders-of', { key: serdes.string, value: serdes.long })

/** Partitions of the topics that orders travel through, in that order. */
const partitionCounts = { orders: 3, customers: 2 }

/** What Orders.java computes, in the same steps under the same names. */
function ordersTopology(cluster: TestCluster): Topology {
  const text = { key: serdes.string, value: nullable(serdes.string) }
  const builder = new StreamsBuilder()
  const orders = builder.table(topic(cluster.name('orders'), text))
  const customers = builder.table(topic(cluster.name('customers'), text))
  orders.leftJoin(customers, (order, name) => `${order} for ${name ?? 'null'}`, {
    foreignKey: customerOf,
    name: 'naming',
    store: named,
  })
  orders
    .groupBy((order) => [customerOf(order), order], { key: serdes.string, value: serdes.string })
    .count({ store: ordersOf })
  return builder.build()
}

/** The first word; null when there is a hyphen. */
function customerOf(order: string): string | null {
  const [customer = ''] = order.split(' ')
  return customer === '-' ? null : customer
}

/** Values by key; null deletes. */
export type Rows = Readonly<Record<string, string | null>>

/** An application that Java and Millpond take turns to be: orders with the names of their customers. */
export class Orders {
  readonly cluster: TestCluster
  readonly applicationId: string
  readonly #cacheBytes: number

  /** @param short names the application within the cluster. */
  constructor(cluster: TestCluster, short: string, cacheBytes: number) {
    this.cluster = cluster
    this.applicationId = cluster.name(short)
    this.#cacheBytes = cacheBytes
  }

  static async createInput(cluster: TestCluster): Promise<void> {
    for (const [short, partitions] of Object.entries(partitionCounts))
      await cluster.createTopic(short, partitions, { 'retention.ms': '-1' })
  }

  async write(short: 'orders' | 'customers', rows: Rows): Promise<void> {
    const { producer } = this.cluster
    for (const [text, row] of Object.entries(rows)) {
      const key = Buffer.from(text)
      const partition = partitionForKey(key, partitionCounts[short])
      const value = row === null ? null : Buffer.from(row)
      producer.send(this.cluster.name(short), partition, key, value, 1_000, [])
    }
    await producer.flush()
  }

  /** Kafka Streams processes all input, commits, and leaves; the rows of its stores, in order. */
  async runJava(directory: string, signal: AbortSignal): Promise<string[]> {
    const { cluster, applicationId } = this
    const rows = await runTurn(
      'Orders',
      [
        cluster.address,
        applicationId,
        cluster.name('orders'),
        cluster.name('customers'),
        join(cluster.directory, directory),
        String(this.#cacheBytes),
      ],
      signal,
    )
    return rows.map((row) => row.split('\t').slice(0, 3).join('\t')).sort()
  }

  /** An instance of Millpond that has not been started. */
  millpond(directory: string): KafkaStreams {
    return this.cluster.streams(ordersTopology(this.cluster), directory, {
      applicationId: this.applicationId,
      cacheBytes: this.#cacheBytes,
    })
  }

  /** Resolves when the application has processed and committed all of its input. */
  async processed(signal: AbortSignal): Promise<void> {
    const internal = (suffix: string): string =>
      `${this.cluster.own([this.applicationId])[0] ?? ''}-${suffix}`
    const { orders, customers } = partitionCounts
    const travelling: [short: string, partitions: number][][] = [
      [['orders', orders]],
      [
        ['customers', customers],
        [internal('naming-subscription-registration-topic'), customers],
        [internal('orders-of-repartition'), orders],
      ],
      [[internal('naming-subscription-response-topic'), orders]],
    ]
    for (const topics of travelling) {
      await until(() => this.#isCommitted(topics), signal)
    }
  }

  async #isCommitted(topics: readonly [short: string, partitions: number][]): Promise<boolean> {
    const partitions = topics.flatMap(([short, count]) =>
      Array.from({ length: count }, (_, partition) => ({
        topic: this.cluster.name(short),
        partition,
      })),
    )
    const { client } = this.cluster
    const ends = await listOffsets(client, partitions, 'latest')
    const committed = await fetchCommittedOffsets(client, this.applicationId, partitions)
    return partitions.every(({ topic: name, partition }) => {
      const key = partitionKey(name, partition)
      return (committed.get(key)?.offset ?? 0) === ends.get(key)
    })
  }

  /** The last value of each key in the changelog of a store; deletions are left out. */
  async changelog(store: string): Promise<string[]> {
    const short = this.cluster.own([this.applicationId])[0] ?? ''
    const last = new Map<string, string>()
    for (const { partition, key, value } of await this.cluster.read(
      `${short}-${store}-changelog`,
    )) {
      const text = `${partition}\t${key?.toString('hex')}`
      if (value === null) last.delete(text)
      else last.set(text, value.toString('hex'))
    }
    return [...last].map((row) => row.join('\t')).sort()
  }
}

/** The rows that an instance of Millpond holds, in order. */
export async function rowsOfOrders(streams: KafkaStreams): Promise<string[]> {
  const rows: string[] = []
  for await (const [key, value] of streams.store(named).range())
    rows.push(`named\t${key}\t${value}`)
  for await (const [key, count] of streams.store(ordersOf).range())
    rows.push(`orders-of\t${key}\t${count}`)
  return rows.sort()
}
