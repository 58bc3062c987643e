import { array, boolean, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/**
 * Reads committed offsets: of one group up to v7 (`groupId`, `topics`), of many from v8 on (`groups`).
 * `topics: null` asks for everything that the group has committed (v2+).
 */
export const offsetFetch = defineApi({
  key: 9,
  name: 'OffsetFetch',
  versions: [1, 9],
  flexible: 6,
  request: {
    groupId: string({ until: 7 }),
    topics: array({ name: string(), partitionIndexes: array(int32()) }, { until: 7, nullable: 2 }),
    groups: array(
      {
        groupId: string(),
        memberId: string({ since: 9, nullable: 9, default: null, ignorable: true }),
        memberEpoch: int32({ since: 9, default: -1, ignorable: true }),
        topics: array({ name: string(), partitionIndexes: array(int32()) }, { nullable: 8 }),
      },
      { since: 8 },
    ),
    /** Answer UNSTABLE_OFFSET_COMMIT while a transaction is open on a partition. */
    requireStable: boolean({ since: 7 }),
  },
  response: {
    throttleTimeMs: int32({ since: 3, ignorable: true }),
    topics: array(
      {
        name: string(),
        partitions: array({
          partitionIndex: int32(),
          committedOffset: int64(),
          committedLeaderEpoch: int32({ since: 5, default: -1, ignorable: true }),
          metadata: string({ nullable: 0 }),
          errorCode: int16(),
        }),
      },
      { until: 7 },
    ),
    errorCode: int16({ since: 2, until: 7, ignorable: true }),
    groups: array(
      {
        groupId: string(),
        topics: array({
          name: string(),
          partitions: array({
            partitionIndex: int32(),
            committedOffset: int64(),
            committedLeaderEpoch: int32({ default: -1 }),
            metadata: string({ nullable: 8 }),
            errorCode: int16(),
          }),
        }),
        errorCode: int16({ default: 0 }),
      },
      { since: 8 },
    ),
  },
})
