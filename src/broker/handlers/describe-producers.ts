import { errorCode } from '../../protocol/error-codes.ts'
import type { describeProducers } from '../../protocol/messages/61-describe-producers.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

type Response = ResponseInputOf<typeof describeProducers>
type PartitionResponse = Response['topics'][number]['partitions'][number]

/** Tells what partitions remember of their producers. */
export function handleDescribeProducers(
  { topics }: RequestOf<typeof describeProducers>,
  { broker }: RequestContext,
): Response {
  return {
    topics: topics.map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partitionIndex): PartitionResponse => {
        const log = broker.topics.partition(name, partitionIndex)
        if (log === undefined)
          return {
            partitionIndex,
            errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION,
            activeProducers: [],
          }
        const activeProducers = log.producers.summaries().map((summary) => ({
          ...summary,
          currentTxnStartOffset: log.transactions.open.get(summary.producerId) ?? -1,
        }))
        return { partitionIndex, errorCode: errorCode.NONE, activeProducers }
      }),
    })),
  }
}
