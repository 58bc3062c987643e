import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { produce } from './messages/0-produce.ts'
import { fetch } from './messages/1-fetch.ts'
import { findCoordinator } from './messages/10-find-coordinator.ts'
import { joinGroup } from './messages/11-join-group.ts'
import { metadata } from './messages/3-metadata.ts'
import { offsetFetch } from './messages/9-offset-fetch.ts'
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

/** kafkajs calls this API by its old name. */
function peer(api: AnyApi, version: number, fields?: unknown): Peer {
  const definition = requests[api.key === 10 ? 'GroupCoordinator' : api.name]
  if (definition === undefined) throw new Error(`kafkajs has no ${api.name}`)
  return definition.protocol({ version })(fields)
}

/** Encodes a response as a broker does, and lets kafkajs read it. */
async function readByPeer<In>(
  api: Api<never, unknown, In, unknown>,
  version: number,
  body: In,
): Promise<unknown> {
  const writer = new Writer()
  api.response.encode(version, body, writer)
  return peer(api, version, {}).response.decode(writer.finish())
}

describe('responses to kafkajs', () => {
  test('Metadata v6 tells brokers, topics and partitions', async () => {
    expect(
      await readByPeer(metadata, 6, {
        throttleTimeMs: 5,
        brokers: [{ nodeId: 1, host: 'localhost', port: 9092 }],
        clusterId: 'c',
        controllerId: 1,
        topics: [
          {
            errorCode: 0,
            name: 'a',
            partitions: [
              {
                errorCode: 0,
                partitionIndex: 0,
                leaderId: 1,
                leaderEpoch: 12,
                replicaNodes: [1, 2],
                isrNodes: [1],
                offlineReplicas: [2],
              },
            ],
          },
        ],
      }),
    ).toEqual({
      throttleTime: 0,
      clientSideThrottleTime: 5,
      brokers: [{ nodeId: 1, host: 'localhost', port: 9092, rack: null }],
      clusterId: 'c',
      controllerId: 1,
      topicMetadata: [
        {
          topicErrorCode: 0,
          topic: 'a',
          isInternal: false,
          partitionMetadata: [
            {
              partitionErrorCode: 0,
              partitionId: 0,
              leader: 1,
              replicas: [1, 2],
              isr: [1],
              offlineReplicas: [2],
            },
          ],
        },
      ],
    })
  })

  test('Produce v7 tells the base offset', async () => {
    expect(
      await readByPeer(produce, 7, {
        responses: [
          {
            name: 'a',
            partitionResponses: [
              { index: 2, errorCode: 0, baseOffset: 4_294_967_301, logStartOffset: 3 },
            ],
          },
        ],
      }),
    ).toMatchObject({
      topics: [
        {
          topicName: 'a',
          partitions: [
            {
              partition: 2,
              errorCode: 0,
              baseOffset: '4294967301',
              logAppendTime: '-1',
              logStartOffset: '3',
            },
          ],
        },
      ],
    })
  })

  test('Fetch v11 tells the offsets and the aborted transactions', async () => {
    expect(
      await readByPeer(fetch, 11, {
        sessionId: 6,
        responses: [
          {
            topic: 'a',
            partitions: [
              {
                partitionIndex: 2,
                errorCode: 0,
                highWatermark: 10,
                lastStableOffset: 8,
                logStartOffset: 1,
                abortedTransactions: [{ producerId: 7, firstOffset: 4 }],
                records: null,
              },
            ],
          },
        ],
      }),
    ).toEqual({
      throttleTime: 0,
      clientSideThrottleTime: 0,
      errorCode: 0,
      sessionId: 6,
      responses: [
        {
          topicName: 'a',
          partitions: [
            {
              partition: 2,
              errorCode: 0,
              highWatermark: '10',
              lastStableOffset: '8',
              lastStartOffset: '1',
              abortedTransactions: [{ producerId: '7', firstOffset: '4' }],
              preferredReadReplica: -1,
              messages: [],
            },
          ],
        },
      ],
    })
  })

  test('JoinGroup v5 tells the leader its members', async () => {
    expect(
      await readByPeer(joinGroup, 5, {
        errorCode: 0,
        generationId: 3,
        protocolName: 'rr',
        leader: 'm',
        memberId: 'm',
        members: [{ memberId: 'm', metadata: Buffer.from([1]) }],
      }),
    ).toEqual({
      throttleTime: 0,
      clientSideThrottleTime: 0,
      errorCode: 0,
      generationId: 3,
      groupProtocol: 'rr',
      leaderId: 'm',
      memberId: 'm',
      members: [{ memberId: 'm', groupInstanceId: null, memberMetadata: Buffer.from([1]) }],
    })
  })

  test('FindCoordinator v2 tells the coordinator', async () => {
    expect(await readByPeer(findCoordinator, 2, { nodeId: 1, host: 'h', port: 9 })).toMatchObject({
      errorCode: 0,
      errorMessage: null,
      coordinator: { nodeId: 1, host: 'h', port: 9 },
    })
  })

  test('OffsetFetch v4 tells the committed offsets', async () => {
    expect(
      await readByPeer(offsetFetch, 4, {
        topics: [
          {
            name: 'a',
            partitions: [{ partitionIndex: 0, committedOffset: -1, metadata: '', errorCode: 0 }],
          },
        ],
      }),
    ).toMatchObject({
      responses: [
        { topic: 'a', partitions: [{ partition: 0, offset: '-1', metadata: '', errorCode: 0 }] },
      ],
      errorCode: 0,
    })
  })
})
