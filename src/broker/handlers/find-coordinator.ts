import { errorCode } from '../../protocol/error-codes.ts'
import type { findCoordinator } from '../../protocol/messages/10-find-coordinator.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { nodeId, type RequestContext } from '../request-context.ts'

/** The first version that asks for many keys at once. */
const batchedVersion = 4

const keyTypes: readonly number[] = [0, 1]

/** The coordinator of every group is this broker. */
export function handleFindCoordinator(
  { keyType, coordinatorKeys }: RequestOf<typeof findCoordinator>,
  { broker, apiVersion }: RequestContext,
): ResponseInputOf<typeof findCoordinator> {
  const coordinator = keyTypes.includes(keyType)
    ? { errorCode: errorCode.NONE, nodeId, ...broker.endpoint }
    : { errorCode: errorCode.INVALID_REQUEST, nodeId: -1, host: '', port: -1 }
  return apiVersion < batchedVersion
    ? coordinator
    : { coordinators: coordinatorKeys.map((one) => ({ key: one, ...coordinator })) }
}
