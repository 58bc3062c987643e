import { listOffsets as listOffsetsApi } from '../protocol/messages/2-list-offsets.ts'
import { isolationLevel, type Isolation } from './isolation.ts'
import type { KafkaClient, RequestOptions } from './kafka-client.ts'
import type { TopicPartition } from './topic-metadata.ts'

/** A place in a log: one of its ends, or the first record with at least this timestamp. */
export type OffsetAt = 'earliest' | 'latest' | number

/** ListOffsets has no name for the ends, but timestamps that cannot be. */
const endTimestamps = { earliest: -2, latest: -1 }

/** First version that takes an isolation level. */
const isolationVersion = 2

/** What the leader says about one partition. */
export interface ListedOffset extends TopicPartition {
  readonly errorCode: number
  /** -1: no record has such a timestamp. */
  readonly offset: number
}

/** Asks the leader of these partitions; each has an answer of its own, errors included. */
export async function listOffsetsOf(
  client: KafkaClient,
  leader: number,
  partitions: readonly (TopicPartition & { readonly at: OffsetAt })[],
  options: Pick<RequestOptions<unknown>, 'signal' | 'timeoutMs'> & { isolation?: Isolation } = {},
): Promise<ListedOffset[]> {
  const { isolation = 'read_uncommitted', ...request } = options
  const topics = groupByTopic(partitions).map(([name, rows]) => ({
    name,
    partitions: rows.map(({ topic, partition, at }) => ({
      partitionIndex: partition,
      currentLeaderEpoch: client.leaderOf(topic, partition)?.leaderEpoch ?? -1,
      timestamp: typeof at === 'number' ? at : endTimestamps[at],
    })),
  }))
  const response = await client.request(
    listOffsetsApi,
    // Brokers that are too old for the level are too old for transactions.
    (version) => ({
      topics,
      ...(version >= isolationVersion && { isolationLevel: isolationLevel[isolation] }),
    }),
    { node: leader },
    { ...request, retry: 'none' },
  )
  return response.topics.flatMap(({ name, partitions: rows }) =>
    rows.map(({ partitionIndex, errorCode, offset }) => ({
      topic: name,
      partition: partitionIndex,
      errorCode,
      offset,
    })),
  )
}

/** The rows of each topic, in order of first appearance. */
export function groupByTopic<Row extends { readonly topic: string }>(
  rows: readonly Row[],
): [topic: string, rows: Row[]][] {
  const byTopic = new Map<string, Row[]>()
  for (const row of rows) {
    const known = byTopic.get(row.topic)
    if (known === undefined) byTopic.set(row.topic, [row])
    else known.push(row)
  }
  return [...byTopic]
}
