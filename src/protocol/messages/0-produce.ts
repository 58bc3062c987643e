import { array, int16, int32, int64, records, string, struct } from '../field.ts'
import { defineApi } from '../schema.ts'

/**
 * Appends record batches. Versions 0 to 2 carried the old record formats and are not spoken, yet a
 * broker names 0 as its first version in ApiVersions, as Kafka 4 does (KAFKA-18659): older librdkafka
 * looks for one certain old version and compresses nothing when it is missing, although it then
 * sends a newer one. A request in one of the three cannot be read: a broker closes the connection.
 * From v12 on a transactional batch adds its partition to the transaction by itself (KIP-890).
 */
export const produce = defineApi({
  key: 0,
  name: 'Produce',
  versions: [3, 12],
  advertisedMin: 0,
  flexible: 9,
  request: {
    transactionalId: string({ nullable: 0, default: null }),
    /** -1 all in-sync replicas, 1 the leader, 0 no answer at all. */
    acks: int16(),
    timeoutMs: int32(),
    topicData: array({
      name: string(),
      partitionData: array({
        index: int32(),
        records: records(),
      }),
    }),
  },
  response: {
    responses: array({
      name: string(),
      partitionResponses: array({
        index: int32(),
        errorCode: int16(),
        baseOffset: int64(),
        /** -1 when the topic keeps the producer's timestamps. */
        logAppendTimeMs: int64({ default: -1 }),
        logStartOffset: int64({ since: 5, default: -1, ignorable: true }),
        recordErrors: array(
          {
            batchIndex: int32(),
            batchIndexErrorMessage: string({ nullable: 0, default: null }),
          },
          { since: 8, ignorable: true },
        ),
        errorMessage: string({ since: 8, nullable: 8, default: null, ignorable: true }),
        currentLeader: struct(
          { leaderId: int32({ default: -1 }), leaderEpoch: int32({ default: -1 }) },
          { since: 10, tag: 0 },
        ),
      }),
    }),
    throttleTimeMs: int32({ default: 0 }),
    nodeEndpoints: array(
      {
        nodeId: int32(),
        host: string(),
        port: int32(),
        rack: string({ nullable: 0, default: null }),
      },
      { since: 10, tag: 0 },
    ),
  },
})
