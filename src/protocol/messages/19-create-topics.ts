import { array, boolean, int16, int32, int8, string, uuid } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Creates topics. From v4 on -1 stands for the broker's default of partitions and replicas. */
export const createTopics = defineApi({
  key: 19,
  name: 'CreateTopics',
  versions: [2, 7],
  flexible: 5,
  request: {
    topics: array({
      name: string(),
      /** -1 when `assignments` says it. */
      numPartitions: int32(),
      replicationFactor: int16(),
      assignments: array({ partitionIndex: int32(), brokerIds: array(int32()) }),
      configs: array({ name: string(), value: string({ nullable: 0 }) }),
    }),
    timeoutMs: int32({ default: 60_000 }),
    validateOnly: boolean({ default: false }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      topicId: uuid({ since: 7, ignorable: true }),
      errorCode: int16(),
      errorMessage: string({ nullable: 0 }),
      topicConfigErrorCode: int16({ since: 5, tag: 0, ignorable: true }),
      numPartitions: int32({ since: 5, default: -1, ignorable: true }),
      replicationFactor: int16({ since: 5, default: -1, ignorable: true }),
      /** Null when the configuration may not be seen. */
      configs: array(
        {
          name: string(),
          value: string({ nullable: 5 }),
          readOnly: boolean(),
          configSource: int8({ default: -1 }),
          isSensitive: boolean(),
        },
        { since: 5, nullable: 5, ignorable: true },
      ),
    }),
  },
})
