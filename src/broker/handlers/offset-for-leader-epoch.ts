import { errorCode } from '../../protocol/error-codes.ts'
import type { offsetForLeaderEpoch } from '../../protocol/messages/23-offset-for-leader-epoch.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import { Refusal, orRefusal } from '../refusal.ts'
import type { RequestContext } from '../request-context.ts'
import { leaderEpochProblem } from './leader-epoch.ts'

/**
 * Tells where the records of a leader epoch end: whether a consumer has read what was lost since.
 */
export function handleOffsetForLeaderEpoch(
  { topics }: RequestOf<typeof offsetForLeaderEpoch>,
  { broker }: RequestContext,
): ResponseInputOf<typeof offsetForLeaderEpoch> {
  return {
    topics: topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map(({ partition, currentLeaderEpoch, leaderEpoch }) => {
        const outcome = orRefusal(() => {
          const log = broker.topics.partition(topic, partition)
          if (log === undefined)
            throw new Refusal('UNKNOWN_TOPIC_OR_PARTITION', `There is no topic ${topic}.`)
          const problem = leaderEpochProblem(log, currentLeaderEpoch)
          if (problem !== undefined) throw problem
          return log.epochEnd(leaderEpoch)
        })
        return outcome instanceof Refusal
          ? { partition, errorCode: outcome.code }
          : { partition, errorCode: errorCode.NONE, ...outcome }
      }),
    })),
  }
}
