import { emptyBytes } from '../../base/bytes.ts'
import { errorCode } from '../../protocol/error-codes.ts'
import type { describeGroups } from '../../protocol/messages/15-describe-groups.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

type Response = ResponseInputOf<typeof describeGroups>

/**
 * Tells the state and the members of groups of the classic protocol. One that does not exist is
 * `Dead`.
 */
export function handleDescribeGroups(
  { groups }: RequestOf<typeof describeGroups>,
  context: RequestContext,
): Response {
  return { groups: groups.map((groupId) => describe(groupId, context)) }
}

function describe(groupId: string, { broker }: RequestContext): Response['groups'][number] {
  const { groups } = broker
  const group = groups.group(groupId)
  const isEmpty = groups.streams.get(groupId) === undefined && groups.offsets.has(groupId)
  if (group === undefined)
    return {
      errorCode: errorCode.NONE,
      groupId,
      groupState: isEmpty ? 'Empty' : 'Dead',
      protocolType: '',
      protocolData: '',
      members: [],
    }
  // What members say and get is settled in a stable group only.
  const protocol = group.state === 'Stable' ? group.protocolName : null
  return {
    errorCode: errorCode.NONE,
    groupId,
    groupState: group.state,
    protocolType: group.protocolType ?? '',
    protocolData: protocol ?? '',
    members: group.members.map((member) => ({
      memberId: member.id,
      groupInstanceId: member.instanceId,
      clientId: member.facts.clientId,
      clientHost: member.facts.clientHost,
      memberMetadata: protocol === null ? emptyBytes : member.metadataOf(protocol),
      memberAssignment: protocol === null ? emptyBytes : member.assignment,
    })),
  }
}
