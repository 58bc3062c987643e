import { errorCode } from '../../protocol/error-codes.ts'
import type { addPartitionsToTxn } from '../../protocol/messages/24-add-partitions-to-txn.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { TopicPartition } from '../partition-set.ts'
import type { RequestContext } from '../request-context.ts'
import { errorFor } from './fenced-error.ts'

type Request = RequestOf<typeof addPartitionsToTxn>
type Response = ResponseInputOf<typeof addPartitionsToTxn>
type Transaction = Request['transactions'][number]
type TopicResults = NonNullable<Response['resultsByTopicV3AndBelow']>

/** The first versions whose clients know PRODUCER_FENCED, and which carry many transactions. */
const [fencedVersion, batchedVersion] = [2, 4]

/** Makes partitions part of a transaction: all that are asked for, or none. */
export function handleAddPartitionsToTxn(request: Request, context: RequestContext): Response {
  if (context.apiVersion < batchedVersion)
    return {
      resultsByTopicV3AndBelow: add(
        {
          transactionalId: request.v3AndBelowTransactionalId,
          producerId: request.v3AndBelowProducerId,
          producerEpoch: request.v3AndBelowProducerEpoch,
          verifyOnly: false,
          topics: request.v3AndBelowTopics,
        },
        context,
      ),
    }
  return {
    resultsByTransaction: request.transactions.map((transaction) => ({
      transactionalId: transaction.transactionalId,
      topicResults: add(transaction, context),
    })),
  }
}

function add(transaction: Transaction, context: RequestContext): TopicResults {
  const { broker, apiVersion } = context
  const { transactionalId, topics, verifyOnly } = transaction
  const partitions = topics.flatMap(({ name: topic, partitions: indexes }) =>
    indexes.map((partition) => ({ topic, partition })),
  )
  const exists = ({ topic, partition }: TopicPartition): boolean =>
    broker.topics.partition(topic, partition) !== undefined
  const codeOf = ((): ((one: TopicPartition) => number) => {
    if (!partitions.every(exists)) {
      const { UNKNOWN_TOPIC_OR_PARTITION, OPERATION_NOT_ATTEMPTED } = errorCode
      return (one) => (exists(one) ? OPERATION_NOT_ATTEMPTED : UNKNOWN_TOPIC_OR_PARTITION)
    }
    if (verifyOnly)
      return (one) => errorCode[broker.transactions.verify(transactionalId, transaction, one)]
    const error = broker.transactions.addPartitions(transactionalId, transaction, partitions)
    const code = errorFor(error, { apiVersion, fencedVersion })
    return () => code
  })()
  return topics.map(({ name, partitions: indexes }) => ({
    name,
    resultsByPartition: indexes.map((partitionIndex) => ({
      partitionIndex,
      partitionErrorCode: codeOf({ topic: name, partition: partitionIndex }),
    })),
  }))
}
