import { array, int16, int32, int64, int8, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/**
 * Finds offsets by time. Special timestamps: -1 the end, -2 the start, -3 the largest timestamp (v7+),
 * -4 the start of what is on the broker's own disk (v8+).
 */
export const listOffsets = defineApi({
  key: 2,
  name: 'ListOffsets',
  versions: [1, 8],
  flexible: 6,
  request: {
    /** -1 for consumers. */
    replicaId: int32({ default: -1 }),
    /** 0 read uncommitted, 1 read committed: the end is then the last stable offset. */
    isolationLevel: int8({ since: 2 }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        currentLeaderEpoch: int32({ since: 4, default: -1, ignorable: true }),
        timestamp: int64(),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32({ since: 2, ignorable: true }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        timestamp: int64({ default: -1 }),
        offset: int64({ default: -1 }),
        leaderEpoch: int32({ since: 4, default: -1 }),
      }),
    }),
  },
})
