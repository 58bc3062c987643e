import { errorCode } from '../../protocol/error-codes.ts'
import type { joinGroup } from '../../protocol/messages/11-join-group.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

/**
 * The first versions that know member ids which are given before joining, null names, and skipping.
 */
const [knownIdVersion, nullNameVersion, skipVersion] = [4, 7, 9]

/** Joins a group; the answer comes when all its members have joined. */
export async function handleJoinGroup(
  request: RequestOf<typeof joinGroup>,
  { broker, apiVersion, clientId, clientHost }: RequestContext,
): Promise<ResponseInputOf<typeof joinGroup>> {
  const { sessionTimeoutMs, rebalanceTimeoutMs } = request
  const result = await broker.groups.join(request.groupId, {
    memberId: request.memberId,
    instanceId: request.groupInstanceId,
    clientId,
    clientHost,
    sessionTimeoutMs,
    rebalanceTimeoutMs: rebalanceTimeoutMs < 0 ? sessionTimeoutMs : rebalanceTimeoutMs,
    protocolType: request.protocolType,
    protocols: request.protocols,
    requiresKnownId: apiVersion >= knownIdVersion,
    supportsSkip: apiVersion >= skipVersion,
  })
  return {
    errorCode: errorCode[result.error],
    generationId: result.generation,
    protocolType: result.protocolType,
    protocolName: result.protocolName ?? (apiVersion < nullNameVersion ? '' : null),
    leader: result.leader,
    skipAssignment: result.skipAssignment,
    memberId: result.memberId,
    members: result.members.map(({ memberId, instanceId, metadata }) => ({
      memberId,
      groupInstanceId: instanceId,
      metadata,
    })),
  }
}
