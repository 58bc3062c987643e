import { errorCode } from '../protocol/error-codes.ts'
import { describeGroups as describeGroupsApi } from '../protocol/messages/15-describe-groups.ts'
import { listGroups as listGroupsApi } from '../protocol/messages/16-list-groups.ts'
import { deleteGroups as deleteGroupsApi } from '../protocol/messages/42-delete-groups.ts'
import { requestOptions, throwFailure, type AdminRequestOptions } from './admin-request.ts'
import type { KafkaClient } from './kafka-client.ts'

/** A group in a list. */
export interface GroupListing {
  readonly groupId: string
  readonly protocolType: string
  /** Empty when the broker is too old to tell. */
  readonly state: string
}

/** A group in detail. */
export interface GroupDescription {
  readonly groupId: string
  /** `Dead` for a group that does not exist. */
  readonly state: string
  readonly protocolType: string
  readonly protocolName: string
  readonly members: readonly {
    readonly memberId: string
    readonly instanceId: string | null
    readonly clientId: string
    readonly clientHost: string
    readonly metadata: Buffer
    readonly assignment: Buffer
  }[]
}

/** The groups of all brokers. */
export async function listGroups(
  client: KafkaClient,
  options: AdminRequestOptions = {},
): Promise<GroupListing[]> {
  // Of no topic: which brokers there are.
  await client.topicMetadata([], { ...options, fresh: true })
  const listed: GroupListing[] = []
  for (const node of client.nodes.keys()) {
    const response = await client.request(listGroupsApi, {}, { node }, requestOptions(options))
    throwFailure(listGroupsApi.name, `node ${node}`, response)
    for (const { groupId, protocolType, groupState } of response.groups) {
      listed.push({ groupId, protocolType, state: groupState })
    }
  }
  return listed
}

/** The groups, in the order asked for. */
export async function describeGroups(
  client: KafkaClient,
  groupIds: readonly string[],
  options: AdminRequestOptions = {},
): Promise<GroupDescription[]> {
  const described: GroupDescription[] = []
  for (const groupId of groupIds) {
    const response = await client.request(
      describeGroupsApi,
      { groups: [groupId] },
      { coordinatorOf: groupId },
      {
        ...requestOptions(options),
        purpose: 'control',
        errorCodeOf: (answer) => answer.groups[0]?.errorCode ?? errorCode.UNKNOWN_SERVER_ERROR,
      },
    )
    const group = response.groups[0]
    throwFailure(describeGroupsApi.name, groupId, group)
    described.push({
      groupId,
      state: group?.groupState ?? '',
      protocolType: group?.protocolType ?? '',
      protocolName: group?.protocolData ?? '',
      members: (group?.members ?? []).map((member) => ({
        memberId: member.memberId,
        instanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        metadata: member.memberMetadata,
        assignment: member.memberAssignment,
      })),
    })
  }
  return described
}

/** Deletes groups without members; those that do not exist are ignored. */
export async function deleteGroups(
  client: KafkaClient,
  groupIds: readonly string[],
  options: AdminRequestOptions = {},
): Promise<void> {
  for (const groupId of groupIds) {
    const response = await client.request(
      deleteGroupsApi,
      { groupsNames: [groupId] },
      { coordinatorOf: groupId },
      {
        ...requestOptions(options),
        purpose: 'control',
        errorCodeOf: (answer) => answer.results[0]?.errorCode ?? errorCode.UNKNOWN_SERVER_ERROR,
      },
    )
    const result = response.results[0]
    if (result?.errorCode === errorCode.GROUP_ID_NOT_FOUND) continue
    throwFailure(deleteGroupsApi.name, groupId, result)
  }
}
