import { array, boolean, int16, int32, int64, int8, string, struct, uint16 } from '../field.ts'
import { defineApi } from '../schema.ts'

const taskIds = { subtopologyId: string(), partitions: array(int32()) }
const taskOffset = { subtopologyId: string(), partition: int32(), offset: int64() }
const keyValue = { key: string(), value: string() }
const endpoint = { host: string(), port: uint16() }
const topicPartitions = { topic: string(), partitions: array(int32()) }
const topicInfo = {
  name: string(),
  /** 0: as many as follow from the topology; always 0 for changelogs. */
  partitions: int32(),
  /** 0 or -1: the broker's default. */
  replicationFactor: int16(),
  topicConfigs: array(keyValue),
}

/**
 * The whole membership of a streams group (KIP-1071). Of what may be null, null says "as last time",
 * which is not the same as an empty list.
 */
export const streamsGroupHeartbeat = defineApi({
  key: 88,
  name: 'StreamsGroupHeartbeat',
  versions: [0, 1],
  flexible: 0,
  request: {
    groupId: string(),
    /** Made by the member, and kept for its life. */
    memberId: string(),
    /** 0 joins, -1 leaves, -2 leaves for a while (static members). */
    memberEpoch: int32(),
    /** The last one received; -1: none. */
    endpointInformationEpoch: int32(),
    instanceId: string({ nullable: 0, default: null }),
    rackId: string({ nullable: 0, default: null }),
    rebalanceTimeoutMs: int32({ default: -1 }),
    /** With a join, and never else. */
    topology: struct(
      {
        epoch: int32(),
        subtopologies: array({
          subtopologyId: string(),
          sourceTopics: array(string()),
          sourceTopicRegex: array(string()),
          stateChangelogTopics: array(topicInfo),
          repartitionSinkTopics: array(string()),
          repartitionSourceTopics: array(topicInfo),
          /** Numbers of topics in the lists of this sub-topology. */
          copartitionGroups: array({
            sourceTopics: array(int16()),
            sourceTopicRegex: array(int16()),
            repartitionSourceTopics: array(int16()),
          }),
        }),
      },
      { nullable: 0, default: null },
    ),
    /** What the member runs now: the acknowledgement of what it was told. All three, or none. */
    activeTasks: array(taskIds, { nullable: 0, default: null }),
    standbyTasks: array(taskIds, { nullable: 0, default: null }),
    warmupTasks: array(taskIds, { nullable: 0, default: null }),
    processId: string({ nullable: 0, default: null }),
    userEndpoint: struct(endpoint, { nullable: 0, default: null }),
    clientTags: array(keyValue, { nullable: 0, default: null }),
    taskOffsets: array(taskOffset, { nullable: 0, default: null }),
    taskEndOffsets: array(taskOffset, { nullable: 0, default: null }),
    shutdownApplication: boolean({ default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    errorMessage: string({ nullable: 0, default: null }),
    memberId: string(),
    memberEpoch: int32(),
    heartbeatIntervalMs: int32(),
    acceptableRecoveryLagLegacy: int32({ until: 0 }),
    /** 0: offsets are not wanted. */
    taskOffsetIntervalMs: int32(),
    acceptableRecoveryLag: int64({ since: 1, default: -1, ignorable: true }),
    status: array({ statusCode: int8(), statusDetail: string() }, { nullable: 0 }),
    /** What the member is to run. All three, or none. */
    activeTasks: array(taskIds, { nullable: 0, default: null }),
    standbyTasks: array(taskIds, { nullable: 0, default: null }),
    warmupTasks: array(taskIds, { nullable: 0, default: null }),
    topologyDescriptionRequired: boolean({ since: 1, default: false }),
    endpointInformationEpoch: int32(),
    /** An entry for each member: several with one endpoint are to be united. */
    partitionsByUserEndpoint: array(
      {
        userEndpoint: struct(endpoint),
        activePartitions: array(topicPartitions),
        standbyPartitions: array(topicPartitions),
      },
      { nullable: 0, default: null },
    ),
  },
})

/** The codes of `status` in the response. Others may come; they are for information. */
export const streamsStatus = {
  staleTopology: 0,
  missingSourceTopics: 1,
  incorrectlyPartitionedTopics: 2,
  missingInternalTopics: 3,
  shutdownApplication: 4,
  assignmentDelayed: 5,
  missingClientTags: 6,
} as const
