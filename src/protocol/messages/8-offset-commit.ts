import { array, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Commits offsets of a group, outside of transactions. */
export const offsetCommit = defineApi({
  key: 8,
  name: 'OffsetCommit',
  versions: [2, 9],
  flexible: 8,
  request: {
    groupId: string(),
    /** -1 with an empty member id commits for a group without members. */
    generationIdOrMemberEpoch: int32({ default: -1 }),
    memberId: string({ default: '' }),
    groupInstanceId: string({ since: 7, nullable: 7, default: null }),
    retentionTimeMs: int64({ until: 4, default: -1, ignorable: true }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        committedOffset: int64(),
        committedLeaderEpoch: int32({ since: 6, default: -1, ignorable: true }),
        committedMetadata: string({ nullable: 0 }),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32({ since: 3, ignorable: true }),
    topics: array({
      name: string(),
      partitions: array({ partitionIndex: int32(), errorCode: int16() }),
    }),
  },
})
