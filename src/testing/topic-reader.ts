import { Fetcher } from '../client/fetcher.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { listOffsets, partitionKey } from '../client/offsets.ts'
import type { Topic } from '../dsl/topic.ts'
import { StreamsError } from '../errors.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'

/** How long one look waits for more, in milliseconds. */
const waitMs = 500
/** What a transaction has written that is open, or was aborted, is not there. */
const isolation = 'read_committed'

/** A record as it is in a topic. */
export interface ReadRecord<K, V> {
  readonly partition: number
  readonly offset: number
  readonly key: K | null
  readonly value: V | null
  /** Milliseconds since the epoch. */
  readonly timestamp: number
}

/** All that is committed in a topic now, partition by partition. */
export async function readTopic<K, V>(
  client: KafkaClient,
  topic: Topic<K, V>,
): Promise<ReadRecord<K, V>[]> {
  const { name } = topic
  const metadata = (await client.topicMetadata([name])).get(name)
  if (metadata === undefined) throw new StreamsError('SOURCE_TOPIC_MISSING', { topic: name })
  const partitions = metadata.partitions.map((_, partition) => ({ topic: name, partition }))
  const ends = await listOffsets(client, partitions, 'latest', { isolation })
  await using fetcher = new Fetcher(client, { isolation })
  fetcher.assign(partitions.map((one) => ({ ...one, offset: 'earliest' as const })))
  const records: ReadRecord<K, V>[] = []
  const isBehind = (): boolean =>
    partitions.some(
      ({ partition }) =>
        (fetcher.position(name, partition) ?? -1) < (ends.get(partitionKey(name, partition)) ?? 0),
    )
  while (isBehind()) {
    await fetcher.wait(waitMs)
    for (const { partition, records: bytes, startOffset, error } of fetcher.poll()) {
      if (error !== undefined) throw error
      for (const record of recordsIn(bytes, topic)) {
        if (record.offset >= startOffset) records.push({ partition, ...record })
      }
    }
  }
  return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
}

function recordsIn<K, V>(bytes: Buffer, topic: Topic<K, V>): Omit<ReadRecord<K, V>, 'partition'>[] {
  const records: Omit<ReadRecord<K, V>, 'partition'>[] = []
  const reader = new RecordBatchReader()
  reader.reset(bytes)
  while (reader.nextBatch()) {
    if (reader.isControl) continue
    while (reader.next()) {
      const { offset, timestamp } = reader
      const key = reader.key()
      const value = reader.value()
      records.push({
        offset,
        timestamp,
        key: key === null ? null : topic.key.deserialize(key),
        value: value === null ? null : topic.value.deserialize(value),
      })
    }
  }
  return records
}
