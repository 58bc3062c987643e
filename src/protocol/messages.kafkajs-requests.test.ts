import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { apis } from './apis.ts'
import { decodeRequestHeader, encodeRequestHeader } from './header.ts'
import { produce } from './messages/0-produce.ts'
import { fetch } from './messages/1-fetch.ts'
import { findCoordinator } from './messages/10-find-coordinator.ts'
import { joinGroup } from './messages/11-join-group.ts'
import { heartbeat } from './messages/12-heartbeat.ts'
import { leaveGroup } from './messages/13-leave-group.ts'
import { syncGroup } from './messages/14-sync-group.ts'
import { saslHandshake } from './messages/17-sasl-handshake.ts'
import { apiVersions } from './messages/18-api-versions.ts'
import { createTopics } from './messages/19-create-topics.ts'
import { listOffsets } from './messages/2-list-offsets.ts'
import { deleteTopics } from './messages/20-delete-topics.ts'
import { initProducerId } from './messages/22-init-producer-id.ts'
import { addPartitionsToTxn } from './messages/24-add-partitions-to-txn.ts'
import { addOffsetsToTxn } from './messages/25-add-offsets-to-txn.ts'
import { endTxn } from './messages/26-end-txn.ts'
import { txnOffsetCommit } from './messages/28-txn-offset-commit.ts'
import { metadata } from './messages/3-metadata.ts'
import { describeConfigs } from './messages/32-describe-configs.ts'
import { saslAuthenticate } from './messages/36-sasl-authenticate.ts'
import { offsetCommit } from './messages/8-offset-commit.ts'
import { offsetFetch } from './messages/9-offset-fetch.ts'
import { Reader } from './reader.ts'
import type { AnyApi, Api } from './schema.ts'
import { Writer } from './writer.ts'

/** kafkajs is another reading of the protocol, and a client that the dev broker must serve. */
interface Peer {
  readonly request: unknown
  readonly response: { decode(body: Buffer): Promise<unknown> }
}

const require = createRequire(import.meta.url)

const { requests } = require('kafkajs/src/protocol/requests') as {
  readonly requests: Readonly<
    Record<string, { protocol(options: { version: number }): (fields?: unknown) => Peer }>
  >
}

const frame = require('kafkajs/src/protocol/request') as (parts: {
  correlationId: number
  clientId: string | null
  request: unknown
}) => Promise<{ readonly buffer: Buffer }>

/** kafkajs calls this API by its old name. */
function peer(api: AnyApi, version: number, fields?: unknown): Peer {
  const definition = requests[api.key === 10 ? 'GroupCoordinator' : api.name]
  if (definition === undefined) throw new Error(`kafkajs has no ${api.name}`)
  return definition.protocol({ version })(fields)
}

interface RequestCase {
  readonly api: AnyApi
  readonly version: number
  /** In the words of kafkajs. */
  readonly theirs: unknown
  readonly ours: unknown
}

function request<In>(
  api: Api<In, unknown, unknown, unknown>,
  version: number,
  theirs: unknown,
  ours: In,
): RequestCase {
  return { api: api, version, theirs, ours }
}

const transaction = { transactionalId: 'txn', producerId: 7, producerEpoch: 1 }

const requestCases: readonly RequestCase[] = [
  request(
    fetch,
    11,
    {
      replicaId: -1,
      maxWaitTime: 500,
      minBytes: 1,
      maxBytes: 1000,
      rackId: 'r1',
      topics: [
        {
          topic: 'orders',
          partitions: [{ partition: 3, fetchOffset: '4294967301', maxBytes: 100 }],
        },
      ],
    },
    {
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: 1000,
      isolationLevel: 1,
      rackId: 'r1',
      topics: [
        {
          topic: 'orders',
          partitions: [{ partition: 3, fetchOffset: 4_294_967_301, partitionMaxBytes: 100 }],
        },
      ],
    },
  ),
  request(
    listOffsets,
    3,
    {
      replicaId: -1,
      isolationLevel: 1,
      topics: [{ topic: 'orders', partitions: [{ partition: 0, timestamp: '-2' }] }],
    },
    {
      isolationLevel: 1,
      topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, timestamp: -2 }] }],
    },
  ),
  request(
    metadata,
    6,
    { topics: ['a', 'bé'], allowAutoTopicCreation: false },
    { topics: [{ name: 'a' }, { name: 'bé' }], allowAutoTopicCreation: false },
  ),
  request(metadata, 6, { topics: [] }, { topics: null }),
  request(
    offsetCommit,
    5,
    {
      groupId: 'g',
      groupGenerationId: 4,
      memberId: 'm',
      topics: [{ topic: 'a', partitions: [{ partition: 1, offset: '9' }] }],
    },
    {
      groupId: 'g',
      generationIdOrMemberEpoch: 4,
      memberId: 'm',
      topics: [
        {
          name: 'a',
          partitions: [{ partitionIndex: 1, committedOffset: 9, committedMetadata: null }],
        },
      ],
    },
  ),
  request(
    offsetFetch,
    4,
    { groupId: 'g', topics: [{ topic: 'a', partitions: [{ partition: 1 }, { partition: 2 }] }] },
    { groupId: 'g', topics: [{ name: 'a', partitionIndexes: [1, 2] }] },
  ),
  request(findCoordinator, 2, { groupId: 'g', coordinatorType: 1 }, { key: 'g', keyType: 1 }),
  request(
    joinGroup,
    5,
    {
      groupId: 'g',
      sessionTimeout: 30_000,
      rebalanceTimeout: 60_000,
      memberId: '',
      protocolType: 'consumer',
      groupProtocols: [{ name: 'rr', metadata: Buffer.from([1, 2]) }],
    },
    {
      groupId: 'g',
      sessionTimeoutMs: 30_000,
      rebalanceTimeoutMs: 60_000,
      memberId: '',
      protocolType: 'consumer',
      protocols: [{ name: 'rr', metadata: Buffer.from([1, 2]) }],
    },
  ),
  request(
    syncGroup,
    3,
    {
      groupId: 'g',
      generationId: 2,
      memberId: 'm',
      groupInstanceId: 'i',
      groupAssignment: [{ memberId: 'm', memberAssignment: Buffer.from([9]) }],
    },
    {
      groupId: 'g',
      generationId: 2,
      memberId: 'm',
      groupInstanceId: 'i',
      assignments: [{ memberId: 'm', assignment: Buffer.from([9]) }],
    },
  ),
  request(
    heartbeat,
    3,
    { groupId: 'g', groupGenerationId: 2, memberId: 'm', groupInstanceId: null },
    { groupId: 'g', generationId: 2, memberId: 'm' },
  ),
  request(
    leaveGroup,
    3,
    { groupId: 'g', memberId: 'm', groupInstanceId: 'i' },
    { groupId: 'g', members: [{ memberId: 'm', groupInstanceId: 'i' }] },
  ),
  request(saslHandshake, 1, { mechanism: 'PLAIN' }, { mechanism: 'PLAIN' }),
  request(apiVersions, 2, undefined, {}),
  request(
    createTopics,
    3,
    {
      topics: [
        {
          topic: 't',
          numPartitions: 2,
          replicationFactor: 1,
          replicaAssignment: [{ partition: 0, replicas: [1, 2] }],
          configEntries: [{ name: 'cleanup.policy', value: 'compact' }],
        },
      ],
      validateOnly: true,
      timeout: 5000,
    },
    {
      topics: [
        {
          name: 't',
          numPartitions: 2,
          replicationFactor: 1,
          assignments: [{ partitionIndex: 0, brokerIds: [1, 2] }],
          configs: [{ name: 'cleanup.policy', value: 'compact' }],
        },
      ],
      validateOnly: true,
      timeoutMs: 5000,
    },
  ),
  request(deleteTopics, 1, { topics: ['t'], timeout: 10 }, { topicNames: ['t'], timeoutMs: 10 }),
  request(
    initProducerId,
    1,
    { transactionalId: 'txn', transactionTimeout: 100 },
    { transactionalId: 'txn', transactionTimeoutMs: 100 },
  ),
  request(
    addPartitionsToTxn,
    1,
    { ...transaction, topics: [{ topic: 'a', partitions: [0, 1] }] },
    {
      v3AndBelowTransactionalId: 'txn',
      v3AndBelowProducerId: 7,
      v3AndBelowProducerEpoch: 1,
      v3AndBelowTopics: [{ name: 'a', partitions: [0, 1] }],
    },
  ),
  request(addOffsetsToTxn, 1, { ...transaction, groupId: 'g' }, { ...transaction, groupId: 'g' }),
  request(
    endTxn,
    1,
    { ...transaction, transactionResult: true },
    { ...transaction, committed: true },
  ),
  request(
    txnOffsetCommit,
    1,
    {
      ...transaction,
      groupId: 'g',
      topics: [{ topic: 'a', partitions: [{ partition: 0, offset: '5', metadata: 'x' }] }],
    },
    {
      ...transaction,
      groupId: 'g',
      topics: [
        {
          name: 'a',
          partitions: [{ partitionIndex: 0, committedOffset: 5, committedMetadata: 'x' }],
        },
      ],
    },
  ),
  request(
    describeConfigs,
    2,
    { resources: [{ type: 2, name: 't', configNames: ['a'] }], includeSynonyms: true },
    {
      resources: [{ resourceType: 2, resourceName: 't', configurationKeys: ['a'] }],
      includeSynonyms: true,
    },
  ),
  request(
    saslAuthenticate,
    1,
    // kafkajs writes the length of the token as part of it.
    { authBytes: Buffer.from('\0\0\0\x0a\0user\0pass') },
    { authBytes: Buffer.from('\0user\0pass') },
  ),
]

describe('requests of kafkajs', () => {
  test.each(requestCases)(
    '$api.name v$version is the same with its header',
    async ({ api, version, theirs, ours }) => {
      const { buffer } = await frame({
        correlationId: 77,
        clientId: 'kafkajs',
        request: peer(api, version, theirs).request,
      })

      const writer = new Writer()
      writer.int32(0)
      encodeRequestHeader(api, version, { correlationId: 77, clientId: 'kafkajs' }, writer)
      api.request.encode(version, ours, writer)
      writer.patchInt32(0, writer.position - 4)
      expect(writer.finish().toString('hex')).toBe(buffer.toString('hex'))

      const reader = new Reader(buffer, { start: 4 })
      expect(decodeRequestHeader(apis, reader)).toEqual({
        apiKey: api.key,
        apiVersion: version,
        correlationId: 77,
        clientId: 'kafkajs',
      })
      expect(api.request.decode(version, reader)).toMatchObject(ours as object)
      expect(reader.remaining).toBe(0)
    },
  )

  test('Produce v7 is read with its record batch as bytes', async () => {
    const { request } = peer(produce, 7, {
      acks: -1,
      timeout: 30_000,
      transactionalId: 'txn',
      producerId: 9,
      producerEpoch: 0,
      topicData: [
        {
          topic: 'a',
          partitions: [
            { partition: 2, firstSequence: 0, messages: [{ value: 'v', timestamp: 1000 }] },
          ],
        },
      ],
    })
    const { buffer } = await frame({ correlationId: 1, clientId: null, request })
    const reader = new Reader(buffer, { start: 4 })
    expect(decodeRequestHeader(apis, reader).clientId).toBe(null)
    const { topicData, ...rest } = produce.request.decode(7, reader)
    expect(rest).toEqual({ transactionalId: 'txn', acks: -1, timeoutMs: 30_000 })
    expect(reader.remaining).toBe(0)
    const records = topicData[0]?.partitionData[0]?.records
    expect(topicData).toEqual([{ name: 'a', partitionData: [{ index: 2, records }] }])
    expect(records?.readInt8(16)).toBe(2)
    expect(records?.readInt32BE(8)).toBe((records?.length ?? 0) - 12)
  })
})
