import type { offsetCommit } from '../../protocol/messages/8-offset-commit.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import { AcceptedOffsets } from './accepted-offsets.ts'

/** Stores how far a group has come. */
export function handleOffsetCommit(
  request: RequestOf<typeof offsetCommit>,
  context: RequestContext,
): ResponseInputOf<typeof offsetCommit> {
  const { groups } = context.broker
  const accepted = new AcceptedOffsets(request.topics, context)
  const committer = {
    memberId: request.memberId,
    instanceId: request.groupInstanceId,
    generation: request.generationIdOrMemberEpoch,
  }
  const outcome = orRefusal(() => groups.commit(request.groupId, committer, accepted.entries))
  // The disk of the coordinator is no business of the client: it is to look for another
  // coordinator.
  return { topics: accepted.results(outcome instanceof Refusal ? 'NOT_COORDINATOR' : outcome) }
}
