import { describeGroups } from '../client/group-admin.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { StreamsGroupCoordinator } from '../client/streams-group-coordinator.ts'
import { decodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import { decodeSubscription } from './user-data.ts'

/** How long the coordinator has for an answer. */
const timeoutMs = 5000

/** The only state of a classic group in which its coordinator tells what members have said. */
const settledState = 'Stable'

/** What a member has said of itself, also one that is static and away. */
export interface LiveMember {
  readonly processId: string
  readonly clientId: string
}

/**
 * All members of the group. Undefined: the group is in between and does not tell. Rejects as the client does,
 * and when there is no such group.
 */
export async function liveMembers(
  client: KafkaClient,
  {
    groupId,
    groupProtocol,
  }: { readonly groupId: string; readonly groupProtocol: 'classic' | 'streams' },
  signal: AbortSignal,
): Promise<readonly LiveMember[] | undefined> {
  if (groupProtocol === 'streams') {
    await using coordinator = new StreamsGroupCoordinator(client, groupId)
    return (await coordinator.describe({ timeoutMs, signal })).members
  }
  const [group] = await describeGroups(client, [groupId], { timeoutMs, signal })
  if (group?.state !== settledState) return undefined
  return group.members.map(({ clientId, metadata }) => {
    const { userData } = decodeConsumerSubscription(metadata)
    return { clientId, processId: decodeSubscription(userData ?? Buffer.alloc(0)).processId }
  })
}
