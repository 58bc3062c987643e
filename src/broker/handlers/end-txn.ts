import { errorCode } from '../../protocol/error-codes.ts'
import type { endTxn } from '../../protocol/messages/26-end-txn.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'
import { epochBumpVersion } from '../transaction.ts'
import { errorFor } from './fenced-error.ts'

/** The first versions whose clients know PRODUCER_FENCED, and whose clients take a new epoch. */
const [fencedVersion, bumpVersion] = [2, 5]

/** Ends a transaction; the answer has the epoch with which the producer goes on. */
export function handleEndTxn(
  request: RequestOf<typeof endTxn>,
  { broker, apiVersion }: RequestContext,
): ResponseInputOf<typeof endTxn> {
  const result = broker.transactions.end(request.transactionalId, request, {
    type: request.committed ? 'commit' : 'abort',
    clientVersion: apiVersion >= bumpVersion ? epochBumpVersion : 0,
  })
  if (typeof result === 'string')
    return { errorCode: errorFor(result, { apiVersion, fencedVersion }) }
  const { producerId, producerEpoch } = result
  return { errorCode: errorCode.NONE, producerId, producerEpoch }
}
