import { errorCode } from '../../protocol/error-codes.ts'
import type { describeTransactions } from '../../protocol/messages/65-describe-transactions.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

type State = ResponseInputOf<typeof describeTransactions>['transactionStates'][number]

/** Tells what transactional ids stand at. */
export function handleDescribeTransactions(
  { transactionalIds }: RequestOf<typeof describeTransactions>,
  context: RequestContext,
): ResponseInputOf<typeof describeTransactions> {
  return { transactionStates: transactionalIds.map((id) => describe(id, context)) }
}

function describe(transactionalId: string, { broker }: RequestContext): State {
  const facts = broker.transactions.get(transactionalId)
  if (facts === undefined) {
    const error = transactionalId === '' ? 'INVALID_REQUEST' : 'TRANSACTIONAL_ID_NOT_FOUND'
    return {
      errorCode: errorCode[error],
      transactionalId,
      transactionState: '',
      transactionTimeoutMs: 0,
      transactionStartTimeMs: 0,
      producerId: 0,
      producerEpoch: 0,
      topics: [],
    }
  }
  return {
    errorCode: errorCode.NONE,
    transactionalId,
    transactionState: facts.state,
    transactionTimeoutMs: facts.timeoutMs,
    transactionStartTimeMs: facts.startedAtMs,
    producerId: facts.producerId,
    producerEpoch: facts.producerEpoch,
    topics: [...facts.partitions.byTopic].map(([topic, partitions]) => ({
      topic,
      partitions: [...partitions],
    })),
  }
}
