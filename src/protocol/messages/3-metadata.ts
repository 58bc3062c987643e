import { array, boolean, int16, int32, string, uuid } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Value of an `…AuthorizedOperations` field when they were not asked for. */
const notAsked = -2_147_483_648

/**
 * Brokers, controller, topics, leaders. All topics: `topics: null` (v1+), an empty list in v0.
 * Topics by id: v10+ in answers, v12 in requests (`name: null`).
 */
export const metadata = defineApi({
  key: 3,
  name: 'Metadata',
  versions: [0, 12],
  flexible: 9,
  request: {
    topics: array(
      {
        topicId: uuid({ since: 10, ignorable: true }),
        name: string({ nullable: 10 }),
      },
      { nullable: 1 },
    ),
    allowAutoTopicCreation: boolean({ since: 4, default: true }),
    includeClusterAuthorizedOperations: boolean({ since: 8, until: 10 }),
    includeTopicAuthorizedOperations: boolean({ since: 8 }),
  },
  response: {
    throttleTimeMs: int32({ since: 3, ignorable: true }),
    brokers: array({
      nodeId: int32(),
      host: string(),
      port: int32(),
      rack: string({ since: 1, nullable: 1, default: null, ignorable: true }),
    }),
    clusterId: string({ since: 2, nullable: 2, default: null, ignorable: true }),
    controllerId: int32({ since: 1, default: -1, ignorable: true }),
    topics: array({
      errorCode: int16(),
      name: string({ nullable: 12 }),
      topicId: uuid({ since: 10, ignorable: true }),
      isInternal: boolean({ since: 1, ignorable: true }),
      partitions: array({
        errorCode: int16(),
        partitionIndex: int32(),
        leaderId: int32(),
        leaderEpoch: int32({ since: 7, default: -1, ignorable: true }),
        replicaNodes: array(int32()),
        isrNodes: array(int32()),
        offlineReplicas: array(int32(), { since: 5, ignorable: true }),
      }),
      topicAuthorizedOperations: int32({ since: 8, default: notAsked }),
    }),
    clusterAuthorizedOperations: int32({ since: 8, until: 10, default: notAsked }),
  },
})
