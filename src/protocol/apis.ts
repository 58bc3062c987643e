import { produce } from './messages/0-produce.ts'
import { fetch } from './messages/1-fetch.ts'
import { listOffsets } from './messages/2-list-offsets.ts'
import { metadata } from './messages/3-metadata.ts'
import { offsetCommit } from './messages/8-offset-commit.ts'
import { offsetFetch } from './messages/9-offset-fetch.ts'
import { findCoordinator } from './messages/10-find-coordinator.ts'
import { joinGroup } from './messages/11-join-group.ts'
import { heartbeat } from './messages/12-heartbeat.ts'
import { leaveGroup } from './messages/13-leave-group.ts'
import { syncGroup } from './messages/14-sync-group.ts'
import { describeGroups } from './messages/15-describe-groups.ts'
import { listGroups } from './messages/16-list-groups.ts'
import { saslHandshake } from './messages/17-sasl-handshake.ts'
import { apiVersions } from './messages/18-api-versions.ts'
import { createTopics } from './messages/19-create-topics.ts'
import { deleteTopics } from './messages/20-delete-topics.ts'
import { deleteRecords } from './messages/21-delete-records.ts'
import { initProducerId } from './messages/22-init-producer-id.ts'
import { offsetForLeaderEpoch } from './messages/23-offset-for-leader-epoch.ts'
import { addPartitionsToTxn } from './messages/24-add-partitions-to-txn.ts'
import { addOffsetsToTxn } from './messages/25-add-offsets-to-txn.ts'
import { endTxn } from './messages/26-end-txn.ts'
import { txnOffsetCommit } from './messages/28-txn-offset-commit.ts'
import { describeConfigs } from './messages/32-describe-configs.ts'
import { saslAuthenticate } from './messages/36-sasl-authenticate.ts'
import { createPartitions } from './messages/37-create-partitions.ts'
import { deleteGroups } from './messages/42-delete-groups.ts'
import { incrementalAlterConfigs } from './messages/44-incremental-alter-configs.ts'
import { offsetDelete } from './messages/47-offset-delete.ts'
import { describeCluster } from './messages/60-describe-cluster.ts'
import { describeProducers } from './messages/61-describe-producers.ts'
import { describeTransactions } from './messages/65-describe-transactions.ts'
import { listTransactions } from './messages/66-list-transactions.ts'
import { streamsGroupHeartbeat } from './messages/88-streams-group-heartbeat.ts'
import { streamsGroupDescribe } from './messages/89-streams-group-describe.ts'
import type { AnyApi } from './schema.ts'

const all: readonly AnyApi[] = [
  produce,
  fetch,
  listOffsets,
  metadata,
  offsetCommit,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeGroups,
  listGroups,
  saslHandshake,
  apiVersions,
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  offsetForLeaderEpoch,
  addPartitionsToTxn,
  addOffsetsToTxn,
  endTxn,
  txnOffsetCommit,
  describeConfigs,
  saslAuthenticate,
  createPartitions,
  deleteGroups,
  incrementalAlterConfigs,
  offsetDelete,
  describeCluster,
  describeProducers,
  describeTransactions,
  listTransactions,
  streamsGroupHeartbeat,
  streamsGroupDescribe,
]

/** Every API that client and broker know, by its key, in the order of the keys. */
export const apis: ReadonlyMap<number, AnyApi> = new Map(all.map((api) => [api.key, api]))
