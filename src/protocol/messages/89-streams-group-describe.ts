import { array, boolean, int16, int32, int64, int8, string, struct, uint16 } from '../field.ts'
import { defineApi } from '../schema.ts'

const taskIds = { subtopologyId: string(), partitions: array(int32()) }
const taskOffset = { subtopologyId: string(), partition: int32(), offset: int64() }
const keyValue = { key: string(), value: string() }
const assignment = {
  activeTasks: array(taskIds),
  standbyTasks: array(taskIds),
  warmupTasks: array(taskIds),
}
const topicInfo = {
  name: string(),
  partitions: int32(),
  replicationFactor: int16(),
  topicConfigs: array(keyValue),
}
const node = {
  name: string(),
  nodeType: int8(),
  sourceTopics: array(string()),
  sinkTopic: string({ nullable: 1, default: null }),
  stores: array(string()),
  successors: array(string()),
}

/** Streams groups (KIP-1071) in detail; partition counts are those that follow from the topology. */
export const streamsGroupDescribe = defineApi({
  key: 89,
  name: 'StreamsGroupDescribe',
  versions: [0, 1],
  flexible: 0,
  request: {
    groupIds: array(string()),
    includeAuthorizedOperations: boolean(),
    includeTopologyDescription: boolean({ since: 1, default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    groups: array({
      errorCode: int16(),
      errorMessage: string({ nullable: 0, default: null }),
      groupId: string(),
      groupState: string(),
      groupEpoch: int32(),
      assignmentEpoch: int32(),
      topology: struct(
        {
          epoch: int32(),
          subtopologies: array(
            {
              subtopologyId: string(),
              sourceTopics: array(string()),
              repartitionSinkTopics: array(string()),
              stateChangelogTopics: array(topicInfo),
              repartitionSourceTopics: array(topicInfo),
            },
            { nullable: 0, default: null },
          ),
        },
        { nullable: 0, default: null },
      ),
      members: array({
        memberId: string(),
        memberEpoch: int32(),
        instanceId: string({ nullable: 0, default: null }),
        rackId: string({ nullable: 0, default: null }),
        clientId: string(),
        clientHost: string(),
        topologyEpoch: int32(),
        processId: string(),
        userEndpoint: struct({ host: string(), port: uint16() }, { nullable: 0, default: null }),
        clientTags: array(keyValue),
        taskOffsets: array(taskOffset),
        taskEndOffsets: array(taskOffset),
        assignment: struct(assignment),
        targetAssignment: struct(assignment),
        isClassic: boolean(),
      }),
      authorizedOperations: int32({ default: -2_147_483_648 }),
      topologyDescription: struct(
        {
          subtopologies: array({ subtopologyId: string(), nodes: array(node) }),
          globalStores: array({ source: struct(node), processor: struct(node) }),
        },
        { since: 1, nullable: 1, default: null },
      ),
      topologyDescriptionStatus: int8({ since: 1, default: 0 }),
      assignorName: string({ since: 1, nullable: 1, default: null, ignorable: true }),
    }),
  },
})
