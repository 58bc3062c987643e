import { array, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** The end offset of a leader epoch, by which a consumer finds out that a log was cut (KIP-320). */
export const offsetForLeaderEpoch = defineApi({
  key: 23,
  name: 'OffsetForLeaderEpoch',
  versions: [2, 4],
  flexible: 4,
  request: {
    /** -1 for consumers, -2 for a debugging consumer. */
    replicaId: int32({ since: 3, default: -2, ignorable: true }),
    topics: array({
      topic: string(),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32({ default: -1 }),
        leaderEpoch: int32(),
      }),
    }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      topic: string(),
      partitions: array({
        errorCode: int16(),
        partition: int32(),
        leaderEpoch: int32({ default: -1 }),
        endOffset: int64({ default: -1 }),
      }),
    }),
  },
})
