import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type KafkaStreams,
  type RawKey,
  type Topic,
  type Topology,
} from '../../src/index.ts'
import { TestCluster } from './test-cluster.ts'

/** The input. */
export function linesOf(cluster: TestCluster): Topic<RawKey, string> {
  return topic(cluster.name('lines'), { value: serdes.string })
}

/** The state. */
export const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })

/** Counts the words of the topic `lines`. */
export function wordCount(cluster: TestCluster, store = wordCounts): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(linesOf(cluster))
    .flatMapValues((line) => line.split(' '))
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store })
  return builder.build()
}

/** Ten different words. */
export const poem = ['to be or not to be', 'that is the question', 'to sleep to dream']

/** What is to be counted in the poem. */
export const counts = {
  to: 4,
  be: 2,
  or: 1,
  not: 1,
  that: 1,
  is: 1,
  the: 1,
  question: 1,
  sleep: 1,
  dream: 1,
}

/** All tasks of word count with four partitions. */
export const allTasks = ['0_0', '0_1', '0_2', '0_3', '1_0', '1_1', '1_2', '1_3']

/** A cluster with the input topic. */
export async function startedCluster(partitions = 4): Promise<TestCluster> {
  const cluster = await TestCluster.start()
  await cluster.createTopic('lines', partitions)
  return cluster
}

/** What the instance holds of the store. */
export async function held(streams: KafkaStreams): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for await (const [word, count] of streams.store(wordCounts).range()) rows[word] = count
  return rows
}

/** What the instances hold together; throws when a word is at two of them. */
export async function heldByAll(...all: KafkaStreams[]): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for (const streams of all) {
    for (const [word, count] of Object.entries(await held(streams))) {
      if (word in rows) throw new Error(`${word} is at two instances`)
      rows[word] = count
    }
  }
  return rows
}

/** Ids of the tasks that an instance runs, in order. */
export function taskIds(streams: KafkaStreams): string[] {
  return streams
    .localTasks()
    .filter(({ role }) => role === 'active')
    .map(({ id }) => id)
    .sort()
}

/** True when both have the same words with the same counts. */
export function isEqual(expected: Record<string, number>, actual: Record<string, number>): boolean {
  return (
    Object.keys(expected).length === Object.keys(actual).length &&
    Object.entries(expected).every(([word, count]) => actual[word] === count)
  )
}
