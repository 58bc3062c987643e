/** From the bytes of a request to the bytes of its response. */
import { isStreamsError } from '../errors.ts'
import {
  decodeRequestHeader,
  encodeResponseHeader,
  type RequestHeader,
} from '../protocol/header.ts'
import { produce } from '../protocol/messages/0-produce.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'
import { listOffsets } from '../protocol/messages/2-list-offsets.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import { offsetCommit } from '../protocol/messages/8-offset-commit.ts'
import { offsetFetch } from '../protocol/messages/9-offset-fetch.ts'
import { findCoordinator } from '../protocol/messages/10-find-coordinator.ts'
import { joinGroup } from '../protocol/messages/11-join-group.ts'
import { heartbeat } from '../protocol/messages/12-heartbeat.ts'
import { leaveGroup } from '../protocol/messages/13-leave-group.ts'
import { syncGroup } from '../protocol/messages/14-sync-group.ts'
import { describeGroups } from '../protocol/messages/15-describe-groups.ts'
import { listGroups } from '../protocol/messages/16-list-groups.ts'
import { saslHandshake } from '../protocol/messages/17-sasl-handshake.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import { createTopics } from '../protocol/messages/19-create-topics.ts'
import { deleteTopics } from '../protocol/messages/20-delete-topics.ts'
import { deleteRecords } from '../protocol/messages/21-delete-records.ts'
import { initProducerId } from '../protocol/messages/22-init-producer-id.ts'
import { offsetForLeaderEpoch } from '../protocol/messages/23-offset-for-leader-epoch.ts'
import { addPartitionsToTxn } from '../protocol/messages/24-add-partitions-to-txn.ts'
import { addOffsetsToTxn } from '../protocol/messages/25-add-offsets-to-txn.ts'
import { endTxn } from '../protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../protocol/messages/28-txn-offset-commit.ts'
import { describeConfigs } from '../protocol/messages/32-describe-configs.ts'
import { saslAuthenticate } from '../protocol/messages/36-sasl-authenticate.ts'
import { createPartitions } from '../protocol/messages/37-create-partitions.ts'
import { deleteGroups } from '../protocol/messages/42-delete-groups.ts'
import { incrementalAlterConfigs } from '../protocol/messages/44-incremental-alter-configs.ts'
import { offsetDelete } from '../protocol/messages/47-offset-delete.ts'
import { describeCluster } from '../protocol/messages/60-describe-cluster.ts'
import { describeProducers } from '../protocol/messages/61-describe-producers.ts'
import { describeTransactions } from '../protocol/messages/65-describe-transactions.ts'
import { listTransactions } from '../protocol/messages/66-list-transactions.ts'
import { streamsGroupHeartbeat } from '../protocol/messages/88-streams-group-heartbeat.ts'
import { streamsGroupDescribe } from '../protocol/messages/89-streams-group-describe.ts'
import { Reader } from '../protocol/reader.ts'
import { decodeRequest, encodeResponse, type AnyApi, type Api } from '../protocol/schema.ts'
import { Writer } from '../protocol/writer.ts'
import type { ClientSession } from './client-session.ts'
import { handleAddOffsetsToTxn } from './handlers/add-offsets-to-txn.ts'
import { handleAddPartitionsToTxn } from './handlers/add-partitions-to-txn.ts'
import { handleApiVersions, unsupportedApiVersions } from './handlers/api-versions.ts'
import { handleCreatePartitions } from './handlers/create-partitions.ts'
import { handleCreateTopics } from './handlers/create-topics.ts'
import { handleDeleteGroups } from './handlers/delete-groups.ts'
import { handleDeleteRecords } from './handlers/delete-records.ts'
import { handleDeleteTopics } from './handlers/delete-topics.ts'
import { handleDescribeCluster } from './handlers/describe-cluster.ts'
import { handleDescribeConfigs } from './handlers/describe-configs.ts'
import { handleDescribeGroups } from './handlers/describe-groups.ts'
import { handleDescribeProducers } from './handlers/describe-producers.ts'
import { handleDescribeTransactions } from './handlers/describe-transactions.ts'
import { handleEndTxn } from './handlers/end-txn.ts'
import { handleFetch } from './handlers/fetch.ts'
import { handleFindCoordinator } from './handlers/find-coordinator.ts'
import { handleHeartbeat } from './handlers/heartbeat.ts'
import { handleIncrementalAlterConfigs } from './handlers/incremental-alter-configs.ts'
import { handleInitProducerId } from './handlers/init-producer-id.ts'
import { handleJoinGroup } from './handlers/join-group.ts'
import { handleLeaveGroup } from './handlers/leave-group.ts'
import { handleListGroups } from './handlers/list-groups.ts'
import { handleListOffsets } from './handlers/list-offsets.ts'
import { handleListTransactions } from './handlers/list-transactions.ts'
import { handleMetadata } from './handlers/metadata.ts'
import { handleOffsetCommit } from './handlers/offset-commit.ts'
import { handleOffsetDelete } from './handlers/offset-delete.ts'
import { handleOffsetFetch } from './handlers/offset-fetch.ts'
import { handleOffsetForLeaderEpoch } from './handlers/offset-for-leader-epoch.ts'
import { handleProduce } from './handlers/produce.ts'
import { handleStreamsGroupDescribe } from './handlers/streams-group-describe.ts'
import { handleStreamsGroupHeartbeat } from './handlers/streams-group-heartbeat.ts'
import { handleSaslAuthenticate } from './handlers/sasl-authenticate.ts'
import { handleSaslHandshake } from './handlers/sasl-handshake.ts'
import { handleSyncGroup } from './handlers/sync-group.ts'
import { handleTxnOffsetCommit } from './handlers/txn-offset-commit.ts'
import type { ApiRange, BrokerParts, RequestContext } from './request-context.ts'

/** One API with its handler, which returns undefined when no answer is wanted. */
interface Route {
  readonly api: AnyApi
  readonly handle: (request: unknown, context: RequestContext) => unknown
}

function route<ResponseIn, RequestOut>(
  api: Api<unknown, RequestOut, ResponseIn, unknown>,
  handle: (
    request: RequestOut,
    context: RequestContext,
  ) => ResponseIn | undefined | Promise<ResponseIn>,
): Route {
  return {
    api,
    handle: (request, context) => handle(request as RequestOut, context),
  }
}

const routes: readonly Route[] = [
  route(produce, handleProduce),
  route(fetch, handleFetch),
  route(listOffsets, handleListOffsets),
  route(metadata, handleMetadata),
  route(offsetCommit, handleOffsetCommit),
  route(offsetFetch, handleOffsetFetch),
  route(findCoordinator, handleFindCoordinator),
  route(joinGroup, handleJoinGroup),
  route(heartbeat, handleHeartbeat),
  route(leaveGroup, handleLeaveGroup),
  route(syncGroup, handleSyncGroup),
  route(describeGroups, handleDescribeGroups),
  route(listGroups, handleListGroups),
  route(saslHandshake, handleSaslHandshake),
  route(apiVersions, handleApiVersions),
  route(createTopics, handleCreateTopics),
  route(deleteTopics, handleDeleteTopics),
  route(deleteRecords, handleDeleteRecords),
  route(initProducerId, handleInitProducerId),
  route(offsetForLeaderEpoch, handleOffsetForLeaderEpoch),
  route(addPartitionsToTxn, handleAddPartitionsToTxn),
  route(addOffsetsToTxn, handleAddOffsetsToTxn),
  route(endTxn, handleEndTxn),
  route(txnOffsetCommit, handleTxnOffsetCommit),
  route(describeConfigs, handleDescribeConfigs),
  route(saslAuthenticate, handleSaslAuthenticate),
  route(createPartitions, handleCreatePartitions),
  route(deleteGroups, handleDeleteGroups),
  route(incrementalAlterConfigs, handleIncrementalAlterConfigs),
  route(offsetDelete, handleOffsetDelete),
  route(describeCluster, handleDescribeCluster),
  route(describeProducers, handleDescribeProducers),
  route(describeTransactions, handleDescribeTransactions),
  route(listTransactions, handleListTransactions),
  route(streamsGroupHeartbeat, handleStreamsGroupHeartbeat),
  route(streamsGroupDescribe, handleStreamsGroupDescribe),
]

const routesByKey: ReadonlyMap<number, Route> = new Map(routes.map((one) => [one.api.key, one]))
const apisByKey: ReadonlyMap<number, AnyApi> = new Map(routes.map(({ api }) => [api.key, api]))

/** What ApiVersions tells. */
export const apiRanges: readonly ApiRange[] = routes.map(({ api }) => ({
  apiKey: api.key,
  minVersion: api.advertisedMin,
  maxVersion: api.versions[1],
}))

/** What is known of a client by its connection. */
export interface Caller {
  readonly clientHost: string
  readonly session: ClientSession
  readonly signal: AbortSignal
}

const sizeBytes = 4

/**
 * Answers one request: the whole frame of the response, or undefined when none is to be sent. At
 * once where that is possible, so that what comes in together is done together.
 *
 * @throws StreamsError when the connection must be closed: `PROTOCOL_MALFORMED`,
 * `PROTOCOL_UNSUPPORTED_VERSION`, `SASL_AUTHENTICATION_FAILED`.
 */
export function dispatch(
  frame: Buffer,
  caller: Caller,
  broker: BrokerParts,
): Buffer | undefined | Promise<Buffer | undefined> {
  const reader = new Reader(frame)
  const header = decodeRequestHeader(apisByKey, reader)
  const { api, handle } = routesByKey.get(header.apiKey) as Route
  const { apiVersion } = header
  caller.session.admit(api)
  let request: unknown
  try {
    request = decodeRequest(api, apiVersion, reader)
  } catch (error) {
    // A client finds out what the broker speaks with the newest ApiVersions that it knows itself.
    if (api.key !== apiVersions.key || !isStreamsError(error, 'PROTOCOL_UNSUPPORTED_VERSION'))
      throw error
    return encode(api, { ...header, apiVersion: 0 }, unsupportedApiVersions({ broker }))
  }
  const response = handle(request, {
    broker,
    apiVersion,
    clientId: header.clientId ?? '',
    ...caller,
  })
  return response instanceof Promise
    ? response.then((body: unknown) => encode(api, header, body))
    : encode(api, header, response)
}

function encode(api: AnyApi, header: RequestHeader, body: unknown): Buffer | undefined {
  if (body === undefined) return undefined
  const writer = new Writer(sizeHint(api, body))
  writer.int32(0)
  encodeResponseHeader(api, header.apiVersion, header.correlationId, writer)
  encodeResponse(api, header.apiVersion, body, writer)
  writer.patchInt32(0, writer.position - sizeBytes)
  return writer.finish()
}

/**
 * Records make responses large: room for them from the start spares copying them again and again.
 */
function sizeHint(api: AnyApi, body: unknown): number | undefined {
  if (api.key !== fetch.key) return undefined
  let bytes = 1024
  for (const { partitions } of (body as Awaited<ReturnType<typeof handleFetch>>).responses)
    for (const { records } of partitions) bytes += 128 + (records?.length ?? 0)
  return bytes
}
