import type { addOffsetsToTxn } from '../../protocol/messages/25-add-offsets-to-txn.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'
import { offsetsPartition } from '../transaction-coordinator.ts'
import { errorFor } from './fenced-error.ts'

/** The first version whose clients know PRODUCER_FENCED. */
const fencedVersion = 2

/** Makes the offsets of a group part of a transaction; those of all groups are in one partition. */
export function handleAddOffsetsToTxn(
  request: RequestOf<typeof addOffsetsToTxn>,
  { broker, apiVersion }: RequestContext,
): ResponseInputOf<typeof addOffsetsToTxn> {
  const error = broker.transactions.addPartitions(request.transactionalId, request, [
    offsetsPartition,
  ])
  return { errorCode: errorFor(error, { apiVersion, fencedVersion }) }
}
