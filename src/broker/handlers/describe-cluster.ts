import { errorCode } from '../../protocol/error-codes.ts'
import type { describeCluster } from '../../protocol/messages/60-describe-cluster.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { nodeId, type RequestContext } from '../request-context.ts'

const brokerEndpoints = 1

/** Tells the cluster's id and its one broker. */
export function handleDescribeCluster(
  { endpointType }: RequestOf<typeof describeCluster>,
  { broker }: RequestContext,
): ResponseInputOf<typeof describeCluster> {
  if (endpointType !== brokerEndpoints)
    return {
      errorCode: errorCode.MISMATCHED_ENDPOINT_TYPE,
      errorMessage: 'This is a broker, not a controller.',
      endpointType: brokerEndpoints,
      clusterId: '',
      brokers: [],
    }
  return {
    errorCode: errorCode.NONE,
    clusterId: broker.identity.clusterId,
    controllerId: nodeId,
    brokers: [{ brokerId: nodeId, ...broker.endpoint }],
  }
}
