import { array, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** The producers that a partition remembers, and which of them have a transaction open on it. */
export const describeProducers = defineApi({
  key: 61,
  name: 'DescribeProducers',
  versions: [0, 0],
  flexible: 0,
  request: { topics: array({ name: string(), partitionIndexes: array(int32()) }) },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        errorMessage: string({ nullable: 0, default: null }),
        activeProducers: array({
          producerId: int64(),
          producerEpoch: int32(),
          /** -1 when it has written nothing since its last transaction marker. */
          lastSequence: int32({ default: -1 }),
          lastTimestamp: int64({ default: -1 }),
          coordinatorEpoch: int32(),
          /** -1 without an open transaction. */
          currentTxnStartOffset: int64({ default: -1 }),
        }),
      }),
    }),
  },
})
