import { systemPorts } from '../../src/config.ts'
import { StreamsBuilder, serdes, topic, type KStream, type Topic } from '../../src/index.ts'
import type { TestCluster } from './test-cluster.ts'

/** A topic of texts of a test. */
export function texts(cluster: TestCluster, name: string): Topic<string, string> {
  return topic(cluster.name(name), { key: serdes.string, value: serdes.string })
}

/** A program of two topics, `left` and `right`. */
export function ofTwoStreams(
  cluster: TestCluster,
  write: (left: KStream<string, string>, right: KStream<string, string>) => void,
): StreamsBuilder {
  const builder = new StreamsBuilder()
  write(builder.stream(texts(cluster, 'left')), builder.stream(texts(cluster, 'right')))
  return builder
}

/** Times of records: recent, so that brokers keep them, and all of one test by one clock. */
export class RecentTimes {
  readonly #zero = systemPorts.clock.now() - 60_000

  at(ms: number): number {
    return this.#zero + ms
  }
}

/** Writes records with keys, each into the partition of its key, and waits until the broker has them. */
export async function writeTexts(
  cluster: TestCluster,
  name: string,
  records: readonly (readonly [key: string, value: string, timestamp: number])[],
): Promise<void> {
  const { producer } = cluster
  const topicName = cluster.name(name)
  for (const [key, value, timestamp] of records) {
    const bytes = Buffer.from(key)
    const partition = producer.partitionFor(bytes, topicName)
    producer.send(topicName, partition, bytes, Buffer.from(value), timestamp, [])
  }
  await producer.flush()
}

/** What is in a topic, as `key=value`, sorted. */
export async function readTexts(cluster: TestCluster, name: string): Promise<string[]> {
  const records = await cluster.read(name)
  return records.map(({ key, value }) => `${String(key)}=${String(value)}`).sort()
}
