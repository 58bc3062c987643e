import { array, boolean, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

const topics = { name: string(), partitions: array(int32()) }

const topicResults = {
  name: string(),
  resultsByPartition: array({ partitionIndex: int32(), partitionErrorCode: int16() }),
}

/**
 * Adds partitions to a transaction. Clients send up to v3 (`v3AndBelow…`); v4 and v5 are batches
 * between brokers (`transactions`).
 */
export const addPartitionsToTxn = defineApi({
  key: 24,
  name: 'AddPartitionsToTxn',
  versions: [0, 5],
  flexible: 3,
  request: {
    transactions: array(
      {
        transactionalId: string(),
        producerId: int64(),
        producerEpoch: int16(),
        verifyOnly: boolean({ default: false }),
        topics: array(topics),
      },
      { since: 4 },
    ),
    v3AndBelowTransactionalId: string({ until: 3 }),
    v3AndBelowProducerId: int64({ until: 3 }),
    v3AndBelowProducerEpoch: int16({ until: 3 }),
    v3AndBelowTopics: array(topics, { until: 3 }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ since: 4, ignorable: true }),
    resultsByTransaction: array(
      { transactionalId: string(), topicResults: array(topicResults) },
      { since: 4 },
    ),
    resultsByTopicV3AndBelow: array(topicResults, { until: 3 }),
  },
})
