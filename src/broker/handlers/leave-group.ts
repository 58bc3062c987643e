import { errorCode } from '../../protocol/error-codes.ts'
import type { leaveGroup } from '../../protocol/messages/13-leave-group.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

/** The first version that names many members at once. */
const batchedVersion = 3

/** Takes members out of a group. */
export function handleLeaveGroup(
  { groupId, memberId, members }: RequestOf<typeof leaveGroup>,
  { broker, apiVersion }: RequestContext,
): ResponseInputOf<typeof leaveGroup> {
  if (apiVersion < batchedVersion)
    return { errorCode: errorCode[broker.groups.leave(groupId, memberId, null)] }
  if (groupId === '') return { errorCode: errorCode.INVALID_GROUP_ID }
  return {
    errorCode: errorCode.NONE,
    members: members.map((member) => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      errorCode: errorCode[broker.groups.leave(groupId, member.memberId, member.groupInstanceId)],
    })),
  }
}
