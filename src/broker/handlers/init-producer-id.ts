import { errorCode } from '../../protocol/error-codes.ts'
import type { initProducerId } from '../../protocol/messages/22-init-producer-id.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import { errorFor } from './fenced-error.ts'

type Response = ResponseInputOf<typeof initProducerId>

/** The first version whose clients know PRODUCER_FENCED. */
const fencedVersion = 4

const none = -1

/** Gives a producer its id and epoch. */
export function handleInitProducerId(
  request: RequestOf<typeof initProducerId>,
  { broker, apiVersion }: RequestContext,
): Response {
  const { transactionalId, transactionTimeoutMs: timeoutMs, producerId, producerEpoch } = request
  if ((producerId === none) !== (producerEpoch === none)) return failure(errorCode.INVALID_REQUEST)
  if (transactionalId === null) {
    const outcome = orRefusal(() => broker.identity.newProducerId())
    if (outcome instanceof Refusal) return failure(outcome.code)
    return { errorCode: errorCode.NONE, producerId: outcome, producerEpoch: 0 }
  }
  const expected = producerId === none ? undefined : { producerId, producerEpoch }
  const result = broker.transactions.initialize(transactionalId, { timeoutMs, expected })
  if (typeof result === 'string') return failure(errorFor(result, { apiVersion, fencedVersion }))
  return {
    errorCode: errorCode.NONE,
    producerId: result.producerId,
    producerEpoch: result.producerEpoch,
  }
}

function failure(code: number): Response {
  return { errorCode: code, producerId: none, producerEpoch: none }
}
