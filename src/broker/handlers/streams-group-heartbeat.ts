import type { streamsGroupHeartbeat } from '../../protocol/messages/88-streams-group-heartbeat.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'

/** A member of a streams group joins, lives, or leaves. */
export function handleStreamsGroupHeartbeat(
  request: RequestOf<typeof streamsGroupHeartbeat>,
  { broker, apiVersion, clientId, clientHost }: RequestContext,
): ResponseInputOf<typeof streamsGroupHeartbeat> {
  const outcome = orRefusal(() =>
    broker.groups.streamsHeartbeat(request, { clientId, clientHost, apiVersion }),
  )
  if (!(outcome instanceof Refusal)) return outcome
  return {
    errorCode: outcome.code,
    errorMessage: outcome.message,
    memberId: '',
    memberEpoch: 0,
    heartbeatIntervalMs: 0,
    taskOffsetIntervalMs: 0,
    status: null,
    endpointInformationEpoch: 0,
  }
}
