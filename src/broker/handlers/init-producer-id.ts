import { errorCode } from '../../protocol/error-codes.ts'
import type { initProducerId } from '../../protocol/messages/22-init-producer-id.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'

/**
 * Gives an idempotent producer its id. Transactional ids are refused with an error that every
 * client takes as final: this broker has no transactions, and waiting would not help.
 */
export function handleInitProducerId(
  { transactionalId }: RequestOf<typeof initProducerId>,
  { broker }: RequestContext,
): ResponseInputOf<typeof initProducerId> {
  if (transactionalId !== null)
    return { errorCode: errorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, producerEpoch: -1 }
  const outcome = orRefusal(() => broker.identity.newProducerId())
  return outcome instanceof Refusal
    ? { errorCode: outcome.code, producerEpoch: -1 }
    : { errorCode: errorCode.NONE, producerId: outcome, producerEpoch: 0 }
}
