import type { KafkaErrorName } from '../../protocol/error-codes.ts'
import type { txnOffsetCommit } from '../../protocol/messages/28-txn-offset-commit.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import { offsetsPartition } from '../transaction-coordinator.ts'
import { writeProblems } from '../transactional-write.ts'
import { AcceptedOffsets } from './accepted-offsets.ts'

type Request = RequestOf<typeof txnOffsetCommit>

/** The first versions that know TRANSACTION_ABORTABLE, and that add the offsets by themselves. */
const [abortableVersion, addsVersion] = [4, 5]

/** Stores how far a group has come, as part of a transaction: it holds when that is committed. */
export function handleTxnOffsetCommit(
  request: Request,
  context: RequestContext,
): ResponseInputOf<typeof txnOffsetCommit> {
  const accepted = new AcceptedOffsets(request.topics, context)
  const error = accepted.entries.length === 0 ? 'NONE' : commit(request, accepted, context)
  return { topics: accepted.results(error) }
}

function commit(
  request: Request,
  { entries }: AcceptedOffsets,
  { broker, apiVersion }: RequestContext,
): KafkaErrorName {
  const { groupId, memberId, groupInstanceId: instanceId } = request
  if (groupId === '') return 'INVALID_GROUP_ID'
  const [problem] = writeProblems(broker.transactions, request, {
    partitions: [offsetsPartition],
    adds: apiVersion >= addsVersion,
    knowsAbortable: apiVersion >= abortableVersion,
  })
  if (problem !== undefined) return problem
  const { producerId, producerEpoch, generationIdOrMemberEpoch: generation } = request
  const by = { memberId, instanceId, generation, producerId, producerEpoch }
  const outcome = orRefusal(() => broker.groups.commitInTransaction(groupId, by, entries))
  // The disk of the coordinator is no business of the client: it is to look for another
  // coordinator.
  return outcome instanceof Refusal ? 'NOT_COORDINATOR' : outcome
}
