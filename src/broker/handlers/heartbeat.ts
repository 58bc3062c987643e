import { errorCode } from '../../protocol/error-codes.ts'
import type { heartbeat } from '../../protocol/messages/12-heartbeat.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

/** Keeps a member in its group, and tells it of a rebalance. */
export function handleHeartbeat(
  { groupId, memberId, groupInstanceId, generationId }: RequestOf<typeof heartbeat>,
  { broker }: RequestContext,
): ResponseInputOf<typeof heartbeat> {
  const member = { memberId, instanceId: groupInstanceId, generation: generationId }
  return { errorCode: errorCode[broker.groups.heartbeat(groupId, member)] }
}
