import { array, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/**
 * Commits offsets of a group as part of a transaction. With generation and member id (v3+, KIP-447)
 * the group coordinator fences members that were thrown out.
 */
export const txnOffsetCommit = defineApi({
  key: 28,
  name: 'TxnOffsetCommit',
  versions: [0, 5],
  flexible: 3,
  request: {
    transactionalId: string(),
    groupId: string(),
    producerId: int64(),
    producerEpoch: int16(),
    generationIdOrMemberEpoch: int32({ since: 3, default: -1 }),
    memberId: string({ since: 3 }),
    groupInstanceId: string({ since: 3, nullable: 3, default: null }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        committedOffset: int64(),
        committedLeaderEpoch: int32({ since: 2, default: -1, ignorable: true }),
        committedMetadata: string({ nullable: 0 }),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      partitions: array({ partitionIndex: int32(), errorCode: int16() }),
    }),
  },
})
