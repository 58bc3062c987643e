import type { JoinGroupResult } from '../client/group-coordinator.ts'
import { canPass } from '../client/kafka-failure.ts'
import { StreamsError } from '../errors.ts'
import { decodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import type { Leader, LedRound, MemberSubscription } from './assignor/leader.ts'
import { userDataVersionOf } from './classic-protocols.ts'
import type { Refusal } from './classic-session.ts'
import { decodeSubscription } from './user-data.ts'

/**
 * What the member that leads sends to all: their tasks, or why nobody gets any. A problem that can pass
 * is a refusal: joining again later also calls the others back from their wait for this assignment.
 */
export async function leadRound(
  joined: JoinGroupResult,
  leader: Leader,
  signal: AbortSignal,
): Promise<LedRound | Refusal> {
  const version = userDataVersionOf(joined.protocolName ?? '')
  try {
    const members = joined.members.map(({ memberId, metadata }): MemberSubscription => {
      const { userData, generationId } = decodeConsumerSubscription(metadata)
      const data = decodeSubscription(userData ?? Buffer.alloc(0))
      return { memberId, generation: generationId, data }
    })
    return await leader.assign(members, { version, leaderId: joined.memberId, signal })
  } catch (error) {
    if (!(error instanceof StreamsError) || signal.aborted) throw error
    if (canPass(error)) return { refused: 'later', error }
    const assignments = leader.refuse(joined.members, error, version)
    return { assignments, matchedTopics: [], partitionCounts: new Map() }
  }
}
