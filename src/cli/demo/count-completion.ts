import type { Admin } from '../../client/admin.ts'
import type { KafkaClient } from '../../client/kafka-client.ts'
import { fetchCommittedOffsets, listOffsets, partitionKey } from '../../client/offsets.ts'
import type { TopicPartition } from '../../client/topic-metadata.ts'

/**
 * True when an application has processed everything in its input and in its repartition topics: in
 * each partition the committed offset is the end of the log.
 *
 * A task commits after its outputs are acknowledged. So once the input is processed the topics behind
 * it have their final ends, and one look later those behind them: as many looks as there are topics,
 * whichever way they hang together.
 */
export async function isAllProcessed(
  { client, admin }: { client: KafkaClient; admin: Admin },
  applicationId: string,
  inputTopic: string,
  signal: AbortSignal,
): Promise<boolean> {
  const topics = await admin.listTopics({ signal })
  const partitions: TopicPartition[] = []
  let looks = 0
  for (const [topic, metadata] of topics) {
    const isRepartition = topic.startsWith(`${applicationId}-`) && topic.endsWith('-repartition')
    if (topic !== inputTopic && !isRepartition) continue
    looks += 1
    for (const { partition } of metadata.partitions) partitions.push({ topic, partition })
  }
  for (let look = 0; look < looks; look += 1) {
    if (!(await areProcessed(client, applicationId, partitions, signal))) return false
  }
  return looks > 0
}

async function areProcessed(
  client: KafkaClient,
  group: string,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<boolean> {
  const ends = await listOffsets(client, partitions, 'latest', { signal })
  const committed = await fetchCommittedOffsets(client, group, partitions, { signal })
  return partitions.every(({ topic, partition }) => {
    const key = partitionKey(topic, partition)
    const end = ends.get(key) ?? 0
    return end === 0 || (committed.get(key)?.offset ?? 0) >= end
  })
}
