import { array, boolean, int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Raises the number of partitions of topics. */
export const createPartitions = defineApi({
  key: 37,
  name: 'CreatePartitions',
  versions: [0, 3],
  flexible: 2,
  request: {
    topics: array({
      name: string(),
      /** The new total. */
      count: int32(),
      /** Brokers of the new partitions; null lets the cluster choose. */
      assignments: array({ brokerIds: array(int32()) }, { nullable: 0 }),
    }),
    timeoutMs: int32(),
    validateOnly: boolean(),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    results: array({
      name: string(),
      errorCode: int16(),
      errorMessage: string({ nullable: 0, default: null }),
    }),
  },
})
