import { array, int16, int32, int64, int8, records, string, struct, uuid } from '../field.ts'
import { defineApi } from '../schema.ts'

const epochEnd = { epoch: int32({ default: -1 }), endOffset: int64({ default: -1 }) }
const snapshotId = { endOffset: int64({ default: -1 }), epoch: int32({ default: -1 }) }

/** Reads record batches. Topics are named up to v12 (`topic`) and identified from v13 on (`topicId`). */
export const fetch = defineApi({
  key: 1,
  name: 'Fetch',
  versions: [4, 13],
  flexible: 12,
  request: {
    clusterId: string({ since: 12, tag: 0, nullable: 12, default: null, ignorable: true }),
    /** -1 for consumers. */
    replicaId: int32({ default: -1 }),
    maxWaitMs: int32(),
    minBytes: int32(),
    maxBytes: int32({ default: 0x7fff_ffff }),
    /** 0 read uncommitted, 1 read committed. */
    isolationLevel: int8({ default: 0 }),
    sessionId: int32({ since: 7, ignorable: true }),
    /** -1 fetches without a session, 0 opens one (KIP-227). */
    sessionEpoch: int32({ since: 7, default: -1, ignorable: true }),
    topics: array({
      topic: string({ until: 12, ignorable: true }),
      topicId: uuid({ since: 13, ignorable: true }),
      partitions: array({
        partition: int32(),
        currentLeaderEpoch: int32({ since: 9, default: -1, ignorable: true }),
        fetchOffset: int64(),
        lastFetchedEpoch: int32({ since: 12, default: -1 }),
        /** Of followers; -1 for consumers. */
        logStartOffset: int64({ since: 5, default: -1, ignorable: true }),
        partitionMaxBytes: int32(),
      }),
    }),
    forgottenTopicsData: array(
      {
        topic: string({ until: 12, ignorable: true }),
        topicId: uuid({ since: 13, ignorable: true }),
        partitions: array(int32()),
      },
      { since: 7 },
    ),
    rackId: string({ since: 11, ignorable: true }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16({ since: 7, ignorable: true }),
    sessionId: int32({ since: 7 }),
    responses: array({
      topic: string({ until: 12, ignorable: true }),
      topicId: uuid({ since: 13, ignorable: true }),
      partitions: array({
        partitionIndex: int32(),
        errorCode: int16(),
        highWatermark: int64(),
        lastStableOffset: int64({ default: -1 }),
        logStartOffset: int64({ since: 5, default: -1, ignorable: true }),
        divergingEpoch: struct(epochEnd, { since: 12, tag: 0 }),
        currentLeader: struct(
          { leaderId: int32({ default: -1 }), leaderEpoch: int32({ default: -1 }) },
          { since: 12, tag: 1 },
        ),
        snapshotId: struct(snapshotId, { since: 12, tag: 2 }),
        /** Null when read uncommitted. */
        abortedTransactions: array({ producerId: int64(), firstOffset: int64() }, { nullable: 0 }),
        preferredReadReplica: int32({ since: 11, default: -1 }),
        records: records(),
      }),
    }),
  },
})
