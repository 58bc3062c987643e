import { errorCode, type KafkaErrorName } from '../../protocol/error-codes.ts'
import type { offsetCommit } from '../../protocol/messages/8-offset-commit.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { OffsetEntry } from '../offset-store.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'

/** Kafka's `offset.metadata.max.bytes`, counted in characters as Kafka does. */
const metadataLengthMax = 4096

/**
 * Stores how far a group has come. What is wrong with one partition does not hold up the others.
 */
export function handleOffsetCommit(
  request: RequestOf<typeof offsetCommit>,
  { broker }: RequestContext,
): ResponseInputOf<typeof offsetCommit> {
  const accepted: OffsetEntry[] = []
  const problems = request.topics.map(({ name, partitions }) =>
    partitions.map((partition): KafkaErrorName | undefined => {
      const { partitionIndex, committedMetadata } = partition
      const metadata = committedMetadata ?? ''
      if (broker.topics.partition(name, partitionIndex) === undefined)
        return 'UNKNOWN_TOPIC_OR_PARTITION'
      if (metadata.length > metadataLengthMax) return 'OFFSET_METADATA_TOO_LARGE'
      accepted.push({
        topic: name,
        partition: partitionIndex,
        offset: partition.committedOffset,
        leaderEpoch: partition.committedLeaderEpoch,
        metadata,
      })
      return undefined
    }),
  )
  const committer = {
    memberId: request.memberId,
    instanceId: request.groupInstanceId,
    generation: request.generationIdOrMemberEpoch,
  }
  const outcome = orRefusal(() => broker.groups.commit(request.groupId, committer, accepted))
  // The disk of the coordinator is no business of the client: it is to look for another
  // coordinator.
  const error = outcome instanceof Refusal ? 'NOT_COORDINATOR' : outcome
  return {
    topics: request.topics.map(({ name, partitions }, topic) => ({
      name,
      partitions: partitions.map(({ partitionIndex }, index) => ({
        partitionIndex,
        errorCode: errorCode[problems[topic]?.[index] ?? error],
      })),
    })),
  }
}
