import { describeGroups } from '../client/group-admin.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { StreamsGroupCoordinator } from '../client/streams-group-coordinator.ts'
import { decodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import { decodeSubscription } from './user-data.ts'

/** How long the coordinator has for an answer. */
const timeoutMs = 5000

/** The only state of a classic group in which its coordinator tells what members have said. */
const settledState = 'Stable'

/**
 * The ids of all processes with a member in the group, also one that is static and away. Undefined: the
 * group is in between and does not tell. Rejects as the client does, and when there is no such group.
 */
export async function liveProcesses(
  client: KafkaClient,
  {
    groupId,
    groupProtocol,
  }: { readonly groupId: string; readonly groupProtocol: 'classic' | 'streams' },
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  if (groupProtocol === 'streams') {
    await using coordinator = new StreamsGroupCoordinator(client, groupId)
    const { members } = await coordinator.describe({ timeoutMs, signal })
    return new Set(members.map(({ processId }) => processId))
  }
  const [group] = await describeGroups(client, [groupId], { timeoutMs, signal })
  if (group?.state !== settledState) return undefined
  return new Set(
    group.members.map(({ metadata }) => {
      const { userData } = decodeConsumerSubscription(metadata)
      return decodeSubscription(userData ?? Buffer.alloc(0)).processId
    }),
  )
}
