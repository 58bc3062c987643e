import { errorCode } from '../../protocol/error-codes.ts'
import type { deleteGroups } from '../../protocol/messages/42-delete-groups.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'

/** Deletes groups without members, and what they have committed. */
export function handleDeleteGroups(
  { groupsNames }: RequestOf<typeof deleteGroups>,
  { broker }: RequestContext,
): ResponseInputOf<typeof deleteGroups> {
  return {
    results: groupsNames.map((groupId) => {
      const outcome = orRefusal(() => broker.groups.delete(groupId))
      const code = outcome instanceof Refusal ? outcome.code : errorCode[outcome]
      return { groupId, errorCode: code }
    }),
  }
}
