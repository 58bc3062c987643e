import type { KafkaClient } from './kafka-client.ts'
import type { TopicPartition } from './topic-metadata.ts'

/** Who commits: a member of the group in its generation, so that a replaced one is fenced. */
export interface OffsetCommitIdentity {
  readonly groupId: string
  readonly memberId: string
  readonly instanceId: string | null
  readonly generation: number
}

/** An offset to be committed. */
export interface CommittedOffset extends TopicPartition {
  /** The next offset to be read. */
  readonly offset: number
  /** Kept beside it by the broker. Default the empty string. */
  readonly metadata?: string
  /** Default -1: not known. */
  readonly leaderEpoch?: number
}

/** Options of the calls here: they are tried again while that can help, until the timeout. */
export interface OffsetsRequestOptions {
  /** Default 60 s. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** Name of a partition in the Maps of this module. */
export type PartitionKey = `${string}-${number}`

/** `topic-partition`. */
export function partitionKey(topic: string, partition: number): PartitionKey {
  return `${topic}-${partition}`
}

/**
 * Commits offsets in the name of a member; returns when the broker has stored all of them.
 *
 * Rejects with `TASK_MIGRATED` when this member was replaced (ILLEGAL_GENERATION,
 * UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID): another may hold the tasks already, nothing was committed.
 * Rejects with `KAFKA_ERROR` whose `context.error` is `REBALANCE_IN_PROGRESS` when the group waits
 * for the assignment: the member is still valid and nothing was committed; commit again once the
 * rebalance is over (or give the partitions up without a commit).
 */
export function commitOffsets(
  client: KafkaClient,
  identity: OffsetCommitIdentity,
  offsets: readonly CommittedOffset[],
  options: OffsetsRequestOptions = {},
): Promise<void> {
  throw new Error('to come')
}

/** The committed offsets of these partitions; one without a commit is absent. */
export function fetchCommittedOffsets(
  client: KafkaClient,
  groupId: string,
  partitions: readonly TopicPartition[],
  options: OffsetsRequestOptions = {},
): Promise<Map<PartitionKey, Required<CommittedOffset>>> {
  throw new Error('to come')
}

/**
 * The first (`earliest`) or next (`latest`) offset of these partitions, or the first with a
 * timestamp of at least the given one: that is the end of the log when there is none.
 */
export function listOffsets(
  client: KafkaClient,
  partitions: readonly TopicPartition[],
  at: 'earliest' | 'latest' | number,
  options: OffsetsRequestOptions = {},
): Promise<Map<PartitionKey, number>> {
  throw new Error('to come')
}
