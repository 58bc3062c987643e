import { StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { offsetCommit } from '../protocol/messages/8-offset-commit.ts'
import { offsetFetch } from '../protocol/messages/9-offset-fetch.ts'
import type { RequestInputOf, ResponseOf } from '../protocol/schema.ts'
import type { Isolation } from './isolation.ts'
import type { KafkaClient } from './kafka-client.ts'
import { kafkaFailure } from './kafka-failure.ts'
import { askLeaders } from './leader-requests.ts'
import { groupByTopic, listOffsetsOf, type OffsetAt } from './list-offsets.ts'
import type { TopicPartition } from './topic-metadata.ts'

/** From v8 on OffsetFetch has another form that only helps who asks for several groups. */
const offsetFetchVersionMax = 7

/** First version with `requireStable`. */
const requireStableVersion = 7

/** Errors that say: this member was replaced. */
const fencingErrors: ReadonlySet<number> = new Set([
  errorCode.ILLEGAL_GENERATION,
  errorCode.UNKNOWN_MEMBER_ID,
  errorCode.FENCED_INSTANCE_ID,
  errorCode.STALE_MEMBER_EPOCH,
])

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

/** Options of {@link listOffsets}. */
export interface ListOffsetsOptions extends OffsetsRequestOptions {
  /** Under `read_committed` the log ends where the first open transaction begins. Default `read_uncommitted`. */
  isolation?: Isolation
  /** Told each one as its leader answers: a partition that has no leader now is waited for in vain, maybe. */
  onOffset?: (key: PartitionKey, offset: number) => void
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
 * UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, STALE_MEMBER_EPOCH): another may hold the tasks already, nothing was committed.
 * Rejects with `KAFKA_ERROR` whose `context.error` is `REBALANCE_IN_PROGRESS` when the group waits
 * for the assignment: the member is still valid and nothing was committed; commit again once the
 * rebalance is over (or give the partitions up without a commit). Rejects at once with that of
 * `UNKNOWN_TOPIC_OR_PARTITION` when a topic was deleted: the others are committed.
 */
export async function commitOffsets(
  client: KafkaClient,
  identity: OffsetCommitIdentity,
  offsets: readonly CommittedOffset[],
  options: OffsetsRequestOptions = {},
): Promise<void> {
  if (offsets.length === 0) return
  const { groupId, memberId, instanceId, generation } = identity
  const response = await client.request(
    offsetCommit,
    {
      groupId,
      generationIdOrMemberEpoch: generation,
      memberId,
      groupInstanceId: instanceId,
      topics: offsetTopics(offsets),
    },
    { coordinatorOf: groupId },
    { ...requestOptions(options), errorCodeOf: repeatedCommitFailure },
  )
  const failed = commitFailure(response.topics)
  if (failed === undefined) return
  if (fencingErrors.has(failed.errorCode)) {
    const { name, message } = kafkaError(failed.errorCode)
    throw new StreamsError('TASK_MIGRATED', {
      task: `of member ${memberId} of group ${groupId}`,
      error: name,
      detail: `${name}, ${message}`,
    })
  }
  throw kafkaFailure(offsetCommit.name, failed.errorCode, { subject: failed.subject })
}

/** Offsets as requests carry them. */
export function offsetTopics(
  offsets: readonly CommittedOffset[],
): RequestInputOf<typeof offsetCommit>['topics'] {
  return groupByTopic(offsets).map(([name, rows]) => ({
    name,
    partitions: rows.map(({ partition, offset, metadata = '', leaderEpoch = -1 }) => ({
      partitionIndex: partition,
      committedOffset: offset,
      committedLeaderEpoch: leaderEpoch,
      committedMetadata: metadata,
    })),
  }))
}

/** To ask again does not bring a topic back. */
function repeatedCommitFailure(response: ResponseOf<typeof offsetCommit>): number {
  const code = commitFailure(response.topics)?.errorCode ?? errorCode.NONE
  return code === errorCode.UNKNOWN_TOPIC_OR_PARTITION ? errorCode.NONE : code
}

/** The failure of one partition, the worst first: that of the member, then one that does not pass. */
export function commitFailure(
  topics: ResponseOf<typeof offsetCommit>['topics'],
): { errorCode: number; subject: string } | undefined {
  const failures = topics.flatMap(({ name, partitions }) =>
    partitions
      .filter((row) => row.errorCode !== errorCode.NONE)
      .map((row) => ({ errorCode: row.errorCode, subject: `${name}-${row.partitionIndex}` })),
  )
  return (
    failures.find((failure) => fencingErrors.has(failure.errorCode)) ??
    failures.find((failure) => !kafkaError(failure.errorCode).retriable) ??
    failures[0]
  )
}

/** The committed offsets of these partitions; one without a commit is absent. */
export async function fetchCommittedOffsets(
  client: KafkaClient,
  groupId: string,
  partitions: readonly TopicPartition[],
  options: OffsetsRequestOptions = {},
): Promise<Map<PartitionKey, Required<CommittedOffset>>> {
  const committed = new Map<PartitionKey, Required<CommittedOffset>>()
  if (partitions.length === 0) return committed
  const topics = groupByTopic(partitions).map(([name, rows]) => ({
    name,
    partitionIndexes: rows.map((row) => row.partition),
  }))
  const response = await client.request(
    offsetFetch,
    // An open transaction may still move the offset: wait for its end (KIP-447).
    (version) => ({ groupId, topics, requireStable: version >= requireStableVersion }),
    { coordinatorOf: groupId },
    {
      ...requestOptions(options),
      versionMax: offsetFetchVersionMax,
      errorCodeOf: (answer) => fetchFailure(answer)?.errorCode ?? 0,
    },
  )
  const failed = fetchFailure(response)
  if (failed !== undefined) {
    const subject = failed.subject ?? `group ${groupId}`
    throw kafkaFailure(offsetFetch.name, failed.errorCode, { subject })
  }
  for (const { name: topic, partitions: rows } of response.topics) {
    for (const row of rows) {
      if (row.committedOffset < 0) continue
      committed.set(partitionKey(topic, row.partitionIndex), {
        topic,
        partition: row.partitionIndex,
        offset: row.committedOffset,
        metadata: row.metadata ?? '',
        leaderEpoch: row.committedLeaderEpoch,
      })
    }
  }
  return committed
}

function fetchFailure(
  response: ResponseOf<typeof offsetFetch>,
): { errorCode: number; subject: string | undefined } | undefined {
  if (response.errorCode !== errorCode.NONE) {
    return { errorCode: response.errorCode, subject: undefined }
  }
  const failures = response.topics.flatMap(({ name, partitions }) =>
    partitions
      .filter((row) => row.errorCode !== errorCode.NONE)
      .map((row) => ({ errorCode: row.errorCode, subject: `${name}-${row.partitionIndex}` })),
  )
  return failures.find((failure) => !kafkaError(failure.errorCode).retriable) ?? failures[0]
}

/**
 * The first (`earliest`) or next (`latest`) offset of these partitions, or the first with a
 * timestamp of at least the given one: that is the end of the log when there is none.
 */
export async function listOffsets(
  client: KafkaClient,
  partitions: readonly TopicPartition[],
  at: 'earliest' | 'latest' | number,
  options: ListOffsetsOptions = {},
): Promise<Map<PartitionKey, number>> {
  const answers = await listAll(client, partitions, at, options)
  const withoutRecord = answers.filter((answer) => answer.offset < 0)
  const ends =
    typeof at === 'number' && withoutRecord.length > 0
      ? await listAll(client, withoutRecord, 'latest', options)
      : []
  return new Map(
    [...answers, ...ends].map(({ topic, partition, offset }) => [
      partitionKey(topic, partition),
      offset,
    ]),
  )
}

async function listAll(
  client: KafkaClient,
  partitions: readonly TopicPartition[],
  at: OffsetAt,
  { timeoutMs, isolation, signal, onOffset }: ListOffsetsOptions,
) {
  return askLeaders(client, {
    api: 'ListOffsets',
    rows: partitions.map(({ topic, partition }) => ({ topic, partition, at })),
    deadlineMs: timeoutMs,
    signal,
    ask: async (leader, rows, restMs) => {
      const answers = await listOffsetsOf(client, leader, rows, {
        timeoutMs: Math.min(restMs, client.requestTimeoutMs),
        ...(isolation && { isolation }),
        ...(signal && { signal }),
      })
      for (const { topic, partition, errorCode: code, offset } of answers) {
        if (code === errorCode.NONE && offset >= 0)
          onOffset?.(partitionKey(topic, partition), offset)
      }
      return answers
    },
  })
}

function requestOptions({ timeoutMs, signal }: OffsetsRequestOptions) {
  return {
    ...(timeoutMs !== undefined && { deadlineMs: timeoutMs }),
    ...(signal && { signal }),
  }
}
