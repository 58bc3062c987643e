import { array, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** What the coordinator knows about transactional ids. */
export const describeTransactions = defineApi({
  key: 65,
  name: 'DescribeTransactions',
  versions: [0, 0],
  flexible: 0,
  request: { transactionalIds: array(string()) },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    transactionStates: array({
      errorCode: int16(),
      transactionalId: string(),
      transactionState: string(),
      transactionTimeoutMs: int32(),
      /** -1 without a transaction. */
      transactionStartTimeMs: int64(),
      producerId: int64(),
      producerEpoch: int16(),
      /** Of a transaction that is being completed: those that have no marker yet. */
      topics: array({ topic: string(), partitions: array(int32()) }),
    }),
  },
})
