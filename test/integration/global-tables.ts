import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type Topology,
} from '../../src/index.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { TestCluster } from './test-cluster.ts'

const strings = { key: serdes.string, value: serdes.string }

/** The store of the global table. */
export const countries = keyValueStore('countries', strings)

/** Joins the topic `orders`, whose values are codes, with the rows of the topic `countries`. */
export function ordersWithCountries(cluster: TestCluster, store = countries): Topology {
  const builder = new StreamsBuilder()
  const rows = builder.globalTable(topic(cluster.name('countries'), strings), { store })
  builder
    .stream(topic(cluster.name('orders'), strings))
    .leftJoin(rows, (code, name) => `${code}: ${name ?? 'unknown'}`, { lookup: (code) => code })
    .to(topic(cluster.name('joined'), strings))
  return builder.build()
}

/** Writes rows to a topic, one partition after the other; a null deletes. */
export async function writeRows(
  cluster: TestCluster,
  short: string,
  rows: Readonly<Record<string, string | null>>,
): Promise<void> {
  const name = cluster.name(short)
  const partitions = cluster.producer.partitionCount(name)
  const now = systemClock.now()
  for (const [index, [key, value]] of Object.entries(rows).entries()) {
    const bytes = value === null ? null : Buffer.from(value)
    cluster.producer.send(name, index % partitions, Buffer.from(key), bytes, now, [])
  }
  await cluster.producer.flush()
}

/** Everything in the global table, as one instance holds it. */
export async function globalRows(
  streams: KafkaStreams,
  store = countries,
): Promise<Record<string, string>> {
  const rows: Record<string, string> = {}
  for await (const [code, name] of streams.store(store).range()) rows[code] = name
  return rows
}

/** The values of the joined orders so far, in order. */
export async function joined(cluster: TestCluster): Promise<string[]> {
  return (await cluster.read('joined')).map(({ value }) => String(value)).sort()
}
