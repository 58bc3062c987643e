import { array, boolean, int16, int32, int8, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Brokers and controller of the cluster. */
export const describeCluster = defineApi({
  key: 60,
  name: 'DescribeCluster',
  versions: [0, 1],
  flexible: 0,
  request: {
    includeClusterAuthorizedOperations: boolean(),
    /** 1 brokers, 2 controllers. */
    endpointType: int8({ since: 1, default: 1 }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    errorMessage: string({ nullable: 0, default: null }),
    endpointType: int8({ since: 1, default: 1 }),
    clusterId: string(),
    controllerId: int32({ default: -1 }),
    brokers: array({
      brokerId: int32(),
      host: string(),
      port: int32(),
      rack: string({ nullable: 0, default: null }),
    }),
    /** -2147483648 when not asked for. */
    clusterAuthorizedOperations: int32({ default: -2_147_483_648 }),
  },
})
