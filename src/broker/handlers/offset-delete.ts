import { errorCode } from '../../protocol/error-codes.ts'
import type { offsetDelete } from '../../protocol/messages/47-offset-delete.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'

/** Deletes offsets that a group has committed, but not of topics that its members read. */
export function handleOffsetDelete(
  { groupId, topics }: RequestOf<typeof offsetDelete>,
  { broker }: RequestContext,
): ResponseInputOf<typeof offsetDelete> {
  const problem = broker.groups.offsetDeletionProblem(groupId)
  if (problem !== undefined) return { errorCode: errorCode[problem], topics: [] }
  const keys = topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex }) => ({ topic: name, partition: partitionIndex })),
  )
  const errors = orRefusal(() => broker.groups.deleteOffsets(groupId, keys))
  if (errors instanceof Refusal) return { errorCode: errors.code, topics: [] }
  const remaining = errors[Symbol.iterator]()
  return {
    errorCode: errorCode.NONE,
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode: errorCode[remaining.next().value ?? 'NONE'],
      })),
    })),
  }
}
