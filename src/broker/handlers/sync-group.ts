import { errorCode } from '../../protocol/error-codes.ts'
import type { syncGroup } from '../../protocol/messages/14-sync-group.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

/** Gives a member its assignment, as soon as the leader has brought it. */
export async function handleSyncGroup(
  request: RequestOf<typeof syncGroup>,
  { broker }: RequestContext,
): Promise<ResponseInputOf<typeof syncGroup>> {
  const result = await broker.groups.sync(request.groupId, {
    memberId: request.memberId,
    instanceId: request.groupInstanceId,
    generation: request.generationId,
    protocolType: request.protocolType,
    protocolName: request.protocolName,
    assignments: request.assignments,
  })
  return {
    errorCode: errorCode[result.error],
    protocolType: result.protocolType,
    protocolName: result.protocolName,
    assignment: result.assignment,
  }
}
