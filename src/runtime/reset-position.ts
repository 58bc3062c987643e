/** Where a reset application begins to read. */
import type { KafkaClient } from '../client/kafka-client.ts'
import {
  fetchCommittedOffsets,
  listOffsets,
  partitionKey,
  type PartitionKey,
} from '../client/offsets.ts'
import type { TopicPartition } from '../client/topic-metadata.ts'

/**
 * `earliest`, `latest`: the ends of the log; `offset`: this one; `shift`: so many from what is
 * committed; `time`: the first record that is not older (milliseconds since 1970); `plan`: an offset
 * for each partition, and those that it does not name stay as they are.
 */
export type ResetPosition =
  | { readonly kind: 'earliest' | 'latest' }
  | { readonly kind: 'offset'; readonly offset: number }
  | { readonly kind: 'shift'; readonly by: number }
  | { readonly kind: 'time'; readonly timestamp: number }
  | { readonly kind: 'plan'; readonly offsets: ReadonlyMap<PartitionKey, number> }

/** What becomes of one partition. */
export interface ResetOffset extends TopicPartition {
  /** What the group has committed; undefined when that is nothing. */
  readonly from: number | undefined
  readonly to: number
  /** The offset that was asked for, when the log does not have it and `to` is the closest one. */
  readonly asked?: number
}

/**
 * The new offsets of these partitions, in their order. An offset outside of the log becomes the end
 * that is closer, as in Java.
 */
export async function resetOffsets(
  client: KafkaClient,
  groupId: string,
  partitions: readonly TopicPartition[],
  position: ResetPosition,
): Promise<ResetOffset[]> {
  const earliest = await listOffsets(client, partitions, 'earliest')
  const latest = await listOffsets(client, partitions, 'latest')
  const committed = await fetchCommittedOffsets(client, groupId, partitions)
  const byTime =
    position.kind === 'time' ? await listOffsets(client, partitions, position.timestamp) : undefined
  return partitions.flatMap(({ topic, partition }) => {
    const key = partitionKey(topic, partition)
    const from = committed.get(key)?.offset
    const [start, end] = [earliest.get(key) ?? 0, latest.get(key) ?? 0]
    const asked = ((): number | undefined => {
      switch (position.kind) {
        case 'earliest':
          return start
        case 'latest':
          return end
        case 'offset':
          return position.offset
        case 'shift':
          return (from ?? start) + position.by
        case 'time':
          return byTime?.get(key) ?? end
        case 'plan':
          return position.offsets.get(key)
        default:
          return position satisfies never
      }
    })()
    if (asked === undefined) return []
    const to = Math.min(end, Math.max(start, asked))
    return [{ topic, partition, from, to, ...(to === asked ? {} : { asked }) }]
  })
}
